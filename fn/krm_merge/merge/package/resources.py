"""Which resource of one side is which of the others (rules R1, R3)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from krm_merge.merge.decisions.member import UPSTREAM_IDENTIFIER, Member
from krm_merge.merge.lines.comments import MERGE_COMMENT, CommentReader
from krm_merge.merge.package.folders import Folders
from krm_merge.merge.package.renames import Triple, follow_renames, moved_files
from krm_merge.merge.values.likeness import likeness
from krm_merge.startup import frozen
from krm_merge.text.likeness import best_pairs
from krm_merge.text.reading import nodes
from krm_merge.text.reading.nodes import Scalar, resolved
from krm_merge.text.reading.values import key_text

_CLUSTER_SCOPED = "~C"
_DEFAULT_NAMESPACE = "default"

PlacedIdentity: TypeAlias = tuple[str, str, str, str, str]
"""Package folder (of what has no name its file), group, kind, namespace and name."""


@frozen
class Paths:
    """The files of each side."""

    original: Container[str]
    upstream: Container[str]
    local: Container[str]


class Matched(NamedTuple):
    """Original, upstream and local of each resource; by id() of an original, what it may have been renamed to."""

    triples: list[Triple]
    likely_renames: dict[int, Member]


def match_resources(
    original: Sequence[Member],
    upstream: Sequence[Member],
    local: Sequence[Member],
    folders: Folders,
    paths: Paths | None = None,
) -> Matched:
    """Original, upstream and local of each resource, in local's order, then upstream's (R1).

    A resource is matched within its package. Where a side has an identity in more than one place, it is matched within
    one file; files that a side moved as a whole are followed, and so are renames. `paths` are the files of each side,
    by default those of the members.
    """
    paths = paths or Paths(*({member.place for member in side} for side in (original, upstream, local)))
    moved_upstream = moved_files(original, upstream, paths.original, paths.upstream, paths.local)
    moved_locally = moved_files(original, local, paths.original, paths.local, paths.upstream)
    # After a merge, a file of local's own may look like one that upstream deleted: local's is kept (law D).
    moved_locally = {
        new: old for new, old in moved_locally.items() if old in paths.upstream or old in moved_upstream.values()
    }
    places: Sequence[Mapping[str, str]] = ({}, moved_upstream, moved_locally)
    members = (*original, *upstream, *local)
    unplaced = {(m.identity.group, m.identity.kind) for m in members if not m.is_placed and _is_nameless(m)}
    sides: list[dict[PlacedIdentity, list[Member]]] = [{}, {}, {}]

    def identity_of(member: Member, side: int) -> PlacedIdentity:
        if not _is_nameless(member):
            return _identity(member, folders)
        # Only its file distinguishes it from others of its kind.
        group, kind = member.identity.group, member.identity.kind
        return ("" if (group, kind) in unplaced else places[side].get(member.place, member.place), group, kind, "", "")

    for at, side_members in enumerate((original, upstream)):
        for member in side_members:
            sides[at].setdefault(identity_of(member, at), []).append(member)
    identities = sides[0].keys() | sides[1].keys()
    local_identities = {identity_of(member, 2) for member in local} & identities
    for member in local:
        identity = identity_of(member, 2)
        if identity not in local_identities and not _is_nameless(member):
            # A resource that has the name itself is it, whatever another one's note says.
            noted = _upstream_identity(member, folders, identities)
            identity = identity if noted in local_identities else noted
        sides[2].setdefault(identity, []).append(member)
    triples: list[Triple] = []
    for identity in dict.fromkeys([*sides[2], *sides[1], *sides[0]]):
        triples += _align([side.get(identity, []) for side in sides], places)
    return Matched(*follow_renames(triples, places))


def _align(sides: list[list[Member]], places: Sequence[Mapping[str, str]]) -> list[Triple]:
    """Aligns the members of one identity: where a side has several, those of one file."""
    if max(len(side) for side in sides) == 1:
        row = [side[0] if side else None for side in sides]
        return [(row[0], row[1], row[2])]
    by_file: dict[str, list[list[Member]]] = {}
    for at, side in enumerate(sides):
        for member in side:
            by_file.setdefault(places[at].get(member.place, member.place), [[], [], []])[at].append(member)
    return [triple for members in by_file.values() for triple in _aligned_in_file(*members)]


def _aligned_in_file(original: list[Member], upstream: list[Member], local: list[Member]) -> Iterator[Triple]:
    """The original's members with those of each side, then what both sides added, then what one side added."""
    theirs, ours = _pairs(original, upstream), _pairs(original, local)
    for at, member in enumerate(original):
        yield member, theirs.pop(at, None), ours.pop(at, None)
    added, local_rest = list(theirs.values()), list(ours.values())
    both = _pairs(added, local_rest)
    for at, member in enumerate(added):
        yield None, member, both.pop(at, None)
    for member in both.values():
        yield None, None, member


def _pairs(first: Sequence[Member], second: Sequence[Member]) -> dict[int, Member]:
    """Members of one identity and file by the number of the one they are: equal ones, then alike, then in order.

    Those that are none of the first have a number behind theirs.
    """
    pairs: dict[int, Member] = {}
    free = list(enumerate(first))
    rest: list[Member] = []
    for member in second:
        equal = next((pair for pair in free if pair[1].root.canonical == member.root.canonical), None)
        if equal is None:
            rest.append(member)
        else:
            free.remove(equal)
            pairs[equal[0]] = member
    if len(free) * len(rest) > 1:
        alike = best_pairs([[likeness(candidate.root, other.root) for other in rest] for _, candidate in free])
        pairs |= {free[row][0]: rest[column] for row, column in alike}
        free = [pair for row, pair in enumerate(free) if row not in dict(alike)]
        rest = [candidate for column, candidate in enumerate(rest) if column not in {other for _, other in alike}]
    numbers = [*(at for at, _ in free), *range(len(first), len(first) + len(rest))]
    return pairs | dict(zip(numbers, rest, strict=False))


def _is_nameless(member: Member) -> bool:
    return not member.identity.name and not member.generate_name


def _identity(member: Member, folders: Folders) -> PlacedIdentity:
    identity = member.identity
    name = identity.name or f"{member.generate_name}*"
    return (folders.of(member.place), identity.group, identity.kind, identity.namespace, name)


def _upstream_identity(member: Member, folders: Folders, identities: set[PlacedIdentity]) -> PlacedIdentity:
    """R1: a local rename is followed by kpt's comment, else by its annotation."""
    folder, group, kind, namespace, name = plain = _identity(member, folders)
    noted = _noted_in_comment(member.root)
    if noted is None:
        identifier = _noted_in_annotation(member.root)
        if identifier is None:
            return plain
        group, kind, *noted = identifier
    namespace, name = noted
    for candidate in (namespace, "" if namespace == _DEFAULT_NAMESPACE else namespace):
        identity = (folder, group, kind, candidate, name)
        if identity in identities:
            return identity
    return plain if plain in identities else (folder, group, kind, namespace, name)


def _noted_in_comment(root: nodes.MappingNode) -> list[str] | None:
    """Namespace and name of `# kpt-merge: namespace/name`."""
    entry = root.entry("metadata")
    line = CommentReader().of(root, entry).line if entry is not None else None
    if line is None or not line.startswith(MERGE_COMMENT):
        return None
    namespace, slash, name = line.removeprefix(MERGE_COMMENT).strip().partition("/")
    return [namespace, name] if slash and name else None


def _noted_in_annotation(root: nodes.MappingNode) -> list[str] | None:
    """Group, kind, namespace and name of kpt's annotation."""
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, nodes.MappingNode) else None
    node = annotations.get(UPSTREAM_IDENTIFIER) if isinstance(annotations, nodes.MappingNode) else None
    parts = key_text(resolved(node)).split("|") if isinstance(node, Scalar) else []
    if len(parts) != 4:
        return None
    return [part if part != _CLUSTER_SCOPED else "" for part in parts]
