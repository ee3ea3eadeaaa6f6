"""The interface of schemas for a merge, and merge keys that the user names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.startup import frozen, split_names
from krm_merge.text import Canonical

ORDERED: Final = "ordered"
"""A sequence: its elements have no identity (rule L3)."""
SET: Final = "set"
"""Scalars, each once (L2)."""
WHOLE: Final = "whole"
"""One value: never merged inside."""
FUNCTIONS: Final = "functions"
"""The functions of a pipeline (F1-F7)."""
OBJECTS: Final = "objects"
"""Whole objects, identified as resources are (R1)."""


@frozen
class KeyedList:
    """Elements identified by all of these fields together; `defaults` are the values of absent key fields (L1)."""

    keys: tuple[str, ...]
    defaults: tuple[tuple[str, Canonical], ...] = ()


ListKind: TypeAlias = Literal["ordered", "set", "whole", "functions", "objects"] | KeyedList
Alternatives: TypeAlias = tuple[tuple[str, ...], ...]


def key_fields(kind: ListKind) -> tuple[str, ...]:
    """The key fields of the elements of a list, () if they have none."""
    return kind.keys if isinstance(kind, KeyedList) else ()


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


class Schema:
    """A type's lists and fields. Paths hold field names, and one step for each list element."""

    __slots__ = ()

    def list_kind(self, path: FieldPath) -> ListKind:
        """How the elements of the list at this path are identified."""
        raise NotImplementedError

    def alternatives(self, path: FieldPath) -> Alternatives:
        """Groups of fields of the mapping at this path of which only one is allowed (V7)."""
        raise NotImplementedError

    def discriminator(self, path: FieldPath) -> Discriminator | None:
        """The field of the mapping at this path that says which of its siblings are allowed, by default none (V7)."""
        return None

    def is_map(self, path: FieldPath) -> bool:
        """Whether the mapping at this path has keys of its own choice, such as labels, and no fixed fields (V3)."""
        raise NotImplementedError

    def stays_local(self, path: FieldPath) -> bool:
        """Whether the field at this path is never compared or merged: local's is kept (K1, R6)."""
        return is_bookkeeping_path(path)

    def merge_keys(self, path: FieldPath) -> tuple[str, ...]:
        """All key fields of the list at this path, () if its elements have no keys."""
        return key_fields(self.list_kind(path))

    def patch_strategy(self, path: FieldPath) -> tuple[str, ...]:
        """How patches treat the field at this path: `merge`, `replace`, `retainKeys`; keyed lists and sets merge."""
        return ("merge",) if self.list_kind(path) == SET or self.merge_keys(path) else ()

    def patch_merge_key(self, path: FieldPath) -> str | None:
        """The one key field by which kubectl merges the list at this path."""
        keys = self.merge_keys(path)
        return keys[0] if len(keys) == 1 else None


class DelegatingSchema(Schema):
    """A schema that is another one at each path, but for what a subclass says."""

    __slots__ = ()

    def at(self, path: FieldPath) -> tuple[Schema, FieldPath]:
        """The schema for a path, and the path in it."""
        raise NotImplementedError

    def list_kind(self, path: FieldPath) -> ListKind:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.list_kind(rest)

    def alternatives(self, path: FieldPath) -> Alternatives:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.alternatives(rest)

    def discriminator(self, path: FieldPath) -> Discriminator | None:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.discriminator(rest)

    def is_map(self, path: FieldPath) -> bool:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.is_map(rest)

    def stays_local(self, path: FieldPath) -> bool:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.stays_local(rest)

    def patch_strategy(self, path: FieldPath) -> tuple[str, ...]:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.patch_strategy(rest)

    def patch_merge_key(self, path: FieldPath) -> str | None:
        """As the schema there says."""
        schema, rest = self.at(path)
        return schema.patch_merge_key(rest)


@frozen
class WithListKeys(DelegatingSchema):
    """A schema with the user's own merge keys; paths of `lists` leave out the steps into list elements.

    `local` are fields that are local's alone.
    """

    schema: Schema
    lists: tuple[tuple[FieldPath, KeyedList], ...]
    local: tuple[FieldPath, ...] = ()

    def at(self, path: FieldPath) -> tuple[Schema, FieldPath]:
        """The schema."""
        return self.schema, path

    def list_kind(self, path: FieldPath) -> ListKind:
        """The user's keys where there are any, else what the schema says."""
        return self._own(path) or self.schema.list_kind(path)

    def stays_local(self, path: FieldPath) -> bool:
        """As the schema says, and the fields that are local's alone."""
        return path in self.local or self.schema.stays_local(path)

    def patch_strategy(self, path: FieldPath) -> tuple[str, ...]:
        """Lists with the user's keys merge."""
        return ("merge",) if self._own(path) is not None else self.schema.patch_strategy(path)

    def patch_merge_key(self, path: FieldPath) -> str | None:
        """The user's keys as Kubernetes writes them."""
        keys = self._own(path)
        return ",".join(keys.keys) if keys is not None else self.schema.patch_merge_key(path)

    def _own(self, path: FieldPath) -> KeyedList | None:
        fields = tuple(step for step in path if isinstance(step, str))
        return next((keyed for at, keyed in self.lists if at == fields), None)
