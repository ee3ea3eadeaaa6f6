"""Three-way merge of sequences with equal elements as anchors (rules L3 and V6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, TypeAlias

from krm_merge.merge.lines.diff import Block, matching_blocks
from krm_merge.startup import frozen

Origin: TypeAlias = Literal["original", "upstream", "local"]


@frozen
class MergedRun:
    """A stretch of the result: which elements of which side. `clash` names what the sides could not agree on."""

    side: Origin
    start: int
    stop: int
    clash: Literal["", "inserted", "changed"] = ""


ChosenSide: TypeAlias = Literal["upstream", "local", "upstream-then-local", "local-then-upstream"]


def merge_sequences(
    original: Sequence[Hashable],
    upstream: Sequence[Hashable],
    local: Sequence[Hashable],
    winner: Literal["upstream", "local"],
    with_upstream: list[Block] | None = None,
) -> list[MergedRun]:
    """The runs of the merged sequence; elements that local has are taken from local.

    Where both sides inserted at one place, the run that contains the other one is kept, else local's run is put
    before upstream's (clash `inserted`). Where both changed the same elements, the winner's run is kept (`changed`).
    """
    return list(merged_runs(original, upstream, local, winner, with_upstream))


def merged_runs(
    original: Sequence[Hashable],
    upstream: Sequence[Hashable],
    local: Sequence[Hashable],
    winner: Literal["upstream", "local"],
    with_upstream: list[Block] | None = None,
) -> Iterator[MergedRun]:
    """The runs of `merge_sequences`, one after the other: for those whom the first clash ends."""
    o_from = u_from = l_from = 0
    for o_at, u_at, l_at, size in anchors(original, upstream, local, with_upstream):
        for run in _between((original, o_from, o_at), (upstream, u_from, u_at), (local, l_from, l_at), winner):
            if run.stop > run.start or run.clash:
                yield run
        if size:
            yield MergedRun("local", l_at, l_at + size)
        o_from, u_from, l_from = o_at + size, u_at + size, l_at + size


def choose_in_sequences(
    original: Sequence[Hashable], upstream: Sequence[Hashable], local: Sequence[Hashable], chosen: ChosenSide
) -> list[MergedRun]:
    """The runs of the merged sequence with the same choice wherever the sides cannot agree."""
    runs: list[MergedRun] = []
    o_from = u_from = l_from = 0
    for o_at, u_at, l_at, size in anchors(original, upstream, local):
        before, theirs, ours = (original, o_from, o_at), (upstream, u_from, u_at), (local, l_from, l_at)
        between = _between(before, theirs, ours, "upstream")
        if any(run.clash for run in between):
            runs_of = {"upstream": MergedRun("upstream", u_from, u_at), "local": MergedRun("local", l_from, l_at)}
            between = [runs_of[side] for side in chosen.split("-then-")]
            first, second = list(upstream[u_from:u_at]), list(local[l_from:l_at])
            if (chosen == "upstream-then-local" and second[: len(first)] == first) or (
                chosen == "local-then-upstream" and second[len(second) - len(first) :] == first
            ):
                # Chosen before: local has both already.
                between = [MergedRun("local", l_from, l_at)]
        runs += [*between, MergedRun("local", l_at, l_at + size)]
        o_from, u_from, l_from = o_at + size, u_at + size, l_at + size
    return [run for run in runs if run.stop > run.start]


Stretch: TypeAlias = tuple[Sequence[Hashable], int, int]


def _between(
    original: Stretch, upstream: Stretch, local: Stretch, winner: Literal["upstream", "local"]
) -> list[MergedRun]:
    before, theirs, ours = [list(side[start:stop]) for side, start, stop in (original, upstream, local)]
    from_upstream, from_local = MergedRun("upstream", *upstream[1:]), MergedRun("local", *local[1:])
    if theirs in (ours, before):
        return [from_local]
    if ours == before:
        return [from_upstream]
    if before and theirs and ours and max(map(len, (before, theirs, ours))) > 1:
        # One side made all of the other's changes, and more.
        if is_between(before, theirs, ours):
            return [from_local]
        if is_between(before, ours, theirs):
            return [from_upstream]
    if before:
        return [MergedRun(winner, *(upstream if winner == "upstream" else local)[1:], "changed")]
    if _contains(ours, theirs):
        return [from_local]
    if _contains(theirs, ours):
        return [from_upstream]
    return [MergedRun("local", *local[1:], "inserted"), from_upstream]


def _contains(run: list[Hashable], part: list[Hashable]) -> bool:
    """Whether a part is there without a gap. Source: D. E. Knuth, J. H. Morris, V. R. Pratt (1977), in linear time."""
    # For each element of the part: how many before it are how the part begins, too.
    beginnings, matched = [0], 0
    for element in part[1:]:
        matched = _matched(part, beginnings, matched, element)
        beginnings.append(matched)
    matched = 0
    for element in run:
        if matched == len(part):
            break
        matched = _matched(part, beginnings, matched, element)
    return matched == len(part)


def _matched(part: list[Hashable], beginnings: list[int], matched: int, element: Hashable) -> int:
    """How much of the part is there up to this element, where so much was there before it."""
    while matched and part[matched] != element:
        matched = beginnings[matched - 1]
    return matched + (part[matched] == element)


def is_between(start: Sequence[Hashable], middle: Sequence[Hashable], end: Sequence[Hashable]) -> bool:
    """Whether a shortest way from the start to the end leads over the middle: the end has all changes that made it."""
    away = _lacking(middle, end)
    if away > _lacking(start, end):
        return False
    left = _distance(start, end) - _distance(start, middle)
    return left >= away and left == _distance(middle, end)


def _lacking(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The least that their distance can be: how many elements of each the other lacks, whatever their order."""
    ours, theirs = Counter(first), Counter(second)
    # Not by subtracting Counters, which takes many times as long.
    shared = sum(min(count, theirs[element]) for element, count in ours.items() if element in theirs)
    return len(first) + len(second) - 2 * shared


def _distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """How many elements have to be removed or added to come from the one to the other."""
    return len(first) + len(second) - 2 * sum(size for _, _, size in matching_blocks(first, second))


def anchors(
    original: Sequence[Hashable],
    upstream: Sequence[Hashable],
    local: Sequence[Hashable],
    with_upstream: list[Block] | None = None,
) -> list[tuple[int, int, int, int]]:
    """Stretches that all three have: positions in original, upstream and local, and the length; an empty one ends.

    `with_upstream` are those of original and upstream, where they are known.
    """
    if with_upstream is None:
        with_upstream = matching_blocks(original, upstream)
    with_local = matching_blocks(original, local)
    found: list[tuple[int, int, int, int]] = []
    i = j = 0
    while i < len(with_upstream) and j < len(with_local):
        (a, in_upstream, m), (b, in_local, n) = with_upstream[i], with_local[j]
        start, stop = max(a, b), min(a + m, b + n)
        if start < stop:
            found.append((start, in_upstream + start - a, in_local + start - b, stop - start))
        if a + m < b + n:
            i += 1
        else:
            j += 1
    found.append((len(original), len(upstream), len(local), 0))
    return found
