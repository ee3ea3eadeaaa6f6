"""Pods inside of resources whose schema does not know them: a mapping with containers is a pod's spec (L1, V7, G)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.schema.builtin import BuiltinSchema, pod_spec_schema
from krm_merge.schema.model import ORDERED, Alternatives, Discriminator, ListKind, Schema
from krm_merge.schema.objects import ObjectListSchema
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode, resolved
from krm_merge.text.reading.values import key_text

_CONTAINERS = ("containers", "initContainers")


def with_pods(schema: Schema, roots: Iterable[Node | None]) -> Schema:
    """The schema with those of the pods that any of the sides holds; built-in types say themselves where theirs are."""
    if isinstance(schema, ObjectListSchema) or (isinstance(schema, BuiltinSchema) and not schema.is_open):
        return schema
    places = frozenset(place for root in roots if root is not None for place in _pods_in(root, ()))
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
class _WithPods:
    schema: Schema
    places: frozenset[tuple[str, ...]]
    """Where the specs of pods are: the names of the fields that lead there."""

    def list_kind(self, path: FieldPath) -> ListKind:
        """As the schema says; where it says nothing, as in a pod."""
        kind = self.schema.list_kind(path)
        schema, rest = self._found(path)
        return schema.list_kind(rest) if kind == ORDERED else kind

    def alternatives(self, path: FieldPath) -> Alternatives:
        """The alternatives of both."""
        schema, rest = self._found(path)
        return self.schema.alternatives(path) or schema.alternatives(rest)

    def discriminator(self, path: FieldPath) -> Discriminator | None:
        """As the schema says, else as in a pod."""
        schema, rest = self._found(path)
        return self.schema.discriminator(path) or schema.discriminator(rest)

    def is_map(self, path: FieldPath) -> bool:
        """As the schema says, else as in a pod."""
        schema, rest = self._found(path)
        return self.schema.is_map(path) or schema.is_map(rest)

    def stays_local(self, path: FieldPath) -> bool:
        """As the schema says."""
        return self.schema.stays_local(path)

    def merge_keys(self, path: FieldPath) -> tuple[str, ...]:
        """As the schema says, else as in a pod."""
        schema, rest = self._found(path)
        return self.schema.merge_keys(path) or schema.merge_keys(rest)

    def patch_strategy(self, path: FieldPath) -> tuple[str, ...]:
        """As the schema says: patches know nothing of shapes."""
        return self.schema.patch_strategy(path)

    def patch_merge_key(self, path: FieldPath) -> str | None:
        """As the schema says."""
        return self.schema.patch_merge_key(path)

    def _found(self, path: FieldPath) -> tuple[Schema, FieldPath]:
        names = tuple(step for step in path if isinstance(step, str))
        for depth in range(len(names)):
            if names[:depth] in self.places:
                # Steps into the elements of lists may be left out.
                is_element = bool(path) and not isinstance(path[-1], str)
                return pod_spec_schema(), (*names[depth:], *path[-1:]) if is_element else names[depth:]
        return self.schema, path
