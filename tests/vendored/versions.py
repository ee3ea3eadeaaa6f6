"""Versions of manifests as texts, merged without a disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent

from krm_merge.krm.result import Result
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File
from krm_merge.vendored.merging import Given, align_manifests
from krm_merge.vendored.vendorfile import ManifestSource

Texts = str | Mapping[str, str]
"""One file, or the files of a directory by path."""


@dataclass(frozen=True)
class Outcome:
    """The files of local after a merge, which of them are other ones, and the results."""

    files: dict[str, str]
    changed: list[str]
    results: list[Result]

    @property
    def messages(self) -> list[str]:
        return [result.message for result in self.results]

    @property
    def warnings(self) -> list[str]:
        return [result.message for result in self.results if result.severity != "info"]


def version(name: str, texts: Texts) -> Given:
    if isinstance(texts, str):
        return Given(name, File(texts.encode()))
    return Given(name, {path: File(text.encode()) for path, text in texts.items()}, may_be_empty=True)


def merge(original: Texts | None, upstream: Texts, local: Texts, *, record: ManifestSource | None = None) -> Outcome:
    """Merges the versions `old.yaml`, `new.yaml` and `deploy` of manifests; `record` writes a Vendorfile."""
    before = None if original is None else version("old.yaml", original)
    name = "deploy.yaml" if isinstance(local, str) else "deploy"
    manifests = align_manifests(before, version("new.yaml", upstream), version(name, local))
    done = manifests.merge(PackageMerger(Policy()))
    changes = {**done.changes, **({} if record is None else manifests.record_changes(record, "deploy"))}
    files = {path: file.data.decode() for path, file in Changed(manifests.local, changes).items()}
    return Outcome(files, sorted(changes), list(done.results))


def config_map(name: str, namespace: str = "", **data: str) -> str:
    """A ConfigMap as a document."""
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
    head += f"  namespace: {namespace}\n" if namespace else ""
    return head + ("data:\n" if data else "") + "".join(f"  {key}: {value}\n" for key, value in data.items())


def service(name: str, port: int = 80) -> str:
    """A Service as a document."""
    return dedent(f"""\
        apiVersion: v1
        kind: Service
        metadata:
          name: {name}
        spec:
          ports:
          - port: {port}
        """)


def stream(*documents: str) -> str:
    """Documents in one file."""
    return "---\n".join(documents)
