"""How the text of a child ends, and what that means for the text below it.

A block scalar absorbs what follows it at its indentation, blank lines too if it keeps them, and ends with the text.
"""

from __future__ import annotations

from krm_merge.startup import pattern
from krm_merge.text.editing.emit import Emitter
from krm_merge.text.editing.plan import EditPlan
from krm_merge.text.reading.layout import block_scalar_header, is_block_scalar, source_indent
from krm_merge.text.reading.nodes import Child, MappingNode, Scalar, SequenceNode, Source
from krm_merge.text.reading.scalar_text import needs_block

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
            at = piece.rfind(header, 0, len(piece) - content)
            if "-" not in header:
                piece = piece[:at] + header.replace("+", "") + "-" + piece[at + len(header) :]
        return piece + self._source.newline


def without_leading_blanks(gap: str) -> str:
    """A gap without the blank lines that it begins with."""
    return gap[blank.end() :] if (blank := _LEADING_BLANK_LINES.match(gap)) else gap
