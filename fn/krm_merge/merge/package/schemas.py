"""The schema of each resource: built-in types, CRDs of the package, else what all objects have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.member import MERGE_POLICY, Member
from krm_merge.merge.package.narrow import Document
from krm_merge.schema import Schema, WithListKeys, kustomization
from krm_merge.schema.builtin import any_object_schema, builtin_schema
from krm_merge.schema.crd import CrdSchema, crd_schemas
from krm_merge.schema.kustomization import KustomizationSchema
from krm_merge.schema.objects import ObjectListSchema
from krm_merge.text.reading.nodes import MappingNode, Scalar

CRD = "CustomResourceDefinition"


def definitions_in(documents: Iterable[Document]) -> Iterator[MappingNode]:
    """The CRDs among documents; what does not name the kind is not read."""
    for document in documents:
        if CRD.encode() in document.data and (member := document.member()) is not None:
            yield member.root


class Schemas:
    """Schemas by group, version and kind. The definitions are asked for when a type is not built in."""

    def __init__(self, definitions: Callable[[], Iterable[MappingNode]]) -> None:
        """Takes what gives the CRDs of all sides, the least important first: the last of a kind counts."""
        self._definitions = definitions
        self._custom: dict[tuple[str, str, str], CrdSchema] | None = None
        self._known: dict[tuple[str, str, str], Schema] = {}

    def of(self, member: Member) -> Schema:
        """The schema of a resource."""
        node = member.root.get("apiVersion")
        version = node.text.rpartition("/")[2] if isinstance(node, Scalar) else ""
        key = (member.identity.group, version, member.identity.kind)
        schema = self._known.get(key)
        if schema is None:
            schema = self._known[key] = self._found(key)
        return schema

    def of_object(self, root: MappingNode) -> Schema:
        """The schema of an object that is no member of a package itself."""
        return self.of(Member("", identity_of(root), root, ""))

    def _found(self, key: tuple[str, str, str]) -> Schema:
        # P7: built-in types first, then definitions in the package.
        if key[0] == kustomization.GROUP and key[2] in kustomization.KINDS:
            return KustomizationSchema()
        if key == ("", "v1", "List"):
            return ObjectListSchema(self.of_object)
        if (key[0], key[2]) == MERGE_POLICY:
            # M1: choices on single conflicts never come from upstream.
            return WithListKeys(any_object_schema(), (), (("resolutions",),))
        if (builtin := builtin_schema(*key)) is not None:
            return builtin
        if self._custom is None:
            self._custom = crd_schemas(self._definitions())
        return self._custom.get(key) or any_object_schema()
