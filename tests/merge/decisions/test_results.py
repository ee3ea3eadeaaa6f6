"""Results of decisions: their order, the places that they name, and what they say of lost comments."""

from __future__ import annotations

import pytest

from krm_merge import merge_packages
from krm_merge.krm import FieldPath, ResourceRef, Results, format_path, parse_path
from krm_merge.merge import is_lost_comment, lost_comments_message, node_at, resource_content
from krm_merge.merge.decisions.decision import Decision
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.decisions.report import in_document_order, shown_paths
from krm_merge.merge.package.merger import PackageMerger, children_at
from krm_merge.packages.merge.trees import merge_trees
from krm_merge.text import MappingNode, read, to_value
from packages.merge.cases import merge, tree

DOCUMENT = """\
kind: A
spec:
  late: {}
  parts:
  - name: b
    size: 1
  - name: a
    size: 2
    tags: [x, y]
  - {id: 7}
  early: {b: 1, a: 2}
8080: port
"""


def root() -> MappingNode:
    node = read(DOCUMENT)
    assert isinstance(node, MappingNode)
    return node


@pytest.mark.parametrize(
    "paths",
    [
        ["kind", "spec.late", "spec.parts", "spec.early"],
        # What is not there comes behind what is around it.
        ["spec.late.gone", "spec.parts[name=b].gone", "spec.parts[name=a].gone", "spec.early.gone", "spec.gone.deep"],
        ["spec.parts[name=b]", "spec.parts[name=a]", "spec.parts[name=a].tags[1]", "spec.parts[id=7]"],
        ["spec.parts[0].size", "spec.parts[1].size", "spec.parts[1].tags[0]", "spec.parts[2]", "spec.parts[9]"],
        ["spec.parts[2].id", "spec.parts[name=c]", "spec.early.b", "spec.early.a", "spec.early[0]", "gone"],
    ],
)
def test_results_are_in_the_order_of_the_document(paths: list[str]) -> None:
    decisions = [Decision("V2", parse_path(path), "", "both") for path in reversed(paths)]
    assert [format_path(decision.path) for decision in in_document_order(decisions, root())] == paths


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", ...),
        ("kind", "A"),
        ("8080", "port"),
        ("kind.gone", None),
        ("spec.gone", None),
        ("spec.gone.gone", None),
        ("spec.parts[1].size", 2),
        ("spec.parts[3]", None),
        ("spec.parts[name=a].size", 2),
        ("spec.parts[name=c]", None),
        ("spec.parts[id=7].id", 7),
        ("spec.parts[*].size", 1),
        ("spec.parts[name=a].tags[name=x]", None),
        ("spec.early.*", 1),
    ],
)
def test_the_first_value_at_a_path(path: str, value: object) -> None:
    node = node_at(root(), parse_path(path) if path else ())
    assert (None if node is None else to_value(node)) == (to_value(root()) if value is ... else value)
    assert node_at(None, ("kind",)) is None


def test_any_step_is_every_field_whatever_its_name() -> None:
    node = read("{'*': 1, x: 2, 3: 4}")
    assert node is not None
    assert [[to_value(child) for child in children_at(node, step)] for step in ("*", "x", "3", "y")] == [
        [1, 2, 4],
        [2],
        [4],
        [],
    ]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("spec.replicas", "spec.replicas"),
        ("spec.parts[name=a]", "a"),
        ("spec.parts[name=a].size", "a size"),
        ("spec.parts[name=a].limits.cpu", "a limits.cpu"),
        ("spec.parts[name=a].tags[1]", "a tags[1]"),
        ("spec.ports[port=80,protocol=TCP]", "80 TCP"),
        ("pipeline.mutators[image=gcr.io/kpt-fn/set-labels].configMap", "set-labels configMap"),
    ],
)
def test_a_place_is_named_by_the_innermost_element(path: str, name: str) -> None:
    steps: FieldPath = parse_path(path)
    assert shown_paths([steps]) == name


@pytest.mark.parametrize(
    ("comments", "is_hidden", "message"),
    [
        (["# a"], False, "local has a comment that the result does not have: # a"),
        (["# a", "# b"], False, "local has 2 comments that the result does not have: # a # b"),
        (["# a"], True, "local has a comment that the result does not have"),
    ],
)
def test_lost_comments_are_quoted_unless_they_are_hidden(comments: list[str], is_hidden: bool, message: str) -> None:
    assert lost_comments_message("local", comments, is_hidden=is_hidden) == message
    results, ref = Results(), ResourceRef("v1", "A", "a")
    for rule, text in (("V8", message), ("V8", "comments only, as in upstream"), ("V2", message)):
        results.info(text, resource=ref, rule=rule)
    assert [is_lost_comment(result) for result in results] == [True, False, False]


def test_of_many_changes_five_are_named() -> None:
    paths: list[FieldPath] = [("spec", name) for name in "abcdefg"]
    named = "spec.a, spec.b, spec.c, spec.d, spec.e"
    assert shown_paths(paths[:5]) == named
    assert shown_paths(paths) == f"{named} and 2 more"


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_the_comment_of_a_value_that_lost_is_told_unless_the_value_is_hidden(kind: str) -> None:
    text = f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: c\ndata:\n  a: {{}}\n"
    original, upstream, local = (tree({"c.yaml": text.format(value)}) for value in ("MQ==", "Mg==", "Mw== # why"))
    results = merge(original, upstream, local, "upstream", smart=True).results
    told = next(result for result in results if result.rule == "V4")
    assert told.message.endswith("; its comment went with it: # why") is (kind == "ConfigMap")


def test_a_comment_that_local_left_as_it_was_is_no_loss() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: {}\n"
    original, upstream, local = (tree({"c.yaml": text.format(value)}) for value in ("1 # o", "2 # u", "3 # o"))
    merged = merge(original, upstream, local, "upstream", smart=True)
    assert merged.changes == upstream
    assert not any("comment" in result.message for result in merged.results)


def test_the_comment_of_a_value_that_remains_removed_is_reported() -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  b: 1\n"
    original, upstream, local = (tree({"c.yaml": head + text}) for text in ("  a: 1\n", "  a: 2 # why\n", ""))
    merged = merge(original, upstream, local, "local", smart=True)
    assert merged.changes == {}
    assert [(result.rule, result.message.rpartition("; ")[2]) for result in merged.results] == [
        ("V4", "its comment went with it: # why")
    ]


TEXTS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  x.yaml: |\n    a: {}\n    b: {}\n"


def merge_texts(*values: tuple[object, object], on_conflict: str = "upstream") -> tuple[str, list[tuple[str, str]]]:
    sides = ({"c.yaml": TEXTS.format(*value).encode()} for value in values)
    merged = merge_packages(*sides, on_conflict=on_conflict)  # type: ignore[arg-type]
    return merged.files["c.yaml"].decode(), [(record.path, record.status) for record in merged.records]


def test_a_conflict_inside_of_a_text_is_named_by_its_field_and_refuses_all() -> None:
    sides = ((1, 1), (2, 2), (3, 1))
    assert merge_texts(*sides) == (
        TEXTS.format(2, 2),
        [('data["x.yaml"]', "automatic"), ('data["x.yaml"].a', "settled")],
    )
    assert merge_texts(*sides, on_conflict="local")[0] == TEXTS.format(3, 2)
    assert merge_texts(*sides, on_conflict="fail") == (TEXTS.format(3, 1), [('data["x.yaml"].a', "open")])


def test_a_comment_inside_of_a_text_goes_with_the_value_that_lost() -> None:
    merged, _ = merge_texts((1, 1), (2, "1 # u"), ("3 # l", 1))
    assert merged == TEXTS.format(2, "1 # u")


NULLS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: {}\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "merged"),
    [
        # The position of a resource in its file is local's alone: nobody else removes it, or brings it.
        ("null", "{b: c}", "{config.kubernetes.io/index: '1'}", "{config.kubernetes.io/index: '1', b: c}"),
        ("{b: c}", "null", "{b: c, config.kubernetes.io/index: '1'}", "{config.kubernetes.io/index: '1'}"),
        ("{b: c}", "{b: c, config.kubernetes.io/index: '1'}", "null", "null"),
    ],
)
def test_a_null_beside_what_is_local_alone_is_the_lack_of_a_mapping(
    original: str, upstream: str, local: str, merged: str
) -> None:
    sides = ({"c.yaml": NULLS.format(value).encode()} for value in (original, upstream, local))
    assert merge_packages(*sides).files["c.yaml"].decode() == NULLS.format(merged)


WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  a: {}\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("{x: 1, z: {q: 1}}", "{z: {q: 1}}", "{x: 1, z: {q: 1}, n: 2}", [("V2", "removed")]),
        ("{x: 1}", "{x: 1, y: 2}", "{x: 1, n: 2}", [("V2", "added")]),
        ("{x: 1, y: 1}", "{x: 2, y: 1}", "{x: 1, y: 2}", [("V2", "changed")]),
        ("{x: 1, y: 1}", "{x: 2, y: 2}", "{x: 2, y: 2}", []),
        ("{x: 1, y: 1}", "{x: 1, y: 1}", "{x: 1}", []),
    ],
)
def test_what_is_no_question_is_told_as_a_change_alone(
    original: str, upstream: str, local: str, expected: list[tuple[str, str]]
) -> None:
    sides = ({"w.yaml": WIDGET.format(value).encode()} for value in (original, upstream, local))
    assert [(record.rule, record.message) for record in merge_packages(*sides).records] == expected


@pytest.mark.parametrize(
    ("metadata", "is_same"),
    [
        ("name: b, namespace: n, labels: {x: y}", True),
        ("name: a, labels: {x: y}, annotations: {config.kubernetes.io/index: '1'}", True),
        ("name: a, labels: {x: z}", False),
        ("name: a", False),
        ("name: a, labels: {x: y}, annotations: {own: '1'}", False),
    ],
)
def test_a_resource_of_another_name_has_the_same_content(metadata: str, is_same: bool) -> None:
    first, other = (read(f"kind: A\nmetadata: {{{text}}}\n") for text in ("name: a, labels: {x: y}", metadata))
    assert isinstance(first, MappingNode)
    assert isinstance(other, MappingNode)
    assert (resource_content(first) == resource_content(other)) is is_same


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        (("1", "1", "1"), []),
        (("1", "1", "2"), []),
        (("1", "2", "2"), []),
        ((None, None, "1"), []),
        (("1", None, None), []),
        (("1", "1", None), []),
        ((None, "1", None), [("info", "R2", "Widget w: added, as in upstream")]),
        (("1", None, "1"), [("info", "R2", "Widget w: deleted, as in upstream")]),
        (("1", "2", "1"), [("info", "V2", "Widget w: 1 change from upstream: spec.a")]),
        (
            ("1", "2", "3"),
            [
                (
                    "warning",
                    "V4",
                    "spec.a: upstream changed it, local changed it; upstream's value is kept "
                    "(original 1, upstream 2, local 3)",
                ),
                ("info", "V2", "Widget w: 1 change from upstream: spec.a"),
            ],
        ),
    ],
)
def test_what_became_of_a_resource_is_told_and_nothing_of_others(
    sides: tuple[str | None, ...], told: list[tuple[str, str, str]]
) -> None:
    texts = ({} if value is None else {"w.yaml": WIDGET.format(value)} for value in sides)
    original, upstream, local = map(tree, texts)
    merged = merge(original, upstream, local, "upstream", smart=True)
    assert [(result.severity, result.rule, result.message) for result in merged.results] == told


def test_a_merge_that_is_refused_reports_no_changes() -> None:
    sides = [tree({"w.yaml": WIDGET.format(value)}) for value in "123"]
    sides[1] |= tree({"n.yaml": WIDGET.format(1).replace("name: w", "name: n")})
    results = merge(sides[0], sides[1], sides[2], "fail", smart=True).results
    assert [(result.severity, result.rule) for result in results] == [("error", "V4")]


def test_a_deletion_that_a_rule_decides_is_reported_once() -> None:
    original, local = (tree({"w.yaml": WIDGET.format(value)}) for value in "12")
    merged = merge_trees(original, {}, local, PackageMerger(Policy(rules=(Rule(on_delete="upstream"),))))
    assert merged.changes == {"w.yaml": None}
    assert [(result.severity, result.rule) for result in merged.results] == [("warning", "F5")]
