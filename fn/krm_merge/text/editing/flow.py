"""Renders edited flow collections in their own place."""

from __future__ import annotations

import re
from itertools import pairwise

from krm_merge.startup import pattern
from krm_merge.text.editing.emit import Emitter
from krm_merge.text.editing.plan import EditPlan
from krm_merge.text.reading.layout import CannotEditError, source_of
from krm_merge.text.reading.nodes import Child, Collection, Entry, MappingNode, Node, SequenceNode, value_of
from krm_merge.text.reading.scalar_text import in_quotes_of

_SEPARATOR = pattern(r"\s*,\s*\Z")
_EDGE = pattern(r"\s*(?:,\s*)?\Z")


class FlowWriter:
    """Writes flow collections; white space, separators and comments between the children stay as they are."""

    def __init__(self, plan: EditPlan, emitter: Emitter) -> None:
        """Writes the tree of this plan; the emitter writes what is new."""
        self._plan = plan
        self._emitter = emitter

    def text(self, node: Collection) -> str:
        """The text of a flow collection from its start to its end. Raises CannotEdit."""
        text = source_of(node).text
        now = self._plan.children(node)
        if not node.children and not now:
            return text[node.start : node.end]
        opening = _opening(node)
        if opening < 0 or not node.children or not now:
            return self._emitter.flow(node)
        spans = [_span(text, child) for child in node.children]
        stops = [(opening + 1, opening + 1), *spans, (node.end - 1, node.end - 1)]
        gaps = [text[a[1] : b[0]] for a, b in pairwise(stops)]
        original = {id(child): index for index, child in enumerate(node.children)}
        pieces = [self._child(child, spans, original.get(id(child))) for child in now]
        if [original.get(id(child)) for child in now] != list(range(len(spans))):
            separators = gaps[1:-1]
            if not all(map(_SEPARATOR.match, separators)) or not _EDGE.match(gaps[0]) or not _EDGE.match(gaps[-1]):
                raise CannotEditError("a flow collection with comments")
            usual = separators[0] if separators else "," + gaps[0] if "\n" in gaps[0] else ", "
            chosen = [separators[i - 1] if (i := original.get(id(child))) else usual for child in now[1:]]
            gaps = [gaps[0], *chosen, gaps[-1]]
            # The colon of a null needs a space before a comma.
            pieces = [piece + " " if piece.endswith(":") else piece for piece in pieces]
        middle = "".join(gap + piece for gap, piece in zip(gaps, [*pieces, ""], strict=True))
        return text[node.start : opening + 1] + middle + text[node.end - 1 : node.end]

    def _child(self, child: Child, spans: list[tuple[int, int]], index: int | None) -> str:
        if index is None:
            return self._emitter.flow_child(child)
        before, after = value_of(child), self._plan.value(child)
        text, (start, end) = source_of(before).text, spans[index]
        if not self._plan.is_touched(child):
            return text[start:end]
        piece = self._value(before, after)
        if not isinstance(child, Entry):
            return piece
        if before.end == before.start:
            # A null without text: its colon may be missing.
            return f"{text[start : child.key.end]}: {piece}"
        return text[start : before.start] + piece

    def _value(self, before: Node, after: Node) -> str:
        if after is before and isinstance(before, MappingNode | SequenceNode):
            return self.text(before)
        if after is before and not self._plan.is_touched(before):
            return source_of(before).text[before.start : before.end]
        return in_quotes_of(before, self._emitter.resolved(after)) or self._emitter.flow(after)


def _opening(node: Collection) -> int:
    """Index of the opening bracket, behind anchor and tag; -1 for the `a: b` in `[a: b]`, which has none."""
    text = source_of(node).text
    at = node.start
    while text[at] in "&!":
        at += re.compile(r"\S+\s*").match(text, at).end() - at  # type: ignore[union-attr]
    return at if text[at] in "{[" and text[node.end - 1] in "}]" else -1


def _span(text: str, child: Child) -> tuple[int, int]:
    """Start and end of a child's text."""
    if not isinstance(child, Entry):
        if isinstance(child, MappingNode) and _opening(child) < 0:
            return child.start, _span(text, child.entries[-1])[1]
        return child.start, child.end
    key, value = child.key, child.value
    if value.end > value.start:
        return key.start, _span(text, value)[1]
    # The mark of a null without text is the next token's.
    rest = text[key.end : value.start].lstrip()
    return key.start, text.index(":", key.end) + 1 if rest.startswith(":") else key.end
