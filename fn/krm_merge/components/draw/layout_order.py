"""In which order columns hold what is in them: the one with few crossings."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from krm_merge.components.draw.layout_columns import Columns, Link, Node

_SWEEPS = 24


def ordered(columns: Columns) -> Columns:
    """The columns with few crossings: the best of many barycentre sweeps, then exchanges of neighbours."""
    left, right = _neighbours(columns)
    best = rows = columns.rows
    fewest = _crossings(rows, columns.links)
    for sweep in range(_SWEEPS):
        backwards = sweep % 2 == 1
        rows = _swept(rows, right if backwards else left, backwards)
        number = _crossings(rows, columns.links)
        if number < fewest:
            best, fewest = rows, number
    return Columns(_exchanged(best, left, right), columns.links)


_Near: TypeAlias = Mapping[Node, Sequence[Node]]


def _neighbours(columns: Columns) -> tuple[_Near, _Near]:
    """What each node is linked with on its left and on its right."""
    left: dict[Node, list[Node]] = {}
    right: dict[Node, list[Node]] = {}
    for link in (link for links in columns.links for link in links):
        left.setdefault(link.right, []).append(link.left)
        right.setdefault(link.left, []).append(link.right)
    return left, right


def _swept(rows: Sequence[Sequence[Node]], near: _Near, backwards: bool) -> list[list[Node]]:
    found: list[list[Node]] = []
    place: dict[Node, int] = {}
    for row in reversed(rows) if backwards else rows:
        centres = {
            node: sum(place[other] for other in near[node]) / len(near[node]) if near.get(node) else number
            for number, node in enumerate(row)
        }
        found.append(sorted(row, key=centres.__getitem__))
        place = {node: number for number, node in enumerate(found[-1])}
    return found[::-1] if backwards else found


def _exchanged(rows: Sequence[Sequence[Node]], left: _Near, right: _Near) -> list[list[Node]]:
    """Neighbours change places wherever that makes fewer crossings."""
    found = [list(row) for row in rows]
    place = {node: number for row in found for number, node in enumerate(row)}

    def crossings(upper: Node, lower: Node) -> int:
        return sum(
            place[one] > place[other]
            for near in (left, right)
            for one in near.get(upper, ())
            for other in near.get(lower, ())
        )

    better = True
    while better:
        better = False
        for row in found:
            for number, (upper, lower) in enumerate(pairwise(row)):
                if row[number] == upper and crossings(upper, lower) > crossings(lower, upper):
                    row[number], row[number + 1] = lower, upper
                    place[lower], place[upper] = number, number + 1
                    better = True
    return found


def _crossings(rows: Sequence[Sequence[Node]], links: Sequence[Sequence[Link]]) -> int:
    place = {node: number for row in rows for number, node in enumerate(row)}
    found = 0
    for between in links:
        ends: list[int] = []
        for _, end in sorted((place[link.left], place[link.right]) for link in between):
            found += len(ends) - bisect_right(ends, end)
            insort(ends, end)
    return found
