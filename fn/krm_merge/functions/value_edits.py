"""Edits of items as values, made in their texts at once: what stays the same in a list keeps its comments and style."""

from __future__ import annotations

from krm_merge.krm.resource import Resource
from krm_merge.text.values import Value

Object = dict[str, Value]

# What tells the elements of lists apart that no schema knows.
_KEYS: dict[tuple[str, ...], tuple[str, ...]] = {("spec", "contexts"): ("name",), ("spec", "nudges"): ("from", "to")}


class ValueEdits:
    """The values of items with the edits made so far."""

    def __init__(self) -> None:
        """Nothing is edited yet."""
        self._edited: dict[int, tuple[Resource, Object, Object]] = {}

    def value(self, item: Resource) -> Object:
        """An item's value with its edits."""
        return self._of(item)[2]

    def set(self, item: Resource, path: tuple[str, ...], value: Value) -> None:
        """Gives a field a value; maps on the way are made where they are missing."""
        _, before, now = self._of(item)
        self._edited[id(item)] = item, before, _with(now, path, value)

    def remove(self, item: Resource, path: tuple[str, ...]) -> None:
        """Takes a field out."""
        holder: Value = self.value(item)
        for name in path[:-1]:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and path[-1] in holder:
            self.set(item, path[:-1], {name: value for name, value in holder.items() if name != path[-1]})

    def carry_out(self) -> None:
        """Edits the texts."""
        for item, before, now in self._edited.values():
            if now is not before:
                item.change(before, now, lambda path: _KEYS.get(path, ()))

    def _of(self, item: Resource) -> tuple[Resource, Object, Object]:
        if id(item) not in self._edited:
            value = item.value
            assert isinstance(value, dict)
            self._edited[id(item)] = item, value, value
        return self._edited[id(item)]


def _with(holder: Object, path: tuple[str, ...], value: Value) -> Object:
    name, *rest = path
    if not rest:
        return {**holder, name: value}
    inner = holder.get(name)
    return {**holder, name: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value)}
