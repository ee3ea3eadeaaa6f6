"""The contents of a drawing of Components, independent of its format (C6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from krm_merge.components.graph.graph import Edge, Graph
from krm_merge.components.konflux.model import ComponentKey


@dataclass(frozen=True, slots=True)
class Drawing:
    """The contents of a drawing. No order in it matters, and entries of unknown Components are ignored.

    `waiting` has short labels of the pull requests that wait for a Component or are planned in it, `groups` the
    Components that each group of pull requests is about. Edges never leave an Application (R4).
    """

    graph: Graph
    waiting: Mapping[ComponentKey, Sequence[str]] = field(default_factory=dict)
    groups: Mapping[str, Sequence[ComponentKey]] = field(default_factory=dict)

    def role(self, key: ComponentKey) -> str:
        """The role of a Component and whether its builds are tested, in words."""
        tested = "tested and released" if self.graph.is_tested(key) else "not tested"
        return f"{self.graph.role(key)}, {tested}"

    def groups_of(self, key: ComponentKey) -> list[str]:
        """The groups of pull requests that are about a Component."""
        return sorted((name for name, keys in self.groups.items() if key in keys), key=natural_order)

    def waiting_for(self, key: ComponentKey) -> list[str]:
        """The pull requests that wait for a Component."""
        return sorted(set(self.waiting.get(key, ())), key=natural_order)


@dataclass(frozen=True, slots=True, order=True)
class Cluster:
    """The Components of one Application: those that edges link, in order, and the others."""

    namespace: str
    application: str
    linked: tuple[ComponentKey, ...] = ()
    independent: tuple[ComponentKey, ...] = ()
    edges: tuple[Edge, ...] = ()

    @property
    def title(self) -> str:
        """Its heading."""
        name = f"Application {self.application}" if self.application else "no Application"
        return f"{name} in namespace {self.namespace}" if self.namespace else name


def clusters(graph: Graph) -> list[Cluster]:
    """The Applications of a graph, in order."""
    members: dict[tuple[str, str], list[ComponentKey]] = {}
    for key, component in sorted(graph.components.items()):
        members.setdefault((key.namespace, component.application), []).append(key)
    return [
        Cluster(
            namespace,
            application,
            tuple(key for key in keys if graph.role(key) != "independent"),
            tuple(key for key in keys if graph.role(key) == "independent"),
            tuple(sorted(Edge(key, other) for key in keys for other in graph.dependencies(key) if other in keys)),
        )
        for (namespace, application), keys in sorted(members.items())
    ]


def printable(text: str) -> str:
    """A text without line breaks and characters that documents must not hold."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _unfit(char) else char for char in text)


def _unfit(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or char in "\ufffe\uffff"


def focused(drawing: Drawing, name: str, depth: int) -> Drawing:
    """The Components within `depth` edges of those with a name, in both directions; 0 is without a limit.

    Raises:
        LookupError: No Component has the name.
    """
    graph = drawing.graph
    keys = {key for key in graph.components if name in (key.name, str(key))}
    if not keys:
        raise LookupError(f"there is no Component {name}; give the name of one of the {len(graph.components)}")
    kept = keys | _reached(keys, graph.dependencies, depth) | _reached(keys, graph.dependants, depth)
    part = replace(
        graph,
        components={key: one for key, one in graph.components.items() if key in kept},
        edges=frozenset(edge for edge in graph.edges if {edge.dependant, edge.dependency} <= kept),
    )
    return replace(drawing, graph=part)


def _reached(
    keys: set[ComponentKey], near: Callable[[ComponentKey], Sequence[ComponentKey]], depth: int
) -> set[ComponentKey]:
    found, level, steps = set[ComponentKey](), keys, 0
    while level and (not depth or steps < depth):
        level = {other for key in level for other in near(key)} - found - keys
        found |= level
        steps += 1
    return found


def natural_order(label: str) -> tuple[str, str]:
    """Sorts #3 before #17."""
    return re.sub(r"\d+", lambda number: number[0].zfill(12), label), label
