"""Edits the items of a list one by one, on all processors, with the shapes of their types (rule P7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from krm_merge.krm.identity import identity_of
from krm_merge.krm.parallel import in_parallel
from krm_merge.krm.resource import Resource, report_rewriting
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result, Results
from krm_merge.merge.decisions.member import Member
from krm_merge.merge.package.merger import ListKeys
from krm_merge.merge.package.schemas import CRD, Schemas
from krm_merge.patch import SchemaShape
from krm_merge.schema import WithListKeys
from krm_merge.schema.model import KeyedList
from krm_merge.text.reading.nodes import MappingNode, TextError

ItemFate: TypeAlias = Literal["same", "changed", "removed"]
SAME: Final = "same"
CHANGED: Final = "changed"
REMOVED: Final = "removed"

Summary = TypeVar("Summary", covariant=True)


class ItemEditor(Protocol[Summary]):
    """Edits items independently of each other."""

    @property
    def results(self) -> Results:
        """The results of single items."""
        ...

    def edit(self, item: Resource) -> ItemFate:
        """Edits the text of an item."""
        ...

    def finish(self) -> Summary:
        """A summary of all items, called after the last edit. It is pickled."""
        ...


@dataclass(frozen=True, slots=True)
class _Part(Generic[Summary]):
    """The outcomes of some items, with the new bytes of those that changed."""

    items: list[tuple[ItemFate, bytes]]
    results: list[Result]
    summary: Summary


@dataclass(frozen=True, slots=True)
class Edits(Generic[Summary]):
    """What became of each item, with the new bytes of those that changed; and the summaries of the parts, in order."""

    items: list[tuple[ItemFate, bytes]]
    summaries: list[Summary]


def edit_items(resource_list: ResourceList, editor: Callable[[], ItemEditor[Summary]]) -> list[Summary]:
    """Edits all items and reports the results of their editors; returns the summaries of the parts, in order.

    `editor` is called for each part, which may be in another process. If an error is reported, no item changes.
    """
    results, items = resource_list.results, resource_list.items
    edits = edits_of(items, editor, results, _item_bytes)
    if not results.errors:
        for item, (fate, data) in zip(items, edits.items, strict=True):
            if fate == CHANGED:
                item.settle(data)
        resource_list.items[:] = [item for item, (fate, _) in zip(items, edits.items, strict=True) if fate != REMOVED]
    return edits.summaries


def edits_of(
    items: Sequence[Resource],
    editor: Callable[[], ItemEditor[Summary]],
    results: Results,
    write: Callable[[Resource, Results], bytes],
) -> Edits[Summary]:
    """The edits of all items, made on all processors; `write` gives the bytes of an item that changed.

    `editor` is called for each part, which may be in another process: edits of the items themselves are lost there.
    """
    parts = in_parallel(lambda part: _edit_part(part, editor(), write), items)
    for result in (result for part in parts for result in part.results):
        results.add(result)
    return Edits([done for part in parts for done in part.items], [part.summary for part in parts])


def _edit_part(
    items: Sequence[Resource], editor: ItemEditor[Summary], write: Callable[[Resource, Results], bytes]
) -> _Part[Summary]:
    done: list[tuple[ItemFate, bytes]] = []
    try:
        for item in items:
            fate = editor.edit(item)
            done.append((fate, write(item, editor.results) if fate == CHANGED else b""))
    finally:
        summary = editor.finish()
    return _Part(done, list(editor.results), summary)


def _item_bytes(item: Resource, results: Results) -> bytes:
    """The bytes of a changed item of a list, whose tree is forgotten then."""
    try:
        data = item.data()
        report_rewriting(item, results)
        return data
    except TextError as error:
        results.error(f"{item.file}: {error}", file=item.file)
        return b""
    finally:
        item.forget()


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
        shape = self._known.get(key)
        if shape is None:
            schema = self._schemas.of(Member("", identity_of(item.root), item.root, ""))
            list_keys = [k for k in self._list_keys if (k.api_version, k.kind) == key]
            if list_keys:
                schema = WithListKeys(schema, tuple((k.path, KeyedList(k.keys)) for k in list_keys))
            shape = self._known[key] = SchemaShape(schema)
        return shape


def definitions_of(items: Sequence[Resource]) -> Definitions:
    """Returns a reader of the CRDs among items; items without the kind's name are not parsed."""

    def definitions() -> Iterator[MappingNode]:
        return (item.root for item in items if CRD.encode() in item.slice.data and item.kind == CRD)

    return definitions
