"""`kind: PlanComponentUpdates`: plans, draws or simulates updates of components that depend on each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from krm_merge.components.drawing import Drawing
from krm_merge.components.graph import (
    BranchNames,
    Graph,
    build_graph,
    component_of,
    group_label,
    incomplete_components,
    with_versions,
)
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import ComponentKey, PullRequest
from krm_merge.components.konflux.reading import GROUPS, OWN_GROUP, at, items, text
from krm_merge.components.plan.model import Plan, PlanChoices, Planning
from krm_merge.components.plan.planner import plan
from krm_merge.components.plan.records import LOCAL_CONFIG, DigestPolicy, plan_resource
from krm_merge.components.plan.simulation import Release, Simulation, Snapshot, SnapshotPart, World, simulate
from krm_merge.forges.interface import same_repository
from krm_merge.functions.dispatch import API_VERSION
from krm_merge.functions.models import ComponentsConfigMapData, PlanComponentUpdates
from krm_merge.functions.plan_component_updates.items import ComponentItems, read_items, write_items
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result, Results
from krm_merge.krm.validation import place_of, validate
from krm_merge.startup import replace
from krm_merge.text.reading.values import Value, to_value


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
    fields = {
        **short.model_dump(exclude={"function"}),
        "removed": [name.strip() for name in short.removed.split(",") if name.strip()],
    }
    return PlanComponentUpdates.model_validate({"apiVersion": API_VERSION, "kind": "PlanComponentUpdates", **fields})


def choices_of(config: PlanComponentUpdates) -> PlanChoices:
    """The choices for plans in the functionConfig."""
    branches = BranchNames(tuple(config.separators), tuple(config.ignoredPrefixes))
    return PlanChoices(branches, config.suffix, config.onClosed)


def digest_policy(config: PlanComponentUpdates) -> DigestPolicy:
    """The policy for digests in the functionConfig."""
    digest = config.digest
    return DigestPolicy(digest.match, digest.multiDigestFile, digest.tag, tuple(digest.files), tuple(digest.exclude))


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
    return _with_plans(graph, History(items.builds, items.pull_requests, graph.components), choices_of(config))


def _with_plans(graph: Graph, history: History, choices: PlanChoices) -> Drawing:
    plans, _ = plan(graph, history, choices)
    waiting: dict[ComponentKey, list[str]] = {}
    for one in plans:
        for dependant in one.target.dependants:
            waiting.setdefault(dependant.key, []).append(_label(one))
    groups: dict[str, set[ComponentKey]] = {}
    branches = Planning(graph, history, choices).choices.branches
    for key, component in graph.components.items():
        for pull_request in history.of_repository(component.repository):
            if pull_request.state == "open":
                groups.setdefault(branches.group(pull_request.source_branch), set()).add(key)
    return Drawing(graph, waiting, {name: sorted(keys) for name, keys in sorted(groups.items())})


def _label(one: Plan) -> str:
    number = f"#{one.pull_request.number} " if one.pull_request is not None else ""
    until = ", ".join(_short(w.pull_request) for w in one.waiting if w.pull_request is not None)
    state = f" (draft, waits for {until})" if until else " (draft)" if one.draft else ""
    return f"{number}{one.branch}{state}"


def _short(one: PullRequest) -> str:
    return f"{same_repository(one.repository).rpartition('/')[2]}#{one.number}"


Object = dict[str, Value]

_TEST = "test.appstudio.openshift.io"
_RELEASE = "release.appstudio.openshift.io"
_API = "appstudio.redhat.com/v1alpha1"
_MADE_BY = f"{OWN_GROUP}/simulated"
_SIMULATION_FOLDER = "simulation"


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
        write_items(resource_list, existing, wanted, _SIMULATION_FOLDER)
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
        is_built = history.promoted_build(key) is not None
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
    if one.blocker:
        annotations[f"{OWN_GROUP}/held"] = one.blocker
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
        from krm_merge.functions.plan_component_updates.configure import report_ignored_nudges

        report_ignored_nudges(items, results)
    if config.mode == "validate":
        report_findings(incomplete_components(graph, _history(items, graph)), items, results)
        return
    if config.mode == "configure":
        from krm_merge.functions.plan_component_updates.configure import configure

        configure(resource_list, items, graph, config)
        return
    plans = _planned(items, graph, config, results)
    if config.mode == "simulate":
        report_findings(simulate_components(resource_list, items, graph, config, plans), items, results)
    policy = digest_policy(config)
    write_items(resource_list, items.plans, [plan_resource(one, policy) for one in plans], _PLANS_FOLDER)


def _report_missing(resource_list: ResourceList, items: ComponentItems, config: PlanComponentUpdates) -> None:
    """Reports a package without Components, and unknown names in `remove` (C3, C9)."""
    results = resource_list.results
    if not items.components:
        message = (
            f"there is no Component of {' or '.join(GROUPS)} in the package, so there is nothing to {config.mode}; add "
            "them as separate documents, as `kubectl get component NAME -o yaml` writes them"
        )
        results.warning(message, rule="C3")
    prefix, file = place_of(resource_list)
    for name in sorted(set(config.removed) - items.names) if config.removed else ():
        path = f"{prefix}removed"
        message = f"functionConfig: {path}: no item mentions {name}; correct or remove the name"
        results.warning(message, path=path, file=file, rule="C9", tags={"component": name})


def _planned(items: ComponentItems, graph: Graph, config: PlanComponentUpdates, results: Results) -> list[Plan]:
    versioned = with_versions(graph)
    builds = versioned.builds(_history(items, graph))
    history = History(builds, items.pull_requests, versioned.graph.components, items.passed)
    plans, findings = plan(versioned.graph, history, choices_of(config))
    report_findings([*versioned.findings, *findings], items, results, versioned.of)
    return plans


def _history(items: ComponentItems, graph: Graph) -> History:
    return History(items.builds, items.pull_requests, graph.components)


def report_findings(
    findings: Iterable[Result],
    items: ComponentItems,
    results: Results,
    versions: Mapping[ComponentKey, ComponentKey] | None = None,
) -> None:
    """Reports findings, each at its Component; `versions` says which Component some are a version of."""
    for one in findings:
        key = component_of(one)
        item = items.resources.get((versions or {}).get(key, key))
        if item is None:
            results.add(replace(one, resource=None))
        else:
            results.add(replace(one, resource=item.ref, file=item.file, file_index=item.index))
