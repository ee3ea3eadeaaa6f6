"""How high in its column everything stands, so that lines are as straight as they can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from krm_merge.components.draw.layout_boxes import GAP, Box
from krm_merge.components.draw.layout_columns import Columns, Lane, Link, Net, Node
from krm_merge.components.konflux.model import Key

PORT = 10
"""Between lines that enter or pass a column side by side."""
ROOM = 4.0
"""What lines keep between them where they can."""
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Heights:
    """How tall nodes are, and where lines enter them: how far from their middle."""

    height: Mapping[Node, float]
    entry: Mapping[tuple[Node, Net], float]


def heights_of(columns: Columns, boxes: Mapping[Key, Box]) -> Heights:
    """How tall what stands in the columns is, and in which order lines enter it."""
    place = {node: number for row in columns.rows for number, node in enumerate(row)}
    entering: dict[Node, list[Link]] = {}
    for link in sorted(
        (link for links in columns.links for link in links), key=lambda one: (place[one.left], one.net.back)
    ):
        entering.setdefault(link.right, []).append(link)
    entry = {
        (node, link.net): (number - (len(links) - 1) / 2) * PORT
        for node, links in entering.items()
        for number, link in enumerate(links)
    }
    height = {
        node: max(boxes[node].height, (len(entering.get(node, ())) + 1) * PORT) if isinstance(node, Key) else 0
        for node in place
    }
    return Heights(height, entry)


def middles_of(columns: Columns, heights: Heights) -> dict[Node, float]:
    """The middle of each node: where what it is linked with wants it, as far as the order and the gaps allow."""
    left: dict[Node, list[tuple[Node, float]]] = {}
    right: dict[Node, list[tuple[Node, float]]] = {}
    for link in (link for links in columns.links for link in links):
        offset = heights.entry[link.right, link.net]
        left.setdefault(link.right, []).append((link.left, -offset))
        right.setdefault(link.left, []).append((link.right, offset))
    gaps = [[_distance(one, other, heights) for one, other in pairwise(row)] for row in columns.rows]
    middle: dict[Node, float] = {}
    for row, between in zip(columns.rows, gaps, strict=True):
        at = -sum(between) / 2
        for node, gap in zip(row, [*between, 0], strict=True):
            middle[node] = at
            at += gap
    for turn in range(2 * _ROUNDS):
        near, far = (right, left) if turn % 2 == 0 else (left, right)
        for row, between in zip(columns.rows, gaps, strict=True):
            wanted = [_wish(node, [*near.get(node, ())] or far.get(node, ()), middle) for node in row]
            weights = [8 if isinstance(node, Lane) else 1 + len(near.get(node, ())) for node in row]
            middle.update(zip(row, _spread(wanted, weights, between), strict=True))
    return _apart(columns, {node: float(round(at)) for node, at in middle.items()})


def _apart(columns: Columns, middle: Mapping[Node, float]) -> dict[Node, float]:
    """Lanes moved a little, so that lines do not come in where others go out."""
    found = dict(middle)
    for before, row in pairwise(columns.rows):
        for lane in (node for node in row if isinstance(node, Lane)):
            found[lane] = clear_place(found[lane], other_lanes(lane.net, before, found))
    return found


def other_lanes(net: Net, row: Iterable[Node], middle: Mapping[Node, float]) -> list[float]:
    """Where other lines come out of lanes."""
    return [middle[node] for node in row if isinstance(node, Lane) and node.net != net]


def clear_place(at: float, taken: Sequence[float]) -> float:
    """The nearest place that has room."""
    near = (at, at + 2, at - 2, at + 4, at - 4)
    return max(
        near, key=lambda one: min((abs(one - other) for other in taken if abs(one - other) < ROOM), default=ROOM)
    )


def _wish(node: Node, near: Sequence[tuple[Node, float]], middle: Mapping[Node, float]) -> float:
    return median(middle[other] + offset for other, offset in near) if near else middle[node]


def _distance(upper: Node, lower: Node, heights: Heights) -> float:
    lanes = isinstance(upper, Lane) + isinstance(lower, Lane)
    return (heights.height[upper] + heights.height[lower]) / 2 + (GAP, 13, PORT)[lanes]


def _spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones that keep their order and at least the gaps between them."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        block = (want - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            at, heavy, count = blocks.pop()
            total = heavy + block[1]
            block = ((at * heavy + block[0] * block[1]) / total, total, count + block[2])
        blocks.append(block)
    places = [at for at, _, count in blocks for _ in range(count)]
    return [at + offset for at, offset in zip(places, offsets, strict=True)]
