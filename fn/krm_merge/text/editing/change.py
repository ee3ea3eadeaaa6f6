"""Edits that turn a tree into another value; what is equal is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.render import longest_rising
from krm_merge.text.reading.layout import NO_COMMENTS
from krm_merge.text.reading.nodes import (
    Child,
    Entry,
    MappingNode,
    Node,
    SequenceNode,
    Value,
    from_value,
    key_text,
    same,
)

KeysOf: TypeAlias = Callable[[tuple[str, ...]], tuple[str, ...]]
"""The fields that identify the elements of the list at a path, () where there are none."""


class Change:
    """The edits of one document. Steps into list elements are left out of paths."""

    def __init__(self, editor: Editor, keys_of: KeysOf = lambda _: ()) -> None:
        """Edits go to `editor`; `keys_of` gives the key fields that identify elements whose other values differ."""
        self._editor = editor
        self._keys_of = keys_of

    def mapping(
        self, node: MappingNode, old: dict[str, Value], new: dict[str, Value], path: tuple[str, ...] = ()
    ) -> None:
        """Turns a mapping whose value is `old` into `new`. What is the same object in both is not looked at."""
        entries = {key_text(entry.key): entry for entry in node.fields.values()}
        for name in old.keys() - new.keys():
            self._editor.remove(node, entries[name])
        children = self._editor.children(node)
        last = children[-1] if children else None
        for name, value in new.items():
            entry = entries.get(name) if name in old else None
            if entry is not None and not entry.inherited:
                self._child(entry, entry.value, old[name], value, (*path, name))
            elif entry is None or not same(old[name], value):
                # A field inherited by a merge key is written out here.
                added = Entry(from_value(name), from_value(value))
                self._editor.insert(node, added, last, NO_COMMENTS)
                last = added

    def _child(self, child: Child, node: Node, old: Value, new: Value, path: tuple[str, ...]) -> None:
        if old is new or same(old, new):
            return
        if isinstance(node, MappingNode) and isinstance(old, dict) and isinstance(new, dict) and new:
            self.mapping(node, old, new, path)
        elif isinstance(node, SequenceNode) and isinstance(old, list) and isinstance(new, list) and new:
            self._sequence(node, old, new, path)
        else:
            self._editor.replace(child, from_value(new))

    def _sequence(self, node: SequenceNode, old: list[Value], new: list[Value], path: tuple[str, ...]) -> None:
        places = _pair_values(old, new, self._keys_of(path))
        places_in_old = {at for at in places if at is not None}
        for at, item in enumerate(node.items):
            if at not in places_in_old:
                self._editor.remove(node, item)
        steady = longest_rising([at for at in places if at is not None])
        previous: Node | None = None
        for value, place in zip(new, places, strict=True):
            if place is None:
                item = from_value(value)
                self._editor.insert(node, item, previous, NO_COMMENTS)
            else:
                item = node.items[place]
                if place not in steady:
                    self._editor.move(node, item, previous)
                self._child(item, item, old[place], value, path)
            previous = item


def _pair_values(old: list[Value], new: list[Value], keys: tuple[str, ...]) -> list[int | None]:
    """For each new element the place of the old one that it is, None where it is none of them."""
    places: list[int | None] = [None] * len(new)
    free = dict.fromkeys(range(len(old)))

    def pair(name: Callable[[Value], Hashable]) -> None:
        waiting: dict[Hashable, list[int]] = {}
        # The last first, since `pop` takes from the end: equal elements pair in their order.
        for at in reversed(free):
            if (key := name(old[at])) is not None:
                waiting.setdefault(key, []).append(at)
        for at, value in enumerate(new):
            key = name(value) if places[at] is None else None
            if key is not None and waiting.get(key):
                places[at] = place = waiting[key].pop()
                del free[place]

    # An object that is in both was not touched: it need not be compared.
    pair(lambda value: id(value) if isinstance(value, dict | list) else None)
    if keys:
        pair(lambda value: _key(value, keys))
    pair(_scalar)
    pair(lambda value: repr(value) if isinstance(value, dict | list) else None)
    in_place = len(old) == len(new) and all(place in (None, at) for at, place in enumerate(places))
    for at, value in enumerate(new):
        # What is left behind the same neighbour, or in its own place, is the same element, changed.
        before = places[at - 1] if at else None
        for place in (at,) if before is None else (before + 1, at):
            if places[at] is None and place in free and _may_be(old[place], value, keys, renamed=in_place):
                places[at] = place
                del free[place]
    return places


def _may_be(old: Value, new: Value, keys: tuple[str, ...], *, renamed: bool) -> bool:
    """Whether an element may be the other one, changed; `renamed` in its keys only where all else is the same."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return isinstance(old, list) and isinstance(new, list)
    if not any(key in old for key in keys):
        return True
    if all(key not in old or key not in new or same(old[key], new[key]) for key in keys):
        # A key field that is absent for its default may be written out.
        return True
    rest = [{name: inner for name, inner in value.items() if name not in keys} for value in (old, new)]
    return renamed and bool(rest[0]) and same(rest[0], rest[1])


def _key(value: Value, keys: tuple[str, ...]) -> Hashable:
    if not isinstance(value, dict) or not any(key in value for key in keys):
        return None
    return tuple(repr(value.get(key)) for key in keys)


def _scalar(value: Value) -> Hashable:
    # Python takes 1, 1.0 and True for equal; in a list they are different elements.
    return None if isinstance(value, dict | list) else (type(value), value)
