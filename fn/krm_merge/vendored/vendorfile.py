"""The record of where vendored manifests come from: a Vendorfile, and beside it the original (rule R12).

Neither has a suffix that kubectl, kustomize and GitOps controllers read: they never apply it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from posixpath import join
from typing import Final

from krm_merge.krm import Resource
from krm_merge.packages import Changes, File, PackageError, Tree, leads_out
from krm_merge.safe_text import without_credentials
from krm_merge.text import MappingNode, Object, TextError, from_value, read, to_value, written

FILE: Final = "Vendorfile"
"""Its path in the directory."""

_ORIGINAL: Final = f"{FILE}.original"

_NOT_OF_A_NAME: Final = re.compile(r"[^a-z0-9.-]+")
_HEAD: Final = "# Where these manifests come from. `krm-merge merge UPSTREAM DIRECTORY --in-place` updates both.\n"


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The source of a version of upstream, and its name; empty texts are unknown."""

    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class VendorRecord:
    """A Vendorfile that was read; `file` is how messages name it."""

    file: str
    root: MappingNode
    source: ManifestSource
    digest: str
    original: str

    def original_in(self, local: Tree) -> File:
        """Upstream's manifests as they were merged last. Raises PackageError where they are not as recorded."""
        remedy = "restore it from git, or give ORIGINAL"
        if self.original not in local:
            raise PackageError(f"{self.file}: original {self.original} does not exist; {remedy}")
        file = local[self.original]
        if digest_of(file.data) != self.digest:
            raise PackageError(
                f"{self.file}: original {self.original} is not as recorded: its digest differs; {remedy}"
            )
        return file


def digest_of(data: bytes) -> str:
    """The digest of manifests, as a Vendorfile has it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read_record(local: Tree, name: str) -> VendorRecord | None:
    """The Vendorfile of a directory, which messages name by `name`; None where it has none. Raises PackageError."""
    if FILE not in local:
        return None
    file = join(name, FILE)
    try:
        root = read(local[FILE].data.decode("utf-8"))
    except UnicodeDecodeError:
        raise PackageError(f"{file}: not UTF-8; save the file as UTF-8") from None
    except TextError as error:
        raise PackageError(f"{file}: {error}") from None
    # Few directories have one: the others do not pay for these imports.
    from krm_merge.krm import check
    from krm_merge.packages import Vendorfile

    value = to_value(root)
    if not isinstance(root, MappingNode) or not isinstance(value, dict):
        raise PackageError(f"{file}: a Vendorfile is expected; remove the file, or restore it from git")
    model, problems = check(Vendorfile, value)
    if model is None:
        raise PackageError("; ".join(f"{file}: {path}{problem}" for path, problem in problems))
    if leads_out(model.original):
        raise PackageError(f"{file}: original: {model.original} is not a file in this directory; name one in it")
    source = ManifestSource(model.source or "", model.version or "")
    return VendorRecord(file, root, source, model.digest, model.original)


def record_version(
    record: VendorRecord | None, local: Tree, upstream: bytes, source: ManifestSource, directory: str
) -> Changes:
    """The changes that record a version of upstream as merged. A new Vendorfile is named after the `directory`.

    What `source` does not say remains as recorded; a version remains as long as the content does.
    """
    digest = digest_of(upstream)
    if record is None:
        original = _ORIGINAL
        text = _new(directory, source, digest, original)
    else:
        original = record.original
        text = _update(record, source, digest)
    files = {FILE: text.encode(), original: upstream}
    return {path: File(data) for path, data in files.items() if path not in local or local[path].data != data}


def _update(record: VendorRecord, source: ManifestSource, digest: str) -> str:
    resource = Resource.from_tree(record.root)
    if source.name:
        resource.set("source", without_credentials(source.name))
    if source.version:
        resource.set("version", source.version)
    elif record.source.version and digest != record.digest:
        resource.remove("version")
    resource.set("digest", digest)
    return resource.text()


def _new(directory: str, source: ManifestSource, digest: str, original: str) -> str:
    name = _NOT_OF_A_NAME.sub("-", directory.lower()).strip("-.") or "manifests"
    value: Object = {
        "apiVersion": "fn.kpt.dev/v1alpha1",
        "kind": FILE,
        "metadata": {"name": name, "annotations": {"config.kubernetes.io/local-config": "true"}},
    }
    fields = {"source": without_credentials(source.name), "version": source.version}
    value |= {field: text for field, text in fields.items() if text} | {"digest": digest, "original": original}
    root = from_value(value)
    return _HEAD + written(root)
