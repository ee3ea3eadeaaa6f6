"""`mode: configure`: makes Konflux resources follow the graph (CR1, CR5, CR6); their comments are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from krm_merge.components.expressions import CelError
from krm_merge.components.graph import Graph, VersionedGraph, with_versions
from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.konflux.reading import (
    DEPENDS_ON,
    DEPENDS_ON_ANNOTATION,
    DERIVED_NUDGES,
    LABELS,
    OWN_GROUP,
    items,
    text,
)
from krm_merge.components.plan.records import resource_head
from krm_merge.components.settings import (
    GROUP_TESTS,
    Application,
    applications,
    nudges_of,
    release_expression,
    repository_context,
    scenario_contexts,
    split_application,
    trigger_expression,
    without,
)
from krm_merge.forges.interface import same_repository
from krm_merge.functions.component_items import ANNOTATIONS, ComponentItems, ValueEdits, warn_of, write_items
from krm_merge.functions.models import PlanComponentUpdates
from krm_merge.krm import Resource, ResourceList, ResourceRef, Results, value_at
from krm_merge.startup import group_by_key, split_names
from krm_merge.text import Value

_NUDGES = "build-nudges-ref"
_NUDGE_VERSION = "appstudio.redhat.com/v1beta2"


def remove_deleted(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    """CR5: removes deleted Components from every list; unknown names are kept (C9)."""
    for key, item in component_items.resources.items():
        deleted = graph.deleted_names(key.namespace)
        for field in (*DEPENDS_ON, _NUDGES):
            names = _names(edits, item, field)
            if set(names) & deleted:
                _set_list(item, field, without(names, deleted), edits)
                edits.report(item, "info", "CR5", f"spec.{field} is now {join_names(without(names, deleted))}")
                if field == _NUDGES:
                    _annotate(
                        item, DERIVED_NUDGES, without(_annotation_names(edits, item, DERIVED_NUDGES), deleted), edits
                    )
        names = _annotation_names(edits, item, DEPENDS_ON_ANNOTATION)
        if set(names) & deleted:
            _annotate(item, DEPENDS_ON_ANNOTATION, without(names, deleted), edits)
            edits.report(item, "info", "CR5", f"{DEPENDS_ON_ANNOTATION} is now {join_names(without(names, deleted))}")
    for item in component_items.others.get("NudgeConfig", ()):
        deleted = graph.deleted_names(item.namespace)
        nudges = items(edits.value(item), "spec", "nudges")
        left = [nudge for nudge in nudges if not set(_pair(nudge)) & deleted]
        if len(left) < len(nudges):
            edits.set(item, ("spec", "nudges"), left)
            derived = _annotation_names(edits, item, DERIVED_NUDGES)
            _annotate(item, DERIVED_NUDGES, [arrow for arrow in derived if not set(arrow.split(">")) & deleted], edits)
            edits.report(item, "info", "CR5", f"spec.nudges is now {join_names(map(_arrow, map(_pair, left)))}")


def write_nudges(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    """Sets build-nudges-ref by the graph, and records the names that only the graph added (CR6)."""
    for key, item in component_items.resources.items():
        now, recorded = _names(edits, item, _NUDGES), _annotation_names(edits, item, DERIVED_NUDGES)
        nudges, derived = nudges_of(graph, key, now, recorded)
        if (nudges, derived) == (now, recorded):
            continue
        _set_list(item, _NUDGES, nudges, edits)
        _annotate(item, DERIVED_NUDGES, derived, edits)
        is_removed = "CR6" if key in graph.components else "CR5"
        rule = "CR1" if set(now) <= set(nudges) else is_removed
        edits.report(item, "info", rule, f"spec.{_NUDGES} is now {join_names(nudges)}")


def write_nudge_configs(
    component_items: ComponentItems, graph: Graph, edits: ValueEdits, mode: str, *, missing: bool
) -> list[dict[str, Value]]:
    """Writes the edges to the NudgeConfigs; with `missing` also to new ones, for namespaces without one.

    The mode of an existing edge is kept; `mode` is for new ones.
    """
    edges = group_by_key(
        (dependency.namespace, (dependency.name, dependant.name))
        for dependency, dependant in sorted((edge.dependency, edge.dependant) for edge in graph.edges)
    )
    existing = {item.namespace: item for item in component_items.others.get("NudgeConfig", ())}
    for namespace, item in existing.items():
        _change_nudge_config(item, edges.pop(namespace, []), mode, component_items.most_nudges, edits)
    new: list[dict[str, Value]] = []
    for namespace, pairs in sorted(edges.items()) if missing else ():
        if len(pairs) > component_items.most_nudges:
            why = _too_many(len(pairs), component_items.most_nudges)
            message = f"no NudgeConfig is created for namespace {namespace or 'default'}: {why}"
            edits.results.warning(message, rule="C10")
            continue
        annotations: Value = {DERIVED_NUDGES: ",".join(map(_arrow, sorted(pairs)))}
        head = resource_head(_NUDGE_VERSION, "NudgeConfig", "nudge-config", namespace, annotations=annotations)
        new.append({**head, "spec": {"nudges": [_nudge(pair, mode) for pair in pairs]}})
        ref = ResourceRef(_NUDGE_VERSION, "NudgeConfig", "nudge-config", namespace)
        edits.results.info(f"{ref}: created for {join_names(map(_arrow, pairs))}", resource=ref, rule="CR1")
    return new


def _change_nudge_config(
    item: Resource, edges: Sequence[tuple[str, str]], mode: str, most: int, edits: ValueEdits
) -> None:
    nudges = items(edits.value(item), "spec", "nudges")
    recorded = _annotation_names(edits, item, DERIVED_NUDGES)
    left = [nudge for nudge in nudges if _arrow(_pair(nudge)) not in recorded or _pair(nudge) in edges]
    declared = {_pair(nudge) for nudge in nudges if _arrow(_pair(nudge)) not in recorded}
    existing = {_pair(nudge) for nudge in left}
    new_nudges = [*left, *(_nudge(pair, mode) for pair in edges if pair not in existing)]
    derived = sorted(_arrow(pair) for pair in edges if pair not in declared)
    if (len(left), len(new_nudges), derived) == (len(nudges), len(nudges), recorded):
        return
    if len(new_nudges) > most:
        edits.report(item, "warning", "C10", f"is not changed: {_too_many(len(new_nudges), most)}")
        return
    edits.set(item, ("spec", "nudges"), new_nudges)
    _annotate(item, DERIVED_NUDGES, derived, edits)
    rule = "CR1" if len(left) == len(nudges) else "CR6"
    edits.report(item, "info", rule, f"spec.nudges is now {join_names(map(_arrow, map(_pair, new_nudges)))}")


def _too_many(count: int, most: int) -> str:
    remedy = "distribute the Components over several namespaces"
    return f"it would have {count} nudges, but Konflux accepts {most}; {remedy}"


def _nudge(pair: tuple[str, str], mode: str) -> dict[str, Value]:
    return {"from": pair[0], "to": pair[1], "mode": mode}


def report_ignored_nudges(component_items: ComponentItems, results: Results) -> None:
    """C10: with a NudgeConfig, Konflux silently ignores build-nudges-ref."""
    obeyed: dict[str, set[tuple[str, str]]] = {}
    for item in component_items.others.get("NudgeConfig", ()):
        obeyed.setdefault(item.namespace, set()).update(map(_pair, items(item.value, "spec", "nudges")))
    for key, item in component_items.resources.items():
        names = [str(name) for name in items(item.value, "spec", _NUDGES)] if key.namespace in obeyed else []
        ignored = [name for name in names if (key.name, name) not in obeyed[key.namespace]]
        if ignored:
            nudged = join_names(ignored)
            message = f"Konflux ignores that it nudges {nudged}, because there is a NudgeConfig without this edge"
            warn_of(item, f"{message}; add the edge to it, or run mode configure", "C10", key, results)


def _pair(nudge: Value) -> tuple[str, str]:
    return text(nudge, "from"), text(nudge, "to")


def _arrow(pair: tuple[str, str]) -> str:
    return ">".join(pair)


def join_names(names: Iterable[str]) -> str:
    """Names in messages."""
    return ", ".join(names) or "empty"


def _names(edits: ValueEdits, item: Resource, field: str) -> list[str]:
    return [str(name) for name in items(edits.value(item), "spec", field)]


def _set_list(item: Resource, field: str, names: list[str], edits: ValueEdits) -> None:
    """Sets a list of spec if it differs, and removes an empty one."""
    now = value_at(edits.value(item), ("spec", field))
    if names:
        if now != names:
            edits.set(item, ("spec", field), list(names))
    elif now is not None:
        edits.remove(item, ("spec", field))


def _annotation_names(edits: ValueEdits, item: Resource, name: str) -> list[str]:
    return split_names(text(edits.value(item), *ANNOTATIONS, name))


def _annotate(item: Resource, name: str, names: list[str], edits: ValueEdits) -> None:
    """Sets an annotation to names separated by commas if it differs, and removes an empty one."""
    if not names:
        edits.remove(item, (*ANNOTATIONS, name))
    elif _annotation_names(edits, item, name) != names:
        edits.set(item, (*ANNOTATIONS, name), ",".join(names))


_REPLACED = (*ANNOTATIONS, f"{OWN_GROUP}/replaced")
"""The replaced value of a scenario or a ReleasePlan, as JSON (CR6)."""
_EXPRESSION = "pipelinesascode.tekton.dev/on-cel-expression"
_RELEASE = "release.appstudio.openshift.io/auto-release"


def configure(
    resource_list: ResourceList, component_items: ComponentItems, graph: Graph, config: PlanComponentUpdates
) -> None:
    """Edits the items and reports the changes."""
    emit, edits = config.emit, ValueEdits(resource_list.results, component_items.is_listed)
    if emit.nudgeMode == "validated":
        graph = _with_new_edges_validated(component_items, graph, is_written=emit.nudgeConfig)
    versions = with_versions(graph)
    remove_deleted(component_items, graph, edits)
    if emit.buildNudgesRef:
        write_nudges(component_items, graph, edits)
    new = []
    if emit.buildNudgesRef or emit.nudgeConfig:
        # C10: with a NudgeConfig, Konflux reads only that.
        new = write_nudge_configs(component_items, graph, edits, emit.nudgeMode, missing=emit.nudgeConfig)
    if emit.contexts:
        _repositories(component_items, versions.graph, edits)
        _scenarios(component_items, graph, edits)
    if emit.releasePlans:
        _release_plans(component_items, graph, edits)
    if emit.expressions:
        _triggers(component_items, versions, edits)
    edits.carry_out()
    write_items(resource_list, (), new, "konflux")


def _with_new_edges_validated(component_items: ComponentItems, graph: Graph, *, is_written: bool) -> Graph:
    """The graph as NudgeConfigs have it when this run has added its edges to them."""
    namespaces = {item.namespace for item in component_items.others.get("NudgeConfig", ())}
    recorded = {(nudge.namespace, nudge.source, nudge.target) for nudge in component_items.nudges}
    new = {
        edge
        for edge in graph.edges
        if (is_written or edge.dependant.namespace in namespaces)
        and (edge.dependant.namespace, edge.dependency.name, edge.dependant.name) not in recorded
    }
    return replace(graph, validated=graph.validated | new)


def _repositories(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    for item in component_items.others.get("Repository", ()):
        url = same_repository(text(edits.value(item), "spec", "url"))
        ours = [c for _, c in sorted(graph.components.items()) if url and same_repository(c.repository) == url]
        if not ours:
            continue
        context, message = repository_context(ours)
        if (text(edits.value(item), "spec", "context") or ".") != context:
            edits.set(item, ("spec", "context"), context)
            edits.report(item, "info", "CR13", f"spec.context is now {context}")
        if message:
            edits.report(item, "info", "I7", message)


def _scenarios(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    for item, application in _with_applications("IntegrationTestScenario", component_items, graph, edits):
        try:
            replaced = _replaced_contexts(item)
        except ValueError:
            _report_unreadable_record(item, edits)
            continue
        if not application.untested and replaced is None:
            continue
        by_name = {text(context, "name"): context for context in items(edits.value(item), "spec", "contexts")}
        target = scenario_contexts(list(by_name), replaced, application)
        if not target.names:
            edits.remove(item, ("spec", "contexts"))
        elif list(by_name) != target.names:
            edits.set(item, ("spec", "contexts"), [by_name.get(name, {"name": name}) for name in target.names])
        _remember(item, None if target.replaced is None else json.dumps(target.replaced), edits)
        if target.untested:
            message = f"does not test {join_names(target.untested)}, which others depend on"
            if target.names == [GROUP_TESTS]:
                message += "; it tests groups, since without contexts it would test everything"
            edits.report(item, "info", "CR14", message)
        elif target.replaced is not None:
            tested = join_names(application.tested)
            message = f"tests {tested} and groups; a new Component is untested until this runs again"
            edits.report(item, "info", "CR14", message)
        elif replaced is not None:
            edits.report(item, "info", "CR6", f"spec.contexts is restored: {join_names(target.names)}")


def _release_plans(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    place = (*ANNOTATIONS, _RELEASE)
    for item, application in _with_applications("ReleasePlan", component_items, graph, edits):
        try:
            replaced = _replaced_expression(item)
        except ValueError:
            _report_unreadable_record(item, edits)
            continue
        now = text(edits.value(item), *place).strip()
        if not application.untested and replaced is None:
            continue
        if application.untested and (now or text(edits.value(item), "metadata", "labels", _RELEASE)) == "false":
            edits.report(item, "info", "CR16", "does not release automatically, and is not changed")
            continue
        try:
            expression, theirs = release_expression(now, replaced, application)
        except CelError as error:
            edits.report(item, "warning", "CR16", f"its expression cannot be read and is not changed: {error}")
            continue
        if (expression, theirs) == (now, replaced):
            continue
        if not expression:
            edits.remove(item, place)
        elif expression != now:
            edits.set_text(item, place, expression)
        _remember(item, None if theirs is None else json.dumps(theirs or None, ensure_ascii=False), edits)
        if application.untested:
            condition = ", if its previous expression is true, too" if theirs else ""
            edits.report(item, "info", "CR16", f"releases only {join_names(application.tested)}{condition}")
        else:
            edits.report(item, "info", "CR6", f"its expression is {'restored' if expression else 'removed'}")


def _built_by(item: Resource, versions: VersionedGraph) -> ComponentKey:
    """The Component that a PipelineRun builds, or the version of it."""
    names = (text(item.value, "metadata", "labels", f"{group}/component") for group in LABELS)
    key = ComponentKey(item.namespace, next(filter(None, names), ""))
    label = text(item.value, "metadata", "labels", "build.konflux-ci.dev/version")
    version = ComponentKey(item.namespace, f"{key.name}-{label}")
    return version if versions.of.get(version) == key else key


def _triggers(component_items: ComponentItems, versions: VersionedGraph, edits: ValueEdits) -> None:
    graph = versions.graph
    for item in component_items.definitions:
        component = graph.components.get(_built_by(item, versions))
        if component is None:
            continue
        now = item.annotations.get(_EXPRESSION, "").strip()
        if not now:
            continue
        trigger = trigger_expression(now, component, graph)
        for problem in trigger.problems:
            edits.report(item, "info", "C11", problem)
        if trigger.text != now:
            edits.set_text(item, (*ANNOTATIONS, _EXPRESSION), trigger.text)
            edits.report(item, "info", "CR12", "; ".join(trigger.changes))


# ---- fields of items ----------------------------------------------------------------------------------------------


def _with_applications(
    kind: str, component_items: ComponentItems, graph: Graph, edits: ValueEdits
) -> Iterator[tuple[Resource, Application]]:
    """The items of a kind whose application has Components here."""
    # CR16: Components that are tested only for a validated edge are not released.
    is_tested = graph.is_tested if kind == "ReleasePlan" else graph.is_validated
    by_application = applications(graph, is_tested)
    for item in component_items.others.get(kind, ()):
        group = text(item.value, "spec", "componentGroup")
        if group:
            application = _of_group(item, group, component_items, graph, is_tested, edits)
        else:
            application = by_application.get((item.namespace, text(item.value, "spec", "application")))
        if application is not None:
            yield item, application


def _of_group(
    item: Resource,
    name: str,
    component_items: ComponentItems,
    graph: Graph,
    is_tested: Callable[[ComponentKey], bool],
    edits: ValueEdits,
) -> Application | None:
    """The Components of a ComponentGroup and of the groups in it, which need not be of one application.

    None if a group is not in the package: which Components it has is unknown (C16).
    """
    groups = {
        group.name: group
        for group in component_items.others.get("ComponentGroup", ())
        if group.namespace == item.namespace
    }
    names, pending, seen = set[str](), [name], set[str]()
    while pending:
        group = groups.get(pending[-1])
        if group is None:
            edits.report(item, "warning", "C16", f"is not changed: the package lacks the ComponentGroup {pending[-1]}")
            return None
        seen.add(pending.pop())
        for member in items(group.value, "spec", "components"):
            if text(member, "kind").lower() != "componentgroup":
                names.add(text(member, "name"))
            elif text(member, "name") not in seen:
                pending.append(text(member, "name"))
    keys = [key for each in sorted(names) if (key := ComponentKey(item.namespace, each)) in graph.components]
    if missing := sorted(names - {key.name for key in keys}):
        edits.report(item, "warning", "C16", f"the package lacks {join_names(missing)} of the ComponentGroup {name}")
    return split_application(keys, is_tested)


def _replaced_contexts(item: Resource) -> list[str] | None:
    """The recorded contexts of a scenario, None if there are none. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    contexts = json.loads(written) if written else None
    if not isinstance(contexts, list | None):
        raise ValueError
    return None if contexts is None else [str(name) for name in contexts]


def _replaced_expression(item: Resource) -> str | None:
    """The recorded expression of a ReleasePlan, '' if it had none, None if nothing is recorded. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    expression = json.loads(written) if written else None
    if not isinstance(expression, str | None):
        raise ValueError
    return (expression or "") if written else None


def _report_unreadable_record(item: Resource, edits: ValueEdits) -> None:
    edits.report(
        item, "warning", "CR6", f"{_REPLACED[-1]} cannot be read, so nothing here is changed; remove or correct it"
    )


def _remember(item: Resource, replaced: str | None, edits: ValueEdits) -> None:
    """Records the replaced value as JSON; None removes the record."""
    if replaced is None:
        edits.remove(item, _REPLACED)
    elif text(edits.value(item), *_REPLACED) != replaced:
        edits.set_text(item, _REPLACED, replaced)
