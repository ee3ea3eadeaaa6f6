"""Gives original and upstream the layout of local's files: each resource has the place that local gave it (rule R7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.member import UPSTREAM_IDENTIFIER, Member
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.comments import MERGE_COMMENT
from krm_merge.merge.package.folders import Folders
from krm_merge.merge.package.renames import Triple
from krm_merge.merge.package.resources import match_resources
from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.tree import Tree, is_kptfile
from krm_merge.startup import replace
from krm_merge.vendored.documents import FoundResource, listed, resources_of_tree
from krm_merge.vendored.layout import Layout, Row
from krm_merge.vendored.namespaces import in_local_namespaces


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


def aligned(original: ManifestVersion, upstream: ManifestVersion, local: Tree, name: str, *, is_file: bool) -> Aligned:
    """Original and upstream as files that correspond to those of local, which messages name by `name`.

    `is_file` says that local is one file, and stays one. Raises PackageError where a version has one resource twice.
    """
    found, unreadable = resources_of_tree(local)
    ours = ManifestVersion(name, found)
    _refuse_doubles(original, upstream, ours)
    before, theirs = in_local_namespaces(original.resources, upstream.resources, ours.resources)
    rows = _matched(before, theirs, ours.resources)
    layout = Layout(local, rows, theirs, is_file=is_file)
    is_foreign = bool(ours.resources) and not any(row.local and row.is_vendored for row in rows)
    kptfiles = {path: file for path, file in local.items() if is_kptfile(path)}
    trees = [layout.files(side) for side in (before, theirs)]
    unread = unreadable if any(row.original and not row.local for row in rows) else {}
    return Aligned({**kptfiles, **trees[0]}, {**kptfiles, **trees[1]}, is_foreign, unread)


# ---- which is which --------------------------------------------------------------------------------------------------


def _refuse_doubles(original: ManifestVersion, upstream: ManifestVersion, local: ManifestVersion) -> None:
    """Refuses one identity in two places; local may have that in what upstream does not know (R7)."""
    known = {found.member.identity for version in (original, upstream) for found in version.resources}
    for version in (original, upstream, local):
        places: dict[Identity, list[FoundResource]] = {}
        for found in version.resources:
            if found.member.identity.name and found.member.identity in known:
                places.setdefault(found.member.identity, []).append(found)
        problems = [
            f"{several[0].ref} is in {' and '.join(_place(version, found) for found in several)}"
            for several in places.values()
            if len(several) > 1
        ]
        if problems:
            folder = f", or name the folder in {local.name} that holds what comes from upstream" * (version is local)
            raise PackageError(f"{listed(problems)}; keep one of each{folder}")


def _place(version: ManifestVersion, found: FoundResource) -> str:
    return found.place if found.member.place == version.name else f"{version.name}/{found.place}"


def _matched(
    original: Sequence[FoundResource], upstream: Sequence[FoundResource], local: Sequence[FoundResource]
) -> list[Row]:
    """The resources of all versions by R1, renames included, as if each version were one file."""
    known: dict[int, FoundResource] = {}

    def members(side: Sequence[FoundResource]) -> list[Member]:
        found = [replace(found.member, place="", file="", index=at) for at, found in enumerate(side)]
        known.update(zip(map(id, found), side, strict=True))
        return found

    def row(triple: Triple) -> Row:
        found = [None if member is None else known[id(member)] for member in triple]
        return Row(found[0], found[1], found[2])

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
    return MERGE_COMMENT in local.text or UPSTREAM_IDENTIFIER in local.text
