"""The schema of each resource: built-in types, CRDs of the package, else what all objects have."""

from __future__ import annotations

from krm_merge.merge.member import Member
from krm_merge.schema import Schema
from krm_merge.schema.builtin import any_object_schema, builtin_schema
from krm_merge.schema.crd import crd_schemas
from krm_merge.text.nodes import Scalar

CRD = "CustomResourceDefinition"


class Schemas:
    """Schemas by group, version and kind; CRDs are found among the members, the first of a kind counts."""

    def __init__(self, members: list[Member]) -> None:
        """Takes the resources of all sides, the most important first."""
        self._custom = crd_schemas([member.root for member in reversed(members) if member.subject.kind == CRD])
        self._known: dict[tuple[str, str, str], Schema] = {}

    def of(self, member: Member) -> Schema:
        """The schema of a resource."""
        node = member.root.get("apiVersion")
        version = node.text.rpartition("/")[2] if isinstance(node, Scalar) else ""
        key = (member.subject.group, version, member.subject.kind)
        known = self._known.get(key)
        if known is None:
            known = self._custom.get(key) or builtin_schema(*key) or any_object_schema()
            self._known[key] = known
        return known
