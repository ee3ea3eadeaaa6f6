"""Writes nodes as new text: values that come from another text, or from none."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from krm_merge.text.reading.indents import STEP, Indents, indents_of, list_column
from krm_merge.text.reading.layout import (
    NO_COMMENTS,
    CannotEditError,
    Chunk,
    Comments,
    comments_of,
    is_block,
    known_chunks,
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
    is_merge_key,
    value_of,
)
from krm_merge.text.reading.scalar_text import block_text, flow_text, json_text, line_text, needs_block
from krm_merge.text.reading.scalars import Canonical

_OPENING = ("{", "[")
_NOT_COPIED = ("#", "&", "*", "!")
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
            text = None if needs_block(node) else line_text(node, column + self._indents.mapping) or "null"
            return None if text is None else _with_newline(text, newline)
        return self.flow(node) if self.is_flow(node) else None

    def is_flow(self, node: Node) -> bool:
        """Whether a collection is written between brackets. An empty one that gained children is written as a block."""
        if not isinstance(node, MappingNode | SequenceNode):
            return False
        return (node.flow and bool(node.children)) or not self.children(node)

    def flow(self, node: Node) -> str:
        """The node in flow style, on one line."""
        node = self.resolved(node)
        if isinstance(node, Scalar):
            return (json_text(node) if self._is_json else None) or flow_text(node) or "null"
        assert not isinstance(node, Alias)
        if (text := self._as_written(node)) is not None:
            return text
        parts = ", ".join(self.flow_child(child) for child in self.children(node))
        return f"{{{parts}}}" if isinstance(node, MappingNode) else f"[{parts}]"

    def _as_written(self, node: Collection) -> str | None:
        """The text that the source has of a flow collection on one line; None where it would mean something else."""
        if self._is_json or node.source is None or not node.flow:
            return None
        text = node.source.text[node.start : node.end]
        if text[:1] not in _OPENING or not text.isprintable() or any(sign in text for sign in _NOT_COPIED):
            return None
        return text if self._is_unedited(node) else None

    def _is_unedited(self, node: Node) -> bool:
        if not isinstance(node, MappingNode | SequenceNode):
            return self._edited.value(node) is node
        children = self._edited.children(node)
        return len(children) == len(node.children) and all(
            child is before and self._edited.value(child) is value_of(child) and self._is_unedited(value_of(child))
            for child, before in zip(children, node.children, strict=True)
        )

    def flow_child(self, child: Child) -> str:
        """A child of a flow collection."""
        value = self.flow(self._edited.value(child))
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
        if line and not isinstance(child, Entry) and not isinstance(value, Scalar) and not self.is_flow(value):
            # Behind the dash it would be taken for a line of the head.
            head, line = (*head, line), None
        above = "".join(f"{pad}{comment}\n" for comment in head)
        comment = f" {line}" if line else ""
        if isinstance(child, Entry):
            return f"{above}{pad}{self._key(child)}:{self._value(value, column, comment, False, child)}"
        return f"{above}{pad}-{self._value(value, column, comment, True, None)}"

    def _key(self, entry: Entry) -> str:
        text = self.flow(entry.key)
        if len(text) > MAX_KEY:
            raise CannotEditError(f"a key of more than {MAX_KEY} characters")
        return text

    def _value(self, node: Node, column: int, comment: str, item: bool, entry: Entry | None) -> str:
        if isinstance(node, Scalar):
            if needs_block(node):
                return block_text(node, column, self._indents.mapping, comment)
            text = line_text(node, column + self._indents.mapping)
            return f" {text}{comment}\n" if text else f"{comment}\n"
        assert not isinstance(node, Alias)
        if self.is_flow(node):
            return f" {self.flow(node)}{comment}\n"
        if item:
            inner = column + STEP
            block = self._block(node, inner)
            return f"{comment}\n{block}" if comment else f" {block[inner:]}"
        depth = self._indents.mapping if isinstance(node, MappingNode) else self._list_indent(node, entry)
        return f"{comment}\n{self._block(node, column + depth)}"

    def _list_indent(self, node: SequenceNode, entry: Entry | None) -> int:
        if self._indents.sequence is not None:
            return self._indents.sequence
        key = entry.key if entry is not None else None
        if key is None or key.source is None or key.source is not node.source or not is_block(node):
            return 0
        # No list to go by in the document: as the source has it.
        return STEP if list_column(node) > key.source.column(key.start) else 0


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
    lines = source_of(node).text[above.end : below.start].split("\n")[:-1]
    gap = "".join((" " * column + line.strip()).rstrip() + "\n" for line in lines)
    # More blank lines would become part of a block scalar that keeps them.
    return gap.lstrip("\n") if after_blank else gap


def _with_newline(text: str, newline: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if newline == "\n" else text.replace("\n", newline)
