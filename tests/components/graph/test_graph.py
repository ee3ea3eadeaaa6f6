"""The graph of Components: which edges count, what is wrong with the others, and what follows for roles and order."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.observations import component, run
from krm_merge.components.graph import Edge, Role, build_graph
from krm_merge.components.konflux.model import Component, ComponentKey, Nudge

Edges = set[tuple[str, str]]


def edges_of(components: list[Component], nudges: list[Nudge] | None = None, removed: list[str] | None = None) -> Edges:
    graph, _ = build_graph(components, nudges or (), removed or ())
    return {(str(edge.dependant), str(edge.dependency)) for edge in graph.edges}


ONE = {("b", "a")}

# What is declared, and what comes of it: edges, and findings as severity, rule and a part of the message.
DECLARED: list[tuple[str, list[Component], Edges, list[tuple[str, str, str]]]] = [
    ("CR1 absent is none", [component("a"), component("b")], set(), []),
    ("CR1 duplicates collapse", [component("a"), component("b", "a", "a")], ONE, []),
    ("C1 the other direction", [component("a", nudges=["b"]), component("b")], ONE, []),
    ("C1 both directions", [component("a", nudges=["b", "b"]), component("b", "a")], ONE, []),
    ("CR3 self", [component("a", "a")], set(), [("error", "CR3", "a depends on itself")]),
    ("CR3 self, nudging", [component("a", nudges=["a"])], set(), [("error", "CR3", "a depends on itself")]),
    ("CR3 two", [component("a", "b"), component("b", "a")], {*ONE, ("a", "b")}, [("error", "CR3", "a -> b -> a")]),
    (
        "CR3 two, one of each direction",
        [component("a", "b", nudges=["b"]), component("b")],
        {*ONE, ("a", "b")},
        [("error", "CR3", "a -> b -> a")],
    ),
    (
        "CR3 three",
        [component("a", "b"), component("b", "c"), component("c", "a")],
        {("a", "b"), ("b", "c"), ("c", "a")},
        [("error", "CR3", ": a -> b -> c -> a")],
    ),
    (
        "CR3 two circles",
        [component("a", "b"), component("b", "a"), component("c", "d"), component("d", "c"), component("e", "a")],
        {("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("e", "a")},
        [("error", "CR3", "a -> b -> a"), ("error", "CR3", "c -> d -> c")],
    ),
    (
        "CR4 another application",
        [component("a", app="other"), component("b", "a")],
        set(),
        [("warning", "CR4", "b depends on a of application other, itself in app; the edge is ignored")],
    ),
    (
        "CR4 another application is no circle",
        [component("a", "b", app="other"), component("b", "a")],
        set(),
        [("warning", "CR4", "a depends on b"), ("warning", "CR4", "b depends on a")],
    ),
    (
        "CR4 another namespace",
        [component("n/a"), component("m/b", "a")],
        set(),
        [("warning", "CR4", "m/b names a, which is in namespace n; the edge is ignored")],
    ),
    (
        "CR4 the same name in the own namespace counts",
        [component("n/a"), component("m/a"), component("m/b", "a")],
        {("m/b", "m/a")},
        [],
    ),
    ("C9 unknown", [component("b", "ghost")], set(), [("warning", "C9", "there is no such Component")]),
    (
        "C9 deleted",
        [component("a", deleted=True), component("b", "a")],
        set(),
        [("info", "CR5", "b names a, which is deleted; the edge is removed")],
    ),
    ("CR5 a deleted one declares nothing", [component("a"), component("b", "a", "b", deleted=True)], set(), []),
    (
        "CR5 a deletion breaks a circle",
        [component("a", "b"), component("b", "a", deleted=True)],
        set(),
        [("info", "CR5", "a names b, which is deleted")],
    ),
]


@pytest.mark.parametrize(
    ("components", "edges", "messages"), [row[1:] for row in DECLARED], ids=[row[0] for row in DECLARED]
)
def test_declared(components: list[Component], edges: Edges, messages: list[tuple[str, str, str]]) -> None:
    """CR1, CR3, CR4, CR5, S10, C1, C9: in whichever order the Components come."""
    for ordered_components in (components, components[::-1]):
        graph, findings = build_graph(ordered_components)
        assert {(str(edge.dependant), str(edge.dependency)) for edge in graph.edges} == edges
        assert [(finding.severity, finding.rule) for finding in findings] == [
            (severity, rule) for severity, rule, _ in messages
        ]
        for finding, (_, _, part) in zip(findings, messages, strict=True):
            assert part in finding.message


def test_nudge_config() -> None:
    """C1: from nudges to, which so depends on it; what it names is checked like the rest."""
    components = [component("n/a"), component("n/b"), component("n/c", app="other")]
    pairs = [("a", "b"), ("b", "ghost"), ("ghost", "a"), ("a", "c")]
    nudges = [Nudge("n", source, target) for source, target in pairs]
    graph, findings = build_graph(components, nudges)
    assert graph.edges == {Edge(ComponentKey("n", "b"), ComponentKey("n", "a"))}
    assert sorted(finding.rule for finding in findings) == ["C9", "C9", "CR4"]
    assert edges_of(components, [Nudge("other", "a", "b")]) == set()
    _, (circle,) = build_graph(components[:2], [Nudge("n", "a", "b"), Nudge("n", "b", "a")])
    assert "n/a -> n/b -> n/a" in circle.message


def test_removed_is_deleted() -> None:
    """C9: what the configuration lists is deleted, also where no item tells of it."""
    components = [component("a"), component("b", "a", "ghost"), component("c", "b")]
    assert edges_of(components, removed=["a", "ghost"]) == {("c", "b")}
    graph, findings = build_graph(components, removed=["a", "ghost"])
    assert [finding.rule for finding in findings] == ["CR5", "CR5"]
    assert list(graph.deleted) == [ComponentKey("", "a")]
    assert ComponentKey("", "a") not in graph.components


def test_gone() -> None:
    """CR5, C9: what is deleted is so in its namespace; what the configuration lists, in all of them, item or not."""
    graph, _ = build_graph([component("n/a", deleted=True), component("m/a"), component("n/b")], removed=["b", "c"])
    assert graph.deleted_names("n") == {"a", "b", "c"}
    assert graph.deleted_names("m") == {"b", "c"}
    assert set(graph.components) == {ComponentKey("m", "a")}


def test_roles() -> None:
    """CR2, CR6, I4: who is tested follows from the role; without the edges all are independent again."""
    declared = {"base": [], "op": ["base"], "bundle": ["op"], "alone": [], "broken": ["ghost"]}
    roles: dict[str, Role] = {
        "base": "dependency",
        "op": "both",
        "bundle": "dependant",
        "alone": "independent",
        "broken": "independent",
    }
    graph, _ = build_graph([component(name, *targets) for name, targets in declared.items()])
    assert {member.name: graph.role(member) for member in graph.components} == roles
    assert [member.name for member in graph.components if not graph.is_tested(member)] == ["base", "op"]
    assert graph.dependants(ComponentKey("", "base")) == [ComponentKey("", "op")]
    assert graph.dependencies(ComponentKey("", "bundle")) == [ComponentKey("", "op")]
    without, _ = build_graph([component(name) for name in declared])
    assert {without.role(member) for member in without.components} == {"independent"}


NAMES = ["a", "b", "c", "d", "e", "f"]
graphs = st.lists(
    st.builds(
        lambda name, targets, nudges, app: component(name, *targets, nudges=nudges, app=app),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from([*NAMES, "ghost"]), max_size=3),
        st.lists(st.sampled_from(NAMES), max_size=1),
        st.sampled_from(["app", "app", "app", "other"]),
    ),
    unique_by=lambda build: build.key.name,
    max_size=6,
)


def valid_edges(components: list[Component]) -> Edges:
    by_name = {component.key.name: component for component in components}
    declared = {(component.key.name, name) for component in components for name in component.depends_on}
    declared |= {(name, component.key.name) for component in components for name in component.nudges}
    existing = {(a, b) for a, b in declared if a in by_name and b in by_name}
    return {(a, b) for a, b in existing if by_name[a].application == by_name[b].application}


@given(graphs, st.randoms(use_true_random=False))
def test_errors_are_circles(components: list[Component], random: Random) -> None:
    """CR3: there is an error exactly if the valid edges cannot be sorted; the order of Components does not matter."""
    edges = valid_edges(components)
    below: dict[str, set[str]] = {}
    for dependant, dependency in edges:
        below.setdefault(dependant, set()).add(dependency)
    try:
        TopologicalSorter(below).prepare()
        accepted = True
    except CycleError:
        accepted = False
    graph, findings = build_graph(components)
    assert accepted == (not [finding for finding in findings if finding.severity == "error"])
    assert {(a, b) for a, b in edges if a != b} == edges_of(components)
    shuffled = list(components)
    random.shuffle(shuffled)
    again, same = build_graph(shuffled)
    assert (again.components, again.edges, same) == (graph.components, graph.edges, findings)
    for finding in findings:
        if "circle: " in finding.message:
            path = finding.message.partition("circle: ")[2].split(" -> ")
            assert path[0] == path[-1] == min(path)
            assert set(pairwise(path)) <= edges
    if accepted:
        assert again.order == graph.order
        place = {member: at for at, member in enumerate(graph.order)}
        assert set(place) == set(graph.components)
        assert all(place[edge.dependency] < place[edge.dependant] for edge in graph.edges)


def item(name: str, *depends_on: str, namespace: str = "team", app: str = "app") -> str:
    lines = (
        [f"  dependsOn: # of {name}", *(f"  -   {dependency} # odd" for dependency in depends_on)] if depends_on else []
    )
    about = [f"  containerImage: quay.io/acme/{name}", f"  source: {{url: https://github.com/acme/{name}}}"]
    spec = "\n".join([f"  application: {app}", *about, *lines])
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: appstudio.redhat.com/v1alpha1\nkind: Component\n{metadata}\nspec:\n{spec}\n"


CIRCLES = [
    (["a"], "depends on itself"),
    (["b", "a"], "team/a -> team/b -> team/a"),
    (["b", "c", "a"], "team/a -> team/b -> team/c -> team/a"),
]


@pytest.mark.parametrize("mode", ["validate", "configure", "plan", "simulate"])
@pytest.mark.parametrize(("targets", "path"), CIRCLES)
def test_circles_write_nothing(mode: str, targets: list[str], path: str) -> None:
    """CR3, S10: exit 1, the whole path in the message, every byte as it came."""
    items = [item(name, target) for name, target in zip("abc", targets, strict=False)]
    answer = run(items, mode)
    assert answer.exit_code == 1
    assert answer.items == items
    (message,) = answer.messages("CR3")
    assert path in message


def test_the_rest_is_only_told() -> None:
    """CR4, CR5, C9, S10: validate writes nothing and tells where; these are no errors."""
    items = [
        item("a", "gone", "ghost", "far"),
        item("b", "a", "a"),
        item("c", "a", app="other"),
        item("far", namespace="m"),
    ]
    answer = run(items, "validate", "{removed: [gone]}")
    assert answer.exit_code == 0
    assert answer.items == items
    assert answer.rules("error") == []
    assert answer.rules("warning") == ["C9", "CR4", "CR4"]
    assert answer.rules("info") == ["CR5"]
    assert {result["resourceRef"]["name"] for result in answer.results} == {"a", "c"}  # type: ignore[index]
