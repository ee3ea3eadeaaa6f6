"""Packages of which kpt's outcome is given, so that a comparison needs no kpt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from krm_merge.cli.commands.compare import comparison_of
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import File, Tree
from krm_merge.packages.git import Version
from krm_merge.report.comparison.difference import Comparison
from krm_merge.startup import replace
from krm_merge.usecases import PackageUpdate

Files = Mapping[str, str | bytes | File | None]
"""Files by path; None where there is none any more."""

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"


def kptfile_at(ref: str, more: str = "", strategy: str = "resource-merge") -> str:
    """The Kptfile of a package that follows a version."""
    source = "repo: https://git.example.com/web\n    directory: /\n"
    return (
        f"{KPTFILE}upstream:\n  type: git\n  git:\n    {source}    ref: {ref}\n  updateStrategy: {strategy}\n"
        f"upstreamLock:\n  type: git\n  git:\n    {source}    ref: {ref}\n    commit: {ref}\n{more}"
    )


def tree(files: Files) -> dict[str, File]:
    """Files as a tree."""
    entries = {}
    for path, content in files.items():
        if isinstance(content, File):
            entries[path] = content
        elif content is not None:
            entries[path] = File(content.encode() if isinstance(content, str) else content)
    return entries


@dataclass(frozen=True)
class Upstream:
    """A repository in memory: the refs and commits are v1 and v2."""

    versions: Mapping[str, Tree]

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        return Version(ref, ref)

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        pass

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        return self.versions[commit]


@dataclass(frozen=True)
class Package:
    """What upstream published, what local and kpt make of it; each says what differs from the version before it.

    `ours` is what krm-merge makes, where that is not what it makes today.
    """

    original: Files
    upstream: Files = field(default_factory=dict)
    local: Files = field(default_factory=dict)
    kpt: Files = field(default_factory=dict)
    ours: Files = field(default_factory=dict)
    on_conflict: str = "upstream"

    def compare(self) -> Comparison:
        """The comparison; kpt's outcome is ours with the changes of `kpt`."""
        original = tree({"Kptfile": KPTFILE, **self.original})
        upstream = original | tree(self.upstream)
        for path in (path for path, content in self.upstream.items() if content is None):
            del upstream[path]
        local = _change(original | tree({"Kptfile": kptfile_at("v1")}), self.local)
        policy = Policy(self.on_conflict)  # type: ignore[arg-type]
        sides = PackageUpdate(local, Upstream({"v1": original, "v2": upstream}), ref="v2")
        outcome = sides.merge(PackageMerger(policy, smart=True))
        changes = {**outcome.changes, **tree(self.ours)}
        merged = _change(local, changes)
        fetched = [side | tree({"Kptfile": kptfile_at(ref)}) for side, ref in ((original, "v1"), (upstream, "v2"))]
        return comparison_of(fetched[0], fetched[1], _change(merged, self.kpt), replace(outcome, changes=changes))


def _change(files: Tree, changes: Files) -> dict[str, File]:
    return {path: file for path, file in {**files, **tree(changes)}.items() if changes.get(path, "") is not None}
