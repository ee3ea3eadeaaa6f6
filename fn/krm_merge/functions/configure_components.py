"""`mode: configure`: writes into Konflux resources what makes them obey the graph; their comments stay."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.components.configured import (
    applications,
    nudges_of,
    release_expression,
    repository_context,
    scenario_contexts,
    trigger_expression,
    without,
)
from krm_merge.components.graph import Graph
from krm_merge.components.model import Key, same_repository
from krm_merge.components.observed import DEPENDS_ON, DEPENDS_ON_ANNOTATION, at, items, text
from krm_merge.functions.component_items import ComponentItems
from krm_merge.functions.models import PlanComponentUpdates
from krm_merge.functions.own_items import write_items
from krm_merge.functions.value_edits import ValueEdits
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Result, Results, Severity
from krm_merge.text.values import Value

_EXPRESSION = "pipelinesascode.tekton.dev/on-cel-expression"
_RELEASE = "release.appstudio.openshift.io/auto-release"


def configure(resource_list: ResourceList, found: ComponentItems, graph: Graph, config: PlanComponentUpdates) -> None:
    """Edits the items; reports what there is to tell."""
    emit, results, edits = config.emit, resource_list.results, ValueEdits()
    _take_out_deleted(found, graph, config.removed, edits)
    if emit.buildNudgesRef:
        for key, item in found.resources.items():
            now = [str(name) for name in items(edits.value(item), "spec", "build-nudges-ref")]
            nudges = nudges_of(graph, key, now) if key in graph.components else []
            _set_list(item, "build-nudges-ref", nudges, edits)
    new = _nudge_configs(found, graph, edits) if emit.nudgeConfig else []
    if emit.contexts:
        _contexts(found, graph, results, edits)
    if emit.releasePlans:
        _release_plans(found, graph, results, edits)
    if emit.celGuards:
        _triggers(found, graph, config.digest.files, results, edits)
    edits.carry_out()
    write_items(resource_list, (), new, "konflux")


def _take_out_deleted(found: ComponentItems, graph: Graph, removed: Iterable[str], edits: ValueEdits) -> None:
    """R5: a deleted Component is taken out of every list; what is merely unknown stays (C9)."""
    for key, item in found.resources.items():
        gone = _gone(graph, key.namespace) | set(removed)
        for field in (*DEPENDS_ON, "build-nudges-ref"):
            names = [str(name) for name in items(edits.value(item), "spec", field)]
            if set(names) & gone:
                _set_list(item, field, without(names, gone), edits)
        told = text(edits.value(item), "metadata", "annotations", DEPENDS_ON_ANNOTATION)
        names = [name.strip() for name in told.split(",") if name.strip()]
        if set(names) & gone:
            place, left = ("metadata", "annotations", DEPENDS_ON_ANNOTATION), without(names, gone)
            if left:
                edits.set(item, place, ",".join(left))
            else:
                edits.remove(item, place)
    for item in found.others.get("NudgeConfig", ()):
        gone = _gone(graph, item.namespace) | set(removed)
        nudges = items(edits.value(item), "spec", "nudges")
        left_over = [one for one in nudges if not {text(one, "from"), text(one, "to")} & gone]
        if len(left_over) < len(nudges):
            edits.set(item, ("spec", "nudges"), left_over)


def _gone(graph: Graph, namespace: str) -> set[str]:
    return {key.name for key in graph.deleted if key.namespace == namespace}


def _set_list(item: Resource, field: str, names: list[str], edits: ValueEdits) -> None:
    """Sets a list of spec where it differs, and takes an empty one out."""
    now = at(edits.value(item), "spec", field)
    if names:
        if now != names:
            edits.set(item, ("spec", field), list(names))
    elif now is not None:
        edits.remove(item, ("spec", field))


def _nudge_configs(found: ComponentItems, graph: Graph, edits: ValueEdits) -> list[dict[str, Value]]:
    """Adds the edges to the NudgeConfigs; those for namespaces without one. What was chosen for an edge stays."""
    edges: dict[str, list[tuple[str, str]]] = {}
    for edge in sorted(graph.edges, key=lambda edge: (edge.dependency, edge.dependant)):
        edges.setdefault(edge.dependency.namespace, []).append((edge.dependency.name, edge.dependant.name))
    existing = {item.namespace: item for item in found.others.get("NudgeConfig", ())}
    new: list[dict[str, Value]] = []
    for namespace, of_namespace in sorted(edges.items()):
        item = existing.get(namespace)
        nudges = items(edits.value(item), "spec", "nudges") if item is not None else []
        known = {(text(one, "from"), text(one, "to")) for one in nudges}
        more: list[Value] = [
            {"from": source, "to": target, "mode": "immediate"}
            for source, target in of_namespace
            if (source, target) not in known
        ]
        if item is not None and more:
            edits.set(item, ("spec", "nudges"), [*nudges, *more])
        elif item is None:
            about: dict[str, Value] = {"name": "nudge-config", **({"namespace": namespace} if namespace else {})}
            kind: dict[str, Value] = {"apiVersion": "appstudio.redhat.com/v1beta2", "kind": "NudgeConfig"}
            new.append({**kind, "metadata": about, "spec": {"nudges": more}})
    return new


def _contexts(found: ComponentItems, graph: Graph, results: Results, edits: ValueEdits) -> None:
    for item in found.others.get("Repository", ()):
        url = same_repository(text(edits.value(item), "spec", "url"))
        ours = [c for _, c in sorted(graph.components.items()) if url and same_repository(c.repository) == url]
        if not ours:
            continue
        context, said = repository_context(ours)
        now = text(edits.value(item), "spec", "context")
        if (now or ".") != context:
            edits.set(item, ("spec", "context"), context)
        if said:
            _tell(results, item, "info", "I7", said)
    known = applications(graph)
    for item in found.others.get("IntegrationTestScenario", ()):
        application = known.get((item.namespace, text(edits.value(item), "spec", "application")))
        if application is None:
            continue
        contexts = items(edits.value(item), "spec", "contexts")
        by_name = {text(one, "name"): one for one in contexts}
        wanted = scenario_contexts(list(by_name), application)
        if list(by_name) != wanted:
            edits.set(item, ("spec", "contexts"), [by_name.get(name, {"name": name}) for name in wanted])
        tested = ", ".join(application.tested) or "nothing"
        message = f"tests {tested} and groups; a new Component is untested until this runs again"
        _tell(results, item, "info", "R14", message)


def _release_plans(found: ComponentItems, graph: Graph, results: Results, edits: ValueEdits) -> None:
    known = applications(graph)
    for item in found.others.get("ReleasePlan", ()):
        application = known.get((item.namespace, text(edits.value(item), "spec", "application")))
        if application is None:
            continue
        now = text(edits.value(item), "metadata", "annotations", _RELEASE)
        if text(edits.value(item), "metadata", "labels", _RELEASE) == "false" or now == "false":
            _tell(results, item, "info", "R16", "releases nothing by itself, and stays so")
            continue
        wanted = release_expression(application)
        if now != wanted:
            edits.set(item, ("metadata", "annotations", _RELEASE), wanted)


def _triggers(found: ComponentItems, graph: Graph, files: Iterable[str], results: Results, edits: ValueEdits) -> None:
    for item in found.definitions:
        name = text(edits.value(item), "metadata", "labels", "appstudio.openshift.io/component")
        component = graph.components.get(Key(item.namespace, name))
        now = item.annotations.get(_EXPRESSION, "")
        if component is None or not now:
            continue
        wanted, said = trigger_expression(now, component, graph, list(files))
        for problem in said:
            _tell(results, item, "warning", "R12", problem)
        if wanted != now.strip():
            edits.set(item, ("metadata", "annotations", _EXPRESSION), wanted)


def _tell(results: Results, item: Resource, severity: Severity, rule: str, message: str) -> None:
    tags = {"rule": rule}
    results.add(Result(severity, f"{item.ref}: {message}", item.ref, item.file, item.index, tags=tags))
