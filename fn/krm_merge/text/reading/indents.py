"""How deep a document indents what it nests, so that new text looks like it."""

from __future__ import annotations

from krm_merge.startup import frozen
from krm_merge.text.reading.layout import CannotEditError, first_dash, is_block, source_of
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode

STEP = 2


@frozen
class Indents:
    """Columns from a key to the keys and to the dashes below it; `sequence` is None where the document has no list."""

    mapping: int = STEP
    sequence: int | None = None


def indents_of(root: Node) -> Indents:
    """The indentation of the first block mapping and of the first block list under a key."""
    mapping: int | None = None
    sequence: int | None = None
    pending: list[Node] = [root] if is_block(root) else []
    while pending and (mapping is None or sequence is None):
        node = pending.pop()
        if isinstance(node, SequenceNode):
            pending.extend(item for item in reversed(node.items) if is_block(item))
            continue
        assert isinstance(node, MappingNode)
        below = [entry.value for entry in node.entries if is_block(entry.value)]
        if not below:
            continue
        source = source_of(node)
        # A complex key follows its question mark.
        column = min(source.column(entry.key.start) for entry in node.entries)
        for value in below:
            if isinstance(value, SequenceNode):
                sequence = max(list_column(value) - column, 0) if sequence is None else sequence
            elif isinstance(value, MappingNode) and mapping is None:
                mapping = source.column(value.entries[0].key.start) - column
        pending.extend(reversed(below))
    # An indentation indicator has one digit, and one column is needed for comments below a block scalar.
    return Indents(mapping if mapping is not None and STEP <= mapping < 9 else STEP, sequence)


def list_column(sequence: SequenceNode) -> int:
    """The column of the dashes of a block list; 0 where it cannot be determined."""
    try:
        return source_of(sequence).column(first_dash(sequence))
    except CannotEditError:
        return 0
