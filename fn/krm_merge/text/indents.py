"""How deep a document indents what it nests, so that new text looks like it."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.text.layout import CannotEdit, chunks, is_block, source_of
from krm_merge.text.nodes import Mapping, Node, Sequence

STEP = 2


@dataclass(frozen=True, slots=True)
class Indents:
    """Columns from a key to the keys and to the dashes below it; `sequence` is None where the document has no list."""

    mapping: int = STEP
    sequence: int | None = None


def indents_of(root: Node) -> Indents:
    """The indentation of the first block mapping and of the first block list under a key."""
    mapping: int | None = None
    sequence: int | None = None
    pending: list[Node] = [root]
    while pending and (mapping is None or sequence is None):
        node = pending.pop()
        if isinstance(node, Sequence) and is_block(node):
            pending.extend(reversed(node.items))
        if not isinstance(node, Mapping) or not is_block(node):
            continue
        source = source_of(node)
        # A complex key stands behind its question mark.
        column = min(source.column(entry.key.start) for entry in node.entries)
        for entry in node.entries:
            if not is_block(entry.value):
                continue
            if isinstance(entry.value, Sequence):
                sequence = max(list_column(entry.value) - column, 0) if sequence is None else sequence
            elif isinstance(entry.value, Mapping) and mapping is None:
                mapping = source_of(node).column(entry.value.entries[0].key.start) - column
        pending.extend(entry.value for entry in reversed(node.entries))
    # An indentation indicator has one digit, and one column is needed for comments below a block scalar.
    return Indents(mapping if mapping is not None and STEP <= mapping < 9 else STEP, sequence)


def list_column(sequence: Sequence) -> int:
    """The column of the dashes of a block list; 0 where it cannot be told."""
    try:
        return chunks(sequence)[0].column
    except CannotEdit:
        return 0
