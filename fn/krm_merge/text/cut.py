"""Cuts a list of items into slices without parsing it, and proves that the cut is right.

A dash at the column of the list starts an item unless it is inside a quoted scalar or a flow collection: block
scalars and continued plain scalars are always indented deeper. So a slice in which every quote and bracket closes on
its own line ends where its item ends. A slice where that is not plain to see is given to libyaml: cut off inside a
quote or bracket it would not parse. JSON is written as blocks first; whatever else cannot be cut is refused.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from krm_merge.startup import pattern
from krm_merge.text.reading.nodes import (
    Entry,
    MappingNode,
    Node,
    SequenceNode,
    TextError,
    from_value,
    is_null,
    key_text,
    resolved,
)
from krm_merge.text.reading.reader import MAX_PASSED_DEPTH, check, read

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
_SKIPPED = pattern(_BLANK_LINES + rb"(?:---[ \t]*+(?:#[^\n]*+)?\r?\n)?" + _BLANK_LINES)
_FIRST_DASH = pattern(_BLANK_LINES + rb"( *)-(?=[ \r\n])")
_NO_ITEMS = pattern(rb"items:[ \t]*+(?:\[[ \t]*+\]|null|Null|~)?[ \t]*+(?:#[^\n]*+|\r)?+\n?\Z")


class Slice(NamedTuple):
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
    return _cut_fast(data) or _cut_anew(data)


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
            raise TextError(f"the key {name} appears twice; keep one")
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


def _cut_anew(data: bytes) -> Cut:
    """Cuts JSON, and what is written with brackets where items are, as blocks. Raises TextError for all else."""
    from krm_merge.text.document import written

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextError("not UTF-8; save the file as UTF-8", line, 1) from None
    root = read(text)
    if not isinstance(root, MappingNode):
        raise TextError("not a mapping" if root is not None else "empty")
    items = root.get("items")
    if items is not None and not isinstance(items, SequenceNode) and not is_null(items):
        raise TextError("items is not a list")
    # Written anew, comments would be lost, which JSON has none of, and what is in blocks already would change.
    has_brackets = root.flow or (isinstance(items, SequenceNode) and items.flow)
    cut = None
    if has_brackets and ("#" not in text or is_json(text)):
        fields = [Entry(from_value(key_text(entry.key)), _as_block(resolved(entry.value))) for entry in root.entries]
        cut = _cut_fast(written(MappingNode.new(False, fields)).encode())
    if cut is None:
        raise TextError("the list is written in an unusual way; write it as kpt does, or as JSON")
    return cut


def is_json(text: str) -> bool:
    """Whether a text is an object or a list of JSON."""
    # By the first sign: parsing each text would take long, and a number alone is JSON, too.
    if not text.lstrip().startswith(("{", "[")):
        return False
    import json

    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _as_block(node: Node) -> Node:
    """A value with all that it holds in lines of their own."""
    if isinstance(node, SequenceNode) and node.items:
        return SequenceNode.new(False, [_as_block(resolved(item)) for item in node.items])
    if isinstance(node, MappingNode) and node.entries:
        return MappingNode.new(False, [Entry(entry.key, _as_block(resolved(entry.value))) for entry in node.entries])
    return node
