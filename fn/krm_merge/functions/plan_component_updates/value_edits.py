"""Edits of items as values, made in their texts at once (C8): unchanged values keep their comments and style."""

from __future__ import annotations

from collections.abc import Callable

from krm_merge.functions.plan_component_updates.text_styles import in_style_of
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Result, Results, Severity
from krm_merge.text.reading.nodes import Entry, MappingNode, resolved
from krm_merge.text.reading.values import Value, key_text

Object = dict[str, Value]

# Merge keys of lists that no schema knows.
_KEYS: dict[tuple[str, ...], tuple[str, ...]] = {("spec", "contexts"): ("name",), ("spec", "nudges"): ("from", "to")}
ANNOTATIONS = ("metadata", "annotations")


class ValueEdits:
    """The values of items with the edits made so far, and the reports about them."""

    def __init__(self, results: Results, is_read_only: Callable[[Resource], bool] = lambda item: False) -> None:
        """Starts without edits. An edit of a read-only item is reported instead."""
        self.results = results
        self._is_read_only = is_read_only
        self._edited: dict[int, tuple[Resource, Object, Object]] = {}
        self._texts: dict[tuple[int, tuple[str, ...]], str] = {}

    def value(self, item: Resource) -> Object:
        """An item's value with its edits."""
        return self._of(item)[2]

    def set(self, item: Resource, path: tuple[str, ...], value: Value) -> None:
        """Sets a field; missing maps on the way are created."""
        _, before, now = self._of(item)
        self._edited[id(item)] = item, before, _with(now, path, value)

    def set_text(self, item: Resource, path: tuple[str, ...], value: str) -> None:
        """Sets a text in the style of the previous one; a new text with double quotes is written in single ones."""
        self.set(item, path, value)
        self._texts[id(item), path] = value

    def remove(self, item: Resource, path: tuple[str, ...]) -> None:
        """Removes a field; with the last annotation, removes the empty map, too."""
        holder: Value = self.value(item)
        for name in path[:-1]:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and path[-1] in holder:
            left = {name: value for name, value in holder.items() if name != path[-1]}
            if left or path[:-1] != ANNOTATIONS:
                self.set(item, path[:-1], left)
            else:
                self.remove(item, ANNOTATIONS)

    def report(self, item: Resource, severity: Severity, rule: str, message: str) -> None:
        """Reports something about an item."""
        self.results.add(Result(severity, f"{item.ref}: {message}", item.ref, item.file, item.index, rule=rule))

    def carry_out(self) -> None:
        """Edits the texts."""
        for item, before, now in self._edited.values():
            if now is not before and self._is_read_only(item):
                self.report(item, "warning", "C10", "it is in a List, which is not edited; make it a separate document")
            elif now is not before:
                item.change(before, now, lambda path: _KEYS.get(path, ()))
        for (of, path), text in self._texts.items():
            item = self._edited[of][0]
            if self._is_read_only(item):
                continue
            entry = _entry(item, path)
            if entry is not None and (written := in_style_of(entry.value, text)) is not None:
                item.editor.replace(entry, written)

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


def _entry(item: Resource, path: tuple[str, ...]) -> Entry | None:
    """A field of an item with its edits."""
    node, entry = resolved(item.root), None
    for name in path:
        children = item.editor.children(node) if isinstance(node, MappingNode) else []
        entry = next((one for one in children if isinstance(one, Entry) and key_text(one.key) == name), None)
        if entry is None:
            return None
        node = resolved(item.editor.value(entry))
    return entry
