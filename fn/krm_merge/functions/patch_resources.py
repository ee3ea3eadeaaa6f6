"""`kind: PatchResources`: patches the resources of a package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krm_merge.functions.patch_jobs import read_jobs
from krm_merge.functions.patching import CHANGED, REMOVED, Fate, Patcher, Tally, report
from krm_merge.krm.parallel import in_parallel
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result
from krm_merge.merge.schemas import CRD
from krm_merge.text.nodes import Mapping, TextError


def patch_resources(resource_list: ResourceList) -> None:
    """Applies the patches in their order; reports for each what it matched and changed."""
    results, items = resource_list.results, resource_list.items
    config = read_jobs(resource_list)
    if results.errors:
        return

    def definitions() -> Iterator[Mapping]:
        return (item.root for item in items if CRD.encode() in item.slice.data and item.kind == CRD)

    parts = in_parallel(lambda part: _patched(part, Patcher(config, definitions)), items)
    for result in (result for part in parts for result in part.results):
        results.add(result)
    if results.errors:
        return
    done = [(fate, data) for part in parts for fate, data in part.items]
    for item, (fate, data) in zip(items, done, strict=True):
        if fate == CHANGED:
            item.settle(data)
    resource_list.items[:] = [item for item, (fate, _) in zip(items, done, strict=True) if fate != REMOVED]
    for at, job in enumerate(config.jobs):
        report(results, job, [part.tallies[at] for part in parts], "functionConfig: ")


@dataclass(frozen=True, slots=True)
class _Part:
    """What came of some items: the fate of each, with the new bytes of those that changed."""

    items: list[tuple[Fate, bytes]]
    results: list[Result]
    tallies: list[Tally]


def _patched(items: Sequence[Resource], patcher: Patcher) -> _Part:
    done = [_patched_one(item, patcher) for item in items]
    return _Part(done, list(patcher.results), patcher.tallies)


def _patched_one(item: Resource, patcher: Patcher) -> tuple[Fate, bytes]:
    fate = patcher.edit(item)
    if fate != CHANGED:
        return fate, b""
    try:
        return fate, item.data()
    except TextError as error:
        patcher.results.error(f"{item.file}: {error}", file=item.file)
        return fate, b""
    finally:
        item.forget()
