"""Drawings: goldens, and what holds for every graph: nothing is missing, and nothing is there twice."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkout import ROOT
from components.drawing.drawings import drawing_of, five, graph_of, thirty
from effort import scaled
from krm_merge.components.drawing import Drawing, beyond_mermaid, clusters, dot, mermaid
from krm_merge.components.graph import Edge, Graph
from krm_merge.components.konflux.model import Component, ComponentKey

GOLDENS = ROOT / "testdata" / "components" / "drawing"
FORMS: Mapping[str, Callable[[Drawing], str]] = {"mmd": mermaid, "dot": dot}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "drawing"), [("5", five()), ("30", thirty())], ids=["5", "30"])
def test_golden(name: str, drawing: Drawing, form: str) -> None:
    """C6: roles, groups and planned pull requests."""
    assert FORMS[form](drawing) == (GOLDENS / f"{name}.{form}").read_text(encoding="utf-8")


# --- What a form says, read back -----------------------------------------------------------------------------------

Pairs = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Read:
    """First lines of boxes, which are the names of Components, and edges from dependency to dependant."""

    names: Counter[str]
    edges: Pairs


def read_mermaid(text: str) -> Read:
    header, *lines = text.splitlines()
    assert header == "flowchart LR"
    names: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    classes = set(re.findall(r"^  classDef (\w+) ", text, re.M))
    for line in lines:
        if node := re.fullmatch(r' +(\w+)(?:\[\[|\(\[|\[|\()"<b>([^"<]*)</b>((?:<br/>[^"<]*)*)"[\])]+:::(\w+)', line):
            assert node[1] not in names
            assert node[4] in classes
            names[node[1]] = re.sub(r"#(\d+);", lambda number: chr(int(number[1])), node[2])
        elif edge := re.fullmatch(r"  (\w+) --> (\w+)", line):
            pairs.append((edge[1], edge[2]))
        else:
            assert re.fullmatch(
                r'  subgraph a\d+\["[^"]*"\]|    direction LR|    \w+( ~~~ \w+)+|  end|  legend\["[^"]*"\]:::legend'
                r"|  classDef [\w #:,-]+|  class a\d+(,a\d+)* application",
                line,
            ), line
    return Read(Counter(names.values()), Counter((names[source], names[other]) for source, other in pairs))


DOT_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|->|\w+|[{}\[\];=,])')


def read_dot(text: str) -> Read:
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        token = DOT_TOKEN.match(text, at)
        assert token, text[at : at + 80]
        tokens.append(token[1])
        at = token.end()
    names: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    assert tokens[:3] == ["digraph", "components", "{"]
    depth = 0
    statement: list[str] = []
    for word in tokens:
        if word in "{};":
            depth += {"{": 1, "}": -1}.get(word, 0)
            read_statement(statement, names, pairs)
            statement = []
        else:
            statement.append(word)
    assert depth == 0
    assert not statement
    return Read(Counter(names.values()), Counter((names[source], names[other]) for source, other in pairs))


def read_statement(words: list[str], names: dict[str, str], pairs: list[tuple[str, str]]) -> None:
    if "->" in words and "invis" not in words:
        dependency, arrow, dependant = words
        assert arrow == "->"
        pairs.append((dependency, dependant))
    elif words[1:4] == ["[", "label", "="]:
        assert words[0] not in names
        names[words[0]] = first_line(words[4][1:-1]).replace("&amp;", "&")


def first_line(label: str) -> str:
    """The first line of a label, without its escapes."""
    line = ""
    for escape in re.finditer(r"\\(.)|[^\\]", label):
        if escape[1] == "n":
            return line
        line += escape[1] or escape[0]
    return line


# --- What holds for every graph ------------------------------------------------------------------------------------

ODD = st.one_of(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufffe\uffff/"), max_size=30
    ),
    st.sampled_from(
        [
            'a "quoted" one',
            "<&>",
            "&lt;b&gt;",
            "end",
            "[a](b)",
            "#35;",
            "back\\slash\\",
            "`x`*y*_z_",
            "名前",
            "🚀",
            "w" * 200,
        ]
    ),
)


NAMES = st.integers(0, 9999).map("component-{}".format)
LABELS = st.sampled_from(["#17 feature-1234 (draft, waits for op1#12)", "#3 hotfix", "planned: x"])


@st.composite
def drawings(
    draw: st.DrawFn, names: st.SearchStrategy[str] = NAMES, label: st.SearchStrategy[str] = LABELS, most: int = 40
) -> Drawing:
    """Acyclic graphs, of one or two Applications."""
    count = draw(st.integers(1, most))
    keys = [ComponentKey("team", name) for name in draw(st.lists(names, min_size=count, max_size=count, unique=True))]
    two = draw(st.booleans())
    application = {key: "one" if not two or number % 3 else "two" for number, key in enumerate(keys)}
    above = {
        key: draw(st.sets(st.sampled_from(earlier), max_size=4))
        for number, key in enumerate(keys)
        if (earlier := [key_before for key_before in keys[:number] if application[key_before] == application[key]])
    }
    edges = frozenset(Edge(key, other) for key, others in above.items() for other in others)
    graph = Graph({key: Component(key, application[key]) for key in keys}, edges)
    some = st.sampled_from(keys)
    waiting = draw(st.dictionaries(some, st.lists(label, max_size=3), max_size=4))
    return Drawing(graph, waiting, draw(st.dictionaries(label, st.lists(some, max_size=4), max_size=3)))


def read_drawing(drawing: Drawing) -> Read:
    graph = drawing.graph
    return Read(
        Counter(key.name for key in graph.components),
        Counter((edge.dependency.name, edge.dependant.name) for edge in graph.edges),
    )


@settings(max_examples=scaled(40))
@given(drawings())
def test_each_component_and_edge_is_there_once(drawing: Drawing) -> None:
    assert read_mermaid(mermaid(drawing)) == read_drawing(drawing)
    assert read_dot(dot(drawing)) == read_drawing(drawing)


@settings(max_examples=scaled(40))
@given(drawings(ODD, ODD, 8))
def test_odd_names(drawing: Drawing) -> None:
    assert read_mermaid(mermaid(drawing)) == read_drawing(drawing)
    assert read_dot(dot(drawing)) == read_drawing(drawing)


# --- Particular graphs ---------------------------------------------------------------------------------------------


def test_what_no_document_may_hold_is_replaced() -> None:
    drawing = drawing_of({"a\x00b\n\ud800\u2028": []}, {"a\x00b\n\ud800\u2028": ["\x1b[31m"]})
    name = "a\ufffdb\ufffd\ufffd\ufffd"
    assert read_mermaid(mermaid(drawing)).names == {name: 1}
    assert read_dot(dot(drawing)).names == {name: 1}


def test_names_that_look_alike_are_told_apart() -> None:
    drawing = drawing_of({"a-b": [], "a.b": ["a-b"], "a_b": ["a.b"], "名": ["a_b"], "前": ["名"]})
    assert read_mermaid(mermaid(drawing)) == read_drawing(drawing)
    assert read_dot(dot(drawing)) == read_drawing(drawing)


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


def test_what_mermaid_does_not_draw() -> None:
    """C6: it has limits of its own."""
    depends_on = {"a": [], **{f"b{number}": ["a"] for number in range(501)}}
    large, small = drawing_of(depends_on), drawing_of({"a": ["b"], "b": []})
    assert beyond_mermaid(large, mermaid(large)) == "501 edges are more than the 500 that Mermaid draws"
    assert beyond_mermaid(small, mermaid(small)) == ""
    assert "50001 characters" in beyond_mermaid(small, "x" * 50_001)
