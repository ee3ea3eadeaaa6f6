"""The graph of Components as text that others draw: Mermaid and DOT (C6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from krm_merge.components.graph.graph import Edge, Graph, Role
from krm_merge.components.konflux.model import Key

ROLES: Sequence[Role] = ("dependency", "both", "dependant", "independent")
"""From what all stands on to what stands alone."""
BOTH = "both: dependency and dependant"
THICK = "thick border: tested and released"


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn. The order of nothing in it matters, and what is said of unknown Components is left out.

    `waiting` has short labels of the pull requests that wait for a Component or are planned in it, `groups` the
    Components that each group of pull requests is about. Edges never leave an Application (R4).
    """

    graph: Graph
    waiting: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    groups: Mapping[str, Sequence[Key]] = field(default_factory=dict)

    def role(self, key: Key) -> str:
        """What a Component is to others and whether its builds are tested, in words."""
        tested = "tested and released" if self.graph.is_tested(key) else "not tested"
        return f"{self.graph.role(key)}, {tested}"

    def groups_of(self, key: Key) -> list[str]:
        """The groups of pull requests that are about a Component."""
        return sorted((name for name, keys in self.groups.items() if key in keys), key=_natural)

    def waiting_for(self, key: Key) -> list[str]:
        """The pull requests that wait for a Component."""
        return sorted(set(self.waiting.get(key, ())), key=_natural)


@dataclass(frozen=True, slots=True, order=True)
class Cluster:
    """The Components of one Application: those that edges link, in order, and the others."""

    namespace: str
    application: str
    linked: tuple[Key, ...] = ()
    independent: tuple[Key, ...] = ()
    edges: tuple[Edge, ...] = ()

    @property
    def title(self) -> str:
        """As it is headed."""
        name = f"Application {self.application}" if self.application else "no Application"
        return f"{name} in namespace {self.namespace}" if self.namespace else name


def clusters(graph: Graph) -> list[Cluster]:
    """The Applications of a graph, in order."""
    members: dict[tuple[str, str], list[Key]] = {}
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
    """A text without characters that no document may hold or that would break its lines."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _unfit(char) else char for char in text)


def _unfit(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or char in "\ufffe\uffff"


def _natural(label: str) -> tuple[str, str]:
    """Sorts #3 before #17."""
    return re.sub(r"\d+", lambda number: number[0].zfill(12), label), label


_MERMAID_SHAPES: Mapping[Role, tuple[str, str]] = {
    "dependency": ("[[", "]]"),
    "both": ("[", "]"),
    "dependant": ("(", ")"),
    "independent": ("(", ")"),
}
_COLOURS: Mapping[Role, tuple[str, str]] = {
    "dependency": ("#dbeafe", "#1d4ed8"),
    "both": ("#ede9fe", "#6d28d9"),
    "dependant": ("#dcfce7", "#15803d"),
    "independent": ("#f3f4f6", "#4b5563"),
}
"""Of each role what boxes are filled with and what they are drawn with."""
_LEGEND = (
    "an arrow leads from a dependency to its dependant",
    BOTH,
    THICK,
)


def mermaid(drawing: Drawing) -> str:
    """The drawing as a Mermaid flowchart."""
    graph = drawing.graph
    names = _identifiers(graph.components)
    lines = ["flowchart LR"]
    applications = clusters(graph)
    for number, cluster in enumerate(applications):
        lines += [f'  subgraph a{number}["{_mermaid_text(cluster.title)}"]', "    direction LR"]
        for key in (*cluster.linked, *cluster.independent):
            role = graph.role(key)
            left, right = _MERMAID_SHAPES[role]
            first, *rest = map(_mermaid_text, _lines(drawing, key))
            text = "<br/>".join((f"<b>{first}</b>", *rest))
            tested = "Tested" if graph.is_tested(key) else ""
            lines.append(f'    {names[key]}{left}"{text}"{right}:::{role}{tested}')
        lines += [f"    {' ~~~ '.join(names[key] for key in row)}" for row in _rows(cluster.independent)]
        lines.append("  end")
    lines += [f"  {names[edge.dependency]} --> {names[edge.dependant]}" for edge in _in_order(graph.edges)]
    lines.append(f'  legend["{"<br/>".join(map(_mermaid_text, _LEGEND))}"]:::legend')
    for role, is_tested in sorted({(graph.role(key), graph.is_tested(key)) for key in graph.components}):
        fill, line = _COLOURS[role]
        dashes = ",stroke-dasharray:5 3" if role == "independent" else ""
        name = f"{role}Tested" if is_tested else role
        width = 3 if is_tested else 1
        lines.append(f"  classDef {name} fill:{fill},stroke:{line},stroke-width:{width}px,color:#111827{dashes}")
    lines.append("  classDef legend fill:none,stroke:none,color:#6b7280")
    if applications:
        lines.append("  classDef application fill:none,stroke:#9ca3af")
        lines.append(f"  class {','.join(f'a{number}' for number in range(len(applications)))} application")
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """A text for a quoted label: what Mermaid, Markdown or HTML could take for markup stands as its number."""
    return re.sub(r"[^A-Za-z0-9 ,./:()\u0080-\U0010ffff-]", lambda char: f"#{ord(char[0])};", printable(text))


_DOT_SHAPES: Mapping[Role, str] = {
    "dependency": 'peripheries=2, style="filled"',
    "both": 'style="filled"',
    "dependant": 'style="filled,rounded"',
    "independent": 'style="filled,rounded,dashed"',
}


def dot(drawing: Drawing) -> str:
    """The drawing for Graphviz."""
    graph = drawing.graph
    names = _identifiers(graph.components)
    lines = [
        "digraph components {",
        "  rankdir=LR;",
        f"  label={_dot_text(_LEGEND)};",
        '  fontname="Helvetica";',
        '  node [shape=box, fontname="Helvetica", fontcolor="#111827", margin="0.15,0.08"];',
        '  edge [color="#4b5563"];',
    ]
    for number, cluster in enumerate(clusters(graph)):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_dot_text([cluster.title])};", '    color="#9ca3af";']
        for key in (*cluster.linked, *cluster.independent):
            role = graph.role(key)
            fill, line = _COLOURS[role]
            width = 3 if graph.is_tested(key) else 1
            looks = f'{_DOT_SHAPES[role]}, penwidth={width}, fillcolor="{fill}", color="{line}"'
            lines.append(f"    {names[key]} [label={_dot_text(_lines(drawing, key))}, {looks}];")
        lines += [f"    {' -> '.join(names[key] for key in row)} [style=invis];" for row in _rows(cluster.independent)]
        lines.append("  }")
    lines += [f"  {names[edge.dependency]} -> {names[edge.dependant]};" for edge in _in_order(graph.edges)]
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(lines: Iterable[str]) -> str:
    """Lines as a quoted string; Graphviz would read entities in it."""
    escaped = (re.sub(r'[\\"]', r"\\\g<0>", printable(line)).replace("&", "&amp;") for line in lines)
    return '"' + r"\n".join(escaped) + '"'


def _identifiers(keys: Iterable[Key]) -> dict[Key, str]:
    """What Components are called inside a text: like their names, of letters, digits and `_` alone, all different."""
    found: dict[Key, str] = {}
    taken: set[str] = set()
    for key in sorted(keys):
        name = stem = "c_" + re.sub(r"[^A-Za-z0-9]+", "_", key.name).strip("_")[:63].strip("_")
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}__{number}"
        taken.add(name)
        found[key] = name
    return found


def _lines(drawing: Drawing, key: Key) -> list[str]:
    groups = [f"group {name}" for name in drawing.groups_of(key)]
    waiting = [f"\N{BULLET} {label}" for label in drawing.waiting_for(key)]
    return [key.name, drawing.role(key), *groups, *waiting]


def _in_order(edges: Iterable[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: (edge.dependency, edge.dependant))


_ROW = 4


def _rows(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    """Rows of what nothing links: invisible links then set them side by side. A row of one needs none."""
    rows = (keys[start : start + _ROW] for start in range(0, len(keys), _ROW))
    return (row for row in rows if len(row) > 1)
