"""Custom resources, as the CustomResourceDefinitions in a package describe them.

Source: "Structural schemas" and "Merge strategy" in the documentation of Kubernetes. Of a definition only what a path
leads to is read. What a definition says nothing of (`x-kubernetes-preserve-unknown-fields` or not) is unknown:
lists there are sequences.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.schema.builtin import BuiltinSchema, any_object_schema
from krm_merge.schema.model import (
    ORDERED,
    SET,
    Alternatives,
    KeyedList,
    ListKind,
    Schema,
    ValueSchema,
    list_schema,
    split_keys,
)
from krm_merge.text import MappingNode, Node, Scalar, SequenceNode, field_at, resolved

GroupVersionKind: TypeAlias = tuple[str, str, str]

_GROUP = "apiextensions.k8s.io"
_LIST_TYPE = "x-kubernetes-list-type"
_LIST_KEYS = "x-kubernetes-list-map-keys"
_MERGE_KEY = "x-kubernetes-patch-merge-key"
_EMBEDDED = "x-kubernetes-embedded-resource"


def crd_schemas(roots: Iterable[MappingNode]) -> dict[GroupVersionKind, CrdSchema]:
    """The schemas of all versions of the custom resources that the CustomResourceDefinitions (v1) among `roots` define.

    An incomplete definition defines nothing; of two for one kind the later counts.
    """
    schemas: dict[GroupVersionKind, CrdSchema] = {}
    for root in roots:
        if _text(root.get("kind")) != "CustomResourceDefinition" or _text(root.get("apiVersion")) != f"{_GROUP}/v1":
            continue
        spec = root.get("spec")
        group, kind, versions = field_at(spec, "group"), field_at(spec, "names", "kind"), field_at(spec, "versions")
        if not isinstance(versions, SequenceNode):
            continue
        for version in map(resolved, versions.items):
            name, schema = field_at(version, "name"), field_at(version, "schema", "openAPIV3Schema")
            if isinstance(schema, MappingNode) and group is not None and kind is not None and name is not None:
                schemas[_text(group), _text(name), _text(kind)] = CrdSchema(schema)
    return schemas


class CrdSchema(Schema):
    """One version of a custom resource. Paths may leave out the steps into list elements."""

    __slots__ = ("_root",)

    def __init__(self, root: MappingNode) -> None:
        """Takes the mapping `openAPIV3Schema`."""
        self._root = root

    def at(self, path: FieldPath) -> ValueSchema:
        """Lists keyed by `x-kubernetes-list-map-keys`, else the patch merge key, with their defaults (L1); sets (L2).

        Alternatives are fields that are required one by one in `oneOf`, or of which `maxProperties` allows one (V7).
        A map is where the definition has `additionalProperties`. Kubernetes drops marks of strategic merge patches from
        definitions, and kubectl itself knows none of custom resources.
        """
        schema, rest = self._find(path)
        if isinstance(schema, BuiltinSchema):
            return schema.at(rest)
        value = list_schema(_list_kind(schema))
        return value._replace(
            alternatives=_alternatives(schema),
            is_map=isinstance(field_at(schema, "additionalProperties"), MappingNode),
            patch_merge_key=_text(field_at(schema, _MERGE_KEY)) or value.patch_merge_key,
        )

    def _find(self, path: FieldPath) -> tuple[Node | BuiltinSchema | None, FieldPath]:
        """The part of the definition that describes the value at a path; of metadata, its schema and the path in it."""
        schema: Node | None = self._root
        for at, step in enumerate(path):
            items = field_at(schema, "items")
            if not isinstance(step, str):
                schema = items
                continue
            while items is not None:
                # A step into an element that the path leaves out.
                schema, items = items, field_at(items, "items")
            if step == "metadata" and (at == 0 or _text(field_at(schema, _EMBEDDED)) == "true"):
                return any_object_schema(), path[at:]
            property_schema = field_at(schema, "properties", step)
            schema = property_schema if property_schema is not None else field_at(schema, "additionalProperties")
            if not isinstance(schema, MappingNode):
                return None, ()
        return schema, ()


def _list_kind(schema: Node | None) -> ListKind:
    kind = _text(field_at(schema, _LIST_TYPE))
    keys = _texts(field_at(schema, _LIST_KEYS)) if kind == "map" else split_keys(_text(field_at(schema, _MERGE_KEY)))
    if not keys or kind in ("set", "atomic"):
        return SET if kind == "set" else ORDERED
    properties = field_at(schema, "items", "properties")
    values = ((key, field_at(properties, key, "default")) for key in keys)
    return KeyedList(keys, tuple((k, v.canonical) for k, v in values if isinstance(v, Scalar)))


def _alternatives(schema: Node | None) -> Alternatives:
    fields: list[str] = []
    properties, branches = field_at(schema, "properties"), field_at(schema, "oneOf")
    if isinstance(properties, MappingNode) and _text(field_at(schema, "maxProperties")) == "1":
        fields = [_text(entry.key) for entry in properties.fields.values()]
    elif isinstance(branches, SequenceNode):
        required = [_texts(field_at(branch, "required")) for branch in map(resolved, branches.items)]
        # Each branch requires a field of its own: two of these fields would satisfy two branches, or none.
        if all(len(names) == 1 for names in required):
            fields = [names[0] for names in required]
    return (tuple(fields),) if len(set(fields)) == len(fields) > 1 else ()


def _text(node: Node | None) -> str:
    """The text of a scalar, empty for everything else."""
    return node.text if isinstance(node, Scalar) else ""


def _texts(node: Node | None) -> tuple[str, ...]:
    """The texts of a list of scalars."""
    return tuple(_text(resolved(item)) for item in node.items) if isinstance(node, SequenceNode) else ()
