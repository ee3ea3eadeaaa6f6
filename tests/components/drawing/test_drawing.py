"""Drawings: goldens, and what particular graphs show."""

from collections.abc import Callable, Mapping

import pytest

from checkout import ROOT
from components.drawing.drawings import drawing_of, five, graph_of, odd
from krm_merge.components.drawing import Drawing, clusters, dot, mermaid
from krm_merge.components.graph import Graph
from krm_merge.components.konflux.model import ComponentKey

GOLDENS = ROOT / "testdata" / "components" / "drawing"
FORMS: Mapping[str, Callable[[Drawing], str]] = {"mmd": mermaid, "dot": dot}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "drawing"), [("5", five()), ("odd", odd())], ids=["5", "odd"])
def test_golden(name: str, drawing: Drawing, form: str) -> None:
    """C6: roles, groups and planned pull requests; names are escaped, and none is taken for another one."""
    assert FORMS[form](drawing) == (GOLDENS / f"{name}.{form}").read_text(encoding="utf-8")


def test_applications_are_apart() -> None:
    graphs = [
        graph_of({"a": [], "b": ["a"]}),
        graph_of({"a": [], "c": ["a"]}, "other"),
        graph_of({"x": [], "y": ["x"]}, application="second"),
        graph_of({"z": []}, "", ""),
    ]
    components = {key: component for graph in graphs for key, component in graph.components.items()}
    drawing = Drawing(Graph(components, frozenset(edge for graph in graphs for edge in graph.edges)))
    titles = [cluster.title for cluster in clusters(drawing.graph)]
    assert titles == [
        "no Application",
        "Application shop in namespace other",
        "Application second in namespace team",
        "Application shop in namespace team",
    ]
    assert mermaid(drawing).count("  subgraph ") == dot(drawing).count("  subgraph ") == 4


def test_roles_are_told_in_words() -> None:
    drawing = drawing_of({"a": [], "b": ["a"], "c": ["b"], "d": []})
    roles = [drawing.role(ComponentKey("team", name)) for name in "abcd"]
    assert roles == [
        "dependency, not tested",
        "both, not tested",
        "dependant, tested and released",
        "independent, tested and released",
    ]
    for form in FORMS.values():
        assert all(role in form(drawing) for role in roles)
