"""Describes a side's discarded changes: fields and elements that the result does not have (law F)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.text.reading.nodes import MappingNode, Node, Scalar, SequenceNode, resolved
from krm_merge.text.reading.values import key_text

MOST_SHOWN = 5
"""Fields and elements that are named; the others are counted."""

LONGEST = 60
"""Characters of a value that are shown."""


def losses(original: Node | None, loser: Node | None, merged: Node | None, *, secret: bool = False) -> str:
    """The fields and elements that the losing side had changed and the result lacks; '' where there are none.

    Values of secrets are left out.
    """
    if loser is None or isinstance(resolved(loser), Scalar):
        return ""
    before, after = Counter(_leaves(original, ())), Counter(_leaves(merged, ()))
    mine = Counter(_leaves(loser, ()))
    lost = [leaf for leaf, count in mine.items() if count > before.get(leaf, 0) + after.get(leaf, 0)]
    descriptions = [_describe(path, text, secret) for path, text in lost[:MOST_SHOWN]]
    if len(lost) > MOST_SHOWN:
        descriptions.append(f"{len(lost) - MOST_SHOWN} more")
    return ", ".join(descriptions)


def shorten(text: str) -> str:
    """A value on one line, cut where it is long."""
    line = text.strip().replace("\n", "\\n")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _describe(path: FieldPath, text: str, secret: bool) -> str:
    place = format_path(tuple(step for step in path if isinstance(step, str)))
    if secret:
        return place or "an element"
    return f"{place}: {shorten(text)}" if place else shorten(text)


def _leaves(node: Node | None, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    node = None if node is None else resolved(node)
    if isinstance(node, MappingNode):
        for entry in node.fields.values():
            yield from _leaves(entry.value, (*path, key_text(entry.key)))
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _leaves(item, (*path, 0))
    elif isinstance(node, Scalar):
        yield path, node.text
