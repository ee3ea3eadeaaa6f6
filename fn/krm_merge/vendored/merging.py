"""Merges versions of manifests of which one is a file and another a directory (rules R7-R12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import basename, join
from typing import Final

from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.directory import PackageError, RefusedError
from krm_merge.packages.files.tree import Changes, File, Tree, holds_resources, is_json
from krm_merge.packages.merge.conflict_markers import lines_of_conflicts
from krm_merge.packages.merge.trees import MergedTree, merge_trees
from krm_merge.packages.references.listing import list_files
from krm_merge.vendored.alignment import ManifestVersion, aligned
from krm_merge.vendored.documents import listed, resources_of_file, resources_of_tree
from krm_merge.vendored.vendorfile import FILE, ManifestSource, VendorRecord, digest_of, read_record, recorded

FOR_ONE_FILE: Final = "records one file, and UPSTREAM is a directory; delete the record to merge directories"
"""The problem of a Vendorfile, and its remedy."""


@dataclass(frozen=True, slots=True)
class Given:
    """A version as it was given: the files of a directory, or the content of one file. Messages use its `name`.

    `may_be_empty` says that it is no mistake if it holds no resources.
    """

    name: str
    content: Tree | File
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class VendoredManifests:
    """Three versions in the layout of local, with the record that local has of where it comes from.

    `is_file` says that local, which messages name by `name`, is one file.
    `content` is upstream as it came, None for a directory; `hints` say what is odd about the versions.
    """

    original: Tree
    upstream: Tree
    local: Tree
    name: str
    is_file: bool
    content: bytes | None
    record: VendorRecord | None
    hints: tuple[str, ...] = ()

    def merge(self, merger: PackageMerger) -> MergedTree:
        """Merges them, and keeps the lists of local's Kustomizations true (R11)."""
        merged = merge_trees(self.original, self.upstream, self.local, merger, mend=list_files)
        for hint in self.hints:
            merged.results.warning(hint, tags={"rule": "R7", "side": "both"})
        return merged

    @property
    def is_known(self) -> bool:
        """Whether this content of upstream is the one that was merged last."""
        return self.record is not None and self.content is not None and digest_of(self.content) == self.record.digest

    def recorded(self, source: ManifestSource, directory: str) -> Changes:
        """The changes that record upstream as merged (R12); `directory` is the name of local's.

        Raises PackageError where local or upstream is of another form.
        """
        if self.is_file:
            raise PackageError(f"{self.name} is one file; a {FILE} is for manifests in a directory")
        if self.content is None:
            raise PackageError(f"{join(self.name, FILE)} {FOR_ONE_FILE}")
        return recorded(self.record, self.local, self.content, source, directory)


def vendored(original: Given | None, upstream: Given, local: Given) -> VendoredManifests:
    """Brings original and upstream into the layout of local. Without `original`, local's Vendorfile names it (R12).

    Raises PackageError.
    """
    is_file = isinstance(local.content, File)
    files = {_path_of_file(local.name): local.content} if isinstance(local.content, File) else local.content
    record = None if is_file else read_record(files, local.name)
    if original is None:
        original = _recorded_original(record, files, local.name)
    versions = _version(original), _version(upstream)
    if not versions[1].resources:
        raise PackageError(
            f"{upstream.name} holds no resources; all that {local.name} has of upstream would be deleted"
        )
    if not versions[0].resources and not original.may_be_empty:
        remedy = "give /dev/null as ORIGINAL if there was no version before"
        raise PackageError(f"{original.name} holds no resources; {remedy}")
    layout = aligned(*versions, files, local.name, is_file=is_file)
    _refuse_open_conflicts(local.name, {path: files[path] for path in layout.unread})
    hints = []
    if layout.is_foreign:
        hints.append(
            f"{local.name} has none of the resources of {upstream.name}; look whether it is the right directory"
        )
    if record is not None and isinstance(original.content, File) and digest_of(original.content.data) != record.digest:
        of_version = f" of {record.source.version}" if record.source.version else ""
        hints.append(f"{original.name} is not the original{of_version} that {record.file} records")
    if layout.unread:
        hints.append(f"{_listed(local.name, layout.unread)}; what is broken in there stays as it is")
    content = upstream.content.data if isinstance(upstream.content, File) else None
    return VendoredManifests(
        layout.original, layout.upstream, files, local.name, is_file, content, record, tuple(hints)
    )


def _recorded_original(record: VendorRecord | None, local: Tree, name: str) -> Given:
    if record is not None:
        return Given(join(name, record.original), record.original_in(local))
    if resources_of_tree(local).resources:
        problem = f"{name} has no {FILE} that says which version of upstream it comes from"
        raise PackageError(f"{problem}; give that version, too: ORIGINAL UPSTREAM LOCAL")
    return Given("nothing", File(b""), may_be_empty=True)


def _refuse_open_conflicts(name: str, unread: Tree) -> None:
    """Refuses to go on where an earlier merge left markers: what changed now would be lost for these resources."""
    if found := lines_of_conflicts(unread):
        places = ", ".join(f"{join(name, path)}:{line}" for path, line in found.items())
        raise RefusedError(f"{places}: an earlier merge left conflict markers; settle that conflict first")


def _version(given: Given) -> ManifestVersion:
    if isinstance(given.content, File):
        return ManifestVersion(given.name, resources_of_file(given.name, given.content.data))
    found = resources_of_tree(given.content)
    if found.unreadable:
        raise PackageError(_listed(given.name, found.unreadable))
    return ManifestVersion(given.name, found.resources)


def _listed(name: str, unreadable: Mapping[str, str]) -> str:
    return listed([f"{join(name, path)}: {problem}" for path, problem in unreadable.items()])


def _path_of_file(name: str) -> str:
    """The path of a local file as that of a package; kpt reads resources from YAML and JSON files only."""
    path = basename(name)
    return path if holds_resources(path) or is_json(path) else f"{path}.yaml"
