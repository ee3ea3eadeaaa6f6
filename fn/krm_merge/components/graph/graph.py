"""The graph of Components: their dependencies and the findings about them (rules R1 to R6, C1, C9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Literal, TypeAlias

from krm_merge.components.graph.circles import circles
from krm_merge.components.graph.findings import component_of, finding
from krm_merge.components.konflux.model import Component, ComponentKey, Nudge
from krm_merge.krm.result import Result

Role: TypeAlias = Literal["dependency", "dependant", "both", "independent"]
"""Role of a Component: others depend on it, it depends on others, both, or neither (R2)."""


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A dependant and its dependency (I2)."""

    dependant: ComponentKey
    dependency: ComponentKey


@dataclass(frozen=True)
class Graph:
    """Components and the valid edges among them.

    `deleted` are the deleted Components; `removed` are names of deleted Components in any namespace, including those
    that are not observed.
    """

    components: Mapping[ComponentKey, Component]
    edges: frozenset[Edge] = field(default_factory=frozenset)
    deleted: Mapping[ComponentKey, Component] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    validated: frozenset[Edge] = frozenset()
    """The edges that pass a digest on only after the tests of its build (C10)."""

    @cached_property
    def _below(self) -> dict[ComponentKey, list[ComponentKey]]:
        below: dict[ComponentKey, list[ComponentKey]] = {}
        for edge in sorted(self.edges):
            below.setdefault(edge.dependency, []).append(edge.dependant)
        return below

    @cached_property
    def _above(self) -> dict[ComponentKey, list[ComponentKey]]:
        above: dict[ComponentKey, list[ComponentKey]] = {}
        for edge in sorted(self.edges):
            above.setdefault(edge.dependant, []).append(edge.dependency)
        return above

    def dependants(self, key: ComponentKey) -> Sequence[ComponentKey]:
        """The Components that depend on a Component, in order."""
        return self._below.get(key, ())

    def dependencies(self, key: ComponentKey) -> Sequence[ComponentKey]:
        """The Components that a Component depends on, in order."""
        return self._above.get(key, ())

    def deleted_names(self, namespace: str) -> set[str]:
        """The names of the deleted Components of a namespace (R5, C9)."""
        return {key.name for key in self.deleted if key.namespace == namespace} | self.removed

    def role(self, key: ComponentKey) -> Role:
        """The role of a Component."""
        if key in self._below:
            return "both" if key in self._above else "dependency"
        return "dependant" if key in self._above else "independent"

    def is_tested(self, key: ComponentKey) -> bool:
        """Whether builds of a Component are tested and released: those of a dependency never are (R14, I4)."""
        return key not in self._below

    def is_validated(self, key: ComponentKey) -> bool:
        """Whether builds of a Component are tested, for a release or because a validated edge waits for the tests."""
        return self.is_tested(key) or key in self._validated_dependencies

    @cached_property
    def _validated_dependencies(self) -> set[ComponentKey]:
        return {edge.dependency for edge in self.validated}

    @cached_property
    def circles(self) -> list[list[ComponentKey]]:
        """Circles of Components, each Component before its dependency; empty if there is no circle."""
        return sorted(circles(self._above))

    @cached_property
    def order(self) -> list[ComponentKey]:
        """All Components, each after its dependencies."""
        sorter = TopologicalSorter({key: self.dependencies(key) for key in sorted(self.components)})
        sorter.prepare()
        found: list[ComponentKey] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            found += ready
            sorter.done(*ready)
        return found


def build_graph(
    components: Iterable[Component], nudges: Iterable[Nudge] = (), removed: Iterable[str] = ()
) -> tuple[Graph, list[Result]]:
    """The graph of the valid edges, and findings about the others. With errors, nothing may be written.

    `removed` names deleted Components, besides those with a deletion timestamp (C9).
    """
    nudges = list(nudges)
    all_of, names = {component.key: component for component in components}, frozenset(removed)
    gone = {key: one for key, one in sorted(all_of.items()) if one.deleted or key.name in names}
    living = {key: component for key, component in all_of.items() if key not in gone}
    without_edges = Graph(living, deleted=gone, removed=names)
    findings: list[Result] = []
    edges: set[Edge] = set()
    for declarer, edge, name in _declared(living, nudges):
        if edge is None:
            findings.append(_unresolved(declarer, name, all_of, without_edges.deleted_names(declarer.namespace)))
            continue
        problem = _flaw(edge, living)
        if problem is not None:
            findings.append(problem)
        else:
            edges.add(edge)
    validated = {
        Edge(ComponentKey(one.namespace, one.target), ComponentKey(one.namespace, one.source))
        for one in nudges
        if one.validated
    }
    graph = replace(without_edges, edges=frozenset(edges), validated=frozenset(edges & validated))
    findings += map(_circle, graph.circles)
    # An edge that both its ends declare has a finding for each.
    different = {(component_of(one), one.rule, one.message): one for one in findings}
    return graph, [different[key] for key in sorted(different)]


Declared: TypeAlias = tuple[ComponentKey, Edge | None, str]
"""The declaring Component, the edge, and the name as written if no such Component exists."""


def _declared(living: Mapping[ComponentKey, Component], nudges: Iterable[Nudge]) -> Iterable[Declared]:
    # I1: dependsOn is declared by the dependant. C1: a nudge is declared by the dependency.
    for key, component in sorted(living.items()):
        for name in dict.fromkeys(component.depends_on):
            target = ComponentKey(key.namespace, name)
            yield key, Edge(key, target) if target in living else None, name
        for name in dict.fromkeys(component.nudges):
            target = ComponentKey(key.namespace, name)
            yield key, Edge(target, key) if target in living else None, name
    for nudge in (one for one in nudges if not one.derived):
        source, target = ComponentKey(nudge.namespace, nudge.source), ComponentKey(nudge.namespace, nudge.target)
        missing = next((key for key in (source, target) if key not in living), None)
        yield source, None if missing else Edge(target, source), missing.name if missing else ""


def _unresolved(declarer: ComponentKey, name: str, all_of: Mapping[ComponentKey, Component], gone: set[str]) -> Result:
    elsewhere = sorted(key for key in all_of if key.name == name and key.namespace != declarer.namespace)
    if name in gone:
        message = f"{declarer} names {name}, which is deleted; the edge is removed"
        return finding("info", "R5", message, declarer)
    if elsewhere:
        message = f"{declarer} names {name}, which is in namespace {elsewhere[0].namespace}; the edge is ignored"
        return finding("warning", "R4", message, declarer)
    return finding(
        "warning", "C9", f"{declarer} names {name}, but there is no such Component; the edge is ignored", declarer
    )


def _flaw(edge: Edge, living: Mapping[ComponentKey, Component]) -> Result | None:
    dependant, dependency = living[edge.dependant], living[edge.dependency]
    if edge.dependant == edge.dependency:
        return finding("error", "R3", f"{edge.dependant} depends on itself; remove the dependency", edge.dependant)
    if dependant.application != dependency.application:
        message = (
            f"{edge.dependant} depends on {edge.dependency} of application {dependency.application or 'none'}, itself "
            f"in {dependant.application or 'none'}; the edge is ignored"
        )
        return finding("warning", "R4", message, edge.dependant)
    return None


def _circle(circle: Sequence[ComponentKey]) -> Result:
    """The finding about a circle, with its whole path (R3)."""
    text = " -> ".join(map(str, [*circle, circle[0]]))
    return finding("error", "R3", f"these Components depend on each other in a circle: {text}", circle[0])
