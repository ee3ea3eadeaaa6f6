"""The items of a package that tell of components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from krm_merge.components.graph import Nudge
from krm_merge.components.model import Build, Component, Key, PullRequest, image_name
from krm_merge.components.observed import (
    GROUPS,
    OWN_GROUP,
    UnreadableError,
    items,
    read_build,
    read_component,
    read_nudges,
    read_pull_request,
    text,
)
from krm_merge.components.resources import KIND, PULL_REQUEST
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import Results
from krm_merge.merge.member import flaw_of

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
    """The items by what they are, with what was read of them. `others` are by kind."""

    components: dict[Key, Component] = field(default_factory=dict)
    resources: dict[Key, Resource] = field(default_factory=dict)
    nudges: list[Nudge] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    pull_requests: list[PullRequest] = field(default_factory=list)
    plans: list[Resource] = field(default_factory=list)
    definitions: list[Resource] = field(default_factory=list)
    others: dict[str, list[Resource]] = field(default_factory=dict)
    released: dict[str, list[str]] = field(default_factory=dict)


def read_items(resources: Iterable[Resource], results: Results) -> ComponentItems:
    """Reads what tells of components; what cannot be read is reported."""
    found = ComponentItems()
    for item in resources:
        try:
            if item.kind == "List":
                message = f"{item.file or 'an item'}: a List is not looked into; write its items as documents"
                results.error(message, file=item.file)
            if item.kind not in _KINDS:
                continue
            if flaw := flaw_of(item.root):
                results.error(f"{item.file or 'an item'}: {flaw}", file=item.file)
                continue
            _read(item, found)
        except ResourceError as error:
            results.error(str(error), file=error.file)
        except UnreadableError as error:
            message = f"{item.ref}: {error}"
            results.error(message, resource=item.ref, file=item.file, file_index=item.index, path=error.field)
    for key, component in found.components.items():
        names = tuple(found.released.get(key.name, ()))
        if names:
            found.components[key] = replace(component, released_as=tuple(dict.fromkeys(names)))
    return found


def _read(item: Resource, found: ComponentItems) -> None:
    group, value = item.api_version.rpartition("/")[0], item.value
    match item.kind:
        case "Component" if group in GROUPS:
            component = read_component(value)
            found.components[component.key] = component
            found.resources[component.key] = item
        case "NudgeConfig" if group in GROUPS:
            found.nudges += read_nudges(value)
            found.others.setdefault(item.kind, []).append(item)
        case "PipelineRun" if group == "tekton.dev":
            build = read_build(value)
            if build is not None:
                found.builds.append(build)
            else:
                found.definitions.append(item)
        case "PullRequest" if group == OWN_GROUP:
            found.pull_requests.append(read_pull_request(value))
        case "PullRequestPlan" if group == OWN_GROUP:
            found.plans.append(item)
        case "ReleasePlanAdmission" if group in GROUPS:
            for mapped in items(value, "spec", "data", "mapping", "components"):
                urls = [image_name(text(one, "url")) for one in items(mapped, "repositories")]
                found.released.setdefault(text(mapped, "name"), []).extend(filter(None, urls))
        case kind if group == _GROUP_OF.get(kind) or (kind in _OF_KONFLUX and group in GROUPS):
            found.others.setdefault(kind, []).append(item)
