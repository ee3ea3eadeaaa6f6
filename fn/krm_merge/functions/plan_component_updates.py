"""`kind: PlanComponentUpdates`: plans, draws or simulates updates of components that depend on each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from krm_merge.components.drawing import Drawing
from krm_merge.components.graph import (
    BranchNames,
    Graph,
    build_graph,
    component_of,
    group_label,
    incomplete_components,
)
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.konflux.reading import GROUPS, OWN_GROUP, items, text
from krm_merge.components.plan.model import Plan, Planning, pull_name
from krm_merge.components.plan.planner import plan
from krm_merge.components.plan.records import LOCAL_CONFIG, DigestPolicy, plan_resource, resource_head
from krm_merge.components.plan.simulation import Release, Snapshot, World, simulate
from krm_merge.functions import API_VERSION
from krm_merge.functions.component_items import ComponentItems, read_items, write_items
from krm_merge.functions.component_settings import configure, report_ignored_nudges
from krm_merge.functions.models import ComponentsConfigMapData, PlanComponentUpdates
from krm_merge.krm import Resource, ResourceList, Result, Results, validate
from krm_merge.startup import group_by_key, replace, split_names
from krm_merge.text import Object, Value, to_value


def config_of(resource_list: ResourceList) -> PlanComponentUpdates | None:
    """Reads the functionConfig and reports its problems."""
    values = to_value(resource_list.function_config)
    assert isinstance(values, dict)
    data = values.get("data")
    if values.get("kind") != "ConfigMap" or not isinstance(data, dict):
        return validate(resource_list, PlanComponentUpdates, values)
    short = validate(resource_list, ComponentsConfigMapData, data)
    if short is None:
        return None
    fields = {**short.model_dump(exclude={"function"}), "removed": split_names(short.removed)}
    return PlanComponentUpdates.model_validate({"apiVersion": API_VERSION, "kind": "PlanComponentUpdates", **fields})


def branches_of(config: PlanComponentUpdates) -> BranchNames:
    """How branches are named, by the functionConfig."""
    return BranchNames(tuple(config.separators), tuple(config.ignoredPrefixes))


def drawing_of(resource_list: ResourceList) -> Drawing | None:
    """The graph with groups and planned pull requests, by its functionConfig; reports all problems.

    A graph with circles is drawn without plans; None if the items or the configuration cannot be read.
    """
    results, config = resource_list.results, config_of(resource_list)
    items = read_items(resource_list.items, results)
    if config is None or results.errors:
        return None
    graph, findings = build_graph(items.components.values(), items.nudges, config.removed)
    report_findings(findings, items, results)
    if results.errors:
        return Drawing(graph)
    history, branches = _history(items, graph), branches_of(config)
    plans, _ = plan(graph, history, branches)
    waiting = group_by_key((update_plan.target.key, _label(update_plan)) for update_plan in plans)
    groups: dict[str, set[ComponentKey]] = {}
    planning = Planning(graph, history, branches)
    for key, component in graph.components.items():
        for pull_request in history.of_repository(component.repository):
            if pull_request.state == "open":
                groups.setdefault(planning.group(pull_request.source_branch), set()).add(key)
    return Drawing(graph, waiting, {name: sorted(keys) for name, keys in sorted(groups.items())})


def _label(update_plan: Plan) -> str:
    number = f"#{update_plan.pull_request.number} " if update_plan.pull_request is not None else ""
    until = ", ".join(pull_name(w.pull_request) for w in update_plan.waiting if w.pull_request is not None)
    state = f" (draft, waits for {until})" if until else " (draft)" if update_plan.draft else ""
    return f"{number}{update_plan.branch}{state}"


_TEST = "test.appstudio.openshift.io"
_RELEASE = "release.appstudio.openshift.io"
_API = "appstudio.redhat.com/v1alpha1"
_MADE_BY = f"{OWN_GROUP}/simulated"
_SIMULATION_FOLDER = "simulation"


def simulate_components(
    resource_list: ResourceList,
    component_items: ComponentItems,
    graph: Graph,
    config: PlanComponentUpdates,
    plans: Sequence[Plan],
) -> list[Result]:
    """Writes Snapshots and Releases; returns the findings."""
    history = _history(component_items, graph)
    planning = Planning(graph, history, branches_of(config))
    simulation, findings = simulate(planning, _world(component_items, plans))
    snapshots = [_snapshot(snapshot) for snapshot in simulation.snapshots]
    releases = [_release(release) for release in simulation.releases]
    for kind, values in (("Snapshot", snapshots), ("Release", releases)):
        existing = [item for item in component_items.others.get(kind, ()) if item.annotations.get(_MADE_BY) == "true"]
        write_items(resource_list, existing, values, _SIMULATION_FOLDER)
    return findings


def _world(component_items: ComponentItems, planned: Sequence[Plan]) -> World:
    scenarios = group_by_key(
        (_application(item), item.name) for item in component_items.others.get("IntegrationTestScenario", ())
    )
    plans: dict[tuple[str, str], list[str]] = {}
    for item in component_items.others.get("ReleasePlan", ()):
        label = text(item.value, "metadata", "labels", f"{_RELEASE}/auto-release")
        annotation = text(item.value, "metadata", "annotations", f"{_RELEASE}/auto-release")
        if "false" not in (label, annotation):
            plans.setdefault(_application(item), []).append(item.name)
    return World(
        {at_: sorted(names) for at_, names in scenarios.items()},
        {at_: sorted(names) for at_, names in plans.items()},
        {item.name for item in component_items.others.get("Snapshot", ()) if _has_passed(item)},
        planned,
    )


def _application(item: Resource) -> tuple[str, str]:
    return item.namespace, text(item.value, "spec", "application")


def _has_passed(item: Resource) -> bool:
    conditions = items(item.value, "status", "conditions")
    return any(
        text(condition, "type") == "AppStudioTestSucceeded" and text(condition, "status") == "True"
        for condition in conditions
    )


def _snapshot(snapshot: Snapshot) -> Object:
    # On a cluster it would start tests and releases.
    annotations: Object = {_MADE_BY: "true", LOCAL_CONFIG: "true"}
    labels: Object = {f"{_TEST}/type": snapshot.type}
    if snapshot.component:
        labels["appstudio.openshift.io/component"] = snapshot.component
        labels[f"pac.{_TEST}/event-type"] = "push" if snapshot.pushed else "pull_request"
    if snapshot.group:
        labels[f"{_TEST}/pr-group-sha"] = group_label(snapshot.group)
        annotations[f"{_TEST}/pr-group"] = snapshot.group
    if snapshot.tests:
        annotations[f"{OWN_GROUP}/tests"] = ",".join(snapshot.tests)
    if snapshot.reports:
        annotations[f"{OWN_GROUP}/reports"] = ",".join(snapshot.reports)
    if snapshot.blocker:
        annotations[f"{OWN_GROUP}/held"] = snapshot.blocker
    if snapshot.type == "group":
        annotations[f"{_TEST}/group-test-info"] = json.dumps([part.name for part in snapshot.parts])
    parts: list[Value] = []
    for part in snapshot.parts:
        git: Object = {"url": part.repository, **({"revision": part.revision} if part.revision else {})}
        parts.append({"name": part.name, "containerImage": part.image, "source": {"git": git}})
    metadata: Object = {"labels": labels, "annotations": annotations}
    return resource_head(_API, "Snapshot", snapshot.name, snapshot.namespace, **metadata) | {
        "spec": {"application": snapshot.application, "components": parts}
    }


def _release(release: Release) -> Object:
    annotations: Object = {_MADE_BY: "true", LOCAL_CONFIG: "true"}
    metadata: Object = {"labels": {f"{_RELEASE}/automated": "true"}, "annotations": annotations}
    return resource_head(_API, "Release", release.name, release.namespace, **metadata) | {
        "spec": {"snapshot": release.snapshot, "releasePlan": release.plan}
    }


_PLANS_FOLDER = "plans"


def plan_component_updates(resource_list: ResourceList) -> None:
    """Checks, configures, plans or simulates, as the mode says; reports every action and every omission."""
    results = resource_list.results
    config = config_of(resource_list)
    if config is None:
        return
    items = read_items(resource_list.items, results)
    if results.errors:
        return
    _report_missing(resource_list, items, config)
    graph, findings = build_graph(items.components.values(), items.nudges, config.removed)
    report_findings(findings, items, results)
    if results.errors:
        return
    if config.mode != "configure":
        report_ignored_nudges(items, results)
    if config.mode == "validate":
        report_findings(incomplete_components(graph, _history(items, graph)), items, results)
        return
    if config.mode == "configure":
        configure(resource_list, items, graph)
        return
    plans = _plan_updates(items, graph, config, results)
    if config.mode == "simulate":
        report_findings(simulate_components(resource_list, items, graph, config, plans), items, results)
    policy = DigestPolicy(tuple(config.digest.files), tuple(config.digest.exclude))
    write_items(
        resource_list, items.plans, [plan_resource(update_plan, policy) for update_plan in plans], _PLANS_FOLDER
    )


def _report_missing(resource_list: ResourceList, items: ComponentItems, config: PlanComponentUpdates) -> None:
    """Reports a package without Components (C3)."""
    if not items.components:
        message = (
            f"there is no Component of {' or '.join(GROUPS)} in the package, so there is nothing to {config.mode}; add "
            "them as separate documents, as `kubectl get component NAME -o yaml` writes them"
        )
        resource_list.results.warning(message, rule="C3")


def _plan_updates(items: ComponentItems, graph: Graph, config: PlanComponentUpdates, results: Results) -> list[Plan]:
    plans, findings = plan(graph, _history(items, graph), branches_of(config))
    report_findings(findings, items, results)
    return plans


def _history(items: ComponentItems, graph: Graph) -> History:
    return History(items.builds, items.pull_requests, graph.components)


def report_findings(findings: Iterable[Result], items: ComponentItems, results: Results) -> None:
    """Reports findings, each at its Component."""
    for finding in findings:
        item = items.resources.get(component_of(finding))
        if item is None:
            results.add(replace(finding, resource=None))
        else:
            results.add(replace(finding, resource=item.ref, file=item.file, file_index=item.index))
