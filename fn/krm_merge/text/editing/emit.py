"""Writes nodes as new text: block and flow, with the ends that the text around them needs.

A block scalar absorbs what follows it at its indentation, blank lines too if it keeps them, and ends with the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from krm_merge.startup import frozen, pattern
from krm_merge.text.editing.editor import EditPlan
from krm_merge.text.reading.layout import (
    NO_COMMENTS,
    STEP,
    CannotEditError,
    Chunk,
    Comments,
    Indents,
    block_scalar_header,
    comments_of,
    indents_of,
    is_block,
    is_block_scalar,
    known_chunks,
    list_column,
    source_indent,
    source_of,
)
from krm_merge.text.reading.nodes import (
    Alias,
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Source,
    is_merge_key,
    is_template,
    value_of,
)
from krm_merge.text.reading.scalar_text import block_text, flow_text, in_quotes_of, json_text, line_text, needs_block
from krm_merge.text.reading.scalars import Canonical

_LEADING_BLANK_LINES = pattern(r"(?:[ \t]*\r?\n)+")


class Endings:
    """The endings of the children of one document, after its edits."""

    def __init__(self, source: Source, plan: EditPlan, emitter: Emitter) -> None:
        """The document is read from this source and written by this plan and emitter."""
        self._source = source
        self._plan = plan
        self._emitter = emitter

    def settled(self, gap: str, above: Child, column: int) -> str:
        """A gap that is moved below another child, changed so that no block scalar absorbs any of it."""
        last = self._last_scalar(above)
        if not gap or last is None or (not needs_block(last) and not is_block_scalar(last)):
            return gap
        if last.text.endswith("\n\n") or (last.source is not None and "+" in block_scalar_header(last)):
            gap = without_leading_blanks(gap)
        lines = gap.split("\n")
        return "\n".join(
            (" " * column if line.strip() else "") + line.lstrip(" ") if source_indent(line, 0) > column else line
            for line in lines
        )

    def _last_scalar(self, child: Child) -> Scalar | None:
        """The scalar that ends a child, if its text does not end with a bracket."""
        node = self._emitter.resolved(self._plan.value(child))
        while isinstance(node, MappingNode | SequenceNode):
            if self._emitter.is_flow(node):
                return None
            node = self._emitter.resolved(self._plan.value(self._emitter.children(node)[-1]))
        return node if isinstance(node, Scalar) else None

    def is_open(self, child: Child) -> bool:
        """Whether the last newline of a child's text is part of its value."""
        last = self._last_scalar(child)
        return last is not None and (needs_block(last) or is_block_scalar(last))

    def _ends_the_text(self, last: Scalar) -> bool:
        return is_block_scalar(last) and last.source is self._source and not self._source.text[last.end :].strip()

    def terminated(self, piece: str, child: Child) -> str:
        """A piece from the end of a text without a last newline, with one; it must not become part of a value."""
        last = self._last_scalar(child)
        if last is not None and self._ends_the_text(last) and not last.text.endswith("\n"):
            header = block_scalar_header(last)
            content = len(self._source.text) - self._source.line_end(last.start)
            # From the content upwards: another block scalar in the piece may have the same header.
            at = piece.rfind(header, 0, len(piece) - content)
            if "-" not in header:
                piece = piece[:at] + header.replace("+", "") + "-" + piece[at + len(header) :]
        return piece + self._source.newline


def without_leading_blanks(gap: str) -> str:
    """A gap without the blank lines that it begins with."""
    return gap[blank.end() :] if (blank := _LEADING_BLANK_LINES.match(gap)) else gap


_OPENING = ("{", "[")
_DASHES = pattern(r"\A *(?:- +)*")
# Signs of anchors, aliases and tags; for one in quotes the collection is only put together anew.
_NOT_COPIED = ("&", "*", "!")
MAX_KEY = 1000  # libyaml looks no further than 1,024 characters for the colon of a key


class Edited(Protocol):
    """A tree with edits, as the editor knows it."""

    def children(self, collection: Collection) -> list[Child]:
        """The children after the edits."""

    def value(self, child: Child) -> Node:
        """The value of a child after the edits."""

    def comments(self, child: Child) -> Comments | None:
        """The comments that an edit gave the child."""

    def inherited(self, mapping: MappingNode) -> dict[Canonical, Entry]:
        """The fields that merge keys add after the edits."""


@frozen
class FlowLines:
    """A line that a part of a flow collection begins on: its break and indentation, and how much deeper parts are."""

    start: str
    step: str

    @property
    def newline(self) -> str:
        """The line break."""
        return self.start.rstrip(" \t")

    @property
    def column(self) -> int:
        """The indentation."""
        return len(self.start) - len(self.newline)

    @property
    def inner(self) -> FlowLines:
        """The line of a part of the part."""
        return FlowLines(self.start + self.step, self.step)


class Emitter:
    """Writes nodes with the edits of an editor applied, in the style of the document they go to.

    Anchors stay behind, and aliases and merge keys are written out: another text knows nothing of them.
    """

    def __init__(self, edited: Edited, document: Node | Indents) -> None:
        """Writes for the document of these edits, indented as that document is, or by the given Indents."""
        self._edited = edited
        self._document = document

    @cached_property
    def _indents(self) -> Indents:
        """Looked for when new text is written, not before: many edits write none."""
        return self._document if isinstance(self._document, Indents) else indents_of(self._document)

    @cached_property
    def _is_json(self) -> bool:
        """Whether the document is JSON: it must stay so, since its other readers may not read YAML."""
        document = self._document
        if not isinstance(document, MappingNode | SequenceNode) or not document.flow or not document.children:
            return False
        # Only where a document is in flow style does it cost its time.
        import json

        try:
            json.loads(source_of(document).text)
        except ValueError:
            return False
        return True

    def child(self, child: Child, column: int, comments: Comments | None, newline: str) -> str:
        """A child of a block collection as complete lines at `column`."""
        return _with_newline(self._child(child, column, comments or NO_COMMENTS), newline)

    def value(self, node: Node, column: int, comment: str, *, item: bool, newline: str) -> str:
        """The text behind the colon of a key, or the dash of an item, at `column`, to the end of its last line.

        `comment` ends the first line; it includes the white space before it.
        """
        return _with_newline(self._value(self.resolved(node), column, comment, item, None), newline)

    def block(self, node: Collection, column: int, newline: str) -> str:
        """The children of a collection as complete lines at `column`."""
        return _with_newline(self._block(node, column), newline)

    def inline(self, node: Node, column: int, newline: str) -> str | None:
        """The node as text that follows a key or dash at `column`, or None where it has lines of its own."""
        node = self.resolved(node)
        if isinstance(node, Scalar):
            text = None if needs_block(node) else self._line_text(node, column) or "null"
        else:
            assert not isinstance(node, Alias)
            text = self._flow_at(node, column) if self.is_flow(node) else None
        return None if text is None else _with_newline(text, newline)

    def _line_text(self, node: Scalar, column: int) -> str:
        is_continued = node.source is not None and "\n" in node.source.text[node.start : node.end]
        return line_text(node, column + self._indents.mapping if is_continued else column)

    def is_flow(self, node: Node) -> bool:
        """Whether a collection is written between brackets. An empty one that gained children is written as a block."""
        if not isinstance(node, MappingNode | SequenceNode):
            return False
        return (node.flow and bool(node.children)) or not self.children(node)

    def flow(self, node: Node, lines: FlowLines | None = None) -> str:
        """The node in flow style: on one line, or, where `lines` are given, on as many as its source has (L4)."""
        node = self.resolved(node)
        if isinstance(node, Scalar):
            return (json_text(node) if self._is_json else None) or flow_text(node) or "null"
        assert not isinstance(node, Alias)
        text = self._as_written(node)
        if text is not None and "\n" not in text:
            return text
        if text is not None and lines is not None and (text := _lines_at(text, node, lines.column)) is not None:
            return text.replace("\n", lines.newline)
        start = end = ""
        if lines is not None and (node.source is None or "\n" in node.source.text[node.start : node.end]):
            start, end, lines = lines.inner.start, lines.start, lines.inner
        else:
            lines = None
        parts = f",{start or ' '}".join(self.flow_child(child, lines) for child in self.children(node))
        opening, closing = "{}" if isinstance(node, MappingNode) else "[]"
        return f"{opening}{start}{parts}{end}{closing}" if parts else opening + closing

    def _flow_at(self, node: Collection, column: int) -> str:
        """A flow collection behind a key or dash at `column`: on the lines of its source, with their comments (L4)."""
        text = self._as_written(node)
        return (text and _lines_at(text, node, column)) or self.flow(node)

    def _as_written(self, node: Collection) -> str | None:
        """The text that the source has of a flow collection; None where it would mean something else."""
        # V5: in JSON a template has no other spelling than its own.
        if node.source is None or not node.flow or (self._is_json and not is_template(node)):
            return None
        text = node.source.text[node.start : node.end].replace("\r\n", "\n")
        if text[:1] not in _OPENING or any(sign in text for sign in _NOT_COPIED):
            return None
        return text if text.replace("\n", "").isprintable() and self._is_unedited(node) else None

    def _is_unedited(self, node: Node) -> bool:
        if not isinstance(node, MappingNode | SequenceNode):
            return self._edited.value(node) is node
        children = self._edited.children(node)
        return len(children) == len(node.children) and all(
            child is before and self._edited.value(child) is value_of(child) and self._is_unedited(value_of(child))
            for child, before in zip(children, node.children, strict=True)
        )

    def flow_child(self, child: Child, lines: FlowLines | None = None) -> str:
        """A child of a flow collection, and the `lines` that it is on."""
        value = self.flow(self._edited.value(child), lines)
        return f"{self._key(child)}: {value}" if isinstance(child, Entry) else value

    def resolved(self, node: Node) -> Node:
        """A node after the edits, with aliases resolved."""
        while True:
            if isinstance(node, Alias):
                node = node.expansion
            elif (value := self._edited.value(node)) is not node:
                node = value
            else:
                return node

    def children(self, node: Collection) -> list[Child]:
        """The children after the edits, with the fields of merge keys written out in their place."""
        children = self._edited.children(node)
        if not isinstance(node, MappingNode) or not any(isinstance(c, Entry) and is_merge_key(c) for c in children):
            return children
        written: list[Child] = list(self._edited.inherited(node).values())
        result: list[Child] = []
        for child in children:
            if isinstance(child, Entry) and is_merge_key(child):
                result += written
                written = []
            else:
                result.append(child)
        return result

    def _block(self, node: Collection, column: int) -> str:
        places = _places(node)
        out: list[str] = []
        previous = -1
        for child in self.children(node):
            comments = self._edited.comments(child)
            index, place = places.get(id(child), (-1, None))
            if place is not None:
                comments = comments or comments_of(node, child, place)
                if 0 < index == previous + 1:
                    out.append(_gap(node, places, index, column, after_blank=out[-1].endswith("\n\n")))
            out.append(self._child(child, column, comments or NO_COMMENTS))
            previous = index
        return "".join(out)

    def _child(self, child: Child, column: int, comments: Comments) -> str:
        pad = " " * column
        value = self.resolved(self._edited.value(child))
        head, line = comments.head, comments.line
        if not isinstance(child, Entry) and isinstance(value, MappingNode | SequenceNode) and not self.is_flow(value):
            # Behind the dash they would be taken for lines of the head.
            detached = [content for row in _detached_head(value) if (content := row.strip())]
            head, line = (*head, *([line] if line else []), *detached), None
        above = "".join(f"{pad}{comment}\n" for comment in head)
        comment = f" {line}" if line else ""
        if isinstance(child, Entry):
            return f"{above}{pad}{self._key(child)}:{self._value(value, column, comment, False, child)}"
        return f"{above}{pad}-{self._value(value, column, comment, True, None)}"

    def _key(self, entry: Entry) -> str:
        text = self.flow(entry.key)
        if len(text) > MAX_KEY:
            raise CannotEditError(f"a key of more than {MAX_KEY} characters; choose a shorter one")
        return text

    def _value(self, node: Node, column: int, comment: str, item: bool, entry: Entry | None) -> str:
        if isinstance(node, Scalar):
            if needs_block(node):
                return block_text(node, column, self._indents.mapping, comment)
            text = self._line_text(node, column)
            return f" {text}{comment}\n" if text else f"{comment}\n"
        assert not isinstance(node, Alias)
        if self.is_flow(node):
            return f" {self._flow_at(node, column)}{comment}\n"
        if item:
            # Not the indentation of the document: the first child begins behind the dash and its space.
            inner = column + STEP
            block = self._block(node, inner)
            return f"{comment}\n{block}" if comment else f" {block[inner:]}"
        inner = column + (self._indents.mapping if isinstance(node, MappingNode) else self._list_indent(node, entry))
        return f"{comment}\n{_indented(_detached_head(node), inner)}{self._block(node, inner)}"

    def _list_indent(self, node: SequenceNode, entry: Entry | None) -> int:
        if self._indents.sequence is not None:
            return self._indents.sequence
        key = entry.key if entry is not None else None
        if key is None or key.source is None or key.source is not node.source or not is_block(node):
            return 0
        # No list to go by in the document: as the source has it.
        return STEP if list_column(node) > key.source.column(key.start) else 0


def _lines_at(text: str, node: Collection, column: int) -> str | None:
    """The lines of a flow collection behind a key or dash at another column; None where some begin before theirs."""
    first, *rest = text.split("\n")
    indent = _child_column(source_of(node), node.start)
    if any(line.strip() and source_indent(line, 0) < indent for line in rest):
        return None
    return "\n".join([first, *(" " * column + line[indent:] if line.strip() else "" for line in rest)])


def _child_column(source: Source, start: int) -> int:
    """The column of the key, or else the dash, in front of a value that starts there."""
    before = source.text[source.line_start(start) : start]
    end = len(before) - len(_DASHES.sub("", before))
    return end if end < len(before) or "-" not in before else before.rindex("-")


def _places(node: Collection) -> dict[int, tuple[int, Chunk]]:
    if node.source is None or not is_block(node):
        return {}
    try:
        places = zip(node.children, known_chunks(node), strict=True)
        return {id(child): (index, place) for index, (child, place) in enumerate(places) if place is not None}
    except CannotEditError:
        # Comments that cannot be separated from the rest stay behind.
        return {}


def _gap(node: Collection, places: dict[int, tuple[int, Chunk]], index: int, column: int, *, after_blank: bool) -> str:
    """The blank lines and detached comments between two children that stay neighbours."""
    above, below = places[id(node.children[index - 1])][1], places[id(node.children[index])][1]
    gap = _indented(source_of(node).text[above.end : below.start].split("\n")[:-1], column)
    # More blank lines would become part of a block scalar that keeps them.
    return gap.lstrip("\n") if after_blank else gap


def _detached_head(node: Collection) -> list[str]:
    """The lines between the key or dash of a block collection and its first child that are none of the child's."""
    place = _places(node).get(id(node.children[0])) if node.children else None
    if place is None or place[1].inline:
        return []
    first = place[1]
    text, line = source_of(node).text, first.start
    while line > 0:
        above = text.rfind("\n", 0, line - 1) + 1
        if text[above:line].strip() and not text[above:line].lstrip().startswith("#"):
            break
        line = above
    return text[line : first.start].split("\n")[:-1]


def _indented(lines: Sequence[str], column: int) -> str:
    return "".join((" " * column + line.strip()).rstrip() + "\n" for line in lines)


def _with_newline(text: str, newline: str) -> str:
    # Parts copied from a source with CR LF have their CR already; it must not be there twice.
    text = text.replace("\r\n", "\n")
    return text if newline == "\n" else text.replace("\n", newline)


_SEPARATOR = pattern(r"\s*,\s*\Z")
_EDGE = pattern(r"\s*(?:,\s*)?\Z")
_LAST_LINE = pattern(r"\r?\n[ \t]*")
_BETWEEN_LINES = pattern(
    r"(?P<comma>(?:[ \t]*,)?)(?P<comment>[ \t]*(?:#[^\n]*)?)(?P<head>\r?\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*)\Z"
)


class FlowWriter:
    """Writes flow collections; white space, separators and comments between the children stay as they are."""

    def __init__(self, plan: EditPlan, emitter: Emitter) -> None:
        """Writes the tree of this plan; the emitter writes what is new."""
        self._plan = plan
        self._emitter = emitter

    def text(self, node: Collection, lines: FlowLines | None = None) -> str:
        """The text of a flow collection from its start to its end, and the `lines` that it is on. Raises CannotEdit."""
        text = source_of(node).text
        now = self._plan.children(node)
        if not node.children and not now:
            return text[node.start : node.end]
        opening = _opening(node)
        if opening is None or not node.children or not now:
            return self._emitter.flow(node, lines)
        spans = [_span(text, child) for child in node.children]
        starts, ends = zip(*spans, strict=True)
        gaps = [text[a:b] for a, b in zip((opening + 1, *ends), (*starts, node.end - 1), strict=True)]
        original = {id(child): index for index, child in enumerate(node.children)}
        lines = _lines_of(gaps)
        pieces = [self._child(child, spans, original.get(id(child)), lines) for child in now]
        order = [original.get(id(child)) for child in now]
        if order != list(range(len(spans))):
            separators = gaps[1:-1]
            if all(map(_SEPARATOR.match, separators)) and _EDGE.match(gaps[0]) and _EDGE.match(gaps[-1]):
                usual = separators[0] if separators else "," + gaps[0] if "\n" in gaps[0] else ", "
                gaps = [gaps[0], *(separators[at - 1] if at else usual for at in order[1:]), gaps[-1]]
            else:
                gaps = _gaps_with_comments(gaps, order, node)
            # The colon of a null needs a space before a comma.
            pieces = [piece + " " if piece.endswith(":") else piece for piece in pieces]
        middle = "".join(gap + piece for gap, piece in zip(gaps, [*pieces, ""], strict=True))
        return text[node.start : opening + 1] + middle + text[node.end - 1 : node.end]

    def _child(self, child: Child, spans: list[tuple[int, int]], index: int | None, lines: FlowLines | None) -> str:
        if index is None:
            return self._emitter.flow_child(child, lines)
        before, after = value_of(child), self._plan.value(child)
        text, (start, end) = source_of(before).text, spans[index]
        if not self._plan.is_touched(child):
            return text[start:end]
        piece = self._value(before, after, lines)
        if not isinstance(child, Entry):
            return piece
        if before.end == before.start:
            # A null without text: its colon may be missing.
            return f"{text[start : child.key.end]}: {piece}"
        return text[start : before.start] + piece

    def _value(self, before: Node, after: Node, lines: FlowLines | None) -> str:
        if after is before and isinstance(before, MappingNode | SequenceNode):
            return self.text(before, lines)
        if after is before and not self._plan.is_touched(before):
            return source_of(before).text[before.start : before.end]
        return in_quotes_of(before, self._emitter.resolved(after)) or self._emitter.flow(after, lines)


def _gaps_with_comments(gaps: list[str], order: list[int | None], node: Collection) -> list[str]:
    """What is between children on lines of their own in a new `order`, each with its comments; None is a new child.

    A comment behind a child and above it goes where the child goes, and away with it. Raises CannotEdit.
    """
    matches = [match for gap in gaps if (match := _BETWEEN_LINES.match(gap)) is not None]
    if len(matches) < len(gaps):
        layout = "a collection in brackets with comments between elements on one line; give each a line of its own"
        raise CannotEditError(layout, node)
    heads: dict[int | None, str] = {at: match["head"] for at, match in enumerate(matches)}
    behind: dict[int | None, str] = {at: match["comment"] for at, match in enumerate(matches, -1)}
    usual = _LAST_LINE.findall(heads[0])[-1]
    moved = [behind[-1] + heads.get(order[0], usual)]
    for before, at in pairwise([*order, len(gaps) - 1]):
        comma = "," if len(moved) < len(order) else matches[-1]["comma"]
        moved.append(comma + behind.get(before, "") + heads.get(at, usual))
    return moved


def _lines_of(gaps: list[str]) -> FlowLines | None:
    """The lines of the children of a collection, of what is between its brackets and them; None where it has none."""
    starts, ends = _LAST_LINE.findall(gaps[0]), _LAST_LINE.findall(gaps[-1])
    if not starts:
        return None
    return FlowLines(starts[-1], starts[-1].removeprefix(ends[-1]) if ends else "")


def _opening(node: Collection) -> int | None:
    """Index of the opening bracket, behind anchor and tag; None for the `a: b` in `[a: b]`, which has none."""
    text = source_of(node).text
    at = node.start
    while text[at] in "&!":
        at += re.compile(r"\S+\s*").match(text, at).end() - at  # type: ignore[union-attr]
    return at if text[at] in "{[" and text[node.end - 1] in "}]" else None


def _span(text: str, child: Child) -> tuple[int, int]:
    """Start and end of a child's text."""
    if not isinstance(child, Entry):
        if isinstance(child, MappingNode) and _opening(child) is None:
            return child.start, _span(text, child.entries[-1])[1]
        return child.start, child.end
    key, value = child.key, child.value
    if value.end > value.start:
        return key.start, _span(text, value)[1]
    # The mark of a null without text is the next token's.
    rest = text[key.end : value.start].lstrip()
    return key.start, text.index(":", key.end) + 1 if rest.startswith(":") else key.end
