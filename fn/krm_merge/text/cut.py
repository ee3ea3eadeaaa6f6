"""Cuts a list of items into slices without parsing it, and proves that the cut is right.

A dash at the column of the list starts an item unless it is inside a quoted scalar or a flow collection: block
scalars and continued plain scalars are always indented deeper. So a slice in which every quote and bracket closes on
its own line ends where its item ends. A slice where that is not plain to see is given to libyaml: cut off inside a
quote or bracket it would not parse.
"""

from __future__ import annotations

import itertools
import re

from krm_merge.startup import frozen, pattern
from krm_merge.text.reading.layout import CannotEditError, chunks, content_end
from krm_merge.text.reading.nodes import Entry, MappingNode, Node, SequenceNode, TextError, is_null, key_text

_DOUBLE = rb'"(?:[^"\\\n]|\\[^\n])*"'
_SINGLE = rb"'(?:[^'\n]|'')*'"
# Possessive: `'a''b'` could also be read as two texts, and trying all readings of many takes for ever.
_FLAT = rb"(?:[^\n\"'\[\]{}#&!]|" + _DOUBLE + rb"|" + _SINGLE + rb"(?!'))*+"
# What follows a bracket that opens: one more level of brackets, closed before the line ends.
_FLOW_REST = _FLAT + rb"(?:[\[{]" + _FLAT + rb"[\]}]" + _FLAT + rb")*[\]}]"


# A character that may open something, where a value may start (behind a key, a dash or an indentation; more places than
# values start at, none less), and that is not closed on its line. One set of characters first makes the search fast.
_DOUBTFUL = pattern(
    rb"[\"'\[{!&?\t](?:(?<=[:\-? \n] .)|(?<=\n.)|(?<=[:\-? ]\t))(?:"
    rb'(?<=")(?!(?:[^"\\\n]|\\[^\n])*")|'
    rb"(?<=')(?!(?:[^'\n]|'')*')|"
    rb"(?<=[\[{])(?!" + _FLOW_REST + rb")|"
    rb"(?<=[!&?\t]))"
)
# A line that begins with a dash or a comment belongs to the field above it: lists may be at column 0.
_TOP_LEVEL = pattern(rb"\n(?=[^ \t\-#\r\n])")
_FIELD = pattern(rb"([A-Za-z][A-Za-z0-9]*):[ \t]*(#[^\n]*|\r)?(?=\n|\Z)")
_FIELD_WITH_VALUE = pattern(rb"([A-Za-z][A-Za-z0-9]*):[ \t]")
# Possessive: a carriage return would fit two parts, and each comment would double the readings.
_BLANK_LINES = rb"(?:[ \t]*+(?:#[^\n]*+|\r)?+\n)*+"
_SKIPPED = pattern(_BLANK_LINES + rb"(?:---[ \t]*\r?\n)?" + _BLANK_LINES)
_FIRST_DASH = pattern(_BLANK_LINES + rb"( *)-(?=[ \r\n])")
_END_OF_DOCUMENT = pattern(r"^(?:\.\.\.|---)", re.MULTILINE)
_NO_ITEMS = pattern(rb"items:[ \t]*+(?:\[[ \t]*+\]|null|~)?[ \t]*+(?:#[^\n]*+|\r)?+\n?\Z")


@frozen
class Slice:
    """The bytes of one item, dash and last newline included. `proved`: every value is seen to end on its line."""

    data: bytes
    proved: bool


class Cut:
    """A mapping of top-level fields, cut: `fields` in order as bytes, the items of one of them as slices.

    `before` is the text above the first field, `items_head` the line of the items' key and what follows it up to
    the first dash, `dash` the column of the dashes.
    """

    __slots__ = ("before", "dash", "fields", "items", "items_head", "newline")

    def __init__(
        self,
        before: bytes,
        fields: dict[str, bytes],
        items: list[Slice] | None,
        items_head: bytes,
        dash: int,
        newline: bytes,
    ) -> None:
        self.before = before
        self.fields = fields
        self.items = items
        self.items_head = items_head
        self.dash = dash
        self.newline = newline


def cut_items(data: bytes) -> Cut:
    """Cuts the text of a ResourceList. Raises TextError where it is not YAML or not a mapping."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        return _cut_fast(data) or _cut_by_marks(data)
    except CannotEditError as error:
        raise TextError(f"the list cannot be taken apart: {error}") from None


def _cut_fast(data: bytes) -> Cut | None:
    newline = b"\r\n" if b"\r\n" in data[:4096] else b"\n"
    result = Cut(b"", {}, None, b"items:" + newline, 0, newline)
    skipped = _SKIPPED.match(data)
    assert skipped is not None  # blank lines may be none
    position = skipped.end()
    result.before = data[:position]
    if data.find(b"\n---", position) != -1 or data.find(b"\n...", position) != -1:
        return None  # perhaps a second document
    while position < len(data):
        end_match = _TOP_LEVEL.search(data, position)
        end = end_match.start() + 1 if end_match else len(data)
        head = _FIELD.match(data, position) or _FIELD_WITH_VALUE.match(data, position)
        if head is None:
            return None
        name = head.group(1).decode()
        if name in result.fields:
            raise TextError(f"the key {name} is there twice; keep one")
        if name == "items":
            if not _cut_items(data, position, end, result):
                return None
            result.fields[name] = b""
        elif _is_whole(region := data[position:end]):
            result.fields[name] = region
        else:
            return None
        position = end
    return result if result.fields else None


def has_open_end(data: bytes, end: int) -> bool:
    """Whether a value in block style before a position may go on behind its line: then lines are not what they seem."""
    return _DOUBTFUL.search(data, 0, end) is not None


def _is_whole(region: bytes) -> bool:
    """Whether a region is YAML by itself: then no quote or bracket is open at its end."""
    if region.count(b"\n") <= 1 and not _DOUBTFUL.search(region):
        return True
    return _parses(region)


def _parses(region: bytes) -> bool:
    from krm_merge.text.reading.reader import MAX_PASSED_DEPTH, check

    try:
        # Bytes that are no UTF-8 change nothing about where quotes and brackets close.
        check(region.decode("utf-8", errors="replace"), MAX_PASSED_DEPTH)
    except TextError:
        return False
    return True


def _cut_items(data: bytes, begin: int, end: int, result: Cut) -> bool:
    """Cuts the items, a field from `begin` to `end`; nothing but the slices is copied."""
    if _NO_ITEMS.match(data, begin, end):
        result.items = []
        result.items_head = b"items:" + result.newline
        return True
    head = _FIELD.match(data, begin, end)
    first = _FIRST_DASH.match(data, head.end() + 1, end) if head else None
    if first is None:
        return False
    result.dash = len(first.group(1))
    start = first.start(1)
    result.items_head = data[begin:start]
    starts = [start]
    dash = b"\n" + b" " * result.dash + b"-"
    position = data.find(dash, start, end)
    while position >= 0:
        if data[position + len(dash) : min(position + len(dash) + 1, end)] in (b" ", b"\n", b"\r"):
            starts.append(position + 1)
        position = data.find(dash, position + 1, end)
    starts.append(end)
    result.items = []
    for at, behind in itertools.pairwise(starts):
        item = data[at:behind]
        proved = _DOUBTFUL.search(item) is None
        if not proved and not _parses(item):
            return False
        result.items.append(Slice(item, proved))
    return True


def _cut_by_marks(data: bytes) -> Cut:
    """Cuts by the marks of libyaml: the slow way for whatever is written unusually, and the one that words errors."""
    from krm_merge.text.reading.reader import read

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextError("not UTF-8; save the file as UTF-8", line, 1) from None
    root = read(text)
    if not isinstance(root, MappingNode):
        raise TextError("not a mapping" if root is not None else "empty")
    newline = b"\r\n" if "\r\n" in text else b"\n"
    if root.flow or any(key_text(e.key) == "items" and _is_unusual(e.value) for e in root.entries):
        # No endless recursion: this text is in block style, and so are its items.
        return _cut_by_marks(_in_block_style(root).encode())
    result = Cut(b"", {}, None, b"items:" + newline, 0, newline)
    places = chunks(root)
    # Without the mark that ends the document: fields are written behind the last one.
    end_mark = _END_OF_DOCUMENT.search(text, content_end(root))
    text = text[: end_mark.start()] if end_mark else text
    result.before = text[: places[0].start].encode()
    for entry, place, following in zip(root.entries, places, [*places[1:], None], strict=True):
        name = key_text(entry.key)
        region = text[place.start : following.start if following else len(text)].encode()
        result.fields[name] = region
        if name == "items":
            result.fields[name] = b""
            if isinstance(entry.value, SequenceNode):
                _items_by_marks(text, entry.value, place.start, following.start if following else len(text), result)
            elif is_null(entry.value):
                result.items = []
            else:
                raise TextError("items is not a list")
    return result


def _is_unusual(items: Node) -> bool:
    return isinstance(items, SequenceNode) and bool(items.items) and items.flow


def _items_by_marks(text: str, items: SequenceNode, start: int, end: int, result: Cut) -> None:
    places = chunks(items) if items.items else []
    if not places:
        result.items = []
        return
    result.dash = places[0].column
    starts = [text.rfind("\n", 0, place.own) + 1 for place in places]
    result.items_head = text[start : starts[0]].encode()
    result.items = [Slice(text[a:b].encode(), proved=False) for a, b in zip(starts, [*starts[1:], end], strict=True)]


def _in_block_style(root: MappingNode) -> str:
    """A list written in flow style (JSON) with its top-level fields and its items as blocks."""
    from krm_merge.text.document import written

    entries = []
    for entry in root.entries:
        value = entry.value
        if key_text(entry.key) == "items" and isinstance(value, SequenceNode):
            value = SequenceNode.new(False, value.items)
        entries.append(Entry(entry.key, value))
    return written(MappingNode.new(False, entries))
