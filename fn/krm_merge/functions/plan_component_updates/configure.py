"""`mode: configure`: makes Konflux resources follow the graph; their comments are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from krm_merge.components.configure.cel_tokens import CelError
from krm_merge.components.configure.settings import (
    GROUP_TESTS,
    Application,
    applications,
    nudge_files,
    release_expression,
    repository_context,
    scenario_contexts,
    trigger_expression,
)
from krm_merge.components.graph.graph import Graph
from krm_merge.components.graph.versions import VersionedGraph, with_versions
from krm_merge.components.konflux.fields import items, text
from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.konflux.reading import LABELS, OWN_GROUP, listed
from krm_merge.forges.addresses import same_repository
from krm_merge.functions.plan_component_updates.items import ComponentItems
from krm_merge.functions.plan_component_updates.models import PlanComponentUpdates
from krm_merge.functions.plan_component_updates.nudges import (
    joined_names,
    take_out_deleted,
    write_nudge_configs,
    write_nudges,
)
from krm_merge.functions.plan_component_updates.own_items import write_items
from krm_merge.functions.plan_component_updates.value_edits import ANNOTATIONS, ValueEdits
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList

_REPLACED = (*ANNOTATIONS, f"{OWN_GROUP}/replaced")
"""The replaced value of a scenario or a ReleasePlan, as JSON (R6)."""
_NUDGE_FILES = "build.appstudio.openshift.io/build-nudge-files"
_EXPRESSION = "pipelinesascode.tekton.dev/on-cel-expression"
_RELEASE = "release.appstudio.openshift.io/auto-release"


def configure(resource_list: ResourceList, found: ComponentItems, graph: Graph, config: PlanComponentUpdates) -> None:
    """Edits the items and reports the changes."""
    emit, edits = config.emit, ValueEdits(resource_list.results, found.is_listed)
    if emit.nudgeMode == "validated":
        graph = _with_new_edges_validated(found, graph, is_written=emit.nudgeConfig)
    versions = with_versions(graph)
    take_out_deleted(found, graph, edits)
    if emit.buildNudgesRef:
        write_nudges(found, graph, edits)
    new = []
    if emit.buildNudgesRef or emit.nudgeConfig:
        # C10: with a NudgeConfig, Konflux reads only that.
        new = write_nudge_configs(found, graph, edits, emit.nudgeMode, missing=emit.nudgeConfig)
    if emit.contexts:
        _repositories(found, versions.graph, edits)
        _scenarios(found, graph, edits)
    if emit.releasePlans:
        _release_plans(found, graph, edits)
    if emit.celGuards:
        _triggers(found, versions, config.digest.files, edits)
    edits.carry_out()
    write_items(resource_list, (), new, "konflux")


def _with_new_edges_validated(found: ComponentItems, graph: Graph, *, is_written: bool) -> Graph:
    """The graph as NudgeConfigs have it when this run has added its edges to them."""
    namespaces = {item.namespace for item in found.others.get("NudgeConfig", ())}
    known = {(one.namespace, one.source, one.target) for one in found.nudges}
    new = {
        edge
        for edge in graph.edges
        if (is_written or edge.dependant.namespace in namespaces)
        and (edge.dependant.namespace, edge.dependency.name, edge.dependant.name) not in known
    }
    return replace(graph, validated=graph.validated | new)


def _repositories(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    for item in found.others.get("Repository", ()):
        url = same_repository(text(edits.value(item), "spec", "url"))
        ours = [c for _, c in sorted(graph.components.items()) if url and same_repository(c.repository) == url]
        if not ours:
            continue
        context, said = repository_context(ours)
        if (text(edits.value(item), "spec", "context") or ".") != context:
            edits.set(item, ("spec", "context"), context)
            edits.report(item, "info", "R13", f"spec.context is now {context}")
        if said:
            edits.report(item, "info", "I7", said)


def _scenarios(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    for item, application in _with_applications("IntegrationTestScenario", found, graph, edits):
        try:
            replaced = _replaced_contexts(item)
        except ValueError:
            _left(item, edits)
            continue
        if not application.untested and replaced is None:
            continue
        by_name = {text(one, "name"): one for one in items(edits.value(item), "spec", "contexts")}
        wanted = scenario_contexts(list(by_name), replaced, application)
        if not wanted.names:
            edits.remove(item, ("spec", "contexts"))
        elif list(by_name) != wanted.names:
            edits.set(item, ("spec", "contexts"), [by_name.get(name, {"name": name}) for name in wanted.names])
        _remember(item, None if wanted.replaced is None else json.dumps(wanted.replaced), edits)
        if wanted.untested:
            message = f"does not test {joined_names(wanted.untested)}, which others depend on"
            if wanted.names == [GROUP_TESTS]:
                message += "; it tests groups, since without contexts it would test everything"
            edits.report(item, "info", "R14", message)
        elif wanted.replaced is not None:
            tested = joined_names(application.tested)
            message = f"tests {tested} and groups; a new Component is untested until this runs again"
            edits.report(item, "info", "R14", message)
        elif replaced is not None:
            edits.report(item, "info", "R6", f"spec.contexts is restored: {joined_names(wanted.names)}")


def _release_plans(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    place = (*ANNOTATIONS, _RELEASE)
    for item, application in _with_applications("ReleasePlan", found, graph, edits):
        try:
            replaced = _replaced_expression(item)
        except ValueError:
            _left(item, edits)
            continue
        now = text(edits.value(item), *place).strip()
        if not application.untested and replaced is None:
            continue
        if application.untested and (now or text(edits.value(item), "metadata", "labels", _RELEASE)) == "false":
            edits.report(item, "info", "R16", "does not release automatically, and is not changed")
            continue
        try:
            wanted, theirs = release_expression(now, replaced, application)
        except CelError as error:
            edits.report(item, "warning", "R16", f"its expression cannot be read and is not changed: {error}")
            continue
        if (wanted, theirs) == (now, replaced):
            continue
        if not wanted:
            edits.remove(item, place)
        elif wanted != now:
            edits.set_text(item, place, wanted)
        _remember(item, None if theirs is None else json.dumps(theirs or None, ensure_ascii=False), edits)
        if application.untested:
            condition = ", if its previous expression is true, too" if theirs else ""
            edits.report(item, "info", "R16", f"releases only {joined_names(application.tested)}{condition}")
        else:
            edits.report(item, "info", "R6", f"its expression is {'restored' if wanted else 'removed'}")


def _built_by(item: Resource, versions: VersionedGraph) -> ComponentKey:
    """The Component that a PipelineRun builds, or the version of it."""
    names = (text(item.value, "metadata", "labels", f"{group}/component") for group in LABELS)
    key = ComponentKey(item.namespace, next(filter(None, names), ""))
    label = text(item.value, "metadata", "labels", "build.konflux-ci.dev/version")
    version = ComponentKey(item.namespace, f"{key.name}-{label}")
    return version if versions.of.get(version) == key else key


def _triggers(found: ComponentItems, versions: VersionedGraph, files: Collection[str], edits: ValueEdits) -> None:
    graph = versions.graph
    for item in found.definitions:
        component = graph.components.get(_built_by(item, versions))
        if component is None:
            continue
        now = item.annotations.get(_EXPRESSION, "").strip()
        theirs = _nudge_files(item, nudge_files(component, graph, files), now, edits)
        if not now:
            continue
        wanted = trigger_expression(now, component, graph, files, theirs)
        for problem in wanted.problems:
            edits.report(item, "warning", "R12", problem)
        if wanted.text != now:
            edits.set_text(item, (*ANNOTATIONS, _EXPRESSION), wanted.text)
            edits.report(item, "info", "R12", "; ".join(wanted.changes))


def _nudge_files(item: Resource, wanted: list[str], expression: str, edits: ValueEdits) -> list[str]:
    """C10: writes the files that build-service edits after a push; returns the value if a person wrote it."""
    place = (*ANNOTATIONS, _NUDGE_FILES)
    now = text(edits.value(item), *place)
    event = expression or item.annotations.get("pipelinesascode.tekton.dev/on-event", "")
    if "push" not in event:
        return listed(now)
    try:
        replaced = _replaced_expression(item)
    except ValueError:
        _left(item, edits)
        return listed(now)
    if not wanted and replaced is None:
        return listed(now)
    written = ", ".join(wanted) if wanted else replaced
    if not written:
        edits.remove(item, place)
    elif written != now:
        edits.set_text(item, place, written)
    before = now if replaced is None else replaced
    _remember(item, json.dumps(before or None, ensure_ascii=False) if wanted else None, edits)
    if written != now:
        message = f"build-service edits {written or 'its default files'}"
        edits.report(item, "info", "C10" if wanted else "R6", message)
    return listed(written or "")


# ---- fields of items ----------------------------------------------------------------------------------------------


def _with_applications(
    kind: str, found: ComponentItems, graph: Graph, edits: ValueEdits
) -> Iterator[tuple[Resource, Application]]:
    """The items of a kind whose application has Components here."""
    # R16: Components that are tested only for a validated edge are not released.
    is_tested = graph.is_tested if kind == "ReleasePlan" else graph.is_validated
    known = applications(graph, is_tested)
    for item in found.others.get(kind, ()):
        group = text(item.value, "spec", "componentGroup")
        if group:
            application = _of_group(item, group, found, graph, is_tested, edits)
        else:
            application = known.get((item.namespace, text(item.value, "spec", "application")))
        if application is not None:
            yield item, application


def _of_group(
    item: Resource,
    name: str,
    found: ComponentItems,
    graph: Graph,
    is_tested: Callable[[ComponentKey], bool],
    edits: ValueEdits,
) -> Application | None:
    """The Components of a ComponentGroup and of the groups in it, which need not be of one application.

    None if a group is not in the package: which Components it has is unknown (C16).
    """
    groups = {
        group.name: group for group in found.others.get("ComponentGroup", ()) if group.namespace == item.namespace
    }
    names, pending, seen = set[str](), [name], set[str]()
    while pending:
        group = groups.get(pending[-1])
        if group is None:
            edits.report(item, "warning", "C16", f"is not changed: the package lacks the ComponentGroup {pending[-1]}")
            return None
        seen.add(pending.pop())
        for one in items(group.value, "spec", "components"):
            if text(one, "kind").lower() != "componentgroup":
                names.add(text(one, "name"))
            elif text(one, "name") not in seen:
                pending.append(text(one, "name"))
    keys = [key for each in sorted(names) if (key := ComponentKey(item.namespace, each)) in graph.components]
    if missing := sorted(names - {key.name for key in keys}):
        edits.report(item, "warning", "C16", f"the package lacks {joined_names(missing)} of the ComponentGroup {name}")
    tested = tuple(key.name for key in keys if is_tested(key))
    return Application(tested, tuple(key.name for key in keys if not is_tested(key)))


def _replaced_contexts(item: Resource) -> list[str] | None:
    """The recorded contexts of a scenario, None if there are none. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    found = json.loads(written) if written else None
    if not isinstance(found, list | None):
        raise ValueError
    return None if found is None else [str(name) for name in found]


def _replaced_expression(item: Resource) -> str | None:
    """The recorded expression of a ReleasePlan, '' if it had none, None if nothing is recorded. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    found = json.loads(written) if written else None
    if not isinstance(found, str | None):
        raise ValueError
    return (found or "") if written else None


def _left(item: Resource, edits: ValueEdits) -> None:
    edits.report(
        item, "warning", "R6", f"{_REPLACED[-1]} cannot be read, so nothing here is changed; remove or correct it"
    )


def _remember(item: Resource, replaced: str | None, edits: ValueEdits) -> None:
    """Records the replaced value as JSON; None removes the record."""
    if replaced is None:
        edits.remove(item, _REPLACED)
    elif text(edits.value(item), *_REPLACED) != replaced:
        edits.set_text(item, _REPLACED, replaced)
