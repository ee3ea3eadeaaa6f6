"""Draws the graph on one HTML page with pan, zoom, search and focus (C6).

Cytoscape.js draws it, dagre lays it out; both are vendored and part of the page, which loads nothing.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from krm_merge.components.draw.drawing import Drawing, clusters, natural_order, printable
from krm_merge.components.graph.graph import Graph
from krm_merge.components.konflux.model import ComponentKey

_HERE = Path(__file__).parent


def page(drawing: Drawing) -> str:
    """The page as text. The same drawing gives the same page."""
    data = json.dumps(_data(drawing), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    pieces = {
        "/*CSS*/": _read("assets/page.css"),
        "<!--SUMMARY-->": _summary(drawing),
        # The data must not close its script element.
        "/*DATA*/": data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
        "/*CYTOSCAPE*/": _read("vendor/cytoscape.min.js"),
        "/*DAGRE*/": _read("vendor/dagre.min.js"),
        "/*SCRIPT*/": _read("assets/page.js"),
    }
    text = _read("assets/page.html")
    for mark, piece in pieces.items():
        before, found, after = text.partition(mark)
        assert found
        text = f"{before}{piece}{after}"
    return text


def _summary(drawing: Drawing) -> str:
    graph = drawing.graph
    waiting = len({label for key in graph.components for label in drawing.waiting_for(key)})
    return f"{len(graph.components)} components, {len(graph.edges)} dependencies, {waiting} planned pull requests"


def _data(drawing: Drawing) -> dict[str, Any]:
    graph, applications, components = drawing.graph, list[dict[str, Any]](), list[dict[str, Any]]()
    groups: dict[ComponentKey, list[str]] = {}
    for name in sorted(drawing.groups, key=natural_order):
        for key in set(drawing.groups[name]) & graph.components.keys():
            groups.setdefault(key, []).append(printable(name))
    numbers = {key: f"c{number}" for number, key in enumerate(sorted(graph.components))}
    ranks = _ranks(graph)
    for number, cluster in enumerate(clusters(graph)):
        applications.append({"id": f"a{number}", "title": printable(cluster.title)})
        for key in (*cluster.linked, *cluster.independent):
            waiting = [printable(label) for label in drawing.waiting_for(key)]
            described, name = drawing.role(key), printable(key.name)
            words = [name, cluster.title, described, *groups.get(key, ()), *waiting]
            components.append(
                {
                    "id": numbers[key],
                    "name": name,
                    "application": f"a{number}",
                    "role": graph.role(key),
                    "tested": graph.is_tested(key),
                    "described": f"{described}; {printable(cluster.title)}",
                    "groups": groups.get(key, []),
                    "waiting": waiting,
                    "rank": ranks.get(key, 0),
                    "text": " ".join(words).lower(),
                }
            )
    circular = {pair for circle in graph.circles for pair in pairwise([*circle, circle[0]])}
    edges = sorted((edge.dependency, edge.dependant) for edge in graph.edges)
    return {
        "applications": applications,
        "components": components,
        "edges": [[numbers[a], numbers[b], (b, a) in circular] for a, b in edges],
        "groups": sorted({name for names in groups.values() for name in names}, key=natural_order),
        "problems": [
            printable(f"These depend on each other in a circle: {' -> '.join(map(str, [*circle, circle[0]]))}")
            for circle in graph.circles
        ],
    }


def _ranks(graph: Graph) -> dict[ComponentKey, int]:
    """Length of the longest chain of dependencies of each Component; those that depend on a circle are left out."""
    ranks: dict[ComponentKey, int] = {}
    missing = {key: len(graph.dependencies(key)) for key in graph.components}
    level, rank = [key for key, count in missing.items() if not count], 0
    while level:
        below: list[ComponentKey] = []
        for key in level:
            ranks[key] = rank
            for dependant in graph.dependants(key):
                missing[dependant] -= 1
                if not missing[dependant]:
                    below.append(dependant)
        level, rank = below, rank + 1
    return ranks


def _read(path: str) -> str:
    return (_HERE / path).read_text(encoding="utf-8")
