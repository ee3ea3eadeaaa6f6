"""Which components a build nudges: writes build-nudges-ref and NudgeConfigs by the graph (R1, R5, R6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krm_merge.components.configure.settings import nudges_of, without
from krm_merge.components.graph.graph import Graph
from krm_merge.components.konflux.fields import at, items, text
from krm_merge.components.konflux.reading import DEPENDS_ON, DEPENDS_ON_ANNOTATION, DERIVED_NUDGES, listed
from krm_merge.functions.plan_component_updates.items import ComponentItems
from krm_merge.functions.plan_component_updates.value_edits import ANNOTATIONS, ValueEdits
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import ResourceRef, Results
from krm_merge.text.reading.values import Value

_NUDGES = "build-nudges-ref"


def take_out_deleted(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    """R5: removes deleted Components from every list; unknown names are kept (C9)."""
    for key, item in found.resources.items():
        gone = graph.deleted_names(key.namespace)
        for field in (*DEPENDS_ON, _NUDGES):
            names = _names(edits, item, field)
            if set(names) & gone:
                _set_list(item, field, without(names, gone), edits)
                edits.report(item, "info", "R5", f"spec.{field} is now {joined_names(without(names, gone))}")
                if field == _NUDGES:
                    _annotate(item, DERIVED_NUDGES, without(_annotated(edits, item, DERIVED_NUDGES), gone), edits)
        names = _annotated(edits, item, DEPENDS_ON_ANNOTATION)
        if set(names) & gone:
            _annotate(item, DEPENDS_ON_ANNOTATION, without(names, gone), edits)
            edits.report(item, "info", "R5", f"{DEPENDS_ON_ANNOTATION} is now {joined_names(without(names, gone))}")
    for item in found.others.get("NudgeConfig", ()):
        gone = graph.deleted_names(item.namespace)
        nudges = items(edits.value(item), "spec", "nudges")
        left = [one for one in nudges if not set(_pair(one)) & gone]
        if len(left) < len(nudges):
            edits.set(item, ("spec", "nudges"), left)
            derived = _annotated(edits, item, DERIVED_NUDGES)
            _annotate(item, DERIVED_NUDGES, [one for one in derived if not set(one.split(">")) & gone], edits)
            edits.report(item, "info", "R5", f"spec.nudges is now {joined_names(map(_arrow, map(_pair, left)))}")


def write_nudges(found: ComponentItems, graph: Graph, edits: ValueEdits) -> None:
    """Sets build-nudges-ref by the graph, and records the names that only the graph added (R6)."""
    for key, item in found.resources.items():
        now, known = _names(edits, item, _NUDGES), _annotated(edits, item, DERIVED_NUDGES)
        nudges, derived = nudges_of(graph, key, now, known)
        if (nudges, derived) == (now, known):
            continue
        _set_list(item, _NUDGES, nudges, edits)
        _annotate(item, DERIVED_NUDGES, derived, edits)
        is_removed = "R6" if key in graph.components else "R5"
        rule = "R1" if set(now) <= set(nudges) else is_removed
        edits.report(item, "info", rule, f"spec.{_NUDGES} is now {joined_names(nudges)}")


def write_nudge_configs(
    found: ComponentItems, graph: Graph, edits: ValueEdits, mode: str, *, missing: bool
) -> list[dict[str, Value]]:
    """Writes the edges to the NudgeConfigs; with `missing` also to new ones, for namespaces without one.

    The mode of an existing edge is kept; `mode` is for new ones.
    """
    edges: dict[str, list[tuple[str, str]]] = {}
    for edge in sorted(graph.edges, key=lambda edge: (edge.dependency, edge.dependant)):
        edges.setdefault(edge.dependency.namespace, []).append((edge.dependency.name, edge.dependant.name))
    existing = {item.namespace: item for item in found.others.get("NudgeConfig", ())}
    for namespace, item in existing.items():
        _change_nudge_config(item, edges.pop(namespace, []), mode, found.most_nudges, edits)
    new: list[dict[str, Value]] = []
    for namespace, pairs in sorted(edges.items()) if missing else ():
        if len(pairs) > found.most_nudges:
            why = _too_many(len(pairs), found.most_nudges)
            message = f"no NudgeConfig is created for namespace {namespace or 'default'}: {why}"
            edits.results.warning(message, rule="C10")
            continue
        derived: Value = ",".join(map(_arrow, sorted(pairs)))
        about: dict[str, Value] = {"name": "nudge-config", **({"namespace": namespace} if namespace else {})}
        about["annotations"] = {DERIVED_NUDGES: derived}
        kind: dict[str, Value] = {"apiVersion": "appstudio.redhat.com/v1beta2", "kind": "NudgeConfig"}
        new.append({**kind, "metadata": about, "spec": {"nudges": [_nudge(pair, mode) for pair in pairs]}})
        ref = ResourceRef("appstudio.redhat.com/v1beta2", "NudgeConfig", "nudge-config", namespace)
        edits.results.info(f"{ref}: created for {joined_names(map(_arrow, pairs))}", resource=ref, rule="R1")
    return new


def _change_nudge_config(
    item: Resource, edges: Sequence[tuple[str, str]], mode: str, most: int, edits: ValueEdits
) -> None:
    nudges = items(edits.value(item), "spec", "nudges")
    known = _annotated(edits, item, DERIVED_NUDGES)
    left = [one for one in nudges if _arrow(_pair(one)) not in known or _pair(one) in edges]
    declared = {_pair(one) for one in nudges if _arrow(_pair(one)) not in known}
    there = {_pair(one) for one in left}
    wanted = [*left, *(_nudge(pair, mode) for pair in edges if pair not in there)]
    derived = sorted(_arrow(pair) for pair in edges if pair not in declared)
    if (len(left), len(wanted), derived) == (len(nudges), len(nudges), known):
        return
    if len(wanted) > most:
        edits.report(item, "warning", "C10", f"is not changed: {_too_many(len(wanted), most)}")
        return
    edits.set(item, ("spec", "nudges"), wanted)
    _annotate(item, DERIVED_NUDGES, derived, edits)
    rule = "R1" if len(left) == len(nudges) else "R6"
    edits.report(item, "info", rule, f"spec.nudges is now {joined_names(map(_arrow, map(_pair, wanted)))}")


def _too_many(count: int, most: int) -> str:
    remedy = "distribute the Components over several namespaces"
    return f"it would have {count} nudges, but Konflux accepts {most}; {remedy}"


def _nudge(pair: tuple[str, str], mode: str) -> dict[str, Value]:
    return {"from": pair[0], "to": pair[1], "mode": mode}


def report_ignored_nudges(found: ComponentItems, results: Results) -> None:
    """C10: with a NudgeConfig, Konflux silently ignores build-nudges-ref."""
    obeyed: dict[str, set[tuple[str, str]]] = {}
    for item in found.others.get("NudgeConfig", ()):
        obeyed.setdefault(item.namespace, set()).update(map(_pair, items(item.value, "spec", "nudges")))
    for key, item in found.resources.items():
        names = [str(name) for name in items(item.value, "spec", _NUDGES)] if key.namespace in obeyed else []
        ignored = [name for name in names if (key.name, name) not in obeyed[key.namespace]]
        if ignored:
            nudged = joined_names(ignored)
            message = (
                f"{item.ref}: Konflux ignores that it nudges {nudged}, because there is a NudgeConfig without this edge"
            )
            remedy = "; add the edge to it, or run mode configure"
            results.warning(
                f"{message}{remedy}",
                resource=item.ref,
                file=item.file,
                file_index=item.index,
                rule="C10",
                tags={"component": str(key)},
            )


def _pair(nudge: Value) -> tuple[str, str]:
    return text(nudge, "from"), text(nudge, "to")


def _arrow(pair: tuple[str, str]) -> str:
    return ">".join(pair)


def joined_names(names: Iterable[str]) -> str:
    """Names in messages."""
    return ", ".join(names) or "empty"


def _names(edits: ValueEdits, item: Resource, field: str) -> list[str]:
    return [str(name) for name in items(edits.value(item), "spec", field)]


def _set_list(item: Resource, field: str, names: list[str], edits: ValueEdits) -> None:
    """Sets a list of spec if it differs, and removes an empty one."""
    now = at(edits.value(item), "spec", field)
    if names:
        if now != names:
            edits.set(item, ("spec", field), list(names))
    elif now is not None:
        edits.remove(item, ("spec", field))


def _annotated(edits: ValueEdits, item: Resource, name: str) -> list[str]:
    return listed(text(edits.value(item), *ANNOTATIONS, name))


def _annotate(item: Resource, name: str, names: list[str], edits: ValueEdits) -> None:
    """Sets an annotation to names separated by commas if it differs, and removes an empty one."""
    if not names:
        edits.remove(item, (*ANNOTATIONS, name))
    elif _annotated(edits, item, name) != names:
        edits.set(item, (*ANNOTATIONS, name), ",".join(names))
