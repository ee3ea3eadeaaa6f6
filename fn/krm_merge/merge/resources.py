"""Which resource of one side is which of the others (rules R1, R3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from krm_merge.merge.comments import MERGE_COMMENT, CommentReader
from krm_merge.merge.folders import Folders
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
    original: Sequence[Member], upstream: Sequence[Member], local: Sequence[Member], folders: Folders
) -> list[Triple]:
    """Original, upstream and local of each resource, in local's order, then upstream's.

    A resource is matched within its package. The file breaks ties (R1).
    """
    sides: list[dict[Identity, list[Member]]] = [{}, {}, {}]
    for side, members in zip(sides, (original, upstream), strict=False):
        for member in members:
            side.setdefault(_identity(member, folders), []).append(member)
    known = sides[0].keys() | sides[1].keys()
    own = {_identity(member, folders) for member in local} & known
    for member in local:
        identity = _identity(member, folders)
        if identity not in own:
            # A resource that has the name itself is it, whatever another one's note says.
            noted = _upstream_identity(member, folders, known)
            identity = identity if noted in own else noted
        sides[2].setdefault(identity, []).append(member)
    triples: list[Triple] = []
    for identity in dict.fromkeys([*sides[2], *sides[1], *sides[0]]):
        triples += _aligned([side.get(identity, []) for side in sides])
    return triples


def _aligned(sides: list[list[Member]]) -> list[Triple]:
    """Aligns the members of one identity: those of one file in its order, then what is left, in order."""
    rows: list[list[Member | None]] = []
    if max(len(side) for side in sides) == 1:
        rows.append([side[0] if side else None for side in sides])
    else:
        by_file: dict[tuple[str, int], list[Member | None]] = {}
        for at, side in enumerate(sides):
            count: Counter[str] = Counter()
            for member in side:
                row = by_file.setdefault((member.place, count[member.place]), [None, None, None])
                row[at] = member
                count[member.place] += 1
        rows = [row for row in by_file.values() if row.count(None) < 2]
        for at in range(3):
            alone = [row[at] for row in by_file.values() if row[at] is not None and row.count(None) == 2]
            waiting = [row for row in rows if row[at] is None]
            for unpaired in alone:
                row = waiting.pop(0) if waiting else [None, None, None]
                if row.count(None) == 3:
                    rows.append(row)
                row[at] = unpaired
    return [(row[0], row[1], row[2]) for row in rows]


def _identity(member: Member, folders: Folders) -> Identity:
    subject = member.subject
    return (folders.of(member.place), subject.group, subject.kind, subject.namespace, subject.name)


def _upstream_identity(member: Member, folders: Folders, known: set[Identity]) -> Identity:
    """R1: a local rename is followed by kpt's comment, else by its annotation."""
    folder, group, kind, namespace, name = own = _identity(member, folders)
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
