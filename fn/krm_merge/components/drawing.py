"""Draws the graph of Components, as text for Mermaid and Graphviz (C6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from krm_merge.components.graph import Edge, Graph, Role
from krm_merge.components.konflux.model import ComponentKey


@dataclass(frozen=True, slots=True)
class Drawing:
    """The contents of a drawing. No order in it matters, and entries of unknown Components are ignored.

    `waiting` has short labels of the pull requests that wait for a Component or are planned in it, `groups` the
    Components that each group of pull requests is about. Edges never leave an Application (CR4).
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


@dataclass(frozen=True, slots=True)
class Cluster:
    """The Components of one Application under its heading: those that edges link, in order, then the others."""

    title: str
    components: list[ComponentKey]


def clusters(graph: Graph) -> Iterator[Cluster]:
    """The Applications of a graph, in order."""
    for (namespace, application), keys in sorted(graph.applications.items()):
        name = f"Application {application}" if application else "no Application"
        title = f"{name} in namespace {namespace}" if namespace else name
        yield Cluster(title, sorted(keys, key=lambda key: graph.role(key) == "independent"))


def printable(text: str) -> str:
    """A text without line breaks and characters that documents must not hold."""
    unfit = {char for char in text if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}} | {"\ufffe", "\uffff"}
    return "".join("\N{REPLACEMENT CHARACTER}" if char in unfit else char for char in text)


def natural_order(label: str) -> tuple[str, str]:
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
"""Fill and line colour of boxes, by role."""
_LEGEND = (
    "an arrow leads from a dependency to its dependant",
    "both: dependency and dependant",
    "thick border: tested and released",
)


def mermaid(drawing: Drawing) -> str:
    """The drawing as a Mermaid flowchart."""
    graph = drawing.graph
    names = _identifiers(graph.components)
    lines = ["flowchart LR"]
    applications = list(clusters(graph))
    for number, cluster in enumerate(applications):
        lines += [f'  subgraph a{number}["{_mermaid_text(cluster.title)}"]', "    direction LR"]
        for key in cluster.components:
            role = graph.role(key)
            left, right = _MERMAID_SHAPES[role]
            first, *rest = map(_mermaid_text, _lines(drawing, key))
            text = "<br/>".join((f"<b>{first}</b>", *rest))
            tested = "Tested" if graph.is_tested(key) else ""
            lines.append(f'    {names[key]}{left}"{text}"{right}:::{role}{tested}')
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
    """A text for a quoted label: markup of Mermaid, Markdown and HTML is escaped as character numbers."""
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
        for key in cluster.components:
            role = graph.role(key)
            fill, line = _COLOURS[role]
            width = 3 if graph.is_tested(key) else 1
            style = f'{_DOT_SHAPES[role]}, penwidth={width}, fillcolor="{fill}", color="{line}"'
            lines.append(f"    {names[key]} [label={_dot_text(_lines(drawing, key))}, {style}];")
        lines.append("  }")
    lines += [f"  {names[edge.dependency]} -> {names[edge.dependant]};" for edge in _in_order(graph.edges)]
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(lines: Iterable[str]) -> str:
    """Lines as a quoted string, with `&` escaped: Graphviz decodes entities."""
    escaped = (re.sub(r'[\\"]', r"\\\g<0>", printable(line)).replace("&", "&amp;") for line in lines)
    return '"' + r"\n".join(escaped) + '"'


def _identifiers(keys: Iterable[ComponentKey]) -> dict[ComponentKey, str]:
    """Unique identifiers of Components, made from their names: letters, digits and `_` only."""
    identifiers: dict[ComponentKey, str] = {}
    used: set[str] = set()
    for key in sorted(keys):
        name = stem = "c_" + re.sub(r"[^A-Za-z0-9]+", "_", key.name).strip("_")[:63].strip("_")
        number = 1
        while name in used:
            number += 1
            name = f"{stem}__{number}"
        used.add(name)
        identifiers[key] = name
    return identifiers


def _lines(drawing: Drawing, key: ComponentKey) -> list[str]:
    groups = [f"group {name}" for name in drawing.groups_of(key)]
    waiting = [f"\N{BULLET} {label}" for label in drawing.waiting_for(key)]
    return [key.name, drawing.role(key), *groups, *waiting]


def _in_order(edges: Iterable[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: (edge.dependency, edge.dependant))
