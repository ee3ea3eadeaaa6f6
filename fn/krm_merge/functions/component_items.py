"""The items of a package that describe components: read, edited as values in their text (C8), and generated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from posixpath import join

from krm_merge.components.konflux.model import Build, Component, ComponentKey, Nudge, PullRequest
from krm_merge.components.konflux.reading import (
    EXPECTED_DIGEST,
    GROUPS,
    OWN_GROUP,
    UnreadableError,
    read_build,
    read_component,
    read_nudges,
    read_pull_request,
    strange_digest,
)
from krm_merge.components.konflux.related_resources import (
    Admission,
    check_fields,
    read_admission,
    released_as,
)
from krm_merge.components.plan.records import KIND, PULL_REQUEST
from krm_merge.functions.edit_items import bookkeeping_of, with_annotations, without_bookkeeping
from krm_merge.functions.places import FreeIndexes, new_resource, root_package
from krm_merge.krm import (
    Resource,
    ResourceError,
    ResourceList,
    Result,
    Results,
    Severity,
    flaw_of,
    identity_of,
    is_list,
    list_items,
)
from krm_merge.merge import Member
from krm_merge.text import (
    MappingNode,
    Object,
    Value,
    from_value,
    same,
)

_OF_KONFLUX = frozenset(("IntegrationTestScenario", "ReleasePlan", "Release", "Snapshot"))
_GROUP_OF = {"Repository": "pipelinesascode.tekton.dev"}
_KINDS = frozenset(
    (
        *_OF_KONFLUX,
        *_GROUP_OF,
        "Component",
        "NudgeConfig",
        "PipelineRun",
        "ReleasePlanAdmission",
        PULL_REQUEST,
        KIND,
    )
)


@dataclass(slots=True)
class ComponentItems:
    """The items by kind, with the values read from them."""

    components: dict[ComponentKey, Component] = field(default_factory=dict)
    resources: dict[ComponentKey, Resource] = field(default_factory=dict)
    nudges: list[Nudge] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    pull_requests: list[PullRequest] = field(default_factory=list)
    plans: list[Resource] = field(default_factory=list)
    definitions: list[Resource] = field(default_factory=list)
    others: dict[str, list[Resource]] = field(default_factory=dict)
    admissions: list[Admission] = field(default_factory=list)
    listed: list[Resource] = field(default_factory=list)

    def is_listed(self, item: Resource) -> bool:
        """Whether it is an item of a List, which is not edited."""
        return any(item_of_list is item for item_of_list in self.listed) if self.listed else False


def read_items(resources: Iterable[Resource], results: Results) -> ComponentItems:
    """Reads the items that describe components; reports unreadable ones."""
    component_items = ComponentItems()
    for item in _unpack(resources, component_items):
        try:
            if item.kind not in _KINDS:
                continue
            if flaw := flaw_of(item.root):
                results.error(f"{item.file or 'an item'}: {flaw}", file=item.file)
                continue
            _read_item(item, component_items, results)
        except ResourceError as error:
            results.error(str(error), file=error.file)
        except UnreadableError as error:
            for path, problem in error.problems:
                message = f"{item.ref}: {path}: {problem}"
                results.error(message, resource=item.ref, file=item.file, file_index=item.index, path=path)
    for key, component in component_items.components.items():
        released = released_as(component, component_items.admissions)
        component_items.components[key] = replace(component, released_as=released)
    return component_items


def _unpack(resources: Iterable[Resource], component_items: ComponentItems) -> Iterator[Resource]:
    """The resources, in place of a List (`kubectl get -o yaml`) its items, which can be read but not edited (C10)."""
    for item in resources:
        if not item.kind.endswith("List") or not is_list(item.root):
            yield item
            continue
        for node in list_items(item.root):
            if isinstance(node, MappingNode):
                member = Resource.from_tree(node, item.file, item.index)
                component_items.listed.append(member)
                yield member


def _read_item(item: Resource, component_items: ComponentItems, results: Results) -> None:
    group, value = item.api_version.rpartition("/")[0], item.value
    match item.kind:
        case "Component" if group in GROUPS:
            component = read_component(value)
            if component.key in component_items.resources:
                places = f"{_place(component_items.resources[component.key])} and {_place(item)}"
                raise UnreadableError(f"{places} describe the same Component; remove one of them", "metadata.name")
            component_items.components[component.key] = component
            component_items.resources[component.key] = item
        case "NudgeConfig" if group in GROUPS:
            component_items.nudges += read_nudges(value)
            component_items.others.setdefault(item.kind, []).append(item)
        case "PipelineRun" if group == "tekton.dev":
            build = read_build(value)
            if build is not None:
                component_items.builds.append(build)
                if build.outcome == "succeeded" and (path := strange_digest(value)):
                    message = f"{path}: {EXPECTED_DIGEST}; so this build is ignored"
                    warn_of(item, message, "CR19", build.component, results, path)
            else:
                check_fields(item.kind, value)
                component_items.definitions.append(item)
        case "PullRequest" if group == OWN_GROUP:
            component_items.pull_requests.append(read_pull_request(value))
        case "PullRequestPlan" if group == OWN_GROUP:
            component_items.plans.append(item)
        case "ReleasePlanAdmission" if group in GROUPS:
            component_items.admissions.append(read_admission(value))
        case kind if group == _GROUP_OF.get(kind) or (kind in _OF_KONFLUX and group in GROUPS):
            check_fields(kind, value)
            component_items.others.setdefault(kind, []).append(item)


def warn_of(
    item: Resource, message: str, rule: str, key: ComponentKey, results: Results, path: str | None = None
) -> None:
    """Warns of what has no effect, in the field at a path if one is to blame."""
    tags = {"component": str(key)}
    results.add(
        Result("warning", f"{item.ref}: {message}", item.ref, item.file, item.index, path, tags=tags, rule=rule)
    )


def _place(item: Resource) -> str:
    """The place of an item in messages."""
    return f"document {item.index + 1} of {item.file}" if item.index else item.file or "an item"


# Merge keys of lists that no schema knows.
_KEYS: dict[tuple[str, ...], tuple[str, ...]] = {("spec", "contexts"): ("name",), ("spec", "nudges"): ("from", "to")}
ANNOTATIONS = ("metadata", "annotations")


class ValueEdits:
    """The values of items with the edits made so far, and the reports about them."""

    def __init__(self, results: Results, is_read_only: Callable[[Resource], bool] = lambda item: False) -> None:
        """Starts without edits. An edit of a read-only item is reported instead."""
        self.results = results
        self._is_read_only = is_read_only
        self._edited: dict[int, tuple[Resource, Object, Object]] = {}

    def value(self, item: Resource) -> Object:
        """An item's value with its edits."""
        return self._of(item)[2]

    def set(self, item: Resource, path: tuple[str, ...], value: Value) -> None:
        """Sets a field; missing maps on the way are created."""
        _, before, now = self._of(item)
        self._edited[id(item)] = item, before, _with(now, path, value)

    def remove(self, item: Resource, path: tuple[str, ...]) -> None:
        """Removes a field; with the last annotation, removes the empty map, too."""
        holder: Value = self.value(item)
        for name in path[:-1]:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and path[-1] in holder:
            left = {name: value for name, value in holder.items() if name != path[-1]}
            if left or path[:-1] != ANNOTATIONS:
                self.set(item, path[:-1], left)
            else:
                self.remove(item, ANNOTATIONS)

    def report(self, item: Resource, severity: Severity, rule: str, message: str) -> None:
        """Reports something about an item."""
        self.results.add(Result(severity, f"{item.ref}: {message}", item.ref, item.file, item.index, rule=rule))

    def carry_out(self) -> None:
        """Edits the texts."""
        for item, before, now in self._edited.values():
            if now is not before and self._is_read_only(item):
                self.report(item, "warning", "C10", "it is in a List, which is not edited; make it a separate document")
            elif now is not before:
                item.change(before, now, lambda path: _KEYS.get(path, ()))

    def _of(self, item: Resource) -> tuple[Resource, Object, Object]:
        if id(item) not in self._edited:
            value = item.value
            self._edited[id(item)] = item, value, value
        return self._edited[id(item)]


def _with(holder: Object, path: tuple[str, ...], value: Value) -> Object:
    name, *rest = path
    if not rest:
        return {**holder, name: value}
    inner = holder.get(name)
    return {**holder, name: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value)}


def write_items(
    resource_list: ResourceList, existing: Sequence[Resource], values: Iterable[Object], folder: str
) -> None:
    """Makes the existing items of a kind the wanted ones, by namespace and name; new ones get a file in the folder."""
    by_name = {(item.namespace, item.name): item for item in existing}
    root = root_package(resource_list)
    free: FreeIndexes | None = None
    for value in values:
        tree = from_value(value)
        identity = identity_of(tree)
        item = by_name.pop((identity.namespace, identity.name), None)
        if item is not None:
            _change(item, value)
            continue
        free = free or FreeIndexes(resource_list, root)
        path = join(folder, f"{identity.name}.yaml")
        resource_list.items.append(new_resource(Member("", identity, tree, ""), path, free.take(path)))
    over = {id(item) for item in by_name.values()}
    resource_list.items[:] = [item for item in resource_list.items if id(item) not in over]


def _change(item: Resource, value: Object) -> None:
    """Sets the value of an item; the host's annotations are kept."""
    before = item.value
    if "status" in before:
        # The status belongs to controllers.
        value = {**value, "status": before["status"]}
    if same(without_bookkeeping(before), value):
        return
    item.change(before, with_annotations(value, bookkeeping_of(before)))
