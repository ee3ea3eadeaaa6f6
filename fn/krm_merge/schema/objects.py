"""Objects inside an object: the items of a `List`, each by the schema of its own kind."""

from __future__ import annotations

from collections.abc import Callable

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.builtin import any_object_schema
from krm_merge.schema.model import OBJECTS, Alternatives, Discriminator, ListKind, Schema
from krm_merge.text.reading.nodes import MappingNode


class ObjectListSchema:
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

    def list_kind(self, path: FieldPath) -> ListKind:
        """The items are objects."""
        schema, rest = self._found(path)
        return OBJECTS if self._inside is None and path == ("items",) else schema.list_kind(rest)

    def alternatives(self, path: FieldPath) -> Alternatives:
        """The alternatives of the item."""
        schema, rest = self._found(path)
        return schema.alternatives(rest)

    def discriminator(self, path: FieldPath) -> Discriminator | None:
        """That of the item."""
        schema, rest = self._found(path)
        return schema.discriminator(rest)

    def is_map(self, path: FieldPath) -> bool:
        """As the item's schema says."""
        schema, rest = self._found(path)
        return schema.is_map(rest)

    def stays_local(self, path: FieldPath) -> bool:
        """As for every object."""
        schema, rest = self._found(path)
        return schema.stays_local(rest)

    def merge_keys(self, path: FieldPath) -> tuple[str, ...]:
        """The merge keys of the item; patches know no identity of objects."""
        schema, rest = self._found(path)
        return schema.merge_keys(rest)

    def patch_strategy(self, path: FieldPath) -> tuple[str, ...]:
        """That of the item."""
        schema, rest = self._found(path)
        return schema.patch_strategy(rest)

    def patch_merge_key(self, path: FieldPath) -> str | None:
        """That of the item."""
        schema, rest = self._found(path)
        return schema.patch_merge_key(rest)

    def _found(self, path: FieldPath) -> tuple[Schema, FieldPath]:
        if self._inside is not None and path[: len(self._at)] == self._at:
            return self._inside, path[len(self._at) :]
        return any_object_schema(), path
