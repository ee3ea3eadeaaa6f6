"""Edits at the edges: children of other documents, keys and numbers that YAML writes in its own way, aliases."""

from __future__ import annotations

import math

import pytest

from krm_merge.text import (
    Editor,
    Entry,
    MappingNode,
    from_value,
    key_text,
    read,
    rendered,
    to_value,
)
from krm_merge.text.editing.render import longest_rising
from krm_merge.text.reading.stream import scalars_below
from text.edits import Edit, tree


def test_a_child_of_another_document_is_neither_a_place_nor_removed() -> None:
    edit, other = Edit("a: 1\n"), Edit("b: 2\n")
    collection, stranger = edit.collection(), other.child("b")[1]
    with pytest.raises(ValueError, match="is not in this collection"):
        edit.editor.insert(collection, Entry(from_value("c"), from_value(3)), after=stranger)
    with pytest.raises(ValueError, match="is not in this collection"):
        edit.editor.remove(collection, stranger)
    assert rendered(edit.editor).text == "a: 1\n"


@pytest.mark.parametrize(
    ("number", "text"), [(math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan"), (1e20, "1.0e+20")]
)
def test_numbers_that_json_has_no_words_for(number: float, text: str) -> None:
    edit = Edit("a: 1\n")
    assert edit.set("a", to=number).text() == f"a: {text}\n"


def test_the_edited_tree_has_the_value_of_an_alias_and_stands_in_no_text() -> None:
    edit = Edit("a: &x {b: 1}\nc: *x\n")
    edit.set("a", "b", to=2)
    edited_tree = edit.editor.tree()
    assert to_value(edited_tree) == to_value(read(rendered(edit.editor).text))
    assert to_value(edit.editor.tree(tree("- &x [1]\n- *x\n"))) == [[1], [1]]


@pytest.mark.parametrize("flow", ["[a, b]", "{a: 1}", "a"])
def test_a_list_in_a_list_keeps_its_form(flow: str) -> None:
    edit = Edit(f"- - {flow}\n  - x\n- y\n")
    edit.set(0, 1, to="z")
    assert edit.text() == f"- - {flow}\n  - z\n- y\n"


def test_an_editor_of_a_tree_without_text_gives_its_value() -> None:
    editor = Editor(from_value({"a": [1, {"b": None}]}))
    assert to_value(editor.tree()) == {"a": [1, {"b": None}]}


@pytest.mark.parametrize(
    ("text", "value"), [("!!timestamp '2026-01-01'", "2026-01-01"), ("!!merge '<<'", "<<"), ("!!float '1'", 1.0)]
)
def test_quoted_scalars_with_a_tag_have_the_type_of_the_tag(text: str, value: object) -> None:
    assert to_value(read(text)) == value


def test_a_number_in_a_block_scalar_keeps_its_tag_between_brackets() -> None:
    edit, number = Edit("a: [1]\n"), Edit("x: !!int |-\n  5\n").child("x")[1]
    assert isinstance(number, Entry)
    edit.editor.replace(edit.child("a", 0)[1], number.value)
    assert edit.text() == 'a: [!!int "5"]\n'


def test_what_an_edit_put_there_can_be_edited() -> None:
    edit, new = Edit("a: 1\nb: 2\n"), from_value({"c": 1, "d": 2})
    assert isinstance(new, MappingNode)
    edit.editor.replace(edit.child("a")[1], new)
    inner = new.entry("c")
    assert inner is not None
    edit.editor.replace(inner, from_value(9))
    assert edit.text() == "a:\n  c: 9\n  d: 2\nb: 2\n"


def test_json_has_no_word_for_what_is_no_number() -> None:
    assert Edit('{"a": 1}').set("a", to=math.nan).text() == '{"a": .nan}'


def test_aliases_beside_a_field_do_not_hide_its_scalars() -> None:
    text = "data: {a: &x 1, b: *x}\nmetadata: {name: n, labels: {a: b}}\n"
    assert scalars_below(text, "metadata") == {("name",): "n", ("labels", "a"): "b"}
    assert scalars_below(text, "data") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [b, c]\nmetadata: {list: [x, {y: z}], name: n}\n", {("name",): "n"}),
        ("- metadata: {name: n}\n", {}),
        ("metadata: {a: {metadata: b}}\nb: {metadata: {c: d}}\n", {("a", "metadata"): "b"}),
        ("metadata: n\n", {(): "n"}),
        ("a: {<<: b}\nmetadata: {name: n}\n", None),
        ("metadata: {[a]: n}\n", None),
        ("metadata: {name: n}\n*x : y\n", {("name",): "n"}),
    ],
)
def test_scalars_in_lists_are_left_out(text: str, expected: object) -> None:
    assert scalars_below(text, "metadata") == expected


@pytest.mark.parametrize("end", ["", "\n", "\n# end\n"])
def test_comments_left_behind_the_last_field_are_no_lines_of_its_text(end: str) -> None:
    edit = Edit(f"a: 1\n\n# about b\n\nb: 2{end}")
    edit.editor.remove(edit.collection(), edit.child("b")[1])
    text = edit.set("a", to="x\n\ny\n\n").text()
    assert to_value(read(text)) == {"a": "x\n\ny\n\n"}
    assert text.startswith("a: |+\n  x\n\n  y\n\n# about b\n")


def test_the_edited_tree_has_the_fields_of_a_merge_key_in_its_place() -> None:
    edit = Edit("a: &x {p: 1}\nb:\n  <<: *x\n  q: 2\n")
    edit.set("b", "q", to=3)
    edited = edit.editor.tree()
    assert isinstance(edited, MappingNode)
    assert isinstance(inner := edited.get("b"), MappingNode)
    assert [(key_text(entry.key), to_value(entry.value)) for entry in inner.entries] == [("p", 1), ("q", 3)]


@pytest.mark.parametrize("flow", ["[1,2,  'c']", "{d: 1,e:  [x]}", "[]", "{ }"])
def test_what_comes_from_another_text_keeps_the_spelling_of_its_brackets(flow: str) -> None:
    child = Edit(f"v: {flow}\n").child("v")[1]
    assert isinstance(child, Entry)
    assert Edit("x: 1\n").add(key="v", value=child.value).text() == f"x: 1\nv: {flow}\n"
    assert Edit("x: [a]\n").add("x", value=child.value).text() == f"x: [a, {flow}]\n"


def test_what_comes_from_another_text_keeps_the_blank_lines_between_its_fields() -> None:
    text = "v:\n  a: 1\n\n  b: 2\n\n  # apart\n\n  c: 3\n  d: 4\n"
    child = Edit(text).child("v")[1]
    assert isinstance(child, Entry)
    assert Edit("x: 1\n").add(key="v", value=child.value).text() == f"x: 1\n{text}"


@pytest.mark.parametrize("dash", ["- ", "- - ", "- a: "])
@pytest.mark.parametrize("column", [2, 4])
def test_lines_between_brackets_keep_their_column_beside_the_dash(dash: str, column: int) -> None:
    item = f"{dash}[1,\n{{}}{' ' * column}2]\n"
    other, edit = Edit("l:\n    " + item.format("    ")), Edit("l:\n  - x\n")
    edit.editor.insert(edit.collection("l"), other.child("l", 0)[1], edit.child("l", 0)[1])
    assert edit.text() == "l:\n  - x\n  " + item.format("  ")


@pytest.mark.parametrize(
    ("scalar", "in_brackets"),
    [
        ("a b", "a b"),
        ("a:b", "a:b"),
        ("'a, b'", "'a, b'"),
        ("'-'", "'-'"),
        # What means something else between brackets gets quotes, what has several lines gets one.
        ("a, b", '"a, b"'),
        ("a]b", '"a]b"'),
        ("a{b", '"a{b"'),
        ("a[0]", '"a[0]"'),
        ("a#b", '"a#b"'),
        ("?x", '"?x"'),
        ("!!str 1", '"1"'),
        ("'a\n  b'", "a b"),
        ("a\n  b", "a b"),
        ('"a\\\n  b"', "ab"),
        ("|\n  x", '"x\\n"'),
    ],
)
def test_a_scalar_of_another_text_means_the_same_between_brackets(scalar: str, in_brackets: str) -> None:
    child = Edit(f"v: {scalar}\n").child("v")[1]
    assert isinstance(child, Entry)
    assert Edit("x: [1]\n").add("x", value=child.value).text() == f"x: [1, {in_brackets}]\n"
    assert Edit("x: 1\n").add(key="k", value=child.value).text() == f"x: 1\nk: {scalar}\n"


def test_a_list_of_another_text_is_indented_as_there_with_its_key_alone() -> None:
    """Where this text has no list to go by."""
    entry = Edit("x:\n    - 1\n").child("x")[1]
    assert isinstance(entry, Entry)
    assert Edit("a: 1\n").set("a", to=entry.value).text() == "a:\n- 1\n"
    edit = Edit("a: 1\n")
    edit.editor.insert(edit.collection(), entry, edit.child("a")[1])
    assert edit.text() == "a: 1\nx:\n  - 1\n"


@pytest.mark.parametrize("pair", ["{a: 1}: b", "[a]: [b]", "a: {b: 1}", "{a: 1}: {b: 1}"])
def test_a_pair_without_brackets_of_its_own_keeps_its_spelling(pair: str) -> None:
    assert Edit(f"l: [{pair}, c,  d]\n").remove("l", 1).text() == f"l: [{pair},  d]\n"


def test_a_child_is_in_a_collection_once() -> None:
    edit = Edit("a: 1\nb: [2]\n")
    assert edit.move("a", after="a").text() == "a: 1\nb: [2]\n"
    with pytest.raises(ValueError, match="not in this collection"):
        edit.editor.insert(edit.collection(), edit.child("a")[1], None)


def test_the_edited_tree_has_the_nodes_of_the_text_where_nothing_was_edited() -> None:
    edit = Edit("a: [1]\nb: {c: [1]}\n")
    assert edit.editor.tree() is edit.root
    edited = edit.set("a", 0, to=2).editor.tree()
    assert edited is not edit.root
    assert edit.editor.tree(edit.collection("b")) is edit.collection("b")


def test_a_template_comes_into_json_as_it_is() -> None:
    edit = Edit('{"a": "x", "b": 1}\n').set("b", to=tree("{{ x }}\n"))
    assert edit.text() == '{"a": "x", "b": {{ x }}}\n'


FLOW = [
    pytest.param("a: [1, {k: v}]\n", ("a", 1, "k"), "a: [1, {}]\n", id="the last one"),
    pytest.param("a: [\n  # about x\n  x,\n  y\n]\n", ("a", 0), "a: [\n  y\n]\n", id="the first one below its comment"),
    pytest.param("a: [\n  x, # about x\n  y\n]\n", ("a", 0), "a: [\n  y\n]\n", id="the first one before its comment"),
    pytest.param("a: [\n  x,\n  y # about y\n]\n", ("a", 1), "a: [\n  x\n]\n", id="the last one before its comment"),
    pytest.param("a: [ # c\n  x,\n  y\n]\n", ("a", 0), "a: [ # c\n  y\n]\n", id="below a comment of the list"),
]


@pytest.mark.parametrize(("before", "path", "after"), FLOW)
def test_what_is_between_brackets_goes_with_its_comments(before: str, path: tuple[str | int, ...], after: str) -> None:
    assert Edit(before).remove(*path).text() == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a: [x, [  ]]\n", ("a", 1), "a: [x, [z]]\n"),
        ("a: [\n  x]\n", ("a",), "a: [\n  x,\n  z]\n"),
        ("a: [x\n  ]\n", ("a",), "a: [x, z\n  ]\n"),
        ("a: [\n  # c\n  x,\n    y\n  ]\n", ("a",), "a: [\n  # c\n  x,\n    y,\n  z\n  ]\n"),
    ],
)
def test_a_new_item_between_brackets_is_placed_like_the_others(
    before: str, path: tuple[str | int, ...], after: str
) -> None:
    assert Edit(before).add(*path, value="z").text() == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("l: [a: {x: 1}]\n", ("l", 0, "a", "x"), "l: [{a: {x: 2}}]\n"),
        ("l: [a: [1]]\n", ("l", 0, "a", 0), "l: [{a: [2]}]\n"),
        ("l: [&x {a: 1}]\n", ("l", 0, "a"), "l: [&x {a: 2}]\n"),
        ("l: !!map {a: 1}\n", ("l", "a"), "l: !!map {a: 2}\n"),
    ],
)
def test_what_is_inside_of_brackets_is_exchanged_alone(before: str, path: tuple[str | int, ...], after: str) -> None:
    assert Edit(before).set(*path, to=2).text() == after


@pytest.mark.parametrize(
    ("positions", "steady"),
    [
        ([], set()),
        ([0, 1, 2], {0, 1, 2}),
        ([2, 0, 1], {0, 1}),
        ([3, 1, 2, 0, 4], {1, 2, 4}),
        ([1, 2, 0], {1, 2}),
        ([4, 0, 3, 1, 2], {0, 1, 2}),
        ([0, 3, 1, 4, 2, 5], {0, 1, 2, 5}),
    ],
)
def test_as_many_as_possible_stay_in_their_place(positions: list[int], steady: set[int]) -> None:
    assert longest_rising(positions) == steady


def test_an_alias_stays_where_its_anchor_has_the_same_fields_in_another_order() -> None:
    edit = Edit("a: &m\n  x: 1\n  y: 2\nb: *m\nc:\n  <<: *m\n")
    assert edit.move("a", "x", after="y").text() == "a: &m\n  y: 2\n  x: 1\nb: *m\nc:\n  <<: *m\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n", "a: 1\n\nx: 1\n"),
        ("a: |+\n  y\n\n", "a: |+\n  y\n\nx: 1\n"),
        ("a: |\n  y\n", "a: |\n  y\n\nx: 1\n"),
        ("a: |\r\n  y\r\n", "a: |\r\n  y\r\n\r\nx: 1\r\n"),
    ],
)
def test_the_blank_line_above_a_child_comes_with_it(text: str, expected: str) -> None:
    child = Edit("w: 1\n\nx: 1\n").child("x")[1]
    edit = Edit(text)
    edit.editor.insert(edit.collection(), child, edit.child("a")[1])
    assert edit.text() == expected


def test_a_value_whose_key_is_between_brackets_is_exchanged() -> None:
    edit = Edit("l: [{a: 1}: b, c]\n")
    edit.editor.replace(edit.collection("l", 0).children[0], from_value(2))
    assert edit.text() == "l: [{{a: 1}: 2}, c]\n"


def test_what_is_a_text_between_brackets_alone_is_quoted_elsewhere() -> None:
    node = Edit("l: [-, a]\n").child("l", 0)[1]
    assert not isinstance(node, Entry)
    assert Edit("a: 1\n").set("a", to=node).text() == 'a: "-"\n'


def test_a_comment_comes_to_a_mapping_that_could_not_be_edited_inside() -> None:
    text = "a:\n  ? [1, x]\n  : 1\n"
    assert Edit(text).comment("a", head=("# h",)).text() == f"# h\n{text}"
