"""Which elements of a list without keys are the same on the three sides (rule L3)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.merge.values.likeness import THRESHOLD, Traits
from krm_merge.merge.values.matching import Match
from krm_merge.text.editing.order import longest_rising
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar
from krm_merge.text.reading.scalars import Canonical

WEAK_KEYS = ("name", "host", "path", "id", "key", "target")
"""Fields that identify elements where no schema says what does, if every element has one of its own."""

MOST_COMPARED = 10_000
"""Pairs of elements that are compared with each other in one stretch; in longer ones only positions count."""

MOST_COMPARED_IN_LIST = 50_000
"""Pairs of elements that are compared in all stretches of a list, the first ones first."""

Pairs = dict[int, int]
"""Positions in the original's list to positions in a side's."""


class _Side(NamedTuple):
    """The elements of a list; those of equal value have one number in all lists, as numbers compare faster."""

    elements: Sequence[Node]
    numbers: list[int]


def match_sequence(original: Sequence[Node], upstream: Sequence[Node], local: Sequence[Node]) -> list[Match]:
    """Pairs the elements of three lists: equal ones, then by a weak key, then in each stretch the most alike.

    What is left of a stretch is paired by position where all sides have as many elements there.
    """
    sides = (original, upstream, local)
    weak = _weak_key(sides)
    before, theirs, ours = _numbered(sides)
    with_upstream, with_local = (_pairs(before, side, weak) for side in (theirs, ours))
    _pair_through(before, theirs, ours, with_upstream, with_local)
    _pair_through(before, ours, theirs, with_local, with_upstream)
    _pair_by_position((len(original), len(upstream), len(local)), with_upstream, with_local)
    matches = [_match(at, with_upstream.get(at), with_local.get(at)) for at in range(len(original))]
    only_upstream = sorted(set(range(len(upstream))) - set(with_upstream.values()))
    only_local = sorted(set(range(len(local))) - set(with_local.values()))
    added = _added_by_both(upstream, local, (with_upstream, with_local), (only_upstream, only_local), weak)
    matches += [_match(None, at, added.get(at)) for at in only_upstream]
    return matches + [_match(None, None, at) for at in sorted(set(only_local) - set(added.values()))]


def _numbered(sides: Sequence[Sequence[Node]]) -> list[_Side]:
    numbers: dict[Canonical, int] = {}
    return [_Side(side, [numbers.setdefault(item.canonical, len(numbers)) for item in side]) for side in sides]


def added_at_one_place(matches: Sequence[Match]) -> bool:
    """Whether upstream and local each added elements of their own between the same elements."""
    places = [{before for before, _ in _added(matches, side).values()} for side in ("upstream", "local")]
    return bool(places[0] & places[1])


def replaced_by_both(matches: Sequence[Match], loser: str) -> set[Match]:
    """The elements that one side alone put in the place of elements that the other side replaced, too, by others."""
    gone = sorted(m.original for m in matches if m.original is not None and m.upstream is None and m.local is None)
    mine, theirs = (_added(matches, side) for side in (loser, "local" if loser == "upstream" else "upstream"))

    def replaced(place: tuple[int, int]) -> range:
        """Which of those that are gone, by their numbers."""
        return range(bisect_left(gone, place[0] + 1), bisect_left(gone, place[1]))

    # Places overlap where elements moved: each is looked at by its ends alone.
    ends = Counter[int]()
    for place in theirs.values():
        if numbers := replaced(place):
            ends.update({numbers.start: 1, numbers.stop: -1})
    depth = list(accumulate(ends[number] for number in range(len(gone))))
    taken = list(accumulate((at_once > 0 for at_once in depth), initial=0))
    return {
        match
        for match, place in mine.items()
        if (numbers := replaced(place)) and taken[numbers.stop] > taken[numbers.start]
    }


def _added(matches: Sequence[Match], side: str) -> dict[Match, tuple[int, int]]:
    """The elements that a side alone has, with the original's elements before and behind them that the side has, too.

    -1 means the start, the number of the original's elements the end.
    """
    other = "local" if side == "upstream" else "upstream"
    on_side = sorted((m for m in matches if getattr(m, side) is not None), key=lambda match: getattr(match, side))
    found: dict[Match, tuple[int, int]] = {}
    size = 1 + max((m.original for m in matches if m.original is not None), default=-1)
    behind: list[int] = [size]
    for match in reversed(on_side):
        behind.append(behind[-1] if match.original is None else match.original)
    before = -1
    for match in on_side:
        if match.original is not None:
            before = match.original
        elif getattr(match, other) is None:
            found[match] = (before, behind[-1])
        behind.pop()
    return found


def _match(original: int | None, upstream: int | None, local: int | None) -> Match:
    step = next(at for at in (local, upstream, original) if at is not None)
    return Match(original, upstream, local, step)


def _weak_key(sides: Sequence[Sequence[Node]]) -> Callable[[Node], Canonical] | None:
    for name in WEAK_KEYS:
        # Most names are ruled out by the first element.
        if all(_has_own_key(side, name) for side in sides):
            return lambda item, name=name: _scalar(item, name) or ()  # type: ignore[misc]
    return None


def _has_own_key(items: Sequence[Node], name: str) -> bool:
    """Whether each element has this field, and none the value of another."""
    seen: set[Canonical] = set()
    for item in items:
        key = _scalar(item, name)
        if key is None or key in seen:
            return False
        seen.add(key)
    return True


def _scalar(item: Node, name: str) -> Canonical | None:
    value = item.get(name) if isinstance(item, MappingNode) else None
    return value.canonical if isinstance(value, Scalar) and value.canonical != ("null",) else None


def _pairs(original: _Side, side: _Side, weak: Callable[[Node], Canonical] | None) -> Pairs:
    before, after = original.numbers, side.numbers
    pairs: Pairs = {}
    for start, other, size in matching_blocks(before, after):
        pairs.update(zip(range(start, start + size), range(other, other + size), strict=True))
    in_place = {at: at for at in range(len(before)) if before[at] == after[at]} if len(before) == len(after) else {}
    if len(in_place) >= len(pairs):
        # Of elements that are there more than once, each is itself.
        pairs = in_place
    # Equal elements in other places moved.
    _pair_equal(pairs, before, after)
    if weak is not None:
        _pair_equal(pairs, [weak(item) for item in original.elements], [weak(item) for item in side.elements])
    left = MOST_COMPARED_IN_LIST
    for o_range, s_range in _stretches(pairs, len(before), len(after)):
        left = _pair_alike(pairs, original.elements, side.elements, o_range, s_range, left)
    return pairs


def _pair_through(original: _Side, known: _Side, side: _Side, with_known: Pairs, pairs: Pairs) -> None:
    """Pairs what is no longer like the original's element, but like what the other side made of it.

    After a merge, local has the changes of both (law D). What the other side added is none of it.
    """
    versions = [
        known.elements[with_known[at]] if at in with_known else element for at, element in enumerate(original.elements)
    ]
    added = {known.numbers[at] for at in set(range(len(known.numbers))) - set(with_known.values())}
    left = MOST_COMPARED_IN_LIST
    for ours, theirs in _stretches(pairs, len(original.numbers), len(side.numbers)):
        changed = [at for at in ours if at in with_known and known.numbers[with_known[at]] != original.numbers[at]]
        candidates = [at for at in theirs if side.numbers[at] not in added]
        left = _pair_alike(pairs, versions, side.elements, changed, candidates, left)


def _pair_by_position(sizes: tuple[int, int, int], with_upstream: Pairs, with_local: Pairs) -> None:
    """Pairs what is left where all three lists have as many elements between those that all have."""
    steady = [at for at in range(sizes[0]) if at in with_upstream and at in with_local]
    for pairs in (with_upstream, with_local):
        rising = longest_rising([pairs[at] for at in steady])
        steady = [at for at in steady if pairs[at] in rising]
    held = set(with_upstream.values()), set(with_local.values())
    start = (0, 0, 0)
    for stop in [*((at, with_upstream[at], with_local[at]) for at in steady), sizes]:
        lengths = {end - begin for begin, end in zip(start, stop, strict=True)}
        for offset in range(stop[0] - start[0]) if len(lengths) == 1 else ():
            for pairs, taken, begin in ((with_upstream, held[0], start[1]), (with_local, held[1], start[2])):
                if start[0] + offset not in pairs and begin + offset not in taken:
                    pairs[start[0] + offset] = begin + offset
        start = (stop[0] + 1, stop[1] + 1, stop[2] + 1)


def _pair_equal(pairs: Pairs, before: Sequence[object], after: Sequence[object]) -> None:
    taken = set(pairs.values())
    free: dict[object, list[int]] = {}
    for at in range(len(after) - 1, -1, -1):
        if at not in taken:
            free.setdefault(after[at], []).append(at)
    for at, element in enumerate(before):
        if at not in pairs and free.get(element):
            pairs[at] = free[element].pop()


def _stretches(pairs: Pairs, size: int, other_size: int) -> list[tuple[list[int], list[int]]]:
    """The unpaired elements of both lists between pairs that are in order on both sides."""
    steady = longest_rising([pairs[at] for at in sorted(pairs)])
    taken = set(pairs.values())
    stops = [(at, pairs[at]) for at in sorted(pairs) if pairs[at] in steady]
    found: list[tuple[list[int], list[int]]] = []
    start = other_start = 0
    for stop, other_stop in [*stops, (size, other_size)]:
        ours = [at for at in range(start, stop) if at not in pairs]
        theirs = [at for at in range(other_start, other_stop) if at not in taken]
        if ours and theirs:
            found.append((ours, theirs))
        start, other_start = stop + 1, other_stop + 1
    return found


def _pair_alike(
    pairs: Pairs, original: Sequence[Node], side: Sequence[Node], ours: list[int], theirs: list[int], left: int
) -> int:
    """Pairs in order, so that the likeness of all pairs together is the greatest; of as good ones the nearest.

    `left` is how many may still be compared in the list; gives how many are left then.
    """
    compared = len(ours) * len(theirs)
    if not compared:
        return left
    if compared > min(left, MOST_COMPARED):
        return left
    of_ours, of_theirs = [Traits(original[at]) for at in ours], [Traits(side[at]) for at in theirs]
    scores = [[one.likeness(other) for other in of_theirs] for one in of_ours]
    best = [[0.0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in range(len(ours) - 1, -1, -1):
        for j in range(len(theirs) - 1, -1, -1):
            paired = scores[i][j] + best[i + 1][j + 1] if scores[i][j] >= THRESHOLD else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if scores[i][j] >= THRESHOLD and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs[ours[i]] = theirs[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return left - compared


def _added_by_both(
    upstream: Sequence[Node],
    local: Sequence[Node],
    pairs: tuple[Pairs, Pairs],
    added: tuple[list[int], list[int]],
    weak: Callable[[Node], Canonical] | None,
) -> Pairs:
    """Upstream's added elements that local added, too: with one weak key, or equal ones at one place, in order."""
    same: Pairs = {}
    if weak is not None:
        by_key = {weak(local[at]): at for at in added[1]}
        same = {at: by_key[key] for at in added[0] if (key := weak(upstream[at])) in by_key}
    for neighbour in (-1, 1):
        runs = [_runs(side, held, neighbour) for side, held in zip(added, pairs, strict=True)]
        held = set(same.values())
        for place, run in runs[0].items():
            theirs = [at for at in run if at not in same]
            ours = [at for at in runs[1].get(place, []) if at not in held]
            blocks = matching_blocks([upstream[at].canonical for at in theirs], [local[at].canonical for at in ours])
            for start, other, size in blocks:
                same.update(zip(theirs[start : start + size], ours[other : other + size], strict=True))
                held.update(ours[other : other + size])
    return same


def _runs(added: list[int], pairs: Pairs, neighbour: int) -> dict[int | None, list[int]]:
    """The added elements of a side by the original's nearest element before (-1) or behind (1) them."""
    original = {place: at for at, place in pairs.items()}
    runs: dict[int | None, list[int]] = {}
    places = sorted(original)
    for at in added:
        index = bisect_left(places, at) - (neighbour < 0)
        nearest = places[index] if 0 <= index < len(places) else None
        runs.setdefault(None if nearest is None else original[nearest], []).append(at)
    return runs
