"""Where lines run in the channel behind a column: each has a track of its own, from which it branches off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from krm_merge.components.draw.layout_columns import Lane, Link, Net, Node
from krm_merge.components.draw.layout_places import PORT, ROOM, Heights, clear_place, other_lanes
from krm_merge.components.konflux.model import Key

TRACK = 9
"""Between lines that go up and down side by side."""
_OVERLAP = 1000
"""How much worse lines are that lie on each other than lines that cross."""


@dataclass(frozen=True, slots=True)
class Run:
    """A line in the channel behind a column: the height where it comes from and those where it goes to."""

    net: Net
    start: float
    ends: Mapping[Node, float]

    @property
    def low(self) -> float:
        """The upper end."""
        return min(self.start, *self.ends.values())

    @property
    def high(self) -> float:
        """The lower end."""
        return max(self.start, *self.ends.values())


def runs_of(links: Sequence[Link], heights: Heights, middle: Mapping[Node, float]) -> list[Run]:
    """The lines behind a column, each leaving a box where it is straight or where it is in nobody's way."""
    leaving: dict[tuple[Node, Net], dict[Node, float]] = {}
    before = list(dict.fromkeys(link.left for link in links))
    for link in links:
        entry = middle[link.right] + heights.entry[link.right, link.net]
        if isinstance(link.right, Key):
            straight = isinstance(link.left, Lane) and abs(entry - middle[link.left]) < ROOM
            entry = middle[link.left] if straight else clear_place(entry, other_lanes(link.net, before, middle))
        leaving.setdefault((link.left, link.net), {})[link.right] = entry
    taken = [end for ends in leaving.values() for end in ends.values()]
    runs: list[Run] = []
    for (node, net), ends in leaving.items():
        start = middle[node]
        if isinstance(node, Key):
            reach = heights.height[node] / 2 - PORT
            start = _exit(start, reach, list(ends.values()), taken)
            taken.append(start)
        runs.append(Run(net, start, ends))
    return runs


def _exit(middle: float, reach: float, ends: Sequence[float], taken: Sequence[float]) -> float:
    """Where a line leaves a box: straight to one of its ends, else where it has room."""
    straight = [end for end in ends if abs(end - middle) <= reach and taken.count(end) == 1]
    if straight:
        return min(straight, key=lambda end: (abs(end - middle), end))
    steps = [middle + sign * step for step in range(0, ceil(reach), 2) for sign in (1, -1)]
    return max(steps, key=lambda at: min([ROOM, *(abs(at - one) for one in taken)]))


def tracks_of(runs: Sequence[Run]) -> dict[Net, int]:
    """Where lines go up and down, from the left: in an order of few crossings, found by moving one at a time."""
    bent = [run for run in runs if run.low != run.high]
    order: list[Run] = []
    for run in sorted(bent, key=lambda one: (one.high - one.low, one.net)):
        order = _inserted(order, run)
    for run in sorted(bent, key=lambda one: one.net):
        order = _inserted([one for one in order if one is not run], run)
    track: dict[Net, int] = {}
    for number, run in enumerate(order):
        close = [
            track[one.net] + 1 for one in order[:number] if one.low < run.high + TRACK and run.low < one.high + TRACK
        ]
        track[run.net] = max(close, default=0)
    return track


def _inserted(order: list[Run], run: Run) -> list[Run]:
    """The order with one more line, where it costs least."""
    cost = sum(_cost(run, other) for other in order)
    best, at = cost, 0
    for number, other in enumerate(order, 1):
        cost += _cost(other, run) - _cost(run, other)
        if cost < best:
            best, at = cost, number
    return [*order[:at], run, *order[at:]]


def _cost(left: Run, right: Run) -> int:
    """What it costs that one line goes up and down left of another."""
    crossings = sum(right.low < end < right.high for end in left.ends.values()) + (left.low < right.start < left.high)
    return crossings + _OVERLAP * sum(abs(end - right.start) < ROOM for end in left.ends.values())
