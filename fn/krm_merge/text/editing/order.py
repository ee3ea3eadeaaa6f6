"""Which elements can stay in place when a list is put into another order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import lt


def longest_rising(positions: Sequence[int]) -> set[int]:
    """The longest subsequence of positions in rising order. Positions are distinct."""
    if all(map(lt, positions, positions[1:])):
        # Most lists are in order already.
        return set(positions)
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for position in positions:
        at = bisect_left(tails, position)
        before[position] = tails[at - 1] if at else None
        tails[at : at + 1] = [position]
    steady: set[int] = set()
    current = tails[-1] if tails else None
    while current is not None:
        steady.add(current)
        current = before[current]
    return steady
