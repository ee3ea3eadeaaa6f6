"""Drawings: goldens, and what holds for every graph: nothing missing, nothing on top of something else."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_merge.components.draw.drawing import Drawing, dot, mermaid
from krm_merge.components.draw.svg import svg
from krm_merge.components.graph.graph import Edge, Graph, build_graph
from krm_merge.components.konflux.model import Component, Key

GOLDENS = Path(__file__).resolve().parents[3] / "testdata" / "components" / "drawing"
SVG = "{http://www.w3.org/2000/svg}"
FORMS: Mapping[str, Callable[[Drawing], str]] = {"mmd": mermaid, "dot": dot, "svg": svg}


def graph_of(depends_on: Mapping[str, Sequence[str]], namespace: str = "team", application: str = "shop") -> Graph:
    components = [
        Component(Key(namespace, name), application, depends_on=tuple(names)) for name, names in depends_on.items()
    ]
    return build_graph(components)[0]


def drawing_of(
    depends_on: Mapping[str, Sequence[str]],
    waiting: Mapping[str, Sequence[str]] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Drawing:
    return Drawing(
        graph_of(depends_on),
        {Key("team", name): labels for name, labels in (waiting or {}).items()},
        {group: [Key("team", name) for name in names] for group, names in (groups or {}).items()},
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


def thirty() -> Drawing:
    libraries = {
        "lib-auth": ["parent-go"],
        "lib-cache": ["parent-go"],
        "lib-config": ["parent-ubi"],
        "lib-events": ["parent-go"],
        "lib-http": ["parent-ubi"],
        "lib-logging": ["parent-ubi"],
        "lib-metrics": ["parent-ubi"],
        "lib-storage": ["parent-ubi"],
    }
    operands = {
        "api": ["lib-metrics", "lib-storage"],
        "billing": ["lib-cache", "lib-http", "lib-storage", "parent-ubi"],
        "catalog": ["lib-cache", "lib-http"],
        "dashboard": ["lib-config", "lib-metrics"],
        "export": ["lib-storage", "parent-ubi"],
        "feed": ["lib-events"],
        "gateway": ["lib-config"],
        "history": ["lib-events", "parent-ubi"],
        "identity": ["lib-auth", "lib-http"],
        "jobs": ["lib-config"],
        "keystore": ["lib-http", "lib-metrics"],
        "ledger": ["lib-logging", "parent-go"],
        "mailer": ["lib-logging", "lib-storage"],
        "notifier": ["lib-logging", "lib-storage", "parent-go"],
        "orders": ["lib-logging"],
    }
    names = list(operands)
    bundles = {f"bundle-{number + 1}": names[number * 5 : number * 5 + 5] for number in range(3)}
    alone: dict[str, list[str]] = {"ci-tools": [], "docs": []}
    return drawing_of(
        {"parent-go": [], "parent-ubi": [], **libraries, **operands, **bundles, **alone},
        {
            "api": ["#17 feature-1234 (draft, waits for lib-storage#12)"],
            "billing": ["#18 feature-1234 (draft, waits for lib-storage#12)"],
            "bundle-1": ["#31 feature-1234 (draft, waits for api#17, billing#18)", "#9 hotfix"],
        },
        {"feature-1234": ["lib-storage", "api", "billing", "bundle-1"], "hotfix": ["bundle-1", "catalog"]},
    )


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
    return Read(Counter(names.values()), Counter((names[one], names[other]) for one, other in pairs))


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
    return Read(Counter(names.values()), Counter((names[one], names[other]) for one, other in pairs))


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
    found = ""
    for escape in re.finditer(r"\\(.)|[^\\]", label):
        if escape[1] == "n":
            return found
        found += escape[1] or escape[0]
    return found


Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Picture:
    """What an SVG has: boxes by Component, lines by edge, everything else that has a place."""

    width: float
    height: float
    boxes: dict[str, Box]
    lines: list[tuple[tuple[str, str], list[tuple[float, float]]]]
    texts: list[tuple[str, float, float, str]]
    root: ET.Element

    @property
    def read(self) -> Read:
        return Read(Counter(list(self.boxes)), Counter(edge for edge, _ in self.lines))


def numbers(element: ET.Element, *names: str) -> tuple[float, ...]:
    return tuple(float(element.attrib[name]) for name in names)


def read_svg(text: str) -> Picture:
    root = ET.fromstring(text)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (left, top, width, height) == (0, 0, *numbers(root, "width", "height"))
    assert root.findtext(f"{SVG}title")
    assert root.findtext(f"{SVG}desc")
    assert not root.findall(f".//{SVG}script")
    boxes: dict[str, Box] = {}
    lines: list[tuple[tuple[str, str], list[tuple[float, float]]]] = []
    texts: list[tuple[str, float, float, str]] = []
    for group in root.iter(f"{SVG}g"):
        name = group.get("data-component")
        if name is not None:
            assert name not in boxes
            frame = group.find(f"{SVG}rect")
            assert frame is not None
            x, y, wide, tall = numbers(frame, "x", "y", "width", "height")
            boxes[name] = (x, y, x + wide, y + tall)
            for one in group.findall(f"{SVG}text"):
                left, baseline = numbers(one, "x", "y")
                texts.append((name, left, baseline, one.text or ""))
        elif group.get("data-dependant") is not None:
            path = group.find(f"{SVG}path[@class='line']")
            head = group.find(f"{SVG}path[@class='head']")
            assert path is not None
            assert head is not None
            tip = points(head.attrib["d"])[1]
            edge = group.attrib["data-dependency"], group.attrib["data-dependant"]
            lines.append((edge, [*points(path.attrib["d"]), tip]))
    return Picture(width, height, boxes, lines, texts, root)


def points(path: str) -> list[tuple[float, float]]:
    """The points of a path; a corner counts with the point that it is bent towards."""
    values = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path)]
    return list(zip(values[::2], values[1::2], strict=True))


def runs_through(line: Sequence[tuple[float, float]], box: Box) -> bool:
    """Whether a line comes into a box; its pieces go straight or are short, so what is around them is enough."""
    return any(
        max(x, to_x) > box[0] and min(x, to_x) < box[2] and max(y, to_y) > box[1] and min(y, to_y) < box[3]
        for (x, y), (to_x, to_y) in pairwise(line)
    )


def inside(point: tuple[float, float], box: Box) -> bool:
    x, y = point
    return box[0] < x < box[2] and box[1] < y < box[3]


def check_picture(picture: Picture) -> None:
    page = (-0.1, -0.1, picture.width + 0.1, picture.height + 0.1)
    for box in picture.boxes.values():
        assert inside(box[:2], page)
        assert inside(box[2:], page)
    for one, other in combinations(picture.boxes.values(), 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for (dependency, dependant), line in picture.lines:
        assert on_side(line[0], picture.boxes[dependency])
        assert on_side(line[-1], picture.boxes[dependant])
        assert all(inside(point, page) for point in line)
        for box in picture.boxes.values():
            assert not runs_through(line, box)
    for name, x, y, text in picture.texts:
        # Even the narrowest fonts take 3 for a letter; 11 is the smallest size.
        assert inside((x, y), picture.boxes[name])
        assert inside((x + 3 * len(text), y), picture.boxes[name])
    for name, texts in heights_of_texts(picture.texts).items():
        assert all(lower - upper >= 11 for upper, lower in pairwise(sorted(texts))), name


def heights_of_texts(texts: Sequence[tuple[str, float, float, str]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, _, y, _ in texts:
        found.setdefault(name, []).append(y)
    return found


def on_side(point: tuple[float, float], box: Box) -> bool:
    return point[0] in (box[0], box[2]) and box[1] <= point[1] <= box[3]


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
    keys = [Key("team", name) for name in draw(st.lists(names, min_size=count, max_size=count, unique=True))]
    two = draw(st.booleans())
    application = {key: "one" if not two or number % 3 else "two" for number, key in enumerate(keys)}
    above = {
        key: draw(st.sets(st.sampled_from(earlier), max_size=4))
        for number, key in enumerate(keys)
        if (earlier := [one for one in keys[:number] if application[one] == application[key]])
    }
    edges = frozenset(Edge(key, other) for key, others in above.items() for other in others)
    graph = Graph({key: Component(key, application[key]) for key in keys}, edges)
    some = st.sampled_from(keys)
    waiting = draw(st.dictionaries(some, st.lists(label, max_size=3), max_size=4))
    return Drawing(graph, waiting, draw(st.dictionaries(label, st.lists(some, max_size=4), max_size=3)))


def named(drawing: Drawing) -> Read:
    graph = drawing.graph
    return Read(
        Counter(key.name for key in graph.components),
        Counter((edge.dependency.name, edge.dependant.name) for edge in graph.edges),
    )


def keyed(drawing: Drawing) -> Read:
    graph = drawing.graph
    return Read(
        Counter(map(str, graph.components)),
        Counter((str(edge.dependency), str(edge.dependant)) for edge in graph.edges),
    )


@settings(max_examples=40)
@given(drawings())
def test_each_component_and_edge_is_there_once_and_nothing_is_in_the_way(drawing: Drawing) -> None:
    assert read_mermaid(mermaid(drawing)) == named(drawing)
    assert read_dot(dot(drawing)) == named(drawing)
    picture = read_svg(svg(drawing))
    assert picture.read == keyed(drawing)
    check_picture(picture)


@settings(max_examples=40)
@given(drawings(ODD, ODD, 8))
def test_odd_names(drawing: Drawing) -> None:
    assert read_mermaid(mermaid(drawing)) == named(drawing)
    assert read_dot(dot(drawing)) == named(drawing)
    picture = read_svg(svg(drawing))
    assert picture.read.edges == keyed(drawing).edges
    titles = Counter(group.findtext(f"{SVG}title") for group in picture.root.iter(f"{SVG}g"))
    for key in drawing.graph.components:
        whole = "; ".join(
            [
                str(key),
                drawing.role(key),
                *(f"group {name}" for name in drawing.groups_of(key)),
                *drawing.waiting_for(key),
            ]
        )
        assert titles[whole] == 1


@settings(max_examples=15)
@given(drawings())
def test_order_of_input_does_not_matter(drawing: Drawing) -> None:
    graph = drawing.graph
    turned = Drawing(
        Graph(dict(reversed(list(graph.components.items()))), frozenset(sorted(graph.edges, reverse=True))),
        {key: labels[::-1] for key, labels in reversed(list(drawing.waiting.items()))},
        {name: keys[::-1] for name, keys in reversed(list(drawing.groups.items()))},
    )
    for form in FORMS.values():
        assert form(drawing) == form(drawing) == form(turned)


# --- Particular graphs ---------------------------------------------------------------------------------------------


def test_what_no_document_may_hold_is_replaced() -> None:
    drawing = drawing_of({"a\x00b\n\ud800\u2028": []}, {"a\x00b\n\ud800\u2028": ["\x1b[31m"]})
    shown = "a\ufffdb\ufffd\ufffd\ufffd"
    assert read_mermaid(mermaid(drawing)).names == {shown: 1}
    assert read_dot(dot(drawing)).names == {shown: 1}
    assert read_svg(svg(drawing)).read.names == {f"team/{shown}": 1}


def test_names_that_look_alike_are_told_apart() -> None:
    drawing = drawing_of({"a-b": [], "a.b": ["a-b"], "a_b": ["a.b"], "名": ["a_b"], "前": ["名"]})
    assert read_mermaid(mermaid(drawing)) == named(drawing)
    assert read_dot(dot(drawing)) == named(drawing)


def test_valid_names_are_shown_whole_and_long_labels_end_in_an_ellipsis() -> None:
    longest = "a-name-of-63-letters-" * 3
    drawing = drawing_of({longest: []}, {longest: ["#1 " + "many words " * 40]}, {"g" * 90: [longest]})
    texts = [text for _, _, _, text in read_svg(svg(drawing)).texts]
    assert "".join(texts).startswith(longest)
    assert sum(text.endswith("\N{HORIZONTAL ELLIPSIS}") for text in texts) == 2


def test_a_circle_is_drawn_too() -> None:
    drawing = drawing_of({"a": ["c"], "b": ["a"], "c": ["b"], "d": ["c", "e"], "e": ["d"]})
    picture = read_svg(svg(drawing))
    assert picture.read == keyed(drawing)
    check_picture(picture)
    circles = picture.root.findall(f".//{SVG}g[@class='edge circle']")
    assert len(circles) == 2
    assert read_mermaid(mermaid(drawing)) == named(drawing)
    assert read_dot(dot(drawing)) == named(drawing)


def test_applications_are_apart() -> None:
    graphs = [
        graph_of({"a": [], "b": ["a"]}),
        graph_of({"a": [], "c": ["a"]}, "other"),
        graph_of({"x": [], "y": ["x"]}, application="second"),
        graph_of({"z": []}, "", ""),
    ]
    components = {key: one for graph in graphs for key, one in graph.components.items()}
    drawing = Drawing(Graph(components, frozenset(edge for graph in graphs for edge in graph.edges)))
    picture = read_svg(svg(drawing))
    assert picture.read == keyed(drawing)
    check_picture(picture)
    titles = [one.findtext(f"{SVG}title") for one in picture.root.findall(f"{SVG}g[@class='application']")]
    assert titles == [
        "no Application",
        "Application shop in namespace other",
        "Application second in namespace team",
        "Application shop in namespace team",
    ]
    assert mermaid(drawing).count("  subgraph ") == dot(drawing).count("  subgraph ") == 4


def test_a_chain_is_straight() -> None:
    picture = read_svg(svg(drawing_of({"a": [], "b": ["a"], "c": ["b"], "d": ["c"]})))
    assert len({y for _, line in picture.lines for _, y in line}) == 1


def test_what_stands_alone_is_in_a_grid() -> None:
    picture = read_svg(svg(drawing_of({f"alone-{number}": [] for number in range(40)})))
    check_picture(picture)
    assert 0.5 < picture.width / picture.height < 2.5


def test_roles_are_told_in_words() -> None:
    drawing = drawing_of({"a": [], "b": ["a"], "c": ["b"], "d": []})
    roles = [drawing.role(Key("team", name)) for name in "abcd"]
    assert roles == [
        "dependency, not tested",
        "both, not tested",
        "dependant, tested and released",
        "independent, tested and released",
    ]
    for form in FORMS.values():
        assert all(role in form(drawing) for role in roles)


def test_what_is_said_of_unknown_components_is_left_out() -> None:
    drawing = drawing_of({"a": []}, {"unknown": ["#1"]}, {"group-x": ["unknown"]})
    for form in FORMS.values():
        assert form(drawing) == form(drawing_of({"a": []}))


def test_nothing_is_drawn_of_nothing() -> None:
    drawing = Drawing(Graph({}))
    assert read_mermaid(mermaid(drawing)) == read_dot(dot(drawing)) == read_svg(svg(drawing)).read == named(drawing)


def test_hundreds_of_components() -> None:
    depends_on: dict[str, list[str]] = {f"lib-{number}": [] for number in range(20)}
    depends_on |= {f"op-{number}": [f"lib-{number * 7 % 20}", f"lib-{number * 3 % 20}"] for number in range(150)}
    depends_on |= {f"bundle-{number}": [f"op-{number * 10 + one}" for one in range(10)] for number in range(15)}
    picture = read_svg(svg(drawing_of(depends_on)))
    assert len(picture.boxes) == 185
    assert len(picture.lines) == 150 + 150 + 150 - sum(number * 7 % 20 == number * 3 % 20 for number in range(150))
