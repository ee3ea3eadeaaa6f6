"""The interface of schemas for a merge, and merge keys that the user names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.startup import frozen, split_names
from krm_merge.text import Canonical, MappingNode, Node, canonical_text, resolved

ORDERED: Final = "ordered"
"""A sequence: its elements have no identity (rule L3)."""
SET: Final = "set"
"""Scalars, each once (L2)."""
WHOLE: Final = "whole"
"""One value: never merged inside."""
FUNCTIONS: Final = "functions"
"""The functions of a pipeline (F1, F3 to F7)."""
OBJECTS: Final = "objects"
"""Whole objects, identified as resources are (R1)."""


@frozen
class KeyedList:
    """Elements identified by all of these fields together; `defaults` are the values of absent key fields (L1)."""

    keys: tuple[str, ...]
    defaults: tuple[tuple[str, Canonical], ...] = ()


ListKind: TypeAlias = Literal["ordered", "set", "whole", "functions", "objects"] | KeyedList
Alternatives: TypeAlias = tuple[tuple[str, ...], ...]


def split_keys(text: str) -> tuple[str, ...]:
    """The key fields in one text, as *Multi-fields Merge Key* writes them: `k1,k2`."""
    return tuple(split_names(text))


def element_key(
    fields: Iterable[str], value_of: Callable[[str], Hashable | None], defaults: Mapping[str, Hashable]
) -> tuple[Hashable | None, ...]:
    """The identity of an element for merges, patches and plugins: its key fields, in the order of the schema (L1, P3).

    `value_of` gives a field as something hashable, None where it is absent or null; then its default counts.
    """
    return tuple(defaults.get(name) if (value := value_of(name)) is None else value for name in fields)


class Discriminator(NamedTuple):
    """A field whose value says which of its siblings are allowed (V7).

    `members` are the siblings that each value allows; a value that is not among them allows none. `default` is the
    value of an absent field, None if the field is required.
    """

    field: str
    members: Mapping[str, tuple[str, ...]]
    default: str | None = None


# R6: how kpt and kustomize keep their books; not part of the resource.
_BOOKKEEPING = frozenset(
    (
        "config.kubernetes.io/path",
        "config.kubernetes.io/index",
        "config.kubernetes.io/merge-source",
        "config.k8s.io/id",
        "internal.config.k8s.io/kpt-resource-id",
    )
)
_BOOKKEEPING_PREFIXES = ("internal.config.kubernetes.io/", "internal.kpt.dev/")


def is_bookkeeping(annotation: str) -> bool:
    """Whether an annotation is not a value of the resource (R6)."""
    return annotation in _BOOKKEEPING or annotation.startswith(_BOOKKEEPING_PREFIXES)


def is_bookkeeping_path(path: FieldPath) -> bool:
    """Whether the path is that of such an annotation."""
    return len(path) == 3 and path[:2] == ("metadata", "annotations") and is_bookkeeping(str(path[2]))


def is_around_local(path: FieldPath) -> bool:
    """Whether fields below stay local whatever upstream does with what holds them (K1, R6)."""
    return path in ((), ("metadata",), ("metadata", "annotations"))


class ValueSchema(NamedTuple):
    """What a schema says of the value at a path."""

    list_kind: ListKind = ORDERED
    """How the elements of a list are identified."""
    alternatives: Alternatives = ()
    """Groups of fields of a mapping of which only one is allowed (V7)."""
    discriminator: Discriminator | None = None
    """The field of a mapping that says which of its siblings are allowed (V7)."""
    is_map: bool = False
    """Whether a mapping has keys of its own choice, such as labels, and no fixed fields (V3)."""
    patch_strategy: tuple[str, ...] = ()
    """How patches treat a field: `merge`, `replace`, `retainKeys`."""
    patch_merge_key: str | None = None
    """The key fields by which kubectl merges a list, with commas between them."""

    @property
    def merge_keys(self) -> tuple[str, ...]:
        """All key fields of the elements of a list, () if they have none."""
        return self.list_kind.keys if isinstance(self.list_kind, KeyedList) else ()


def list_schema(kind: ListKind) -> ValueSchema:
    """The schema of a list that patches treat as its kind says: keyed lists and sets merge, by one key field."""
    keys = ValueSchema(kind).merge_keys
    strategy = ("merge",) if kind == SET or keys else ()
    return ValueSchema(kind, patch_strategy=strategy, patch_merge_key=keys[0] if len(keys) == 1 else None)


class Schema:
    """A type's lists and fields. Paths hold field names, and one step for each list element."""

    __slots__ = ()

    def at(self, path: FieldPath) -> ValueSchema:
        """What is known of the value at this path."""
        raise NotImplementedError

    def stays_local(self, path: FieldPath) -> bool:
        """Whether the field at this path is never compared or merged: local's is kept (K1, R6)."""
        return is_bookkeeping_path(path)

    def holds_local(self, path: FieldPath, node: Node | None) -> bool:
        """Whether a value has fields that stay local, or a mapping around them does."""
        return (
            is_around_local(path)
            and isinstance(node, MappingNode)
            and any(
                self.stays_local(step := (*path, canonical_text(key))) or self.holds_local(step, resolved(entry.value))
                for key, entry in node.fields.items()
            )
        )


@frozen
class WithListKeys(Schema):
    """A schema with the user's own merge keys; paths of `lists` leave out the steps into list elements.

    `local` are fields that are local's alone.
    """

    schema: Schema
    lists: tuple[tuple[FieldPath, KeyedList], ...]
    local: tuple[FieldPath, ...] = ()

    def at(self, path: FieldPath) -> ValueSchema:
        """What the schema says; lists with the user's keys merge by all of them."""
        value = self.schema.at(path)
        fields = tuple(step for step in path if isinstance(step, str))
        keyed = next((keyed for at, keyed in self.lists if at == fields), None)
        if keyed is None:
            return value
        return value._replace(list_kind=keyed, patch_strategy=("merge",), patch_merge_key=",".join(keyed.keys))

    def stays_local(self, path: FieldPath) -> bool:
        """As the schema says, and the fields that are local's alone."""
        return path in self.local or self.schema.stays_local(path)
