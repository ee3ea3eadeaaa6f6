"""What was laid out by itself, and how such pieces come to stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TypeAlias

from krm_merge.components.draw.layout_boxes import GAP, Box
from krm_merge.components.graph.graph import Edge

ARROW = 8
"""How long the head of a line is."""
FRAME = 20
"""Around what a frame holds."""

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Placed:
    """A box in its place: its left upper corner, how wide and how tall."""

    box: Box
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """An edge: where it turns, from its dependency to its dependant; `colour` tells lines apart."""

    edge: Edge
    points: tuple[Point, ...]
    colour: int
    back: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame around an Application."""

    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Piece:
    """Something laid out from (0, 0) on."""

    width: float
    height: float
    boxes: tuple[Placed, ...] = ()
    edges: tuple[Drawn, ...] = ()
    frames: tuple[Frame, ...] = ()


def in_rows(boxes: Sequence[Box], most: float) -> Piece:
    """Components that nothing links, in rows that are not wider than `most`."""
    width = max(box.width for box in boxes)
    across = max(1, min(len(boxes), int((most + GAP) // (width + GAP))))
    placed: list[Placed] = []
    y = 0.0
    for start in range(0, len(boxes), across):
        row = boxes[start : start + across]
        height = max(box.height for box in row)
        placed += [Placed(box, number * (width + GAP), y, width, height) for number, box in enumerate(row)]
        y += height + GAP
    return Piece(across * (width + GAP) - GAP, y - GAP, tuple(placed))


def packed(pieces: Sequence[Piece], gap: float) -> Piece:
    """Pieces in rows, so that the whole is about as wide as a screen is to its height."""
    most = max(*(piece.width for piece in pieces), sqrt(2 * sum(piece.width * piece.height for piece in pieces)))
    moved: list[Piece] = []
    x = y = tall = 0.0
    for piece in pieces:
        if x and x + piece.width > most:
            x, y, tall = 0.0, y + tall + gap, 0.0
        moved.append(shifted(piece, x, y))
        x += piece.width + gap
        tall = max(tall, piece.height)
    return joined(moved)


def shifted(piece: Piece, x: float, y: float) -> Piece:
    """A piece in another place."""
    return Piece(
        piece.width + x,
        piece.height + y,
        tuple(replace(box, x=box.x + x, y=box.y + y) for box in piece.boxes),
        tuple(replace(edge, points=tuple((at + x, to + y) for at, to in edge.points)) for edge in piece.edges),
        tuple(replace(frame, x=frame.x + x, y=frame.y + y) for frame in piece.frames),
    )


def joined(pieces: Sequence[Piece]) -> Piece:
    """Pieces as one, each where it is."""
    return Piece(
        max((piece.width for piece in pieces), default=0),
        max((piece.height for piece in pieces), default=0),
        tuple(box for piece in pieces for box in piece.boxes),
        tuple(edge for piece in pieces for edge in piece.edges),
        tuple(frame for piece in pieces for frame in piece.frames),
    )
