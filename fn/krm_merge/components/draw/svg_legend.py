"""What the marks in the picture of the graph mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import ceil
from typing import TypeAlias

from krm_merge.components.draw.drawing import BOTH, ROLES, THICK, Drawing
from krm_merge.components.draw.layout_pieces import FRAME, Drawn
from krm_merge.components.draw.layout_text import TEXT_SIZE, text_width
from krm_merge.components.draw.svg_marks import arrow, chip, pull, rectangle, text_at
from krm_merge.components.graph.graph import Role

_SAMPLE = 26
"""How wide a mark is in the legend."""
_Mark: TypeAlias = Callable[[float, float], Iterable[str]]
"""Draws a mark: from x to the right, around y."""


def marks_of(drawing: Drawing, edges: Iterable[Drawn]) -> Iterator[tuple[_Mark, str]]:
    """The marks that a drawing has, and what they mean."""
    graph = drawing.graph
    backs = {edge.back for edge in edges}
    if False in backs:
        yield partial(_mark_arrow, "colour0"), "from a dependency to its dependant"
    if True in backs:
        yield partial(_mark_arrow, "circle"), "the same, closing a circle"
    roles = {graph.role(key) for key in graph.components}
    for role in ROLES:
        if role in roles:
            yield partial(_mark_box, role, False), BOTH if role == "both" else role
    if any(graph.is_tested(key) for key in graph.components):
        yield partial(_mark_box, "dependant", True), THICK
    if any(drawing.groups_of(key) for key in graph.components):
        yield lambda x, y: [chip(x, y - 6, _SAMPLE, 12)], "group of pull requests"
    if any(drawing.waiting_for(key) for key in graph.components):
        yield lambda x, y: [pull(x + _SAMPLE / 2, y)], "pull request, waiting or planned"


def _mark_arrow(style: str, x: float, y: float) -> Iterator[str]:
    yield f'<g class="{style}">'
    yield from arrow([(x, y), (x + _SAMPLE, y)])
    yield "</g>"


def _mark_box(role: Role, tested: bool, x: float, y: float) -> Iterator[str]:
    yield rectangle(role, tested, x, y - 6, _SAMPLE, 12)


def legend_of(marks: Iterable[tuple[_Mark, str]], most: float, top: float) -> tuple[list[str], float, float]:
    """What marks mean: lines of SVG, and where they end to the right and below."""
    lines: list[str] = []
    x, y, right = float(FRAME), top + FRAME, 0.0
    for mark, text in marks:
        width = _SAMPLE + 6 + text_width(text, TEXT_SIZE)
        if x > FRAME and x + width > most:
            x, y = float(FRAME), y + 2 * TEXT_SIZE
        lines += [*mark(x, y), text_at(text, x + _SAMPLE + 6, y + 4, "soft")]
        right = max(right, x + width)
        x += ceil(width) + FRAME
    return lines, right, y + 6
