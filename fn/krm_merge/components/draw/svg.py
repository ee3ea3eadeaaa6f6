"""The graph of Components as a picture, from dependencies to dependants (C6)."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from krm_merge.components.draw.drawing import Drawing, clusters
from krm_merge.components.draw.layout_applications import application_of
from krm_merge.components.draw.layout_boxes import ICON, PAD
from krm_merge.components.draw.layout_pieces import FRAME, Drawn, Frame, Piece, Placed, packed, shifted
from krm_merge.components.draw.layout_text import NAME_SIZE, WIDEST, wrapped
from krm_merge.components.draw.svg_legend import legend_of, marks_of
from krm_merge.components.draw.svg_marks import arrow, chip, escaped, pull, rectangle, text_at
from krm_merge.components.draw.svg_style import style_sheet


def svg(drawing: Drawing) -> str:
    """The drawing as a picture that stands by itself."""
    applications = [application_of(cluster, drawing) for cluster in clusters(drawing.graph)]
    body = shifted(packed(applications, FRAME), FRAME, FRAME) if applications else Piece(FRAME, 0)
    legend, width, height = legend_of(marks_of(drawing, body.edges), max(body.width, 560), body.height + FRAME)
    wide, tall = ceil(max(body.width, width)) + FRAME, ceil(height) + FRAME
    count, links = len(drawing.graph.components), len(drawing.graph.edges)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" viewBox="0 0 {wide} {tall}" '
        'role="img" aria-labelledby="title description">',
        '<title id="title">Components and what they depend on</title>',
        f'<desc id="description">Components: {count}; dependencies: {links}; Applications: {len(applications)}. '
        "Arrows lead from dependencies to dependants.</desc>",
        f"<style>\n{style_sheet()}</style>",
        f'<rect class="page" width="{wide}" height="{tall}"/>',
        *(line for frame in body.frames for line in _frame(frame)),
        *(line for edge in body.edges for line in _edge(edge)),
        *(line for box in body.boxes for line in _component(box)),
        '<g class="legend">',
        *legend,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _frame(frame: Frame) -> Iterator[str]:
    title = wrapped(frame.title, NAME_SIZE, 1, 2 * WIDEST)[0]
    yield f'<g class="application"><title>{escaped(frame.title)}</title>'
    place = f'x="{frame.x:g}" y="{frame.y:g}" width="{frame.width:g}" height="{frame.height:g}"'
    yield f'<rect class="frame" {place} rx="8"/>'
    yield text_at(title, frame.x + FRAME, frame.y + FRAME + NAME_SIZE - 4, "name soft")
    yield "</g>"


def _component(box: Placed) -> Iterator[str]:
    what = box.box
    yield f'<g class="component" data-component="{escaped(str(what.key))}"><title>{escaped(what.title)}</title>'
    yield rectangle(what.role, what.tested, box.x, box.y, box.width, box.height)
    x = box.x + PAD
    y = box.y + (box.height - what.height) / 2 + PAD
    for line in what.lines:
        if line.chip:
            yield chip(x, y - 1, line.width, line.height - 3)
        if line.icon:
            yield pull(x + 4, y + line.size / 2)
        style = "name" if line.size == NAME_SIZE else "soft" if not line.chip else ""
        indent = line.indent + (ICON / 2 if line.chip else 0)
        yield text_at(line.text, x + indent, y + line.size - (1 if not line.chip else 0), style)
        y += line.height
    yield "</g>"


def _edge(edge: Drawn) -> Iterator[str]:
    dependency, dependant = escaped(str(edge.edge.dependency)), escaped(str(edge.edge.dependant))
    style = "circle" if edge.back else f"colour{edge.colour}"
    yield f'<g class="edge {style}" data-dependency="{dependency}" data-dependant="{dependant}">'
    yield f"<title>{dependency} \N{RIGHTWARDS ARROW} {dependant}</title>"
    yield from arrow(edge.points)
    yield "</g>"
