"""The documents of a YAML stream, cut apart and joined again, and fields read without reading the rest."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TypeAlias

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from krm_merge.errors import KrmMergeError
from krm_merge.limits import DOCUMENTS
from krm_merge.startup import pattern
from krm_merge.text.reading.nodes import MERGE_KEY
from krm_merge.text.reading.reader import events

BOM_BYTES = b"\xef\xbb\xbf"

# YAML allows no such line inside a scalar, whatever its style.
_SEPARATOR = pattern(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVE = pattern(rb"%[A-Z]")
_BARE_SEPARATOR = pattern(rb"---[ \t]*\r?\n")
_DETACHED_HEAD = pattern(rb"(?:[ \t]*#[^\n]*\n)+(?:[ \t]*\r?\n)+")
# Possessive: there is one way only to read a line, so the search takes as many steps as there are characters.
_CONTENT = pattern(rb"(?:\A(?:---)?+|[\r\n])[ \t]*+[^ \t\r\n#]")


def split_documents(data: bytes, name: str = "a file") -> list[bytes]:
    """The documents with their separators in front; together they are the file. A byte order mark is left out.

    Raises KrmMergeError, which names the file, where there are too many.
    """
    data = data.removeprefix(BOM_BYTES)
    most = DOCUMENTS.value()
    # The search ends just beyond the limit: a file of separators alone has as many of them as lines.
    starts = [_start(data, match.start()) for match in islice(_SEPARATOR.finditer(data), most + 2)]
    if starts and not data[: starts[0]].strip():
        # White space above the first separator is not a document of its own.
        starts[0] = 0
    bounds = sorted({0, *starts, len(data)})
    if len(bounds) - 1 > most:
        raise KrmMergeError(f"{name} holds more than {most} documents; split it, or {DOCUMENTS.remedy}")
    return [data[start:stop] for start, stop in pairwise(bounds)]


def is_empty(document: bytes) -> bool:
    """Whether a text holds nothing but comments."""
    return _CONTENT.search(document) is None


def detached_head(document: bytes) -> bytes:
    """The comments at the head of a file that a blank line sets apart from its first document, such as a licence."""
    match = _DETACHED_HEAD.match(document)
    return match.group() if match else b""


def joined(documents: list[bytes], like: bytes) -> bytes:
    """A file of these documents, with the byte order mark of another file and the line ends that it has in general.

    The first needs no separator, all others get one where they have none.
    """
    newline = usual_line_end(like)
    pieces = [BOM_BYTES] if like.startswith(BOM_BYTES) else []
    for number, document in enumerate(documents):
        if number and not pieces[-1].endswith(b"\n"):
            pieces.append(newline)
        if number and not _has_separator(document):
            pieces.append(b"---" + newline)
        pieces.append(document)
    return b"".join(pieces)


def in_lines_of(document: bytes, like: bytes) -> bytes:
    """A document with the line ends that another file has in general."""
    return plain_lines(document).replace(b"\n", usual_line_end(like))


def plain_lines(document: bytes) -> bytes:
    """A document with LF at the end of each line; in YAML, CR LF and CR alone mean the same."""
    # CR LF first: in the other order each would become two line ends.
    return document.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def usual_line_end(data: bytes) -> bytes:
    """LF or CR LF, as most lines of a text have it; CR where it has no LF at all."""
    lines, with_cr = data.count(b"\n"), data.count(b"\r\n")
    if not lines and b"\r" in data:
        return b"\r"
    return b"\r\n" if 2 * with_cr > lines else b"\n"


def without_separator(document: bytes) -> bytes:
    """A document that comes first in its file, where the separator says nothing more."""
    return document[match.end() :] if (match := _BARE_SEPARATOR.match(document)) else document


def _start(data: bytes, separator: int) -> int:
    """The start of the document with this separator: directives belong to the document below them."""
    start = separator
    while start and _DIRECTIVE.match(data, above := data.rfind(b"\n", 0, start - 1) + 1):
        start = above
    return start


def _has_separator(document: bytes) -> bool:
    at = 0
    while _DIRECTIVE.match(document, at) and (end := document.find(b"\n", at)) >= 0:
        at = end + 1
    return _SEPARATOR.match(document, at) is not None


Scalars: TypeAlias = dict[tuple[str, ...], str]
"""The texts of scalars by the keys that lead to them."""


class _Open:
    """A collection that is being read; in a mapping `key` waits for its value."""

    __slots__ = ("is_mapping", "key")

    def __init__(self, *, is_mapping: bool) -> None:
        self.is_mapping = is_mapping
        self.key: str | None = None


def scalars_below(text: str, field: str) -> Scalars | None:
    """The scalars below a field of the root, those in lists left out; none where the root has no such field.

    None where they are not plain to see: the field or the root holds aliases, merge keys, or keys that are no scalars.
    Reads up to the end of the field. Raises TextError where the text is no YAML so far.
    """
    scalars: Scalars = {}
    stack: list[_Open] = []
    for event in events(text):
        kind = type(event)
        top = stack[-1] if stack else None
        if top is not None and top.is_mapping and top.key is None and kind is not MappingEndEvent:
            if kind is not ScalarEvent or event.value == MERGE_KEY:
                return None
            top.key = event.value
            continue
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            stack.append(_Open(is_mapping=kind is MappingStartEvent))
            continue
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            stack.pop()
        elif kind is ScalarEvent:
            if stack and stack[0].key == field and all(opened.is_mapping for opened in stack):
                scalars[tuple(opened.key or "" for opened in stack[1:])] = event.value
        elif kind is AliasEvent:
            if stack and stack[0].key == field:
                return None
        else:
            continue
        # A value ends here.
        if stack:
            if len(stack) == 1 and stack[0].key == field:
                break
            stack[-1].key = None
    return scalars
