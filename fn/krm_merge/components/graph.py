"""The graph of Components and the groups of its pull requests (rules CR1 to CR11, C1, C2, C9, C10).

Dependencies, cycles, and the findings about them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from typing import Literal, TypeAlias

from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import Component, ComponentKey, Nudge
from krm_merge.krm import ResourceRef, Result, Severity
from krm_merge.startup import group_by_key

_API_VERSION = "appstudio.redhat.com/v1alpha1"


def finding(severity: Severity, rule: str, message: str, component: ComponentKey, field: str = "") -> Result:
    """A result about a Component: the one that declares the cause. `field` is the path of a field there, '' for none.

    Its reference has Konflux's usual apiVersion; a caller that has the item replaces it by the item's.
    """
    reference = ResourceRef(_API_VERSION, "Component", component.name, component.namespace)
    return Result(severity, message, reference, path=field or None, rule=rule, tags={"component": str(component)})


def component_of(result: Result) -> ComponentKey:
    """The Component that a finding is about."""
    assert result.resource is not None
    return ComponentKey(result.resource.namespace, result.resource.name)


def circles(above: Mapping[ComponentKey, Sequence[ComponentKey]]) -> Iterator[list[ComponentKey]]:
    """A circle for each back edge of a depth-first walk, starting at its least Component (CR3).

    `above` are the Components that each one depends on. Without these edges the graph has no circle.
    """
    finished = set[ComponentKey]()
    for root in sorted(above):
        if root in finished:
            continue
        path, position, open_edges = [root], {root: 0}, [iter(above[root])]
        while path:
            for key in open_edges[-1]:
                if key in position:
                    circle = path[position[key] :]
                    start = circle.index(min(circle))
                    yield [*circle[start:], *circle[:start]]
                elif key not in finished:
                    position[key] = len(path)
                    path.append(key)
                    open_edges.append(iter(above.get(key, ())))
                    break
            else:
                open_edges.pop()
                done = path.pop()
                del position[done]
                finished.add(done)


_REPOSITORY = "spec.source.git.url"
_IMAGE = "spec.containerImage"


def incomplete_components(graph: Graph, history: History) -> Iterator[Result]:
    """Components of the graph without a repository, and dependencies without the name of an image.

    The graph must have no cycle.
    """
    for key in graph.order:
        if not graph.components[key].repository and graph.role(key) != "independent":
            message = f"{key} has no repository, so it gets and triggers no pull requests; set {_REPOSITORY}"
            yield finding("warning", "CR21", message, key, _REPOSITORY)
        if graph.dependants(key) and not history.image_names(key):
            message = f"{key} has no image, nor do its builds, so its dependants get no digests; set {_IMAGE}"
            yield finding("warning", "C5", message, key, _IMAGE)


_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class BranchNames:
    """How branches name their group.

    `separators` end the name of the group. Branches that begin with one of `ignored_prefixes`, such as those of
    other programs, are a group each (I6). `dependants` are the names after `@` in the branches that we write.
    """

    separators: tuple[str, ...] = ("/",)
    ignored_prefixes: tuple[str, ...] = ("renovate", "dependabot")
    dependants: Collection[str] = ()

    def group(self, branch: str) -> str:
        """The group of a branch; without a separator it is the whole name (CR8)."""
        # A fork's branch comes with its owner; git allows no colon in a name.
        owner, colon, plain = branch.partition(":")
        if colon:
            # As in Konflux, the main branches of forks are not one group.
            branch = f"{plain}-{owner}" if plain in ("main", "master") else plain
        first = branch.partition("/")[0]
        if first in self.ignored_prefixes and first != branch:
            head, _, rest = branch.replace("@", "/").rpartition("/")
            return branch[: len(head)] if rest in self.dependants else branch
        for separator in self.separators:
            head, sign, _ = branch.partition(separator)
            if sign and head:
                branch = head
        # C2: `@` may be part of a name; it is a separator only in the branches that we write.
        while (parts := branch.rpartition("@"))[0] and parts[2] in self.dependants:
            branch = parts[0]
        return branch


def branch_names(group: str, suffix: str) -> tuple[str, str]:
    """The two branch names for a group's digests to a dependant: the preferred name, and the fallback."""
    return f"{group}/{suffix}", f"{group}@{suffix}"


def branch_for(group: str, suffix: str, existing: Collection[str], separators: Collection[str] = ("/",)) -> str:
    """The branch to write, with the group as its prefix (I8): git cannot have both `x/y` and `x` (I5).

    `existing` are the branches of the repository. If `/` is not a separator, it is not written: the group could not be
    read from the branch again.
    """
    preferred, other = branch_names(group, suffix)
    return preferred if "/" in separators and is_possible(preferred, existing) else other


def is_possible(branch: str, existing: Collection[str]) -> bool:
    """Whether git can hold a branch beside others."""
    parents = branch.split("/")
    above = {"/".join(parents[:at]) for at in range(1, len(parents))}
    return above.isdisjoint(existing) and not any(name.startswith(f"{branch}/") for name in existing)


def group_label(group: str) -> str:
    """The value of the label pr-group-sha. Source: integration-service, tekton/build_pipeline.go."""
    return sha256(group.encode()).hexdigest()[:62]


def resource_name(*parts: str) -> str:
    """A unique name for a resource, made of several parts.

    Dots separate the parts, and only the last part may contain dots; a part that is not a valid name gets a hash.
    """
    filled = [part for part in parts if part]
    text = ".".join(filled)
    if _NAME.fullmatch(text) and len(text) <= _LONGEST_NAME and not any("." in part for part in filled[:-1]):
        return text
    mark = sha256("\0".join(filled).encode()).hexdigest()[:8]
    readable = _NOT_IN_NAMES.sub("-", text.lower()).strip("-")[: _LONGEST_NAME - 9].rstrip("-")
    return f"{readable}-{mark}"


Role: TypeAlias = Literal["dependency", "dependant", "both", "independent"]
"""Role of a Component: others depend on it, it depends on others, both, or neither (CR2)."""


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

    @cached_property
    def _below(self) -> dict[ComponentKey, list[ComponentKey]]:
        return group_by_key((edge.dependency, edge.dependant) for edge in sorted(self.edges))

    @cached_property
    def _above(self) -> dict[ComponentKey, list[ComponentKey]]:
        return group_by_key((edge.dependant, edge.dependency) for edge in sorted(self.edges))

    @cached_property
    def applications(self) -> dict[tuple[str, str], list[ComponentKey]]:
        """The Components of each application, by its namespace and name, all in order."""
        components = sorted(self.components.items())
        return group_by_key(((key.namespace, component.application), key) for key, component in components)

    def dependants(self, key: ComponentKey) -> Sequence[ComponentKey]:
        """The Components that depend on a Component, in order."""
        return self._below.get(key, ())

    def dependencies(self, key: ComponentKey) -> Sequence[ComponentKey]:
        """The Components that a Component depends on, in order."""
        return self._above.get(key, ())

    def deleted_names(self, namespace: str) -> set[str]:
        """The names of the deleted Components of a namespace (CR5, C9)."""
        return {key.name for key in self.deleted if key.namespace == namespace} | self.removed

    def role(self, key: ComponentKey) -> Role:
        """The role of a Component."""
        if key in self._below:
            return "both" if key in self._above else "dependency"
        return "dependant" if key in self._above else "independent"

    def is_tested(self, key: ComponentKey) -> bool:
        """Whether builds of a Component are tested and released: those of a dependency never are (CR14, I4)."""
        return key not in self._below

    @cached_property
    def circles(self) -> list[list[ComponentKey]]:
        """Circles of Components, each Component before its dependency; empty if there is no circle."""
        return sorted(circles(self._above))

    @cached_property
    def levels(self) -> list[list[ComponentKey]]:
        """The Components by the length of their longest chain of dependencies; what depends on a circle is left out."""
        sorter = TopologicalSorter({key: self.dependencies(key) for key in sorted(self.components)})
        with suppress(CycleError):
            sorter.prepare()
        levels: list[list[ComponentKey]] = []
        while sorter.is_active() and (ready := sorted(sorter.get_ready())):
            levels.append(ready)
            sorter.done(*ready)
        return levels

    @cached_property
    def order(self) -> list[ComponentKey]:
        """All Components, each after its dependencies. The graph must have no circle."""
        return [key for level in self.levels for key in level]


def build_graph(
    components: Iterable[Component], nudges: Iterable[Nudge] = (), removed: Iterable[str] = ()
) -> tuple[Graph, list[Result]]:
    """The graph of the valid edges, and findings about the others. With errors, nothing may be written.

    `removed` names deleted Components, besides those with a deletion timestamp (C9).
    """
    all_of, names = {component.key: component for component in components}, frozenset(removed)
    deleted = {key: component for key, component in sorted(all_of.items()) if component.deleted or key.name in names}
    living = {key: component for key, component in all_of.items() if key not in deleted}
    without_edges = Graph(living, deleted=deleted, removed=names)
    findings: list[Result] = []
    edges: set[Edge] = set()
    for declarer, edge, name in _collect_declarations(living, nudges):
        if edge is None:
            findings.append(_explain(declarer, name, all_of, without_edges.deleted_names(declarer.namespace)))
            continue
        problem = _flaw(edge, living)
        if problem is not None:
            findings.append(problem)
        else:
            edges.add(edge)
    graph = replace(without_edges, edges=frozenset(edges))
    for circle in graph.circles:
        message = f"these Components depend on each other in a cycle: {' -> '.join(map(str, [*circle, circle[0]]))}"
        findings.append(finding("error", "CR3", message, circle[0]))
    # An edge that both its ends declare has a finding for each.
    different = {(component_of(result), result.rule, result.message): result for result in findings}
    return graph, [different[key] for key in sorted(different)]


Declaration: TypeAlias = tuple[ComponentKey, Edge | None, str]
"""The declaring Component, the edge, and the name as written if no such Component exists."""


def _collect_declarations(living: Mapping[ComponentKey, Component], nudges: Iterable[Nudge]) -> Iterable[Declaration]:
    # I1: dependsOn is declared by the dependant. C1: a nudge is declared by the dependency.
    for key, component in sorted(living.items()):
        for name in dict.fromkeys(component.depends_on):
            target = ComponentKey(key.namespace, name)
            yield key, Edge(key, target) if target in living else None, name
        for name in dict.fromkeys(component.nudges):
            target = ComponentKey(key.namespace, name)
            yield key, Edge(target, key) if target in living else None, name
    for nudge in nudges:
        source, target = ComponentKey(nudge.namespace, nudge.source), ComponentKey(nudge.namespace, nudge.target)
        missing = next((key for key in (source, target) if key not in living), None)
        yield source, None if missing else Edge(target, source), missing.name if missing else ""


def _explain(declarer: ComponentKey, name: str, all_of: Mapping[ComponentKey, Component], deleted: set[str]) -> Result:
    elsewhere = sorted(key for key in all_of if key.name == name and key.namespace != declarer.namespace)
    if name in deleted:
        message = f"{declarer} names {name}, which is deleted; the edge is removed"
        return finding("info", "CR5", message, declarer)
    if elsewhere:
        message = f"{declarer} names {name}, which is in namespace {elsewhere[0].namespace}; the edge is ignored"
        return finding("warning", "CR4", message, declarer)
    return finding(
        "warning", "C9", f"{declarer} names {name}, but there is no such Component; the edge is ignored", declarer
    )


def _flaw(edge: Edge, living: Mapping[ComponentKey, Component]) -> Result | None:
    dependant, dependency = living[edge.dependant], living[edge.dependency]
    if edge.dependant == edge.dependency:
        return finding("error", "CR3", f"{edge.dependant} depends on itself; remove the dependency", edge.dependant)
    if dependant.application != dependency.application:
        message = (
            f"{edge.dependant} depends on {edge.dependency} of application {dependency.application or 'none'}, itself "
            f"in {dependant.application or 'none'}; the edge is ignored"
        )
        return finding("warning", "CR4", message, edge.dependant)
    return None
