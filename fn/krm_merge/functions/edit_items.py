"""Edits the items of a list one by one, on all processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from krm_merge.krm.parallel import in_parallel
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result, Results
from krm_merge.krm.rewriting import report_rewriting
from krm_merge.text.reading.nodes import TextError

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


def edit_items(resource_list: ResourceList, editor: Callable[[], ItemEditor[Summary]]) -> list[Summary]:
    """Edits all items and reports the results of their editors; returns the summaries of the parts, in order.

    `editor` is called for each part, which may be in another process. If an error is reported, no item changes.
    """
    results, items = resource_list.results, resource_list.items
    parts = in_parallel(lambda part: _edited(part, editor()), items)
    for result in (result for part in parts for result in part.results):
        results.add(result)
    if not results.errors:
        done = [fate_and_data for part in parts for fate_and_data in part.items]
        for item, (fate, data) in zip(items, done, strict=True):
            if fate == CHANGED:
                item.settle(data)
        resource_list.items[:] = [item for item, (fate, _) in zip(items, done, strict=True) if fate != REMOVED]
    return [part.summary for part in parts]


def _edited(items: Sequence[Resource], editor: ItemEditor[Summary]) -> _Part[Summary]:
    try:
        done = [_edited_one(item, editor) for item in items]
    finally:
        summary = editor.finish()
    return _Part(done, list(editor.results), summary)


def _edited_one(item: Resource, editor: ItemEditor[Summary]) -> tuple[ItemFate, bytes]:
    fate = editor.edit(item)
    if fate != CHANGED:
        return fate, b""
    try:
        data = item.data()
        report_rewriting(item, editor.results)
        return fate, data
    except TextError as error:
        editor.results.error(f"{item.file}: {error}", file=item.file)
        return fate, b""
    finally:
        item.forget()
