"""Which column each Component stands in, behind what it depends on, and what passes the columns on its way.

Columns are by the longest path; edges that pass one go through a lane there. All edges of a Component leave it as one
line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TypeAlias

from krm_merge.components.graph.graph import Edge
from krm_merge.components.konflux.model import Key


@dataclass(frozen=True, slots=True, order=True)
class Net:
    """Edges that are one line where they begin. `back` says that they close a circle: they are drawn against it."""

    source: Key
    back: bool


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """Where a line passes a column."""

    net: Net
    column: int


Node: TypeAlias = Key | Lane


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of a line between two columns that stand side by side."""

    net: Net
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Columns:
    """Components and lanes by column, from top to bottom, and the links behind each column."""

    rows: list[list[Node]]
    links: list[list[Link]]


def targets_of(keys: Sequence[Key], edges: Sequence[Edge]) -> dict[Net, list[Key]]:
    """The lines and where they lead, from left to right."""
    place = {key: number for number, key in enumerate(_sequence(keys, edges))}
    found: dict[Net, list[Key]] = {}
    for edge in edges:
        back = place[edge.dependency] > place[edge.dependant]
        ends = (edge.dependant, edge.dependency) if back else (edge.dependency, edge.dependant)
        found.setdefault(Net(ends[0], back), []).append(ends[1])
    return dict(sorted(found.items(), key=lambda item: (place[item[0].source], item[0])))


def _sequence(keys: Sequence[Key], edges: Iterable[Edge]) -> list[Key]:
    """All Components, each behind what it depends on as far as circles allow."""
    above: dict[Key, set[Key]] = {key: set() for key in keys}
    below: dict[Key, set[Key]] = {key: set() for key in keys}
    for edge in edges:
        above[edge.dependant].add(edge.dependency)
        below[edge.dependency].add(edge.dependant)
    found: list[Key] = []
    left = dict.fromkeys(keys)
    while left:
        ready = [key for key in left if not above[key]]
        for key in ready or [min(left, key=lambda one: (len(above[one]) - len(below[one]), one))]:
            found.append(key)
            del left[key]
            for other in below[key]:
                above[other].discard(key)
            for other in above[key]:
                below[other].discard(key)
    return found


def in_columns(keys: Sequence[Key], targets: Mapping[Net, Sequence[Key]]) -> Columns:
    """All Components in their columns, with lanes where lines pass one."""
    column = _columns_of(keys, targets)
    count = max(column.values()) + 1
    rows: list[list[Node]] = [[key for key in keys if column[key] == number] for number in range(count)]
    links: list[list[Link]] = [[] for _ in range(count)]
    for net, ends in targets.items():
        node: Node = net.source
        first, last = column[net.source], max(column[end] for end in ends)
        for number in range(first, last):
            links[number] += [Link(net, node, end) for end in ends if column[end] == number + 1]
            if number + 1 < last:
                lane = Lane(net, number + 1)
                links[number].append(Link(net, node, lane))
                rows[number + 1].append(lane)
                node = lane
    return Columns(rows, links)


def _columns_of(keys: Sequence[Key], targets: Mapping[Net, Sequence[Key]]) -> dict[Key, int]:
    """The column of each Component: behind all that it depends on; what depends on nothing is right before its use."""
    column = dict.fromkeys(keys, 0)
    fed = {target for ends in targets.values() for target in ends}
    # Lines are in the order of their sources: nothing changes behind them.
    for net, ends in targets.items():
        for end in ends:
            column[end] = max(column[end], column[net.source] + 1)
    for key in keys:
        if key not in fed:
            column[key] = min(column[end] for net, ends in targets.items() if net.source == key for end in ends) - 1
    feeding = {net.source for net in targets}
    most = max(24, ceil(5 * sqrt(len(keys))))
    found: dict[Key, int] = {}
    shift = 0
    for number in range(max(column.values()) + 1):
        # Of a column that is too tall, what nothing depends on stands first: no lines leave it.
        members = sorted((key in feeding, key) for key in keys if column[key] == number)
        parts = ceil(len(members) / most)
        for index, (_, key) in enumerate(members):
            found[key] = number + shift + index * parts // len(members)
        shift += parts - 1
    return found
