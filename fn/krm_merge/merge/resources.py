"""Which resource of one side is which of the others (rules R1, R3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import dirname
from typing import TypeAlias

from krm_merge.merge.comments import MERGE_COMMENT, CommentReader
from krm_merge.merge.member import Member
from krm_merge.text.nodes import Mapping, Scalar, resolved, text_canonical
from krm_merge.text.values import key_text

UPSTREAM_IDENTIFIER = "internal.kpt.dev/upstream-identifier"
_CLUSTER_SCOPED = "~C"
_DEFAULT_NAMESPACE = "default"

Identity: TypeAlias = tuple[str, str, str, str, str]
"""Package folder, group, kind, namespace and name."""
Triple: TypeAlias = tuple[Member | None, Member | None, Member | None]


def match_resources(
    original: Sequence[Member], upstream: Sequence[Member], local: Sequence[Member], folders: Iterable[str]
) -> list[Triple]:
    """Original, upstream and local of each resource, in local's order, then upstream's.

    `folders` are those of the packages; a resource is matched within its own. The file only breaks ties (R1).
    """
    packages = sorted(folders, key=len, reverse=True)
    sides: list[dict[Identity, list[Member]]] = [{}, {}, {}]
    for side, members in zip(sides, (original, upstream), strict=False):
        for member in members:
            side.setdefault(_identity(member, packages), []).append(member)
    known = sides[0].keys() | sides[1].keys()
    for member in local:
        sides[2].setdefault(_upstream_identity(member, packages, known), []).append(member)
    triples: list[Triple] = []
    for identity in dict.fromkeys([*sides[2], *sides[1], *sides[0]]):
        triples += _paired(*(side.get(identity, []) for side in sides))
    return triples


def _paired(original: list[Member], upstream: list[Member], local: list[Member]) -> list[Triple]:
    """Pairs the members of one identity: those of one file first, the rest in order."""
    triples: list[Triple] = []
    left = [list(original), list(upstream), list(local)]
    while any(left):
        first = next(side[0] for side in reversed(left) if side)
        taken: list[Member | None] = []
        for side in left:
            same_file = next((member for member in side if member.place == first.place), None)
            # A member whose own file stands on the other side as well belongs there.
            free = next(
                (m for m in side if not any(o.place == m.place for other in left for o in other if o is not m)), None
            )
            member = same_file or (side[0] if len(side) == 1 else free) if side else None
            if member is not None:
                side.remove(member)
            taken.append(member)
        triples.append((taken[0], taken[1], taken[2]))
    return triples


def _identity(member: Member, packages: Sequence[str]) -> Identity:
    subject = member.subject
    return (folder_of(member.place, packages), subject.group, subject.kind, subject.namespace, subject.name)


def _upstream_identity(member: Member, packages: Sequence[str], known: set[Identity]) -> Identity:
    """R1: a local rename is followed by kpt's comment, else by its annotation."""
    folder, group, kind, namespace, name = own = _identity(member, packages)
    noted = _noted_in_comment(member.root)
    if noted is None:
        identifier = _noted_in_annotation(member.root)
        if identifier is None:
            return own
        group, kind, *noted = identifier
    namespace, name = noted
    for candidate in (namespace, "" if namespace == _DEFAULT_NAMESPACE else namespace):
        identity = (folder, group, kind, candidate, name)
        if identity in known:
            return identity
    return own if own in known else (folder, group, kind, namespace, name)


def _noted_in_comment(root: Mapping) -> list[str] | None:
    """Namespace and name of `# kpt-merge: namespace/name`."""
    entry = root.fields.get(text_canonical("metadata"))
    line = CommentReader().of(root, entry).line if entry is not None else None
    if line is None or not line.startswith(MERGE_COMMENT):
        return None
    namespace, slash, name = line.removeprefix(MERGE_COMMENT).strip().partition("/")
    return [namespace, name] if slash and name else None


def _noted_in_annotation(root: Mapping) -> list[str] | None:
    """Group, kind, namespace and name of kpt's annotation."""
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    node = annotations.get(UPSTREAM_IDENTIFIER) if isinstance(annotations, Mapping) else None
    parts = key_text(resolved(node)).split("|") if isinstance(node, Scalar) else []
    if len(parts) != 4:
        return None
    return [part if part != _CLUSTER_SCOPED else "" for part in parts]


def folder_of(place: str, packages: Sequence[str]) -> str:
    """The package that a file belongs to; `packages` are folders, the longest first, the root is ''."""
    folder = dirname(place)
    for package in packages:
        if package and (folder == package or folder.startswith(f"{package}/")):
            return package
    return ""
