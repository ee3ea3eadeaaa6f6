"""Single marks of the picture of the graph as SVG: texts, boxes, lines with their heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import ceil

from krm_merge.components.draw.drawing import printable
from krm_merge.components.draw.layout_pieces import ARROW, Point
from krm_merge.components.graph.graph import Role

_CORNERS: Mapping[Role, int] = {"dependency": 0, "both": 5, "dependant": 14, "independent": 14}


def rectangle(role: Role, tested: bool, x: float, y: float, width: float, height: float) -> str:
    """The box of a Component in this role."""
    style = f"{role} tested" if tested else role
    return (
        f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{min(_CORNERS[role], height / 2):g}"/>'
    )


def chip(x: float, y: float, width: float, height: float) -> str:
    """The mark of a group."""
    return f'<rect class="chip" x="{x:g}" y="{y:g}" width="{ceil(width)}" height="{height:g}" rx="{height / 2:g}"/>'


def pull(x: float, y: float) -> str:
    """The mark of a pull request."""
    return f'<circle class="pull" cx="{x:g}" cy="{y:g}" r="3"/>'


def text_at(text: str, x: float, y: float, style: str = "") -> str:
    """A line of text."""
    css = f' class="{style}"' if style else ""
    return f'<text{css} x="{x:g}" y="{y:g}">{escaped(text)}</text>'


def escaped(text: str) -> str:
    """A text as it stands in SVG."""
    return escape(printable(text))


def arrow(points: Sequence[Point]) -> Iterator[str]:
    """A line with round corners and its head, which points to the right, to the left where the line closes a circle."""
    (before, _), (x, y) = points[-2:]
    tail = x - ARROW if before < x else x + ARROW
    yield f'<path class="line" d="{_path([*points[:-1], (tail, y)])}"/>'
    yield f'<path class="head" d="M{tail:g} {y - 4:g}L{x:g} {y:g}L{tail:g} {y + 4:g}Z"/>'


def _path(points: Sequence[Point]) -> str:
    found = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        radius = min(6.0, (abs(x - before[0]) + abs(y - before[1])) / 2, (abs(after[0] - x) + abs(after[1] - y)) / 2)
        entry, leave = _towards((x, y), before, radius), _towards((x, y), after, radius)
        found.append(f"L{entry[0]:g} {entry[1]:g}Q{x:g} {y:g} {leave[0]:g} {leave[1]:g}")
    return "".join([*found, f"L{points[-1][0]:g} {points[-1][1]:g}"])


def _towards(corner: Point, point: Point, distance: float) -> Point:
    """A point beside a corner; lines only go straight up, down, left and right."""
    (x, y), (to_x, to_y) = corner, point
    step = (to_x > x) - (to_x < x), (to_y > y) - (to_y < y)
    return x + step[0] * distance, y + step[1] * distance
