"""Fits text into the width of a terminal; what goes to a file or another program stays as it is."""

from __future__ import annotations

import os
import re
from typing import TextIO

_WIDEST = 120
"""Columns: longer lines are hard to read, however wide the terminal is."""

_NARROWEST = 30
_SEPARATOR = re.compile(r"[./,:=-]")


def width_of(stream: TextIO) -> int | None:
    """The columns to write to a stream in; None where it is no terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return None
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if columns and given.isdecimal() else columns
    return max(_NARROWEST, min(columns, _WIDEST)) if columns else None


def fitted(text: str, width: int | None, indent: int) -> str:
    """A line cut between words into lines of that width; those behind the first are indented.

    Words that are longer than a line, such as paths, are cut behind a dot or the like. Without a width it is the line
    itself.
    """
    if width is None or len(text) <= width:
        return text
    pad = " " * min(indent, width // 2)
    lines: list[str] = []
    current = ""
    for number, word in enumerate(text.split(" ")):
        if not number:
            current = word
        elif len(current) + 1 + len(word) <= width or not current.strip():
            current = f"{current} {word}"
        else:
            lines.append(current)
            current = pad + word
        while len(current) > width:
            at = _cut(current, len(pad), width)
            lines.append(current[:at])
            current = pad + current[at:]
    return "\n".join([*lines, current])


def _cut(text: str, start: int, width: int) -> int:
    """Where to cut a word that is too long for a line: behind the last separator that leaves a good part of it."""
    behind = [match.end() for match in _SEPARATOR.finditer(text, start, width)]
    return behind[-1] if behind and behind[-1] > width // 2 else width
