"""Merges versions of manifests of which one is a file and another a directory (rules R7, R11, R12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, join
from typing import Final, NamedTuple

from krm_merge.krm import Resource
from krm_merge.merge import (
    MERGE_COMMENT,
    UPSTREAM_IDENTIFIER,
    Folders,
    Member,
    PackageMerger,
    Policy,
    Triple,
    match_resources,
)
from krm_merge.packages import (
    Changes,
    File,
    MergedTree,
    PackageError,
    RefusedError,
    Tree,
    holds_resources,
    is_json,
    is_kptfile,
    lines_of_conflicts,
    list_files,
    merge_trees,
)
from krm_merge.startup import group_by_key, replace
from krm_merge.vendored.documents import (
    FoundResource,
    in_local_namespaces,
    join_problems,
    resources_of_file,
    resources_of_tree,
)
from krm_merge.vendored.layout import Layout, Row
from krm_merge.vendored.vendorfile import FILE, ManifestSource, VendorRecord, digest_of, read_record, record_version


def laid_out_alike(file: File, name: str, directory: Tree, directory_name: str) -> tuple[Tree, Tree]:
    """A file of manifests in the layout of a directory (R7), and the files of that directory that hold resources.

    Messages use the names. Raises PackageError.
    """
    version = ManifestVersion(name, resources_of_file(name, file.data))
    layout = align(version, version, directory, directory_name, is_file=False)
    paths = {resource.member.place for resource in resources_of_tree(directory).resources}
    return layout.original, {path: directory[path] for path in directory if path in paths or is_kptfile(path)}


@dataclass(frozen=True, slots=True)
class ManifestVersion:
    """One version of vendored manifests: its resources, and how messages name it."""

    name: str
    resources: Sequence[FoundResource]


class Aligned(NamedTuple):
    """Original and upstream in the layout of local.

    `is_foreign` says that local has other resources only; `unread` has the problems of local's files that are no YAML,
    if resources of the original are missing that may be in there.
    """

    original: Tree
    upstream: Tree
    is_foreign: bool
    unread: dict[str, str]


def align(original: ManifestVersion, upstream: ManifestVersion, local: Tree, name: str, *, is_file: bool) -> Aligned:
    """Original and upstream as files that correspond to those of local, which messages name by `name`.

    `is_file` says that local is one file, and stays one. Raises PackageError where a version has one resource twice.
    """
    resources, unreadable = resources_of_tree(local)
    ours = ManifestVersion(name, resources)
    _refuse_doubles(original, upstream, ours)
    before, theirs = in_local_namespaces(original.resources, upstream.resources, ours.resources)
    rows = _match(before, theirs, ours.resources)
    layout = Layout(local, rows, theirs, is_file=is_file)
    is_foreign = bool(ours.resources) and not any(row.local and row.is_vendored for row in rows)
    kptfiles = {path: file for path, file in local.items() if is_kptfile(path)}
    trees = [layout.files(side) for side in (before, theirs)]
    unread = unreadable if any(row.original and not row.local for row in rows) else {}
    return Aligned({**kptfiles, **trees[0]}, {**kptfiles, **trees[1]}, is_foreign, unread)


# ---- which is which --------------------------------------------------------------------------------------------------


def _refuse_doubles(original: ManifestVersion, upstream: ManifestVersion, local: ManifestVersion) -> None:
    """Refuses one identity in two places; local may have that in what upstream does not know (R7)."""
    known = {resource.member.identity for version in (original, upstream) for resource in version.resources}
    for version in (original, upstream, local):
        identities = ((resource.member.identity, resource) for resource in version.resources)
        places = group_by_key(pair for pair in identities if pair[0].name and pair[0] in known)
        problems = [
            f"{Resource.from_tree(several[0].member.root).ref} is in "
            + " and ".join(_place(version, resource) for resource in several)
            for several in places.values()
            if len(several) > 1
        ]
        if problems:
            folder = f", or name the folder in {local.name} that holds what comes from upstream" * (version is local)
            raise PackageError(f"{join_problems(problems)}; keep one of each{folder}")


def _place(version: ManifestVersion, resource: FoundResource) -> str:
    return resource.place if resource.member.place == version.name else f"{version.name}/{resource.place}"


def _match(
    original: Sequence[FoundResource], upstream: Sequence[FoundResource], local: Sequence[FoundResource]
) -> list[Row]:
    """The resources of all versions by R1, renames included, as if each version were one file."""
    originals: dict[int, FoundResource] = {}

    def members(side: Sequence[FoundResource]) -> list[Member]:
        copies = [replace(resource.member, place="", file="", index=at) for at, resource in enumerate(side)]
        originals.update(zip(map(id, copies), side, strict=True))
        return copies

    def row(triple: Triple) -> Row:
        resources = [None if member is None else originals[id(member)] for member in triple]
        return Row(resources[0], resources[1], resources[2])

    sides = members(original), members(upstream), members(local)
    triples = match_resources(*sides, Folders((), Policy())).triples
    return [certain for triple in triples for certain in _without_doubtful_renames(row(triple))]


def _without_doubtful_renames(row: Row) -> list[Row]:
    """A resource as one row, or as several where names say that these are several.

    R1 follows renames within a file, and a version that is one file holds much that is alike, such as
    ServiceAccounts. Here one name must be part of the other, unless kpt's notes name it.
    """
    if row.original is None:
        return [row]
    name = row.original.member.identity.name
    other_upstream = row.upstream is not None and not _is_part(name, row.upstream.member.identity.name)
    other_local = row.local is not None and not (_is_part(name, row.local.member.identity.name) or _is_noted(row.local))
    if not other_upstream and not other_local:
        return [row]
    rest = Row(row.original, None if other_upstream else row.upstream, None if other_local else row.local)
    upstream, local = row.upstream if other_upstream else None, row.local if other_local else None
    if upstream and local and upstream.member.identity == local.member.identity:
        return [rest, Row(None, upstream, local)]
    apart = [Row(None, upstream, None), Row(None, None, local)]
    return [rest, *(other for other in apart if other.upstream or other.local)]


def _is_part(name: str, other: str) -> bool:
    """Whether one name is made of the words of another and more."""
    short, long = sorted((f"-{name}-", f"-{other}-"), key=len)
    return short in long


def _is_noted(local: FoundResource) -> bool:
    return MERGE_COMMENT in local.member.text or UPSTREAM_IDENTIFIER in local.member.text


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
            merged.results.warning(hint, rule="R7", tags={"side": "both"})
        return merged

    @property
    def is_known(self) -> bool:
        """Whether this content of upstream is the one that was merged last."""
        return self.record is not None and self.content is not None and digest_of(self.content) == self.record.digest

    def record_changes(self, source: ManifestSource, directory: str) -> Changes:
        """The changes that record upstream as merged (R12); `directory` is the name of local's.

        Raises PackageError where local or upstream is of another form.
        """
        if self.is_file:
            raise PackageError(f"{self.name} is one file; a {FILE} is for manifests in a directory")
        if self.content is None:
            raise PackageError(f"{join(self.name, FILE)} {FOR_ONE_FILE}")
        return record_version(self.record, self.local, self.content, source, directory)


def align_manifests(original: Given | None, upstream: Given, local: Given) -> VendoredManifests:
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
    layout = align(*versions, files, local.name, is_file=is_file)
    _refuse_open_conflicts(local.name, {path: files[path] for path in layout.unread})
    hints = []
    if layout.is_foreign:
        hints.append(f"{local.name} has none of the resources of {upstream.name}; check that it is the right directory")
    if record is not None and isinstance(original.content, File) and digest_of(original.content.data) != record.digest:
        of_version = f" of {record.source.version}" if record.source.version else ""
        hints.append(f"{original.name} is not the original{of_version} that {record.file} records")
    if layout.unread:
        hints.append(f"{_join_unreadable(local.name, layout.unread)}; broken documents there stay as they are")
    content = upstream.content.data if isinstance(upstream.content, File) else None
    return VendoredManifests(
        layout.original, layout.upstream, files, local.name, is_file, content, record, tuple(hints)
    )


def _recorded_original(record: VendorRecord | None, local: Tree, name: str) -> Given:
    if record is not None:
        return Given(join(name, record.original), record.original_in(local))
    if resources_of_tree(local).resources:
        problem = f"{name} has no {FILE} with the version of upstream that it comes from"
        raise PackageError(f"{problem}; also give that version: ORIGINAL UPSTREAM LOCAL")
    return Given("nothing", File(b""), may_be_empty=True)


def _refuse_open_conflicts(name: str, unread: Tree) -> None:
    """Refuses to go on where an earlier merge left markers: what changed now would be lost for these resources."""
    if lines := lines_of_conflicts(unread):
        places = ", ".join(f"{join(name, path)}:{line}" for path, line in lines.items())
        raise RefusedError(f"{places}: an earlier merge left conflict markers; settle that conflict first")


def _version(side: Given) -> ManifestVersion:
    if isinstance(side.content, File):
        return ManifestVersion(side.name, resources_of_file(side.name, side.content.data))
    resources = resources_of_tree(side.content)
    if resources.unreadable:
        raise PackageError(_join_unreadable(side.name, resources.unreadable))
    return ManifestVersion(side.name, resources.resources)


def _join_unreadable(name: str, unreadable: Mapping[str, str]) -> str:
    return join_problems([f"{join(name, path)}: {problem}" for path, problem in unreadable.items()])


def _path_of_file(name: str) -> str:
    """The path of a local file as that of a package; kpt reads resources from YAML and JSON files only."""
    path = basename(name)
    return path if holds_resources(path) or is_json(path) else f"{path}.yaml"
