"""`mode: simulate`: the resources that the specification's services would make from the observations."""

from __future__ import annotations

import json
from collections.abc import Sequence

from krm_merge.components.graph.graph import Graph
from krm_merge.components.graph.groups import group_label
from krm_merge.components.konflux.fields import at, items, text
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.reading import OWN_GROUP
from krm_merge.components.plan.model import Plan
from krm_merge.components.plan.planning import Planning
from krm_merge.components.plan.records.resources import LOCAL_CONFIG
from krm_merge.components.plan.simulation import Release, Simulation, Snapshot, SnapshotPart, World, simulate
from krm_merge.functions.plan_component_updates.config import choices_of
from krm_merge.functions.plan_component_updates.items import ComponentItems
from krm_merge.functions.plan_component_updates.models import PlanComponentUpdates
from krm_merge.functions.plan_component_updates.own_items import write_items
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result
from krm_merge.text.reading.values import Value

Object = dict[str, Value]

_TEST = "test.appstudio.openshift.io"
_RELEASE = "release.appstudio.openshift.io"
_API = "appstudio.redhat.com/v1alpha1"
_MADE_BY = f"{OWN_GROUP}/simulated"
_FOLDER = "simulation"


def simulate_components(
    resource_list: ResourceList,
    found: ComponentItems,
    graph: Graph,
    config: PlanComponentUpdates,
    plans: Sequence[Plan],
) -> list[Result]:
    """Writes Snapshots and Releases, and the promoted digests into the Components; returns the findings."""
    history = History(found.builds, found.pull_requests, graph.components)
    planning = Planning(graph, history, choices_of(config))
    simulation, findings = simulate(planning, _world(found, plans))
    _promote(found, simulation, history)
    snapshots = [_snapshot(one, config.applySnapshots) for one in simulation.snapshots]
    releases = [_release(one, config.applySnapshots) for one in simulation.releases]
    for kind, wanted in (("Snapshot", snapshots), ("Release", releases)):
        existing = [item for item in found.others.get(kind, ()) if item.annotations.get(_MADE_BY) == "true"]
        write_items(resource_list, existing, wanted, _FOLDER)
    return findings


def _world(found: ComponentItems, planned: Sequence[Plan]) -> World:
    scenarios: dict[tuple[str, str], list[str]] = {}
    for item in found.others.get("IntegrationTestScenario", ()):
        scenarios.setdefault(_application(item), []).append(item.name)
    plans: dict[tuple[str, str], list[str]] = {}
    for item in found.others.get("ReleasePlan", ()):
        label = text(item.value, "metadata", "labels", f"{_RELEASE}/auto-release")
        annotation = text(item.value, "metadata", "annotations", f"{_RELEASE}/auto-release")
        if "false" not in (label, annotation):
            plans.setdefault(_application(item), []).append(item.name)
    snapshots = found.others.get("Snapshot", ())
    return World(
        {at_: sorted(names) for at_, names in scenarios.items()},
        {at_: sorted(names) for at_, names in plans.items()},
        {item.name for item in snapshots if _has_passed(item)},
        planned,
        {(item.namespace, item.name): _parts(item) for item in snapshots},
    )


def _parts(item: Resource) -> list[SnapshotPart]:
    return [
        SnapshotPart(
            text(one, "name"),
            text(one, "containerImage"),
            text(one, "source", "git", "url"),
            text(one, "source", "git", "revision"),
        )
        for one in items(item.value, "spec", "components")
    ]


def _application(item: Resource) -> tuple[str, str]:
    return item.namespace, text(item.value, "spec", "application")


def _has_passed(item: Resource) -> bool:
    conditions = items(item.value, "status", "conditions")
    return any(text(one, "type") == "AppStudioTestSucceeded" and text(one, "status") == "True" for one in conditions)


def _promote(found: ComponentItems, simulation: Simulation, history: History) -> None:
    """R15: the global candidate list is kept in the Components."""
    for key, image in simulation.candidates.items():
        item = found.resources[key]
        # Otherwise only the Component itself names the promoted digest.
        is_built = history.promoted(key) is not None
        if at(item.value, "status", "lastPromotedImage") != image and is_built and not found.is_listed(item):
            item.set("status.lastPromotedImage", image)


def _snapshot(one: Snapshot, applied: bool) -> Object:
    annotations: Object = {_MADE_BY: "true"}
    labels: Object = {f"{_TEST}/type": one.type}
    if one.component:
        labels["appstudio.openshift.io/component"] = one.component
        labels[f"pac.{_TEST}/event-type"] = "push" if one.pushed else "pull_request"
    if one.group:
        labels[f"{_TEST}/pr-group-sha"] = group_label(one.group)
        annotations[f"{_TEST}/pr-group"] = one.group
    if one.tests:
        annotations[f"{OWN_GROUP}/tests"] = ",".join(one.tests)
    if one.reports:
        annotations[f"{OWN_GROUP}/reports"] = ",".join(one.reports)
    if one.held:
        annotations[f"{OWN_GROUP}/held"] = one.held
    if one.type == "group":
        annotations[f"{_TEST}/group-test-info"] = json.dumps([part.name for part in one.parts])
    if not applied:
        # On a cluster it would start tests and releases.
        annotations[LOCAL_CONFIG] = "true"
    parts: list[Value] = []
    for part in one.parts:
        git: Object = {"url": part.repository, **({"revision": part.revision} if part.revision else {})}
        parts.append({"name": part.name, "containerImage": part.image, "source": {"git": git}})
    return _object("Snapshot", one.namespace, one.name, labels, annotations) | {
        "spec": {"application": one.application, "components": parts}
    }


def _release(one: Release, applied: bool) -> Object:
    annotations: Object = {_MADE_BY: "true", **({} if applied else {LOCAL_CONFIG: "true"})}
    labels: Object = {f"{_RELEASE}/automated": "true"}
    return _object("Release", one.namespace, one.name, labels, annotations) | {
        "spec": {"snapshot": one.snapshot, "releasePlan": one.plan}
    }


def _object(kind: str, namespace: str, name: str, labels: Object, annotations: Object) -> Object:
    about: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": _API, "kind": kind, "metadata": {**about, "labels": labels, "annotations": annotations}}
