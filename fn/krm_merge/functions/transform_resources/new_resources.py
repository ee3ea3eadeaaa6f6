"""Adds the new resources of plugins (rule T7)."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from posixpath import basename, dirname, join

from krm_merge.functions.places import FreeIndexes, default_place, new_resource, place_of, root_package
from krm_merge.functions.transform_resources.bookkeeping import without_bookkeeping
from krm_merge.functions.transform_resources.transforming import Created, ItemKey, key_of, second_run
from krm_merge.krm.identity import Identity, identity_of
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import ResourceRef, Result, Results, Severity
from krm_merge.limits import CopiedInAll
from krm_merge.merge.decisions.member import Member
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import from_value
from krm_merge.transform.protocol.operation import equal
from krm_merge.transform.runner import Runner


@dataclass(frozen=True, slots=True)
class ProposedResource:
    """A new resource with its tree."""

    created: Created
    tree: MappingNode

    @property
    def plugin(self) -> str:
        """The plugin that proposed it."""
        return self.created.plugin

    @property
    def identity(self) -> Identity:
        """Its identity."""
        return identity_of(self.tree)

    @property
    def ref(self) -> ResourceRef:
        """Its name in results."""
        return Resource.from_tree(self.tree).ref

    def path_beside(self, place: str | None) -> str:
        """The file that kpt would give it, in the folder of another resource."""
        return join(dirname(place or ""), basename(default_place(self.identity)))


def add_new(
    resource_list: ResourceList,
    created: Iterable[Created],
    whited_out: Container[ItemKey],
    runner: Runner,
    on_conflict: Severity,
    copied: CopiedInAll,
) -> None:
    """Adds new resources, each once, beside those that they were made for; existing resources are kept."""
    results = resource_list.results
    strongest = strongest_of(created, runner, on_conflict, results)
    existing = existing_in(resource_list.items, {new.identity.kind for new in strongest}, whited_out)
    root = root_package(resource_list)
    free = FreeIndexes(resource_list, root)
    for new in strongest:
        if (item := existing.get(new.identity)) is not None:
            report_existing(new, item, results)
            continue
        path = new.path_beside(place_of(new.created.annotations, root))
        resource_list.items.append(new_resource(Member("", new.identity, new.tree, ""), path, free.take(path)))
        report_added(new, path, runner, results, copied)
    runner.close()


def strongest_of(
    created: Iterable[Created], runner: Runner, on_conflict: Severity, results: Results
) -> list[ProposedResource]:
    """The new resources, each once. Where plugins differ, the strongest wins, and the others are reported."""
    unlisted = max(runner.priorities.values(), default=0) + 1
    found: dict[Identity, ProposedResource] = {}
    # T11: names may repeat, declarations do not.
    for one in sorted(created, key=lambda one: (runner.priorities.get(one.plugin, unlisted), one.declared)):
        tree = from_value(one.resource)
        assert isinstance(tree, MappingNode)
        new = ProposedResource(one, tree)
        winner = found.setdefault(new.identity, new)
        if not equal(winner.created.resource, one.resource):
            tags = {"event": "ignored", "plugin": one.plugin, "winner": winner.plugin}
            message = f"{new.ref}: {one.plugin} proposes other contents than {winner.plugin}, which has priority"
            results.add(Result(on_conflict, message, new.ref, rule="T7", tags=tags))
    return list(found.values())


def report_added(new: ProposedResource, path: str, runner: Runner, results: Results, copied: CopiedInAll) -> None:
    """Reports a resource that is added, and the changes that the plugins would make to it. Close the runner."""
    tags = {"event": "created", "plugin": new.plugin}
    message = f"{new.ref}: added by {new.plugin} for {new.created.source}"
    results.info(message, resource=new.ref, file=path, rule="T7", tags=tags)
    for plugin, problem in second_run(runner, new.created.resource, copied):
        tags = {"event": "not-idempotent", "plugin": plugin}
        message = f"{new.ref}: at the next run, {plugin} {problem}; in a pipeline it runs at every render"
        results.warning(message, resource=new.ref, file=path, rule="T8", tags=tags)


def report_existing(new: ProposedResource, item: Resource, results: Results) -> None:
    """Reports a resource that the package already has with other contents."""
    value = item.value
    assert isinstance(value, dict)
    if not equal(without_bookkeeping(value), new.created.resource):
        tags = {"event": "ignored", "plugin": new.plugin, "reason": "exists"}
        message = f"{new.ref}: {new.plugin} proposes other contents than the package has; the package's are kept"
        results.info(message, resource=new.ref, file=item.file, rule="T7", tags=tags)


def existing_in(
    items: Iterable[Resource], kinds: Container[str], whited_out: Container[ItemKey]
) -> dict[Identity, Resource]:
    """The resources of these kinds; a whited-out one may be replaced."""
    found: dict[Identity, Resource] = {}
    for item in items:
        try:
            if item.kind in kinds and key_of(item) not in whited_out:
                found[item.identity] = item
        except ResourceError:
            continue  # reported when it was transformed
    return found
