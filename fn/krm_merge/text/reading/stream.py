"""The documents of a YAML stream, as text: cut apart, and put together again after changes."""

from __future__ import annotations

import re
from itertools import pairwise

from krm_merge.errors import KrmMergeError
from krm_merge.limits import DOCUMENTS
from krm_merge.startup import pattern

BOM = b"\xef\xbb\xbf"

# YAML allows no such line inside a scalar, whatever its style; directives belong to the document below them.
_SEPARATOR = pattern(rb"^(?:%[A-Z][^\n]*\n)*---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_BARE_SEPARATOR = pattern(rb"---[ \t]*\r?\n")
_DETACHED_HEAD = pattern(rb"(?:[ \t]*#[^\n]*\n)+(?:[ \t]*\r?\n)+")
_NOTHING = pattern(rb"(?:---)?(?:[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z))*\Z")


def cut(data: bytes, name: str = "a file") -> list[bytes]:
    """The documents with their separators in front; together they are the file. A byte order mark is left out.

    Raises KrmMergeError, which names the file, where there are too many.
    """
    data = data.removeprefix(BOM)
    starts = [match.start() for match in _SEPARATOR.finditer(data)]
    if starts and not data[: starts[0]].strip():
        starts[0] = 0
    bounds = sorted({0, *starts, len(data)})
    if len(bounds) - 1 > (most := DOCUMENTS.value()):
        raise KrmMergeError(f"{name} holds more than {most} documents; divide it, or {DOCUMENTS.remedy}")
    return [data[start:stop] for start, stop in pairwise(bounds)]


def is_empty(document: bytes) -> bool:
    """Whether a text holds nothing but comments."""
    return _NOTHING.match(document) is not None


def detached_head(document: bytes) -> bytes:
    """The comments at the head of a file that a blank line sets apart from its first document, such as a licence."""
    match = _DETACHED_HEAD.match(document)
    return match.group() if match else b""


def joined(documents: list[bytes], like: bytes) -> bytes:
    """A file of these documents, with the byte order mark of another file and the line ends that it has in general.

    The first needs no separator, all others get one where they have none.
    """
    newline = b"\r\n" if b"\r\n" in like else b"\n"
    pieces = [BOM] if like.startswith(BOM) else []
    for number, document in enumerate(documents):
        if number and not pieces[-1].endswith(b"\n"):
            pieces.append(newline)
        if number and _SEPARATOR.match(document) is None:
            pieces.append(b"---" + newline)
        pieces.append(document)
    return b"".join(pieces)


def in_lines_of(document: bytes, like: bytes) -> bytes:
    """A document with the line ends of another file."""
    lines = document.replace(b"\r\n", b"\n")
    return lines.replace(b"\n", b"\r\n") if b"\r\n" in like else lines


def without_separator(document: bytes) -> bytes:
    """A document that comes first in its file, where the separator says nothing more."""
    return document[match.end() :] if (match := _BARE_SEPARATOR.match(document)) else document
