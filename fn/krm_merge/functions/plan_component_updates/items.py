"""The items of a package that describe components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from krm_merge.components.konflux.fields import EXPECTED_DIGEST, UnreadableError, items, text
from krm_merge.components.konflux.model import Build, Component, ComponentKey, Nudge, PullRequest
from krm_merge.components.konflux.reading import (
    GROUPS,
    OWN_GROUP,
    misspelt,
    read_build,
    read_component,
    read_nudges,
    read_passed,
    read_pull_request,
    strange_digest,
)
from krm_merge.components.konflux.related_resources import (
    MOST_NUDGES,
    Admission,
    Promotion,
    check_fields,
    read_admission,
    read_most_nudges,
    read_promotions,
    released_as,
    with_promotions,
)
from krm_merge.components.plan.description import parse_description
from krm_merge.components.plan.records.resources import KIND, PULL_REQUEST
from krm_merge.krm.identity import flaw_of
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import Results
from krm_merge.text.reading.nodes import MappingNode, SequenceNode

_OF_KONFLUX = frozenset(("ComponentGroup", "IntegrationTestScenario", "ReleasePlan", "Release", "Snapshot"))
_GROUP_OF = {"Repository": "pipelinesascode.tekton.dev"}
_KINDS = frozenset(
    (
        *_OF_KONFLUX,
        *_GROUP_OF,
        "Component",
        "CustomResourceDefinition",
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
    promotions: list[Promotion] = field(default_factory=list)
    most_nudges: int = MOST_NUDGES
    listed: list[Resource] = field(default_factory=list)
    passed: set[tuple[str, str]] = field(default_factory=set)

    def is_listed(self, item: Resource) -> bool:
        """Whether it is an item of a List, which is not edited."""
        return any(one is item for one in self.listed) if self.listed else False

    @property
    def names(self) -> set[str]:
        """The names of all Components that an item describes or references."""
        found = {key.name for key in self.components} | {build.component.name for build in self.builds}
        for key, component in self.components.items():
            # Including the nudges of `configure`, which declare nothing.
            written = items(self.resources[key].value, "spec", "build-nudges-ref")
            found |= {*component.depends_on, *map(str, written)}
        for item in self.others.get("NudgeConfig", ()):
            for nudge in items(item.value, "spec", "nudges"):
                found |= {text(nudge, "from"), text(nudge, "to")}
        for described in filter(None, (parse_description(one.description) for one in self.pull_requests)):
            found |= described.digests.keys()
        return found


def read_items(resources: Iterable[Resource], results: Results) -> ComponentItems:
    """Reads the items that describe components; reports unreadable ones."""
    found = ComponentItems()
    for item in _unpacked(resources, found):
        try:
            if item.kind not in _KINDS:
                continue
            if flaw := flaw_of(item.root):
                results.error(f"{item.file or 'an item'}: {flaw}", file=item.file)
                continue
            _read(item, found, results)
        except ResourceError as error:
            results.error(str(error), file=error.file)
        except UnreadableError as error:
            for path, problem in error.problems:
                message = f"{item.ref}: {path}: {problem}"
                results.error(message, resource=item.ref, file=item.file, file_index=item.index, path=path)
    promotions: dict[ComponentKey, list[Promotion]] = {}
    for one in found.promotions:
        promotions.setdefault(one.component, []).append(one)
    for key, component in found.components.items():
        released = replace(component, released_as=released_as(component, found.admissions))
        found.components[key] = with_promotions(released, promotions.get(key, ()))
    return found


def _unpacked(resources: Iterable[Resource], found: ComponentItems) -> Iterator[Resource]:
    """The resources, in place of a List (`kubectl get -o yaml`) its items, which can be read but not edited (C10)."""
    for item in resources:
        if item.kind != "List" or item.api_version != "v1":
            yield item
            continue
        listed = item.root.get("items")
        for node in listed.items if isinstance(listed, SequenceNode) else ():
            if isinstance(node, MappingNode):
                one = Resource.from_tree(node, item.file, item.index)
                found.listed.append(one)
                yield one


def _read(item: Resource, found: ComponentItems, results: Results) -> None:
    group, value = item.api_version.rpartition("/")[0], item.value
    match item.kind:
        case "Component" if group in GROUPS:
            component = read_component(value)
            if component.key in found.resources:
                places = f"{_place(found.resources[component.key])} and {_place(item)}"
                raise UnreadableError(f"{places} describe the same Component; remove one of them", "metadata.name")
            found.components[component.key] = component
            found.resources[component.key] = item
            for path, written in misspelt(value):
                message = f"this field is not read; write dependencies as {written}"
                _warn(item, path, message, "R1", component.key, results)
        case "CustomResourceDefinition" if text(value, "spec", "names", "kind") == "NudgeConfig":
            found.most_nudges = read_most_nudges(value)
        case "NudgeConfig" if group in GROUPS:
            found.nudges += read_nudges(value)
            found.others.setdefault(item.kind, []).append(item)
        case "PipelineRun" if group == "tekton.dev":
            build = read_build(value)
            if build is not None:
                found.builds.append(build)
                if build.outcome == "succeeded" and (path := strange_digest(value)):
                    message = f"{EXPECTED_DIGEST}; so this build is ignored"
                    _warn(item, path, message, "R19", build.component, results)
            else:
                check_fields(item.kind, value)
                found.definitions.append(item)
        case "PullRequest" if group == OWN_GROUP:
            found.pull_requests.append(read_pull_request(value))
        case "PullRequestPlan" if group == OWN_GROUP:
            found.plans.append(item)
        case "ReleasePlanAdmission" if group in GROUPS:
            found.admissions.append(read_admission(value))
        case kind if group == _GROUP_OF.get(kind) or (kind in _OF_KONFLUX and group in GROUPS):
            check_fields(kind, value)
            if kind == "Snapshot":
                found.passed |= set(read_passed(value))
            elif kind == "ComponentGroup":
                found.promotions += read_promotions(value)
            found.others.setdefault(kind, []).append(item)


def _warn(item: Resource, path: str, message: str, rule: str, key: ComponentKey, results: Results) -> None:
    """Warns of a field without effect."""
    results.warning(
        f"{item.ref}: {path}: {message}",
        resource=item.ref,
        file=item.file,
        file_index=item.index,
        path=path,
        rule=rule,
        tags={"component": str(key)},
    )


def _place(item: Resource) -> str:
    """The place of an item in messages."""
    return f"document {item.index + 1} of {item.file}" if item.index else item.file or "an item"
