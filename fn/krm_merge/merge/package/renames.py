"""Files that one side moved as a whole, and resources that one side renamed (rule R1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from krm_merge.merge.decisions.decision import Member
from krm_merge.merge.lines.three_way import merge_lines_without_conflict
from krm_merge.merge.values.likeness import image_repository, leaves_of, likeness
from krm_merge.text import THRESHOLD, Entry, MappingNode, Node, document_text, resolved

Triple: TypeAlias = tuple[Member | None, Member | None, Member | None]
"""A resource in original, upstream and local."""

_Row: TypeAlias = list[Member | None]
_Label: TypeAlias = tuple[str, str, str]
_Thing = TypeVar("_Thing")

MOST_CANDIDATES = 100
"""Of more new resources in one file only those of the same name are looked at."""

_IN_TURN = 0.001
"""By how much two that are in the same turn are nearer than others that are as much alike."""

_IDENTITY = {"apiVersion", "kind"}
_NAME = {"name", "namespace", "generateName"}


def moved_files(
    original: Sequence[Member],
    side: Sequence[Member],
    before: Container[str],
    after: Container[str],
    elsewhere: Container[str],
) -> dict[str, str]:
    """The original's path of each file that a side moved as a whole.

    That is a file that only the side has, with the resources of one that only the original has, as many of each kind
    and name, and alike; each the other's best. `before` and `after` are the files of both, `elsewhere` those of the
    third side: where that has both files, they are two.
    """
    gone = _by_file(member for member in original if member.place not in after)
    new = _by_file(member for member in side if member.place not in before)
    if not gone or not new:
        return {}

    def alike(old: list[Member], path: list[Member]) -> float:
        return sum(likeness(a.root, b.root) for a, b in zip(old, path, strict=True)) / len(old)

    # Comparing each file with each is quadratic; only those with the same kinds and names can be one.
    by_labels: dict[tuple[_Label, ...], list[str]] = {}
    for path, members in new.items():
        by_labels.setdefault(tuple(map(_label, members)), []).append(path)
    scores = (
        (old, path, alike(members, new[path]))
        for old, members in gone.items()
        for path in by_labels.get(tuple(map(_label, members)), ())
        if old not in elsewhere or path not in elsewhere
    )
    return {path: old for old, path in _best_pairs(scores)}


def follow_renames(
    triples: list[Triple], places: Callable[[], Sequence[Mapping[str, str]]]
) -> tuple[list[Triple], dict[int, Member]]:
    """Joins what is one resource under two names: one that a side no longer has, and one that only this side has.

    Both are in the same file (or the one that took its place), are of one kind or have one name, and are alike;
    each is the other's only candidate. `places` gives the original's paths of moved files for each side. Returns the
    resources, and by id() of the original what it may have become where that is less sure.
    """
    rows: list[_Row | None] = [list(triple) for triple in triples]
    likely: dict[int, Member] = {}
    for side in (1, 2):
        lost = [at for at, row in enumerate(rows) if row and row[0] is not None and row[side] is None]
        new_rows = [at for at, row in enumerate(rows) if row and row[0] is None and row[side] is not None]
        # `places` looks for moved files: it is asked only where something may be a rename.
        scores = list(_scores(rows, lost, new_rows, side, places()[side])) if lost and new_rows else []
        sure = _best_pairs((old, new, score) for old, new, score, is_near in scores if is_near)
        joined = {at for pair in sure for at in pair}
        for old, new, score, _ in scores:
            are_open = old not in joined and new not in joined and not _renamed_alike(rows[old], rows[new])
            if score >= THRESHOLD and are_open:
                likely.setdefault(id(_member(rows, old, 0)), _member(rows, new, side))
        for old, new in sure:
            row, other = rows[old], rows[new]
            assert row is not None
            assert other is not None
            rows[old], rows[new] = [a if a is not None else b for a, b in zip(row, other, strict=True)], None
    return _with_joined_additions([(row[0], row[1], row[2]) for row in rows if row is not None]), likely


def _with_joined_additions(triples: list[Triple]) -> list[Triple]:
    """Joins what both sides added to one file as one resource under two names.

    These are the names of a resource that one side renamed: a patch that one side added has the new one once its
    reference has followed (law I), so a second merge finds it (law D). Or one kind has two API groups, and they are
    alike: an API that moved to another group.
    """
    added_upstream = {at: row[1] for at, row in enumerate(triples) if row[0] is row[2] is None and row[1] is not None}
    added = {at: row[2] for at, row in enumerate(triples) if row[0] is row[1] is None and row[2] is not None}
    if not added_upstream or not added:
        return triples
    renamed = {
        (_label(original), _label(member))
        for original, *sides in triples
        for member in sides
        if original is not None and member is not None and _label(member) != _label(original)
    }
    by_label = {(local.place, _label(local)): at for at, local in added.items()}
    by_kind = {_kind_and_name(local): at for at, local in added.items()}
    joined = list(triples)
    for at, upstream in added_upstream.items():
        names = (name for pair in renamed if (label := _label(upstream)) in pair for name in pair if name != label)
        partners = [by_label.get((upstream.place, name)) for name in names]
        of_kind = by_kind.get(_kind_and_name(upstream))
        if of_kind in added and _are_alike(upstream, added[of_kind]):
            partners.append(of_kind)
        partner = next((number for number in partners if number in added), None)
        if partner is not None:
            joined[at] = (None, upstream, added.pop(partner))
            joined[partner] = (None, None, None)
    return [triple for triple in joined if any(triple)]


def _kind_and_name(member: Member) -> tuple[str, str, str, str]:
    identity = member.identity
    return member.place, identity.kind, identity.namespace, identity.name or member.generate_name


def _are_alike(first: Member, second: Member) -> bool:
    contents = _content(first), _content(second)
    return likeness(*contents) >= THRESHOLD and not _are_other_things(contents[:1], contents[1:])


def _scores(
    rows: Sequence[_Row | None], lost: Sequence[int], new_rows: Sequence[int], side: int, places: Mapping[str, str]
) -> Iterator[tuple[int, int, float, bool]]:
    """How alike the rows are that may be one resource, by their places in `rows`; whether nothing else speaks against.

    Against it speaks another file, or a third side that has both.
    """
    pairs = list(_candidates(rows, lost, new_rows, side, places))
    rivals = [Counter(pair[end] for pair in pairs if pair[2]) for end in (0, 1)]
    ranks = _ranks(rows, lost, 0), _ranks(rows, new_rows, side)
    contents: dict[int, list[Node]] = {}
    for at, other, is_near in pairs:
        old, new = _member(rows, at, 0), _member(rows, other, side)
        same_name = _have_one_name(old, new)
        for row in (at, other):
            if row not in contents:
                contents[row] = [_content(member) for member in rows[row] or () if member is not None]
        # A side that has the other one's changes already resembles that more than the original (law D).
        score = max(likeness(content, another) for content in contents[at] for another in contents[other])
        if same_name and _label(old) == _label(new) and not any(map(_has_content, contents[at] + contents[other])):
            score = 1.0  # R9: nothing but the namespace could tell one from the other
        is_other = not same_name and _are_other_things(contents[at], contents[other])
        is_sure = is_near and _fit_together(rows[at], rows[other]) and not is_other
        is_only = is_near and rivals[0][at] == rivals[1][other] == 1
        if old.identity.kind != new.identity.kind and not same_name:
            score = 0.0  # However alike they are, only lines say that the one became the other.
        if is_sure and is_only and score < THRESHOLD and _merge_by_lines(rows[at], rows[other]):
            score = THRESHOLD
        elif is_sure and not is_only and ranks[0][at] == ranks[1][other] and _merge_by_lines(rows[at], rows[other]):
            # Of as many as were there before, each alike, lines take the one in the same turn (law H).
            score += _IN_TURN
        # Of several that are alike, one that kept its name is the nearer.
        score = score + same_name if score >= THRESHOLD else 0.0
        yield at, other, score, is_sure


def _ranks(rows: Sequence[_Row | None], numbers: Iterable[int], side: int) -> dict[int, tuple[int, int]]:
    """The turn of each among those of its kind in its file, and how many these are."""
    groups: dict[tuple[str, str], list[int]] = {}
    for at in sorted(numbers, key=lambda at: _member(rows, at, side).index):
        member = _member(rows, at, side)
        groups.setdefault((member.place, member.identity.kind), []).append(at)
    return {at: (turn, len(group)) for group in groups.values() for turn, at in enumerate(group)}


def _candidates(
    rows: Sequence[_Row | None], lost: Sequence[int], new_rows: Sequence[int], side: int, places: Mapping[str, str]
) -> Iterator[tuple[int, int, bool]]:
    """What may be one resource, and whether it is in one file: of one kind or name, or alone in the file."""
    by_file: dict[str, list[int]] = {}
    for at in new_rows:
        new = _member(rows, at, side)
        by_file.setdefault(places.get(new.place, new.place), []).append(at)
    identities = {row[0].identity for row in rows if row is not None and row[0] is not None}
    new_ones = [at for at in new_rows if _member(rows, at, side).identity not in identities]
    lost_from = Counter(_member(rows, at, 0).place for at in lost)
    for at in lost:
        old = _member(rows, at, 0)
        near = by_file.get(old.place, [])
        in_file, is_alone = frozenset(near), len(near) == lost_from[old.place] == 1
        # Another file gives no more than a warning, which is not worth a quadratic comparison.
        candidates = [*near, *new_ones] if len(lost) * len(new_ones) <= MOST_CANDIDATES else near
        for other in dict.fromkeys(candidates):
            new = _member(rows, other, side)
            of_one_kind = old.identity.kind == new.identity.kind and len(candidates) <= MOST_CANDIDATES
            is_near = other in in_file
            if not (of_one_kind or _have_one_name(old, new) or (is_alone and is_near)):
                continue
            # Where both sides removed the one, and upstream added the other elsewhere, git has it, too (law H).
            if side == 2 or not _lacks_both(rows[at], rows[other]) or old.index == new.index:
                yield at, other, is_near


def _have_one_name(old: Member, new: Member) -> bool:
    return (old.identity.name, old.generate_name) == (new.identity.name, new.generate_name)


def _merge_by_lines(old: _Row | None, new: _Row | None) -> bool:
    """Whether both sides changed other lines of the two: then these are one resource, as they are for git (law H)."""
    members = (a if a is not None else b for a, b in zip(old or (), new or (), strict=True))
    texts = [document_text(member.root) for member in members if member is not None]
    return len(texts) == 3 and texts[0] not in texts[1:] and merge_lines_without_conflict(*texts) is not None


def _lacks_both(old: _Row | None, new: _Row | None) -> bool:
    """Whether local has neither."""
    return old is not None and new is not None and old[2] is new[2] is None


def _fit_together(old: _Row | None, new: _Row | None) -> bool:
    """Whether no side has both."""
    return all(a is None or b is None for a, b in zip(old or (), new or (), strict=True))


def _renamed_alike(old: _Row | None, new: _Row | None) -> bool:
    """Whether both sides have the new one and lack the old one: nothing is left to merge."""
    return old is not None and new is not None and old[1] is old[2] is None and None not in new[1:]


def _member(rows: Sequence[_Row | None], at: int, side: int) -> Member:
    row = rows[at]
    member = row[side] if row is not None else None
    assert member is not None
    return member


def _best_pairs(scores: Iterable[tuple[_Thing, _Thing, float]]) -> list[tuple[_Thing, _Thing]]:
    """Those that are each the other's one best, at or above the threshold."""
    alike = [(old, new, score) for old, new, score in scores if score >= THRESHOLD]
    of_old: dict[_Thing, list[float]] = {}
    of_new: dict[_Thing, list[float]] = {}
    for old, new, score in alike:
        of_old.setdefault(old, []).append(score)
        of_new.setdefault(new, []).append(score)

    def is_best(score: float, others: list[float]) -> bool:
        # Of two that are as much alike, nothing says which one is meant.
        return score == max(others) and others.count(score) == 1

    return [(old, new) for old, new, score in alike if is_best(score, of_old[old]) and is_best(score, of_new[new])]


def _by_file(members: Iterable[Member]) -> dict[str, list[Member]]:
    """The resources of each file, by kind and name."""
    files: dict[str, list[Member]] = {}
    for member in sorted(members, key=_label):
        files.setdefault(member.place, []).append(member)
    return files


def _label(member: Member) -> _Label:
    return member.identity.group, member.identity.kind, member.identity.name or member.generate_name


def _content(member: Member) -> Node:
    """A resource without what names it."""
    entries = []
    for key, entry in member.root.fields.items():
        value = resolved(entry.value)
        if key == "metadata" and isinstance(value, MappingNode):
            value = _without(value, _NAME)
        # Metadata without its names is empty, and would count as something that both have.
        if key not in _IDENTITY and not (isinstance(value, MappingNode) and not value.fields):
            entries.append(Entry(entry.key, value))
    return MappingNode.new(True, entries)


def _are_other_things(first: Iterable[Node], second: Iterable[Node]) -> bool:
    """Whether two resources run different programs, whatever else is alike: redis is not memcached."""
    ours, theirs = ({thing for content in contents for thing in _things_in(content)} for contents in (first, second))
    return bool(ours) and bool(theirs) and ours.isdisjoint(theirs)


def _things_in(content: Node) -> Iterator[str]:
    """The names of the images and charts in a resource, without registry and version."""
    for path, value in leaves_of(content):
        if path and path[-1] in ("image", "chart") and type(value) is str:
            yield image_repository(value).rpartition("/")[2]


def _has_content(content: Node) -> bool:
    return isinstance(content, MappingNode) and bool(content.fields.keys() - {"metadata"})


def _without(mapping: MappingNode, keys: set[str]) -> MappingNode:
    entries = [Entry(e.key, e.value) for key, e in mapping.fields.items() if key not in keys]
    return MappingNode.new(True, entries)
