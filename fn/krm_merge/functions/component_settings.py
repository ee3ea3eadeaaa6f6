"""`mode: configure`: makes Konflux resources follow the graph (CR1, CR5, CR6); their comments are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from krm_merge.components.expressions import is_release_condition, release_condition
from krm_merge.components.graph import Graph
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
from krm_merge.components.settings import (
    GROUP_TESTS,
    OF_COMPONENT,
    Application,
    applications,
    nudges_of,
    repository_context,
    scenario_contexts,
    trigger_expression,
    without,
)
from krm_merge.forges.interface import same_repository
from krm_merge.functions.component_items import ANNOTATIONS, ComponentItems, ValueEdits, warn_of
from krm_merge.krm import Resource, ResourceList, Results, value_at
from krm_merge.startup import split_names
from krm_merge.text import Value

_NUDGES = "build-nudges-ref"


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
            message = f"Konflux ignores its nudging of {nudged}, because there is a NudgeConfig without this edge"
            warn_of(item, f"{message}; add the edge to it", "C10", key, results)


def _pair(nudge: Value) -> tuple[str, str]:
    return text(nudge, "from"), text(nudge, "to")


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
"""The replaced contexts of a scenario, or null for an expression that was written where there was none (CR6)."""
_EXPRESSION = "pipelinesascode.tekton.dev/on-cel-expression"
_RELEASE = "release.appstudio.openshift.io/auto-release"


def configure(resource_list: ResourceList, component_items: ComponentItems, graph: Graph) -> None:
    """Edits the items and reports the changes."""
    edits = ValueEdits(resource_list.results, component_items.is_listed)
    remove_deleted(component_items, graph, edits)
    write_nudges(component_items, graph, edits)
    _repositories(component_items, graph, edits)
    _scenarios(component_items, graph, edits)
    _release_plans(component_items, graph, edits)
    _triggers(component_items, graph, edits)
    edits.carry_out()


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
        if target is None:
            if tested := [name for name in application.untested if f"{OF_COMPONENT}{name}" in by_name]:
                message = f"tests {join_names(tested)}, which others depend on; name {GROUP_TESTS} instead"
                edits.report(item, "warning", "CR14", message)
            continue
        if not target.names:
            edits.remove(item, ("spec", "contexts"))
        elif list(by_name) != target.names:
            edits.set(item, ("spec", "contexts"), [by_name.get(name, {"name": name}) for name in target.names])
        _remember(item, None if target.replaced is None else json.dumps(target.replaced), edits)
        if target.replaced is not None:
            names = join_names(application.tested)
            message = f"tests {names} and groups; a new Component is untested until this runs again"
            edits.report(item, "info", "CR14", message)
        elif replaced is not None:
            edits.report(item, "info", "CR6", f"spec.contexts is restored: {join_names(target.names)}")


def _release_plans(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    place = (*ANNOTATIONS, _RELEASE)
    for item, application in _with_applications("ReleasePlan", component_items, graph, edits):
        now = text(edits.value(item), *place).strip()
        # Without a record a person wrote it, although it may look like ours.
        is_ours = bool(text(item.value, *_REPLACED)) and is_release_condition(now)
        ours = release_condition(application.tested)
        if not application.untested:
            if is_ours:
                edits.remove(item, place)
                _remember(item, None, edits)
                edits.report(item, "info", "CR6", "its expression is removed")
        elif (now or text(edits.value(item), "metadata", "labels", _RELEASE)) == "false":
            edits.report(item, "info", "CR16", "does not release automatically, and is not changed")
        elif now and not is_ours:
            if ours not in now:
                message = f"its expression is kept; so that it releases no dependency, write ({now}) && ({ours})"
                edits.report(item, "warning", "CR16", message)
        elif now != ours:
            edits.set(item, place, ours)
            _remember(item, json.dumps(None), edits)
            edits.report(item, "info", "CR16", f"releases only {join_names(application.tested)}")


def _triggers(component_items: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    for item in component_items.definitions:
        names = (text(item.value, "metadata", "labels", f"{group}/component") for group in LABELS)
        key = ComponentKey(item.namespace, next(filter(None, names), ""))
        component = graph.components.get(key)
        if component is None:
            continue
        now = item.annotations.get(_EXPRESSION, "").strip()
        if not now:
            continue
        trigger = trigger_expression(now, component, graph)
        for problem in trigger.problems:
            edits.report(item, "info", "C11", problem)
        if trigger.text != now:
            edits.set(item, (*ANNOTATIONS, _EXPRESSION), trigger.text)
            edits.report(item, "info", "CR12", "; ".join(trigger.changes))


# ---- fields of items ----------------------------------------------------------------------------------------------


def _with_applications(
    kind: str, component_items: ComponentItems, graph: Graph, edits: ValueEdits
) -> Iterator[tuple[Resource, Application]]:
    """The items of a kind whose application has Components here."""
    by_application = applications(graph)
    for item in component_items.others.get(kind, ()):
        # A ComponentGroup is not read: which Components it has is unknown.
        is_of_group = bool(text(item.value, "spec", "componentGroup"))
        name = (item.namespace, text(item.value, "spec", "application"))
        application = None if is_of_group else by_application.get(name)
        if application is not None:
            yield item, application


def _replaced_contexts(item: Resource) -> list[str] | None:
    """The recorded contexts of a scenario, None if there are none. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    contexts = json.loads(written) if written else None
    if not isinstance(contexts, list | None):
        raise ValueError
    return None if contexts is None else [str(name) for name in contexts]


def _report_unreadable_record(item: Resource, edits: ValueEdits) -> None:
    edits.report(
        item, "warning", "CR6", f"{_REPLACED[-1]} cannot be read, so nothing here is changed; remove or correct it"
    )


def _remember(item: Resource, replaced: str | None, edits: ValueEdits) -> None:
    """Records the replaced value as JSON; None removes the record."""
    if replaced is None:
        edits.remove(item, _REPLACED)
    elif text(edits.value(item), *_REPLACED) != replaced:
        edits.set(item, _REPLACED, replaced)
