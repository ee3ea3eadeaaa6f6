"""Drawings of five components, and of names that forms would take for their own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krm_merge.components.drawing import Drawing
from krm_merge.components.graph import Graph, build_graph
from krm_merge.components.konflux.model import Component, ComponentKey


def graph_of(depends_on: Mapping[str, Sequence[str]], namespace: str = "team", application: str = "shop") -> Graph:
    components = [
        Component(ComponentKey(namespace, name), application, depends_on=tuple(names))
        for name, names in depends_on.items()
    ]
    return build_graph(components)[0]


def drawing_of(
    depends_on: Mapping[str, Sequence[str]],
    waiting: Mapping[str, Sequence[str]] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Drawing:
    return Drawing(
        graph_of(depends_on),
        {ComponentKey("team", name): labels for name, labels in (waiting or {}).items()},
        {group: [ComponentKey("team", name) for name in names] for group, names in (groups or {}).items()},
    )


def five() -> Drawing:
    return drawing_of(
        {"parent": [], "op1": ["parent"], "op2": ["parent"], "bundle": ["op1", "op2"], "docs": []},
        {
            "op1": ["#12 feature-1234 (draft, waits for parent#7)"],
            "bundle": ["#17 feature-1234 (draft, waits for op1#12)", "planned: hotfix"],
        },
        {"feature-1234": ["parent", "op1", "bundle"], "hotfix": ["bundle"]},
    )


def odd() -> Drawing:
    names = [
        *('a "quoted" one', "<&>", "&lt;b&gt;", "end", "[a](b)", "#35;", "back\\slash\\", "`x`*y*_z_"),
        # These look alike as identifiers; what no document may hold is replaced.
        *("a-b", "a.b", "a_b", "名", "🚀", "a\x00b\n\ud800\u2028", "w" * 200),
    ]
    circle = dict(zip(names, [[name] for name in [names[-1], *names[:-1]]], strict=True))
    return drawing_of(circle, {names[0]: [f"waits for {name}" for name in names]}, {name: [name] for name in names})
