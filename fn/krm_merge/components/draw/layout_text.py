"""How wide texts are in the picture of the graph, and where their lines end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from krm_merge.components.draw.drawing import printable

NAME_SIZE, TEXT_SIZE = 14, 11
"""Sizes of the names of Components and of all other text."""
WIDEST = 230
"""No text is wider."""
_MOST_LINES = 3
"""No text has more lines."""


def text_width(text: str, size: int) -> float:
    """How wide a text is at most, in any usual font without serifs; names are bold."""
    return sum(map(_char_width, text)) * size * (1.08 if size == NAME_SIZE else 1)


def _char_width(char: str) -> float:
    if unicodedata.combining(char):
        return 0
    if char in "iljtfrI.,:;'|!()[] /":
        return 0.45
    if char in "mwMW@%" or ord(char) > 0x2E7F:
        return 1.1
    return 0.66 if char.islower() or char in "-_" else 0.78


def wrapped(text: str, size: int, most: int = _MOST_LINES, widest: int = WIDEST) -> list[str]:
    """A text in lines that are not too wide; where there would be too many, the last one ends in an ellipsis."""
    lines = [""]
    for piece in _pieces(printable(text), size, widest):
        if lines[-1] and text_width(lines[-1] + piece.rstrip(), size) > widest:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    if len(lines) > most:
        lines[most - 1 :] = [lines[most - 1].rstrip()[:-1] + "\N{HORIZONTAL ELLIPSIS}"]
    return [line.rstrip() for line in lines]


def _pieces(text: str, size: int, widest: int) -> Iterator[str]:
    """Where a line may end: behind spaces and what separates words, else where a word alone is too wide."""
    for word in re.findall(r"[^\s/@-]*(?:[/@-]+|\s+)|[^\s/@-]+", text):
        piece = ""
        for char in word:
            if text_width(piece + char, size) > widest and not char.isspace():
                yield piece
                piece = ""
            piece += char
        yield piece
