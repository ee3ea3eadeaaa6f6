"""Makes the drawing of the components in a package."""

from __future__ import annotations

from krm_merge.components.draw.drawing import Drawing
from krm_merge.components.graph.graph import Graph, build_graph
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import ComponentKey, PullRequest
from krm_merge.components.plan.model import Plan, PlanChoices
from krm_merge.components.plan.planner import plan
from krm_merge.components.plan.planning import Planning
from krm_merge.forges.addresses import same_repository
from krm_merge.functions.plan_component_updates.config import choices_of, config_of
from krm_merge.functions.plan_component_updates.function import report_findings
from krm_merge.functions.plan_component_updates.items import read_items
from krm_merge.krm.resource_list import ResourceList


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
    number = f"#{one.own.number} " if one.own is not None else ""
    until = ", ".join(_short(w.pull_request) for w in one.waiting if w.pull_request is not None)
    state = f" (draft, waits for {until})" if until else " (draft)" if one.draft else ""
    return f"{number}{one.branch}{state}"


def _short(one: PullRequest) -> str:
    return f"{same_repository(one.repository).rpartition('/')[2]}#{one.number}"
