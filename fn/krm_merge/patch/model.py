"""Shared by all patches: plain values, the shapes of types, errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.krm import FieldPath, format_path
from krm_merge.safe_text import REDACTED
from krm_merge.schema import Discriminator, KeyedList, ListKind, Schema, WithListKeys, any_object_schema, split_keys
from krm_merge.startup import group_by_key
from krm_merge.text import Canonical, Object, Value, python_value, same

_SHOWN = 200
_OF_OPERATIONS = ("op", "path", "from")


def _nothing() -> bool:
    return False


_hides: ContextVar[Callable[[], bool]] = ContextVar("hides", default=_nothing)


class PatchError(KrmMergeError, ValueError):
    """A patch or document that cannot be taken. `path` is where, `problem` what is wrong there."""

    def __init__(self, problem: str, path: FieldPath = ()) -> None:
        """The message begins with the path."""
        super().__init__(f"{format_path(path)}: {problem}" if path else problem)
        self.problem = problem
        self.path = path


class PatchConflictError(PatchError):
    """Two sides changed the same thing differently, and nobody may overwrite."""


@contextmanager
def hiding_values(hides: Callable[[], bool]) -> Iterator[None]:
    """As long as it lasts, values in messages are redacted where it `hides` them (M6): only an error asks."""
    token = _hides.set(hides)
    try:
        yield
    finally:
        _hides.reset(token)


def render(value: Value) -> str:
    """A value in a message."""
    return _cut(_redact(value) if _hides.get()() else value)


def shown_operation(operation: Object) -> str:
    """An operation of a JSON patch in a message: what it does and where is no secret, whatever else it holds may be."""
    if not _hides.get()():
        return _cut(operation)
    return _cut(
        {
            name: inner if name in _OF_OPERATIONS and isinstance(inner, str) else _redact(inner)
            for name, inner in operation.items()
        }
    )


def _cut(value: Value) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _redact(value: Value) -> Value:
    """The value with the names of its fields alone."""
    if isinstance(value, dict):
        return {name: _redact(inner) for name, inner in value.items()}
    return [_redact(item) for item in value] if isinstance(value, list) else REDACTED


__all__ = ["ValueKind", "identity", "is_deeper", "kind_of", "same", "text_of"]

ValueKind: TypeAlias = Literal["map", "list", "string", "integer", "number", "boolean", "null"]

_KINDS: Final[dict[type, ValueKind]] = {
    dict: "map",
    list: "list",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def kind_of(value: Value) -> ValueKind:
    """The JSON type of a value; integers and other numbers differ, as in Go."""
    return _KINDS[type(value)]


def identity(value: Value) -> Hashable:
    """A hashable key, equal for equal values."""
    if isinstance(value, dict):
        return "map", frozenset((key, identity(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return "list", tuple(identity(item) for item in value)
    return kind_of(value), value


def is_deeper(value: Value, depth: int) -> bool:
    """Whether a value is nested deeper than this."""
    level = [value]
    for _ in range(depth):
        level = [inner for inner in _below(level) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _below(values: list[Value]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def text_of(value: Value) -> str:
    """A scalar as Go prints it with %v, which patches of kubectl are sorted by; floats from 1e16 have an exponent."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
        case float():
            return repr(value).removesuffix(".0")
        case _:
            return str(value)


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

    @property
    def is_known(self) -> bool:
        """Whether the schema is that of the type, and not of objects of any type."""
        schema = self._schema.schema if isinstance(self._schema, WithListKeys) else self._schema
        return schema is not any_object_schema()

    def field(self, name: str) -> Field:
        """Schemas say nothing of fields without marks: those count as known."""
        field = self._fields.get(name)
        if field is None:
            field = self._fields[name] = self._look_up(name)
        return field

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

    def flaws(self, before: Value, after: Value, path: FieldPath = ()) -> Iterator[DisallowedValue]:
        """What a patched value has that its type does not allow and that it did not have before.

        These are fields that exclude each other (V7), and elements of a list with one key. `path` is the value's own.
        """
        if isinstance(after, dict):
            earlier = before if isinstance(before, dict) else {}
            schema = self._schema.at((*self._path, 0) if path and isinstance(path[-1], int) else self._path)
            groups = [_excluding(schema.alternatives, schema.discriminator, value) for value in (earlier, after)]
            for names in groups[1]:
                if names not in groups[0]:
                    yield DisallowedValue(path, "V7", f"has {' and '.join(names)}, which exclude each other")
            for name, inner in after.items():
                # A patch leaves the object that it does not change.
                if isinstance(inner, dict | list) and inner is not earlier.get(name):
                    inside = self.field(name).inside
                    assert isinstance(inside, SchemaShape)
                    yield from inside.flaws(earlier.get(name), inner, (*path, name))
        elif isinstance(after, list):
            elements = before if isinstance(before, list) else []
            kind = self._schema.at(self._path).list_kind
            by_key = [
                group_by_key((key, item) for item in items if (key := _key_of(item, kind)))
                for items in (elements, after)
            ]
            for key, items in by_key[1].items():
                if len(items) > max(1, len(by_key[0].get(key, ()))):
                    yield DisallowedValue(
                        path, "P3", f"has {len(items)} elements with the key {', '.join(text for text, _ in key)}"
                    )
            unchanged = {id(item) for item in elements}
            for at, item in enumerate(after):
                if id(item) not in unchanged:
                    same_key = by_key[0].get(_key_of(item, kind), [None])
                    yield from self.flaws(same_key[0], item, (*path, at))

    def _look_up(self, name: str) -> Field:
        path = (*self._path, name)
        schema = self._schema.at(path)
        kind, merge_key = schema.list_kind, schema.patch_merge_key or ""
        keys, keys_of_patches = schema.merge_keys, set(split_keys(merge_key))
        if merge_key and not keys_of_patches <= set(keys):
            # Server-side apply identifies the elements by other fields than patches do.
            keys = split_keys(merge_key)
        defaults = {key: _plain(value) for key, value in kind.defaults} if isinstance(kind, KeyedList) else {}
        return Field(SchemaShape(self._schema, path), schema.patch_strategy, merge_key, keys, defaults)


class DisallowedValue(NamedTuple):
    """What the type of a value does not allow, the place of that, and the rule."""

    path: FieldPath
    rule: str
    problem: str


def _excluding(
    alternatives: Sequence[Sequence[str]], discriminator: Discriminator | None, value: Object
) -> list[tuple[str, ...]]:
    """The fields of a map that exclude each other (V7)."""
    present = [name for name, inner in value.items() if inner is not None]
    groups = [tuple(name for name in group if name in present) for group in alternatives]
    if discriminator is not None and (chosen := value.get(discriminator.field) or discriminator.default) is not None:
        members = dict.fromkeys(member for names in discriminator.members.values() for member in names)
        others = members.keys() - set(discriminator.members.get(str(chosen), ()))
        groups.append(
            (f"{discriminator.field} {chosen}", *(name for name in members if name in present and name in others))
        )
    return [group for group in groups if len(group) > 1]


_KeyFields: TypeAlias = tuple[tuple[str, Hashable], ...]


def _key_of(item: Value, kind: ListKind) -> _KeyFields:
    """The key fields of an element, each as text and as an identity; () if the list or the element has none."""
    if not isinstance(kind, KeyedList) or not isinstance(item, dict):
        return ()
    values = {name: _plain(default) for name, default in kind.defaults} | item
    if any(values.get(name) is None for name in kind.keys):
        return ()
    return tuple((text_of(values[name]), identity(values[name])) for name in kind.keys)


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
        keys = split_keys(str(merge_key))
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
