"""Adds to a schema the merge keys that the user names (`listKeys`), and fields that belong to local alone."""

from __future__ import annotations

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.model import Alternatives, Discriminator, KeyedList, ListKind, Schema
from krm_merge.startup import frozen


@frozen
class WithListKeys:
    """A schema with the user's own merge keys; paths of `lists` leave out the steps into list elements.

    `local` are fields that are local's alone.
    """

    schema: Schema
    lists: tuple[tuple[FieldPath, KeyedList], ...]
    local: tuple[FieldPath, ...] = ()

    def list_kind(self, path: FieldPath) -> ListKind:
        """The user's keys where there are any, else what the schema says."""
        return self._own(path) or self.schema.list_kind(path)

    def alternatives(self, path: FieldPath) -> Alternatives:
        """As the schema says."""
        return self.schema.alternatives(path)

    def discriminator(self, path: FieldPath) -> Discriminator | None:
        """As the schema says."""
        return self.schema.discriminator(path)

    def is_map(self, path: FieldPath) -> bool:
        """As the schema says."""
        return self.schema.is_map(path)

    def stays_local(self, path: FieldPath) -> bool:
        """As the schema says, and the fields that are local's alone."""
        return path in self.local or self.schema.stays_local(path)

    def merge_keys(self, path: FieldPath) -> tuple[str, ...]:
        """The user's keys where there are any."""
        keys = self._own(path)
        return keys.keys if keys is not None else self.schema.merge_keys(path)

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
