"""Looks at one field near the top of a document without reading the rest."""

from __future__ import annotations

from typing import TypeAlias

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from krm_merge.text.reading.nodes import MERGE_KEY
from krm_merge.text.reading.reader import events

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
