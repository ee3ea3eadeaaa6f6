"""Three-way merge of sequences with equal elements as anchors (rules L3 and V6)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Origin: TypeAlias = Literal["original", "upstream", "local"]


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of the result: which elements of which side. `clash` names what the sides could not agree on."""

    side: Origin
    start: int
    stop: int
    clash: Literal["", "inserted", "changed"] = ""


def merge_sequences(
    original: Sequence[Hashable],
    upstream: Sequence[Hashable],
    local: Sequence[Hashable],
    winner: Literal["upstream", "local"],
) -> list[Run]:
    """The runs of the merged sequence; elements that stand in local are taken from local.

    Where both sides inserted at one place, the side whose run contains the other's stands, else local's run goes
    before upstream's (clash `inserted`). Where both changed the same elements, the winner's run stands (`changed`).
    """
    runs: list[Run] = []
    o_from = u_from = l_from = 0
    for o_at, u_at, l_at, size in anchors(original, upstream, local):
        runs.extend(_between((original, o_from, o_at), (upstream, u_from, u_at), (local, l_from, l_at), winner))
        if size:
            runs.append(Run("local", l_at, l_at + size))
        o_from, u_from, l_from = o_at + size, u_at + size, l_at + size
    return [run for run in runs if run.stop > run.start or run.clash]


Stretch: TypeAlias = tuple[Sequence[Hashable], int, int]


def _between(original: Stretch, upstream: Stretch, local: Stretch, winner: Literal["upstream", "local"]) -> list[Run]:
    before, theirs, ours = (list(side[start:stop]) for side, start, stop in (original, upstream, local))
    from_upstream, from_local = Run("upstream", *upstream[1:]), Run("local", *local[1:])
    if theirs in (ours, before):
        return [from_local]
    if ours == before:
        return [from_upstream]
    if before:
        return [Run(winner, *(upstream if winner == "upstream" else local)[1:], "changed")]
    if _contains(ours, theirs):
        return [from_local]
    if _contains(theirs, ours):
        return [from_upstream]
    return [Run("local", *local[1:], "inserted"), from_upstream]


def _contains(run: list[Hashable], part: list[Hashable]) -> bool:
    return any(run[at : at + len(part)] == part for at in range(len(run) - len(part) + 1))


def anchors(
    original: Sequence[Hashable], upstream: Sequence[Hashable], local: Sequence[Hashable]
) -> list[tuple[int, int, int, int]]:
    """Stretches that all three have: positions in original, upstream and local, and the length; an empty one ends."""
    with_upstream, with_local = _matches(original, upstream), _matches(original, local)
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


def _matches(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return [(block.a, block.b, block.size) for block in blocks if block.size]
