"""Writes a document with the values of another one, so that only comments and layout still differ."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.order import longest_rising
from krm_merge.text.editing.render import render
from krm_merge.text.likeness import MOST_COMPARED, best_pairs, text_likeness
from krm_merge.text.reading.layout import NO_COMMENTS, CannotEditError, Comments
from krm_merge.text.reading.nodes import (
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    resolved,
    value_of,
)


def aligned(root: MappingNode, target: MappingNode, comments: Iterable[tuple[Child, Comments]] = ()) -> str:
    """The text of a document, with the values and the order of another; its own comments stay.

    New text comes without comments: what `wanted` has of them shows as its own. `comments` are children of `root` that
    get others. Raises CannotEdit.
    """
    editor = Editor(root)
    for child, child_comments in comments:
        editor.comment(child, child_comments)
    _Alignment(editor).mapping(root, target)
    return render(editor).text


_NAMES = ("name", "image", "host", "path", "key", "id", "target", "containerPort", "port", "kind")


class _Alignment:
    """The edits that give one tree the values of another."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def mapping(self, node: MappingNode, target: MappingNode) -> None:
        old_fields = node.fields
        if any(entry.inherited for entry in (*old_fields.values(), *target.fields.values())):
            raise CannotEditError("merge keys add fields that are written elsewhere")
        fields = target.fields
        for key, entry in old_fields.items():
            if key not in fields:
                self._editor.remove(node, entry)
        for key, entry in fields.items():
            if key in old_fields:
                self._value(old_fields[key], entry.value)
        self._arrange(
            node, [old_fields.get(key) or Entry(entry.key, _bare(entry.value)) for key, entry in fields.items()]
        )

    def _value(self, child: Child, target: Node) -> None:
        node = value_of(child)
        if node.canonical == target.canonical:
            return
        target = resolved(target)
        if isinstance(node, MappingNode) and isinstance(target, MappingNode) and node.entries and target.entries:
            self.mapping(node, target)
        elif isinstance(node, SequenceNode) and isinstance(target, SequenceNode) and node.items and target.items:
            self._sequence(node, target)
        else:
            self._editor.replace(child, _bare(target))

    def _sequence(self, node: SequenceNode, target: SequenceNode) -> None:
        places = _pair_elements(node.items, target.items)
        places_in_old = {at for at in places if at is not None}
        for at, item in enumerate(node.items):
            if at not in places_in_old:
                self._editor.remove(node, item)
        now: list[Child] = []
        for item, place in zip(target.items, places, strict=True):
            if place is not None:
                self._value(node.items[place], item)
            now.append(_bare(item) if place is None else node.items[place])
        self._arrange(node, now)

    def _arrange(self, node: Collection, now: list[Child]) -> None:
        """Puts the children in this order."""
        place = {id(child): at for at, child in enumerate(node.children)}
        steady = longest_rising([place[id(child)] for child in now if id(child) in place])
        previous: Child | None = None
        for child in now:
            at = place.get(id(child))
            if at is None:
                self._editor.insert(node, child, previous, NO_COMMENTS)
            elif at not in steady:
                self._editor.move(node, child, previous)
            previous = child


def _bare(node: Node) -> Node:
    """A value without the comments inside it; its scalars look as they do."""
    if isinstance(node, SequenceNode):
        return SequenceNode(None, 0, 0, node.flow, [_bare(item) for item in node.items])
    if isinstance(node, MappingNode):
        return MappingNode(None, 0, 0, node.flow, [Entry(entry.key, _bare(entry.value)) for entry in node.entries])
    return node


def _pair_elements(old: list[Node], new: list[Node]) -> list[int | None]:
    """For each new element the old one that it is: an equal one, one of the same name, else one in the same place.

    Where as many are left on both sides, these are the same ones in order, unless their names say that they are not.
    """
    old_places: list[int | None] = [None] * len(new)
    free = dict.fromkeys(range(len(old)))
    for name_of in (lambda item: item.canonical, _name):
        waiting: dict[object, list[int]] = {}
        for at in reversed(free):
            if (name := name_of(old[at])) is not None:
                waiting.setdefault(name, []).append(at)
        for at, item in enumerate(new):
            if old_places[at] is None and waiting.get(name := name_of(item)):
                old_places[at] = waiting[name].pop()
                del free[old_places[at]]  # type: ignore[arg-type]
    left, places = [at for at, place in enumerate(old_places) if place is None], list(free)
    if len(left) * len(places) <= MOST_COMPARED:
        for i, j in best_pairs([[_likeness(old[place], new[at]) for at in left] for place in places]):
            old_places[left[j]] = places[i]
            del free[places[i]]
    left = [at for at, place in enumerate(old_places) if place is None]
    for at, place in zip(left, list(free) if len(left) == len(free) else left, strict=True):
        if place in free and _may_be_one(old[place], new[at], _NAMES):
            old_places[at] = place
            del free[place]
    return old_places


def _likeness(first: Node, second: Node) -> float:
    """From 0 to 1: the likeness of two strings, or of the fields that two mappings have."""
    first, second = resolved(first), resolved(second)
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        return text_likeness(first.text, second.text)
    if not isinstance(first, MappingNode) or not isinstance(second, MappingNode) or not _may_be_one(first, second):
        return 0.0
    shared = first.fields.keys() & second.fields.keys()
    alike = sum(_likeness(first.fields[key].value, second.fields[key].value) for key in shared)
    return alike / max(len(first.fields), len(second.fields), 1)


def _may_be_one(first: Node, second: Node, names: tuple[str, ...] = ("name",)) -> bool:
    """Whether elements that have other values in one of these fields, if they have any, have something in common."""
    if not (isinstance(first, MappingNode) and isinstance(second, MappingNode)):
        return True
    if not any(first.get(name) is not None and second.get(name) is not None for name in names):
        return True
    return any(
        key in second.fields and entry.value.canonical == second.fields[key].value.canonical
        for key, entry in first.fields.items()
    )


def _name(item: Node) -> object:
    """The value that most probably identifies an element."""
    for field in _NAMES if isinstance(item, MappingNode) else ():
        value = item.get(field)  # type: ignore[union-attr]
        if value is not None:
            return field, value.canonical
    return None
