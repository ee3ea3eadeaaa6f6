"""Conflicts as git marks them in a text."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from krm_merge.packages.files.tree import Changes, File, Tree
from krm_merge.text.reading.stream import cut, usual_line_end

MARKER_SIZE = 7
"""The length of git's markers, by default."""

_DOCUMENTATION = (".md", ".rst", ".adoc")
_BEGINS = re.compile(rb"^<{7,}(?: [^\n]*|\r)?$", re.MULTILINE)
_DIVIDES = re.compile(rb"^={7,}\r?$", re.MULTILINE)
_ENDS = re.compile(rb"^>{7,}(?: [^\n]*|\r)?$", re.MULTILINE)


class MarkedChanges(NamedTuple):
    """Changes of files, the number of places between markers, and the binary files in conflict, which have none."""

    changes: dict[str, File | None]
    places: int
    binary: tuple[str, ...]


def lines_of_conflicts(tree: Tree) -> dict[str, int]:
    """The line of the first conflict between markers, from 1, in each file that holds one.

    Documentation is left out: it shows markers.
    """
    lines = {path: _line_of_conflict(file.data) for path, file in tree.items() if _may_conflict(path, file)}
    return {path: line for path, line in lines.items() if line}


def _may_conflict(path: str, file: File) -> bool:
    return file.mode != "link" and not path.endswith(_DOCUMENTATION)


def _line_of_conflict(data: bytes) -> int:
    if (
        b"<" * MARKER_SIZE in data
        and (begins := _BEGINS.search(data))
        and (divides := _DIVIDES.search(data, begins.end()))
        and _ENDS.search(data, divides.end())
    ):
        return data.count(b"\n", 0, begins.start()) + 1
    return 0


def marked_changes(local: Tree, ours: Changes, theirs: Changes, size: int) -> MarkedChanges:
    """The changes of two merges that differ only in who wins conflicts, with markers where they differ."""
    changes: dict[str, File | None] = {}
    places, binary = 0, []
    for path in dict.fromkeys([*ours, *theirs]):
        mine, other = (side[path] if path in side else local.get(path) for side in (ours, theirs))
        if mine == other:
            changes[path] = mine
            continue
        if _is_binary(mine) or _is_binary(other):
            # No place for markers: ours is kept, as in git.
            changes[path] = mine
            binary.append(path)
            continue
        data, count = marked(_data(mine), _data(other), size)
        like = mine or other
        assert like is not None
        changes[path] = File(data, like.mode)
        places += count
    kept = {path: file for path, file in changes.items() if file != local.get(path)}
    return MarkedChanges(kept, places, tuple(binary))


def _is_binary(file: File | None) -> bool:
    return file is not None and b"\0" in file.data


def _data(file: File | None) -> bytes:
    return file.data if file is not None else b""


def marked(ours: bytes, theirs: bytes, size: int) -> tuple[bytes, int]:
    """One text of two, with markers of `size` where they differ, and the number of places."""
    pieces: list[bytes] = []
    conflicts = 0
    documents = cut(ours), cut(theirs)
    if len(documents[0]) != len(documents[1]):
        documents = [ours], [theirs]
    for mine, other in zip_longest(*documents):
        text, count = _marked(mine.splitlines(keepends=True), other.splitlines(keepends=True), size)
        pieces += text
        conflicts += count
    return b"".join(pieces), conflicts


def _marked(ours: list[bytes], theirs: list[bytes], size: int) -> tuple[list[bytes], int]:
    if ours == theirs:
        return ours, 0
    newline = usual_line_end(b"".join(ours or theirs))
    out: list[bytes] = []
    conflicts = 0
    for tag, start, stop, other_start, other_stop in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            out += ours[start:stop]
            continue
        conflicts += 1
        out += [
            b"<" * size + b" ours" + newline,
            *_whole(ours[start:stop], newline),
            b"=" * size + newline,
            *_whole(theirs[other_start:other_stop], newline),
            b">" * size + b" theirs" + newline,
        ]
    return out, conflicts


def _whole(lines: list[bytes], newline: bytes) -> list[bytes]:
    """The lines, the last one ended."""
    return [line if line.endswith((b"\n", b"\r")) else line + newline for line in lines]
