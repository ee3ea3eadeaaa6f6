"""The properties of a type that patches depend on: which lists merge, by which keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema import KeyedList, Schema
from krm_merge.text.reading.scalars import Canonical, python_value
from krm_merge.text.reading.values import Value


class Shape(Protocol):
    """A mapping type."""

    def field(self, name: str) -> Field | None:
        """The schema of a field, None where the type has no such field."""
        ...


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a mapping. `inside` is the type of its value, of its elements if it is a list.

    `strategy` holds the words of `x-kubernetes-patch-strategy`, `merge_key` the text of `x-kubernetes-patch-merge-key`,
    `keys` all fields that together identify an element, `defaults` the values of absent key fields.
    """

    inside: Shape
    strategy: tuple[str, ...] = ()
    merge_key: str = ""
    keys: tuple[str, ...] = ()
    defaults: Mapping[str, Value] = field(default_factory=dict)

    @property
    def merges(self) -> bool:
        """Whether lists of this field merge element by element."""
        return "merge" in self.strategy

    @property
    def replaces(self) -> bool:
        """Whether a map in this field is one value."""
        return "replace" in self.strategy

    @property
    def retains_keys(self) -> bool:
        """Whether patches name the fields to keep (`$retainKeys`)."""
        return "retainKeys" in self.strategy


class SchemaShape:
    """A type as a schema describes it; every path is looked up once."""

    __slots__ = ("_fields", "_path", "_schema")

    def __init__(self, schema: Schema, path: FieldPath = ()) -> None:
        """The type of the value at a path; paths leave out the steps into list elements."""
        self._schema = schema
        self._path = path
        self._fields: dict[str, Field] = {}

    def field(self, name: str) -> Field:
        """Schemas say nothing of fields without marks: those count as known."""
        known = self._fields.get(name)
        if known is None:
            known = self._fields[name] = self._look_up(name)
        return known

    def keys_at(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The key fields of the list at a path from here, without the steps into list elements."""
        shape: SchemaShape = self
        keys: tuple[str, ...] = ()
        for name in path:
            field = shape.field(name)
            keys = field.keys
            assert isinstance(field.inside, SchemaShape)
            shape = field.inside
        return keys

    def _look_up(self, name: str) -> Field:
        path = (*self._path, name)
        schema, kind = self._schema, self._schema.list_kind(path)
        merge_key = schema.patch_merge_key(path) or ""
        keys = schema.merge_keys(path)
        if merge_key and merge_key not in (*keys, ",".join(keys)):
            # Server-side apply identifies the elements by other fields than patches do.
            keys = (merge_key,)
        defaults = {key: _plain(value) for key, value in kind.defaults} if isinstance(kind, KeyedList) else {}
        return Field(SchemaShape(schema, path), schema.patch_strategy(path), merge_key, keys, defaults)


class TypeShape:
    """A type in a table of types by name, each a table of its fields.

    A field is described by `kind` (list, map, struct, any or a scalar's), `elem` (the type of what is inside),
    `strategy` and `mergeKey` (several fields with commas between them).
    """

    __slots__ = ("_name", "_types")

    def __init__(self, types: Mapping[str, Mapping[str, Mapping[str, Value]]], name: str) -> None:
        """The type `name` of the table; one that the table lacks has no fields."""
        self._types = types
        self._name = name

    def field(self, name: str) -> Field | None:
        """As the table says."""
        described = self._types.get(self._name, {}).get(name)
        if described is None:
            return None
        strategy, merge_key, inside = (
            described.get("strategy", []),
            described.get("mergeKey", ""),
            described.get("elem"),
        )
        assert isinstance(strategy, list)
        keys = tuple(str(merge_key).split(",")) if merge_key else ()
        shape: Shape = AnyShape() if described.get("kind") == "map" else TypeShape(self._types, str(inside))
        return Field(shape, tuple(map(str, strategy)), str(merge_key), keys)


class AnyShape:
    """A mapping with any keys, of which nothing more is known: maps merge, lists are replaced (as in RFC 7386)."""

    __slots__ = ()

    def field(self, name: str) -> Field:
        """The same for every field."""
        return _ANY_FIELD


_ANY_FIELD = Field(AnyShape())


def _plain(canonical: Canonical) -> Value:
    return python_value(canonical)  # type: ignore[return-value]
