"""`kind: PlanComponentUpdates`: plans updates of components that depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from krm_merge.components.graph.findings import component_of
from krm_merge.components.graph.graph import Graph, build_graph
from krm_merge.components.graph.incomplete_components import incomplete_components
from krm_merge.components.graph.versions import with_versions
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.konflux.reading import GROUPS
from krm_merge.components.plan.model import Plan
from krm_merge.components.plan.planner import plan
from krm_merge.components.plan.records.resources import plan_resource
from krm_merge.functions.plan_component_updates.config import choices_of, config_of, digest_policy
from krm_merge.functions.plan_component_updates.items import ComponentItems, read_items
from krm_merge.functions.plan_component_updates.models import PlanComponentUpdates
from krm_merge.functions.plan_component_updates.own_items import write_items
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result, Results
from krm_merge.krm.validation import place_of
from krm_merge.startup import replace

_FOLDER = "plans"


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
        from krm_merge.functions.plan_component_updates.nudges import report_ignored_nudges

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
        from krm_merge.functions.plan_component_updates.simulate import simulate_components

        report_findings(simulate_components(resource_list, items, graph, config, plans), items, results)
    policy = digest_policy(config)
    write_items(resource_list, items.plans, [plan_resource(one, policy) for one in plans], _FOLDER)


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
