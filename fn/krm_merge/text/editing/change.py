"""Edits that turn a tree into another value, or into the layout of another document; what is equal is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeAlias

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.render import longest_rising, render
from krm_merge.text.reading.layout import NO_COMMENTS, CannotEditError, Comments
from krm_merge.text.reading.nodes import (
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Value,
    from_value,
    key_text,
    resolved,
    same,
    value_of,
)

THRESHOLD: Final = 0.5
"""Values that are less alike than this are different ones."""

MOST_COMPARED: Final = 10_000
"""Pairs that are compared with each other; in longer stretches, likeness does not count."""


def text_likeness(first: str, second: str) -> float:
    """From 0 to 1: the share of what two texts begin and end with in common, of the longer one."""
    if first == second:
        return 1.0
    shortest, longest = sorted((len(first), len(second)))
    head = next((at for at in range(shortest) if first[at] != second[at]), shortest)
    tail = next((at for at in range(shortest - head) if first[-1 - at] != second[-1 - at]), shortest - head)
    return (head + tail) / longest


def best_pairs(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs of a row and a column, in order, with the greatest sum of scores; none of a score below the threshold."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    # From the end, so that the pairs can be read from the front.
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            paired = scores[i][j] + best[i + 1][j + 1] if scores[i][j] >= THRESHOLD else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] >= THRESHOLD and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


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


# The most telling first: an element is known by its name, whatever its port is.
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
        places = pair_elements(node.items, target.items)
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
        # As few children as possible move: what moves may lose its place among comments.
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
        return SequenceNode.new(node.flow, [_bare(item) for item in node.items])
    if isinstance(node, MappingNode):
        return MappingNode.new(node.flow, [Entry(entry.key, _bare(entry.value)) for entry in node.entries])
    return node


def pair_elements(old: list[Node], new: list[Node]) -> list[int | None]:
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
    if first.canonical == second.canonical:
        return 1.0
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
    if not isinstance(item, MappingNode):
        return None
    metadata = item.get("metadata")
    # An object in a `List`: many are of one kind.
    if isinstance(metadata, MappingNode) and (name := metadata.get("name")) is not None:
        return "metadata", name.canonical
    return next(((field, value.canonical) for field in _NAMES if (value := item.get(field)) is not None), None)
