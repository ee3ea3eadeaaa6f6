"""An Application laid out: its connected parts, each by itself, and what nothing links.

Lines stay in channels and lanes, so none can run through a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from krm_merge.components.draw.drawing import Cluster, Drawing
from krm_merge.components.draw.layout_boxes import GAP, Box, Line, box_of
from krm_merge.components.draw.layout_columns import Columns, Lane, Net, Node, in_columns, targets_of
from krm_merge.components.draw.layout_lines import TRACK, runs_of, tracks_of
from krm_merge.components.draw.layout_order import ordered
from krm_merge.components.draw.layout_pieces import (
    ARROW,
    FRAME,
    Drawn,
    Frame,
    Piece,
    Placed,
    Point,
    in_rows,
    joined,
    packed,
    shifted,
)
from krm_merge.components.draw.layout_places import heights_of, middles_of
from krm_merge.components.draw.layout_text import NAME_SIZE, WIDEST, wrapped
from krm_merge.components.graph.graph import Edge
from krm_merge.components.konflux.model import Key

_COLOURS = 6


def application_of(cluster: Cluster, drawing: Drawing) -> Piece:
    """An Application: its connected parts, the largest first, and below them what stands alone."""
    boxes = {key: box_of(drawing, key) for key in (*cluster.linked, *cluster.independent)}
    parts = [_part(keys, edges, boxes) for keys, edges in _connected(cluster)]
    pieces = [packed(sorted(parts, key=lambda one: -len(one.boxes)), 2 * GAP)] if parts else []
    title = Line(wrapped(cluster.title, NAME_SIZE, 1, 2 * WIDEST)[0], NAME_SIZE)
    if cluster.independent:
        alone = [boxes[key] for key in cluster.independent]
        square = sqrt(2 * sum((box.width + GAP) * (box.height + GAP) for box in alone))
        below = pieces[0].height + 2 * GAP if pieces else 0
        pieces.append(shifted(in_rows(alone, max(square, *(piece.width for piece in pieces), 0)), 0, below))
    head = title.height + 8
    inside = shifted(joined(pieces), FRAME, FRAME + head)
    width, height = max(inside.width, title.width + FRAME) + FRAME, inside.height + FRAME
    return joined([Piece(width, height, frames=(Frame(cluster.title, 0, 0, width, height),)), inside])


def _connected(cluster: Cluster) -> list[tuple[list[Key], list[Edge]]]:
    """The connected parts of an Application."""
    part = {key: [key] for key in cluster.linked}
    for edge in cluster.edges:
        one, other = part[edge.dependant], part[edge.dependency]
        if one is not other:
            one += other
            part.update(dict.fromkeys(other, one))
    parts = {id(keys): keys for keys in part.values()}
    return [(sorted(keys), [edge for edge in cluster.edges if part[edge.dependant] is keys]) for keys in parts.values()]


def _part(keys: Sequence[Key], edges: Sequence[Edge], boxes: Mapping[Key, Box]) -> Piece:
    """Components that edges connect."""
    targets = targets_of(keys, edges)
    columns = ordered(in_columns(keys, targets))
    heights = heights_of(columns, boxes)
    middle = middles_of(columns, heights)
    top = min(at - heights.height[node] / 2 for node, at in middle.items())
    bottom = max(at + heights.height[node] / 2 for node, at in middle.items())
    placed: dict[Key, Placed] = {}
    routes: dict[Node, list[Point]] = {}
    colours = _line_colours(columns)
    drawn: list[Drawn] = []
    x = 0.0
    for column, (row, links) in enumerate(zip(columns.rows, columns.links, strict=True)):
        members = [node for node in row if isinstance(node, Key)]
        width = max((boxes[key].width for key in members), default=0)
        for key in members:
            height = heights.height[key]
            placed[key] = Placed(boxes[key], x, middle[key] - height / 2 - top, width, height)
        x += width
        runs = runs_of(links, heights, middle)
        tracks = tracks_of(runs)
        behind = x + (max(tracks.values(), default=-1) + 2) * TRACK + ARROW + 8
        for run in runs:
            begin = routes.get(Lane(run.net, column), [(x, run.start - top)])
            for node, end in run.ends.items():
                turn = x + (tracks.get(run.net, 0) + 1) * TRACK
                bend = [] if end == run.start else [(turn, run.start - top), (turn, end - top)]
                if isinstance(node, Key):
                    points = [*begin, *bend, (behind, end - top)]
                    drawn.append(_drawn(run.net, node, points, colours[run.net]))
                else:
                    routes[node] = [*begin, *bend]
        x = behind
    right = max(box.x + box.width for box in placed.values())
    return Piece(right, bottom - top, tuple(placed.values()), tuple(sorted(drawn, key=lambda one: one.edge)))


def _drawn(net: Net, end: Key, points: Sequence[Point], colour: int) -> Drawn:
    if net.back:
        return Drawn(Edge(net.source, end), tuple(points[::-1]), colour, True)
    return Drawn(Edge(end, net.source), tuple(points), colour, False)


def _line_colours(columns: Columns) -> dict[Net, int]:
    """Lines that begin next to each other have different colours."""
    found: dict[Net, int] = {}
    for row, links in zip(columns.rows, columns.links, strict=True):
        place = {node: number for number, node in enumerate(row)}
        for net in sorted({link.net for link in links}, key=lambda one: (place.get(one.source, 0), one)):
            found.setdefault(net, len(found) % _COLOURS)
    return found
