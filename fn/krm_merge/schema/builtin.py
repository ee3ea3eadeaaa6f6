"""The built-in types of Kubernetes (rules L1, P7), and pods and objects inside of other resources (V7, G).

Source: `builtin.table`, which tools/generate_schema.py makes and describes.

Loading takes no more than splitting the table into blocks; a block is read when a path leads there. The classes are no
dataclasses because each of these takes a millisecond to make.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from krm_merge.krm import FieldPath
from krm_merge.schema.model import (
    OBJECTS,
    ORDERED,
    SET,
    Alternatives,
    Discriminator,
    KeyedList,
    ListKind,
    Schema,
    ValueSchema,
)
from krm_merge.startup import frozen
from krm_merge.text import MappingNode, Node, SequenceNode, key_text, resolved


class ObjectListSchema(Schema):
    """A list of objects. `schema_of` gives the schema of an item; `at` is the place of the item that paths lead into.

    What is said of a path inside an item is said by `inside`.
    """

    __slots__ = ("_at", "_inside", "schema_of")

    def __init__(
        self, schema_of: Callable[[MappingNode], Schema], at: FieldPath = (), inside: Schema | None = None
    ) -> None:
        """A list; of one item where `inside` is given (`of_item` makes those)."""
        self.schema_of = schema_of
        self._at = at
        self._inside = inside

    def of_item(self, path: FieldPath, item: MappingNode) -> ObjectListSchema:
        """The same list below `path`, the place of an item."""
        return ObjectListSchema(self.schema_of, path, self.schema_of(item))

    def at(self, path: FieldPath) -> ValueSchema:
        """As the item that the path leads into says, and as all objects beside that; the items are objects."""
        if self._inside is None and path == ("items",):
            return ValueSchema(OBJECTS)
        schema, rest = self._of_place(path)
        return schema.at(rest)

    def stays_local(self, path: FieldPath) -> bool:
        """As the item that the path leads into says, and as all objects beside that."""
        schema, rest = self._of_place(path)
        return schema.stays_local(rest)

    def _of_place(self, path: FieldPath) -> tuple[Schema, FieldPath]:
        if self._inside is not None and path[: len(self._at)] == self._at:
            return self._inside, path[len(self._at) :]
        return any_object_schema(), path


_CONTAINERS = ("containers", "initContainers")


def with_pods(schema: Schema, roots: Iterable[Node | None]) -> Schema:
    """The schema with those of the pods that any of the sides holds; built-in types say themselves where theirs are."""
    if isinstance(schema, ObjectListSchema) or (isinstance(schema, BuiltinSchema) and not schema.is_open):
        return schema
    present = [root for root in roots if root is not None]
    texts = [root.source.text for root in present if root.source is not None]
    # One of these words is in every pod, and a look at the text spares most documents the walk.
    if len(texts) == len(present) and not any("containers" in text or "Containers" in text for text in texts):
        return schema
    places = frozenset(place for root in present for place in _pods_in(root, ()))
    return _WithPods(schema, places) if places else schema


def _pods_in(node: Node, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    node = resolved(node)
    if isinstance(node, SequenceNode):
        for item in node.items:
            yield from _pods_in(item, path)
    elif isinstance(node, MappingNode):
        if any(_are_containers(node.get(name)) for name in _CONTAINERS):
            yield path
            return
        for entry in node.fields.values():
            yield from _pods_in(entry.value, (*path, key_text(entry.key)))


def _are_containers(node: Node | None) -> bool:
    items = [resolved(item) for item in node.items] if isinstance(node, SequenceNode) else []
    return bool(items) and all(
        isinstance(item, MappingNode) and (item.get("name") or item.get("image")) for item in items
    )


@frozen
class _WithPods(Schema):
    schema: Schema
    places: frozenset[tuple[str, ...]]
    """Where the specs of pods are: the names of the fields that lead there."""

    def at(self, path: FieldPath) -> ValueSchema:
        """As the schema says, and as in a pod where it says nothing; no field of a pod is a map of objects."""
        value = self.schema.at(path)
        names = tuple(step for step in path if isinstance(step, str))
        depth = next((depth for depth in range(len(names)) if names[:depth] in self.places), None)
        if depth is None:
            return value
        # Steps into the elements of lists may be left out.
        pod = pod_spec_schema().at((*names[depth:], *([] if isinstance(path[-1], str) else path[-1:])))
        # Patches know nothing of shapes.
        return value._replace(
            list_kind=pod.list_kind if value.list_kind == ORDERED else value.list_kind,
            alternatives=value.alternatives or pod.alternatives,
            discriminator=value.discriminator or pod.discriminator,
        )

    def stays_local(self, path: FieldPath) -> bool:
        """As the schema says."""
        return self.schema.stays_local(path)


class _Field:
    """The table's entry for a field, from the words of its line."""

    __slots__ = ("any_key", "kind", "merge_key", "of", "strategy")

    def __init__(self, words: list[str]) -> None:
        marks = dict(word.partition("=")[::2] for word in words)
        self.of = marks.get("of")
        self.any_key = "map" in marks
        self.strategy = tuple(marks["patch"].split(",")) if "patch" in marks else ()
        self.merge_key = marks.get("by")
        self.kind: ListKind = ORDERED
        if "keys" in marks:
            keys = [key.partition("=") for key in marks["keys"].split(",")]
            defaults = tuple((name, default) for name, _, default in keys if default)
            self.kind = KeyedList(tuple(name for name, _, _ in keys), defaults)
        elif self.merge_key is not None and "merge" in self.strategy:
            self.kind = KeyedList((self.merge_key,))
        elif "set" in marks:
            self.kind = SET


class _Type:
    """The table's entry for a type, from the lines of its block."""

    __slots__ = ("alternatives", "discriminator", "fields")

    def __init__(self, lines: list[str]) -> None:
        self.alternatives: Alternatives = ()
        self.discriminator: Discriminator | None = None
        self.fields: dict[str, _Field] = {}
        for line in lines:
            name, *words = line.split(" ")
            if name != "-":
                self.fields[name] = _Field(words)
            elif words[:2] == ["one", "of"]:
                self.alternatives += (tuple(words[2].split(",")),)
            else:
                field, _, default = words[0].partition("=")
                pairs = (word.partition(":") for word in words[1:])
                members = {value: tuple(names.split(",")) for value, _, names in pairs}
                self.discriminator = Discriminator(field, members, default or None)


# Kinds of the group `extensions`, which Kubernetes moved: the table begins with releases that have them elsewhere only.
_MOVED: Final = {
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Ingress": "networking.k8s.io",
    "NetworkPolicy": "networking.k8s.io",
    "ReplicaSet": "apps",
}
# Of what the table does not name: nothing is known.
_NO_FIELD: Final = _Field([])
_NO_TYPE: Final = _Type([])
_NOTHING: Final = ValueSchema()


@cache
def _table() -> dict[str, str]:
    """The blocks of the table by their first lines."""
    with open(os.path.join(os.path.dirname(__file__), "builtin.table"), encoding="utf-8") as file:
        blocks = file.read().rstrip("\n").split("\n\n")
    return {name: lines for name, _, lines in (block.partition("\n") for block in blocks)}


@cache
def _type(name: str) -> _Type:
    return _Type(_table()[name].split("\n"))


@cache
def _kinds() -> dict[str, str]:
    """By group and kind, the rest of the line: types by version, the newest first."""
    lines = _table()["roots"].split("\n")
    return {kind: versions for kind, _, versions in (line.partition(" ") for line in lines)}


class BuiltinSchema(Schema):
    """A type of Kubernetes. Paths may leave out the steps into list elements."""

    __slots__ = ("_root", "is_open")

    def __init__(self, root: _Type, *, is_open: bool = False) -> None:
        """Of a type in the table, see `builtin_schema`; `is_open` where resources have fields that it does not name."""
        self._root = root
        self.is_open = is_open

    def at(self, path: FieldPath) -> ValueSchema:
        """Lists keyed by `x-kubernetes-list-map-keys` or else by the strategic merge patch key (L1); sets (L2).

        Alternatives are sources of a volume, handlers of a probe and the like; a discriminator is such as a strategy's
        `type` (V7). Maps are labels, data, limits and the like.
        """
        field, type_ = _NO_FIELD, self._root
        in_map = False
        for step in path:
            if not isinstance(step, str):
                continue
            if in_map:
                # The key of a map: its value has the type that the field names.
                field, in_map = _NO_FIELD, False
                continue
            subfield = type_.fields.get(step)
            if subfield is None:
                return _NOTHING
            field, in_map = subfield, subfield.any_key
            type_ = _type(subfield.of) if subfield.of is not None else _NO_TYPE
        if in_map:
            type_ = _NO_TYPE
        # The elements of a list of scalars are no lists.
        kind = field.kind if path and isinstance(path[-1], str) else ORDERED
        return ValueSchema(
            kind, type_.alternatives, type_.discriminator, field.any_key, field.strategy, field.merge_key
        )


@cache
def builtin_schema(group: str, version: str, kind: str) -> BuiltinSchema | None:
    """The schema of one of Kubernetes' own kinds, None of others. `group` is empty for the core group.

    A version that is not known is read as the newest that is.
    """
    if group == "extensions":
        group = _MOVED.get(kind, group)
    versions = _kinds().get(f"{group}/{kind}")
    if versions is None or group == "*":
        return None
    names = dict(pair.split("=") for pair in versions.split(" "))
    return BuiltinSchema(_type(names.get(version) or next(iter(names.values()))))


@cache
def any_object_schema() -> BuiltinSchema:
    """The schema shared by resources of every kind: their metadata."""
    return BuiltinSchema(_type(_kinds()["*/*"].removeprefix("*=")), is_open=True)


@cache
def pod_spec_schema() -> BuiltinSchema:
    """The schema of a pod's spec, wherever it is."""
    return BuiltinSchema(_type("core/v1.PodSpec"))
