"""The shapes of the types in a package: the fields that identify the elements of their lists (rule P7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from krm_merge.krm.identity import identity_of
from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.member import Member
from krm_merge.merge.package.merger import ListKeys
from krm_merge.merge.package.schemas import CRD, Schemas
from krm_merge.patch import SchemaShape
from krm_merge.schema import WithListKeys
from krm_merge.schema.model import KeyedList
from krm_merge.text.reading.nodes import MappingNode

Definitions = Callable[[], Iterable[MappingNode]]


class Shapes:
    """Shapes by apiVersion and kind; each is computed once."""

    def __init__(self, definitions: Definitions, list_keys: Sequence[ListKeys] = ()) -> None:
        """`definitions` returns the CRDs of the package when one is needed, `list_keys` are the user's."""
        self._schemas = Schemas(definitions)
        self._list_keys = list_keys
        self._known: dict[tuple[str, str], SchemaShape] = {}

    def of(self, item: Resource) -> SchemaShape:
        """The shape of a resource."""
        key = (item.api_version, item.kind)
        known = self._known.get(key)
        if known is None:
            schema = self._schemas.of(Member("", identity_of(item.root), item.root, ""))
            own = [k for k in self._list_keys if (k.api_version, k.kind) == key]
            if own:
                schema = WithListKeys(schema, tuple((k.path, KeyedList(k.keys)) for k in own))
            known = self._known[key] = SchemaShape(schema)
        return known


def definitions_of(items: Sequence[Resource]) -> Definitions:
    """Returns a reader of the CRDs among items; items without the kind's name are not parsed."""

    def found() -> Iterator[MappingNode]:
        return (item.root for item in items if CRD.encode() in item.slice.data and item.kind == CRD)

    return found
