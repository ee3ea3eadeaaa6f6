"""`mode: configure`: writes into Konflux resources what makes them obey the graph; their comments stay."""

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
from krm_merge.functions.plan_component_updates.nudges import take_out_deleted, told, write_nudge_configs, write_nudges
from krm_merge.functions.plan_component_updates.own_items import write_items
from krm_merge.functions.plan_component_updates.value_edits import ANNOTATIONS, ValueEdits
from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList

_REPLACED = (*ANNOTATIONS, f"{OWN_GROUP}/replaced")
"""What a scenario or a ReleasePlan had in place of what is written now, as JSON (R6)."""
_NUDGE_FILES = "build.appstudio.openshift.io/build-nudge-files"
_EXPRESSION = "pipelinesascode.tekton.dev/on-cel-expression"
_RELEASE = "release.appstudio.openshift.io/auto-release"


def configure(resource_list: ResourceList, found: ComponentItems, graph: Graph, config: PlanComponentUpdates) -> None:
    """Edits the items; reports what there is to tell."""
    emit, edits = config.emit, ValueEdits(resource_list.results, found.is_listed)
    if emit.nudgeMode == "validated":
        graph = _with_new_edges_validated(found, graph, is_written=emit.nudgeConfig)
    versions = with_versions(graph)
    take_out_deleted(found, graph, edits)
    if emit.buildNudgesRef:
        write_nudges(found, graph, edits)
    new = []
    if emit.buildNudgesRef or emit.nudgeConfig:
        # C10: where there is a NudgeConfig, Konflux obeys it alone.
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
            edits.tell(item, "info", "R13", f"spec.context is now {context}")
        if said:
            edits.tell(item, "info", "I7", said)


def _scenarios(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    for item, application in _with_applications("IntegrationTestScenario", found, graph):
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
            message = f"does not test {told(wanted.untested)}, on which others depend"
            if wanted.names == [GROUP_TESTS]:
                message += "; without contexts it would test everything, so it tests groups"
            edits.tell(item, "info", "R14", message)
        elif wanted.replaced is not None:
            message = f"tests {told(application.tested)} and groups; a new Component is untested until this runs again"
            edits.tell(item, "info", "R14", message)
        elif replaced is not None:
            edits.tell(item, "info", "R6", f"spec.contexts is its own again: {told(wanted.names)}")


def _release_plans(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    place = (*ANNOTATIONS, _RELEASE)
    for item, application in _with_applications("ReleasePlan", found, graph):
        try:
            replaced = _replaced_expression(item)
        except ValueError:
            _left(item, edits)
            continue
        now = text(edits.value(item), *place).strip()
        if not application.untested and replaced is None:
            continue
        if application.untested and (now or text(edits.value(item), "metadata", "labels", _RELEASE)) == "false":
            edits.tell(item, "info", "R16", "releases nothing by itself, and stays so")
            continue
        try:
            wanted, theirs = release_expression(now, replaced, application)
        except CelError as error:
            edits.tell(item, "warning", "R16", f"its expression cannot be read, and stays so: {error}")
            continue
        if (wanted, theirs) == (now, replaced):
            continue
        if not wanted:
            edits.remove(item, place)
        elif wanted != now:
            edits.set_text(item, place, wanted)
        _remember(item, None if theirs is None else json.dumps(theirs or None, ensure_ascii=False), edits)
        if application.untested:
            condition = ", where its own expression says so, too" if theirs else ""
            edits.tell(item, "info", "R16", f"releases only {told(application.tested)}{condition}")
        else:
            edits.tell(item, "info", "R6", f"its expression is {'its own again' if wanted else 'taken out'}")


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
            edits.tell(item, "warning", "R12", problem)
        if wanted.text != now:
            edits.set_text(item, (*ANNOTATIONS, _EXPRESSION), wanted.text)
            edits.tell(item, "info", "R12", "; ".join(wanted.changes))


def _nudge_files(item: Resource, wanted: list[str], expression: str, edits: ValueEdits) -> list[str]:
    """C10: writes what a push makes build-service edit; gives what a person wrote there, where that is kept."""
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
        message = f"build-service edits {written or 'the files that it edits by default'}"
        edits.tell(item, "info", "C10" if wanted else "R6", message)
    return listed(written or "")


# ---- fields of items ----------------------------------------------------------------------------------------------


def _with_applications(kind: str, found: ComponentItems, graph: Graph) -> Iterator[tuple[Resource, Application]]:
    """The items of a kind whose application has Components here."""
    # R16: what is tested only because somebody waits for that is not released.
    is_tested = graph.is_tested if kind == "ReleasePlan" else graph.is_validated
    known = applications(graph, is_tested)
    for item in found.others.get(kind, ()):
        group = text(item.value, "spec", "componentGroup")
        if group:
            application = _of_group(item.namespace, group, found, graph, is_tested)
        else:
            application = known.get((item.namespace, text(item.value, "spec", "application")))
        if application is not None:
            yield item, application


def _of_group(
    namespace: str, name: str, found: ComponentItems, graph: Graph, is_tested: Callable[[ComponentKey], bool]
) -> Application | None:
    """The Components of a ComponentGroup, which need not be of one application; None where it is not in the package."""
    for group in found.others.get("ComponentGroup", ()):
        if (group.namespace, group.name) == (namespace, name):
            named = sorted({text(one, "name") for one in items(group.value, "spec", "components")})
            keys = [key for each in named if (key := ComponentKey(namespace, each)) in graph.components]
            tested = tuple(key.name for key in keys if is_tested(key))
            return Application(tested, tuple(key.name for key in keys if not is_tested(key)))
    return None


def _replaced_contexts(item: Resource) -> list[str] | None:
    """What a scenario had before, None where nothing is remembered. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    found = json.loads(written) if written else None
    if not isinstance(found, list | None):
        raise ValueError
    return None if found is None else [str(name) for name in found]


def _replaced_expression(item: Resource) -> str | None:
    """What a ReleasePlan had before, '' for nothing, None where nothing is remembered. Raises ValueError."""
    written = text(item.value, *_REPLACED)
    found = json.loads(written) if written else None
    if not isinstance(found, str | None):
        raise ValueError
    return (found or "") if written else None


def _left(item: Resource, edits: ValueEdits) -> None:
    edits.tell(
        item, "warning", "R6", f"{_REPLACED[-1]} cannot be read, and all stays as it is; take it out, or mend it"
    )


def _remember(item: Resource, replaced: str | None, edits: ValueEdits) -> None:
    """Keeps what is replaced, as JSON; None where there is nothing to keep."""
    if replaced is None:
        edits.remove(item, _REPLACED)
    elif text(edits.value(item), *_REPLACED) != replaced:
        edits.set_text(item, _REPLACED, replaced)
