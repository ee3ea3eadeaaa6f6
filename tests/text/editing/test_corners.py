"""The hard corners of editing YAML as text, one by one; the numbers are those of the design notes."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.render import render
from krm_merge.text.reading.layout import CannotEditError
from krm_merge.text.reading.nodes import to_value
from text.edits import Edit, tree


def block(text: str) -> str:
    return dedent(text).removeprefix("\n")


# ---- 1: places are characters, not bytes ---------------------------------------------------------------------------


def test_characters_beyond_ascii_stand_before_the_edit() -> None:
    assert Edit("é😀: [ü, 😀]  # ß\nb: 1\n").set("b", to=2).text() == "é😀: [ü, 😀]  # ß\nb: 2\n"
    assert Edit("é😀: [ü, 😀]  # ß\nb: 1\n").set("é😀", 1, to="x").text() == "é😀: [ü, x]  # ß\nb: 1\n"


def test_byte_order_mark_is_cut_off() -> None:
    assert Edit("\ufeffa: 1\n").set("a", to=2).text() == "a: 2\n"


# ---- 2: where values end -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chomping", ["", "-", "+"])
def test_blank_lines_behind_a_block_scalar(chomping: str) -> None:
    before = f"a: |{chomping}\n  x\n\n\n# head\nb: 1\n"
    assert Edit(before).set("b", to=2).text() == f"a: |{chomping}\n  x\n\n\n# head\nb: 2\n"
    # With `+` the blank lines are content and go with it.
    blank = "" if chomping == "+" else "\n\n"
    assert Edit(before).set("a", to=5).text() == f"a: 5\n{blank}# head\nb: 1\n"
    moved = f"# head\nb: 1\na: |{chomping}\n  x\n" + ("\n\n" if chomping == "+" else "")
    assert Edit(before).move("a", after="b").text() == moved


def test_a_keeping_block_scalar_does_not_take_in_blank_lines_that_stay() -> None:
    before = "a: |+\n  x\n\nb: 1\n\n# detached\n\nc: 2\n"
    assert Edit(before).remove("b").text() == "a: |+\n  x\n\n# detached\n\nc: 2\n"
    assert Edit(before).move("a", after="b").text() == "b: 1\na: |+\n  x\n\n# detached\n\nc: 2\n"


def test_a_line_of_spaces_is_content_where_it_is_deeper_than_the_text() -> None:
    assert Edit("a: |\n  x\n  \nb: 1\n").set("a", to=5).text() == "a: 5\n  \nb: 1\n"
    assert Edit("a: |\n  x\n   \nb: 1\n").set("a", to=5).text() == "a: 5\nb: 1\n"


@pytest.mark.parametrize("text", ["x", '"x\\n\\n"', "1+1"])
def test_what_follows_a_text_on_one_line_stays_as_it_is(text: str) -> None:
    before = f"a: {text}\nb: 1\n\n    # detached\n\nc: 2\n"
    assert Edit(before).remove("b").text() == before.replace("b: 1\n", "")


@pytest.mark.parametrize("header", ["|2", "|2-", ">2+", "|+2"])
def test_indentation_indicators(header: str) -> None:
    before = f"a:\n  b: {header}\n      more\n    less\n  c: 1\n"
    assert Edit(before).remove("a", "c").text() == f"a:\n  b: {header}\n      more\n    less\n"
    text = Edit("x: 1\n").set("x", to=tree(before)).text()
    assert text.startswith("x:\n  a:\n    b: " + header[0])


def test_null_without_text() -> None:
    assert Edit("a:\nb: 1\n").set("a", to="x").text() == "a: x\nb: 1\n"
    assert Edit("a:   # c\nb: 1\n").set("a", to="x").text() == "a: x   # c\nb: 1\n"
    assert Edit("a:\nb: 1\n").set("a", to={"x": 1}).text() == "a:\n  x: 1\nb: 1\n"
    assert Edit("-\n- 1\n").set(0, to=2).text() == "- 2\n- 1\n"
    assert Edit("a: # c\n").set("a", to=1).comment("a", line="# d").text() == "a: 1 # d\n"


def test_collections_with_properties() -> None:
    before = "a: &x !!map\n  b: 1\nc: *x\n"
    assert Edit(before).add("a", key="d", value=2).text() == "a: &x !!map\n  b: 1\n  d: 2\nc:\n  b: 1\n"
    assert Edit("- &x\n  a: 1\n- 2\n").set(0, "a", to=3).text() == "- &x\n  a: 3\n- 2\n"
    assert Edit("a: &x\n- 1\n").add("a", value=2).text() == "a: &x\n- 1\n- 2\n"


# ---- 3: scalars of several lines -----------------------------------------------------------------------------------


def test_block_scalar_where_a_comment_follows() -> None:
    assert Edit("a: 1 # c\nb: 2\n").set("a", to="x\ny\n").text() == "a: | # c\n  x\n  y\nb: 2\n"
    assert Edit("a: | # c\n  x\n  y\nb: 2\n").set("a", to=1).text() == "a: 1 # c\nb: 2\n"
    assert Edit("a: | # c\n  x\n  y\n").set("a", to={"b": 1}).text() == "a: # c\n  b: 1\n"
    assert Edit("a: |  # c\n  x\n").comment("a", line="# d").text() == "a: |  # d\n  x\n"
    assert Edit("a: |-  # c\n  x\n").comment("a").text() == "a: |-\n  x\n"
    assert Edit("- >\n  x\n").comment(0, line="# d").text() == "- > # d\n  x\n"
    # Of one line, too, as kpt writes it.
    assert Edit("a: | # c\n  x\n  y\n").set("a", to="z\n").text() == "a: | # c\n  z\n"
    assert Edit("a: 1\n").set("a", to="\n").text() == 'a: "\\n"\n'


def test_comments_below_are_not_swallowed() -> None:
    assert Edit("a: 1\n    # deeper\nb: 2\n").set("a", to="x\ny").text() == "a: |-\n  x\n  y\n # deeper\nb: 2\n"
    assert Edit("a: 1\n\n    # detached\nb: 2\n").set("a", to="x\ny").text() == "a: |-\n  x\n  y\n\n# detached\nb: 2\n"
    assert Edit("a: 1\n    # deeper\nb: 2\n").set("a", to=3).text() == "a: 3\n    # deeper\nb: 2\n"


def test_text_without_a_last_newline() -> None:
    assert Edit("a: 1\nb: 2").set("b", to=3).text() == "a: 1\nb: 3"
    assert Edit("a: 1\nb: 2").set("a", to=3).text() == "a: 3\nb: 2"
    assert Edit("a: 1\nb: 2").add(key="c", value=3).text() == "a: 1\nb: 2\nc: 3"
    assert Edit("a: 1\nb: 2").move("b", after=None).text() == "b: 2\na: 1"
    assert Edit("a: 1\nb: 2").set("b", to="x\ny\n").text() == "a: 1\nb: |\n  x\n  y\n"


def test_a_block_scalar_that_holds_the_sign_of_one_is_closed_at_its_head() -> None:
    assert Edit("a: 1\nb: |\n  x | y").move("b", after=None).text() == "b: |-\n  x | y\na: 1"
    assert Edit("a: &x |\nb: *x").add(key="c", value=3).text() == "a: &x |\nb: *x\nc: 3"


@pytest.mark.parametrize(("header", "closed"), [("|", "|-"), ("|-", "|-"), ("|+", "|-"), (">2", ">2-"), ("|+2", "|2-")])
def test_block_scalar_at_the_end_without_newline(header: str, closed: str) -> None:
    before = f"a: 1\nb: {header}\n  x"
    assert Edit(before).set("a", to=2).text() == f"a: 2\nb: {header}\n  x"
    assert Edit(before).add(key="c", value=3).text() == f"a: 1\nb: {closed}\n  x\nc: 3"
    assert Edit(before).move("b", after=None).text() == f"b: {closed}\n  x\na: 1"


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        pytest.param(Edit("a: 1\n\n    # end\n").set("a", to="x\n"), "a: |\n  x\n\n# end\n", id="a changed field"),
        pytest.param(
            Edit("a: 1\n\n    # end\n").add(key="b", value="x\n"), "a: 1\nb: |\n  x\n\n# end\n", id="an added field"
        ),
        pytest.param(
            Edit("a: |\n  x\nb: 1\n\n    # end\n").remove("b"),
            "a: |\n  x\n\n# end\n",
            id="a field that is now the last",
        ),
    ],
)
def test_comments_at_the_end_are_not_swallowed_by(edit: Edit, after: str) -> None:
    assert edit.text() == after


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        pytest.param(
            Edit("# h\n- a: 1\n- b\n").comment(0, head=("# h",), line="# d"), "# h\n# d\n- a: 1\n- b\n", id="of an item"
        ),
        pytest.param(
            Edit("# h\n- # c\n  a: 1\n").comment(0, head=("# h",), line="# d"), "# h\n- # d\n  a: 1\n", id="at a dash"
        ),
        pytest.param(Edit("# h\n- # c\n  a: 1\n").comment(0), "-\n  a: 1\n", id="that goes"),
        pytest.param(
            Edit("a: 1\n").set("a", to={"b": 1}).comment("a", line="# d"),
            "a: # d\n  b: 1\n",
            id="that comes with a block",
        ),
        pytest.param(
            Edit('a: "x"# c\nb: 1\n').set("a", to={"b": 1}), "a: # c\n  b: 1\nb: 1\n", id="behind quotes at once"
        ),
        pytest.param(
            Edit("a: |\n  x\n  # text\n # c\nb: 1\n").set("a", to={"b": 1}),
            "a:\n  b: 1\n # c\nb: 1\n",
            id="below a block scalar",
        ),
        pytest.param(Edit("- |  # c\n  x\n").set(0, to=tree("[1]")), "- [1]  # c\n", id="of a list on one line"),
    ],
)
def test_a_comment(edit: Edit, after: str) -> None:
    assert edit.text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n    b: 1\nc:\n  d: 1\n", "e:\n    f:\n    - 1\n"),
        ("a:\n  b:\n     c: 1\n", "e:\n  f:\n  - 1\n"),
        ("a:\n- b\nc:\n    d: 1\n", "e:\n    f:\n    - 1\n"),
        ("a:\n    d:\n      - c\n", "e:\n    f:\n      - 1\n"),
        ("a:\n- x:\n      y: 1\n", "e:\n    f:\n    - 1\n"),
    ],
)
def test_new_text_is_indented_as_the_first_block_of_its_kind(before: str, after: str) -> None:
    assert Edit(before).add(key="e", value={"f": [1]}).text() == before + after


def test_a_tag_goes_with_the_value_that_it_is_of() -> None:
    assert Edit("a: !!str 1\nb: 2\n").set("a", to=2).text() == "a: 2\nb: 2\n"
    assert Edit("a: &x 1\nb: 2\n").set("a", to=2).text() == "a: 2\nb: 2\n"


def test_the_longest_key() -> None:
    key = "k" * 1000
    assert Edit("a: 1\n").add(key=key, value=2).text() == f"a: 1\n{key}: 2\n"


# ---- 4: anchors and aliases: see test_aliases.py -------------------------------------------------------------------

# ---- 5: the first key behind a dash, lists in lists ----------------------------------------------------------------

ITEMS = block("""
    - a: 1 # one
      b: 2
    # two
    - a: 3
""")


def test_first_key_of_an_item() -> None:
    assert Edit(ITEMS).remove(0, "a").text() == "- b: 2\n# two\n- a: 3\n"
    assert Edit(ITEMS).set(0, "a", to={"x": 1}).text() == "- a: # one\n    x: 1\n  b: 2\n# two\n- a: 3\n"
    assert Edit(ITEMS).add(0, key="c", value=0, after=None).text().startswith("- c: 0\n  a: 1 # one\n  b: 2\n")
    assert Edit(ITEMS).move(0, "a", after="b").text() == "- b: 2\n  a: 1 # one\n# two\n- a: 3\n"
    assert Edit(ITEMS).remove(0, "a").remove(0, "b").text() == "- {}\n# two\n- a: 3\n"
    assert Edit(ITEMS).move(1, after=None).text() == "# two\n- a: 3\n- a: 1 # one\n  b: 2\n"


def test_wide_dash() -> None:
    before = "-   a: 1\n    b: 2\n"
    assert Edit(before).remove(0, "a").text() == "-   b: 2\n"
    assert Edit(before).add(0, key="c", value=3, after=None).text() == "-   c: 3\n    a: 1\n    b: 2\n"


NESTED = block("""
    - - - a
        - b
      - c
    - d
""")


def test_lists_behind_dashes() -> None:
    assert Edit(NESTED).remove(0, 0, 0).text() == "- - - b\n  - c\n- d\n"
    assert Edit(NESTED).add(0, 0, value="x", after=None).text() == "- - - x\n    - a\n    - b\n  - c\n- d\n"
    assert Edit(NESTED).add(0, value="x", after=None).text() == "- - x\n  - - a\n    - b\n  - c\n- d\n"
    assert Edit(NESTED).move(0, 0, 1, after=None).text() == "- - - b\n    - a\n  - c\n- d\n"
    assert Edit(NESTED).move(0, 0, after=1).text() == "- - c\n  - - a\n    - b\n- d\n"
    assert Edit(NESTED).remove(0).text() == "- d\n"


def test_detached_comment_behind_the_first_key_of_an_item() -> None:
    assert Edit("- a: 1\n\n  # detached\n\n  b: 2\n").remove(0, "a").text() == "- # detached\n\n  b: 2\n"


# ---- 6: emptied and filled -----------------------------------------------------------------------------------------


def test_emptied() -> None:
    assert Edit("a: # c\n  b: 1\nd: 2\n").remove("a", "b").text() == "a: {} # c\nd: 2\n"
    assert Edit("a:\n- 1\nd: 2\n").remove("a", 0).text() == "a: []\nd: 2\n"
    assert Edit("a: [1]   # c\n").remove("a", 0).text() == "a: []   # c\n"
    assert Edit("a: {b: 1}\n").remove("a", "b").text() == "a: {}\n"
    assert Edit("  # c\n  a: 1\n").remove("a").text() == "  {}\n"
    detached = "a:\n  b: 1\n\n  # detached\n\n  c: 2\nd: 1\n"
    assert Edit(detached).remove("a", "b").remove("a", "c").text() == "a: {}\n\n  # detached\n\nd: 1\n"


@pytest.mark.parametrize("empty", ["{}", "{ }"])
def test_filled_mapping_becomes_a_block(empty: str) -> None:
    before = f"a: {empty} # c\nb: 1\n"
    assert Edit(before).add("a", key="x", value=1).text() == "a: # c\n  x: 1\nb: 1\n"
    assert Edit(before).set("a", to={"x": [1]}).text() == "a: # c\n  x:\n  - 1\nb: 1\n"


def test_filled_list_becomes_a_block() -> None:
    assert Edit("a: []\nb: 1\n").add("a", value={"x": 1, "z": 2}).text() == "a:\n- x: 1\n  z: 2\nb: 1\n"
    assert Edit("- []\n- {}\n").add(0, value=1).add(1, key="x", value=2).text() == "- - 1\n- x: 2\n"
    assert Edit("a: {b: {}, c: []}\n").add("a", "b", key="x", value=[1]).text() == "a: {b: {x: [1]}, c: []}\n"
    assert Edit("  {}\n").add(key="x", value=1).text() == "  x: 1\n"
    assert Edit("# c\n  []\n").add(value=1).text() == "# c\n  - 1\n"
    assert Edit("--- []\n").add(value=1).text() == "--- [1]\n"


def test_an_empty_collection_that_is_not_edited_keeps_its_text() -> None:
    assert Edit("a: &x { }\nb: 1\nc: *x\n").set("b", to=2).comment("a", line="# c").text() == (
        "a: &x { } # c\nb: 2\nc: *x\n"
    )


# ---- 7: flow -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: [1, 2, 3] # c\n", "a: [1, 3] # c\n"),
        ("a: [ 1,2 ,3 ]\n", "a: [ 1 ,3 ]\n"),
        ("a: [1, 2]\n", "a: [1]\n"),
        ("a: [1, 2,]\n", "a: [1,]\n"),
        ("a: [\n  1,\n  2,\n  3\n]\n", "a: [\n  1,\n  3\n]\n"),
        ("a: [1, {x: [2]}]\n", "a: [1]\n"),
        ("a: [1, k: v, 3]\n", "a: [1, 3]\n"),
    ],
)
def test_removing_from_a_flow_list(before: str, after: str) -> None:
    assert Edit(before).remove("a", 1).text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: [1, 2]\n", "a: [x, 1, 2]\n"),
        ("a: [ 1 ]\n", "a: [ x, 1 ]\n"),
        ("a: [1,2]\n", "a: [x,1,2]\n"),
        ("a: [\n  1\n]\n", "a: [\n  x,\n  1\n]\n"),
    ],
)
def test_inserting_into_a_flow_list(before: str, after: str) -> None:
    assert Edit(before).add("a", value="x", after=None).text() == after


def test_flow_mappings() -> None:
    assert Edit('{"a":1,"b":{"c":[]}}\n').set("b", "c", to={"x": "y\nz"}).text() == '{"a":1,"b":{"c":{"x": "y\\nz"}}}\n'
    assert Edit("a: {b, c: 1}\n").set("a", "b", to=2).text() == "a: {b: 2, c: 1}\n"
    assert Edit("a: {b: , c: 1}\n").set("a", "b", to=2).text() == "a: {b: 2 , c: 1}\n"
    assert Edit("a: {b: 1}\n").add("a", key="k: v", value=[None, "a, b"]).text() == (
        'a: {b: 1, "k: v": [null, "a, b"]}\n'
    )
    assert Edit("a: {b: 1, c: 2}\n").move("a", "c", after=None).text() == "a: {c: 2, b: 1}\n"
    assert Edit("a: [b: 1]\n").set("a", 0, "b", to=2).text() == "a: [{b: 2}]\n"


def test_flow_in_several_lines_is_not_joined() -> None:
    before = 'a: {\n  "b": 1,   # one\n  "c": [2,\n    3]\n  }\nd: 1\n'
    assert Edit(before).set("a", "c", 1, to=4).text() == before.replace("3]", "4]")
    assert Edit(before).set("a", "b", to=4).text() == before.replace(": 1,", ": 4,")
    assert Edit(before).remove("a", "b").text() == 'a: {\n  "c": [2,\n    3]\n  }\nd: 1\n'
    with pytest.raises(CannotEditError, match="comments between elements on one line"):
        Edit("a: [1, # one\n  2, 3]\n").remove("a", 0).text()


def test_comments_between_brackets_go_with_their_children_and_the_bracket_stays_where_it_is() -> None:
    before = "a: {\n    b: 1, # b\n    c: 2, # c\n    # over d\n    d: 3 # d\n  # end\n}\n"
    assert Edit(before).move("a", "d", after=None).text() == (
        "a: {\n    # over d\n    d: 3, # d\n    b: 1, # b\n    c: 2 # c\n  # end\n}\n"
    )
    assert Edit(before).remove("a", "d").text() == "a: {\n    b: 1, # b\n    c: 2 # c\n  # end\n}\n"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("{x: &y 1, z: 2}", "{x: 1, z: 2}"),
        ("{x: &y 1,\n z: 2}", "{\n    x: 1,\n    z: 2\n  }"),
        ("{\n  x: [\n   1 ],\n  z: 2\n}", "{\n    x: [\n     1 ],\n    z: 2\n  }"),
        # Brackets that begin a key are those of no collection on one line.
        ("[]: 1\n", "{\n    []: 1\n  }"),
    ],
)
def test_what_comes_into_flow_in_several_lines_has_one_line_where_its_source_has_one(source: str, lines: str) -> None:
    assert Edit("a: [\n  1\n]\n").add("a", value=tree(source)).text() == f"a: [\n  1,\n  {lines}\n]\n"


def test_what_comes_into_flow_on_one_line_is_on_that_line() -> None:
    source = tree("{\n  x: [\n   1 ],\n  z: 2\n}")
    assert Edit("a: [b]\n").add("a", value=source).text() == "a: [b, {x: [1], z: 2}]\n"


def test_a_block_value_cannot_stand_in_flow() -> None:
    source = tree("x:\n- a: |\n    l\n    m\n  b: &x c\n- *x\n")
    assert Edit("a: [1]\n").set("a", 0, to=source).text() == 'a: [{x: [{a: "l\\nm\\n", b: c}, c]}]\n'


# ---- 8: whose comment it is: see test_comments.py -------------------------------------------------------------------

# ---- 9: text from elsewhere ----------------------------------------------------------------------------------------

SOURCE = block("""
    spec:
        # image
        image: "nginx" # tag
        script: |
            echo
              x
        text: "one
            two"
        args: ['a', b]

        # detached

        list:
          - x: 1
""")


def test_source_style_comes_along_and_indentation_is_ours() -> None:
    spec = tree(SOURCE).get("spec")  # type: ignore[union-attr]
    assert Edit("a: 1\nb:\n- 1\n").set("a", to=spec).text() == block("""
        a:
          # image
          image: "nginx" # tag
          script: |
            echo
              x
          text: "one
            two"
          args: ['a', b]

          # detached

          list:
          - x: 1
        b:
        - 1
    """)


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("x:\n- 1\n", "a:\n- b:\n  - 1\n"),
        ("x:\n  - 1\n", "a:\n  - b:\n      - 1\n"),
        ("x:\n    - 1\n", "a:\n    - b:\n          - 1\n"),
        ("x:\n    y: 1\n", "a:\n- b:\n  - 1\n"),
        ("x:\n- 1\ny:\n  - 1\n", "a:\n- b:\n  - 1\n"),
    ],
)
def test_lists_are_indented_as_the_document_does(document: str, written: str) -> None:
    assert Edit(document).add(key="a", value=[{"b": [1]}]).text() == document + written


def test_mappings_are_indented_as_the_document_does() -> None:
    before = "x:\n    y: 1\n"
    assert Edit(before).add(key="a", value={"b": {"c": "l\nm"}}).text() == (
        before + "a:\n    b:\n        c: |-\n            l\n            m\n"
    )


@pytest.mark.parametrize(("column", "step"), [(1, 2), (2, 2), (8, 8), (9, 2)])
def test_mappings_are_indented_by_two_where_comments_below_texts_would_have_no_column(column: int, step: int) -> None:
    before = f"x:\n{' ' * column}y: 1\n"
    assert Edit(before).add(key="a", value={"b": 1}).text() == f"{before}a:\n{' ' * step}b: 1\n"


def test_a_document_without_lists_takes_them_as_their_source_has_them() -> None:
    assert Edit("x: 1\n").set("x", to=tree("a:\n  - 1\n")).text() == "x:\n  a:\n    - 1\n"
    assert Edit("x: 1\n").set("x", to=tree("a:\n- 1\n")).text() == "x:\n  a:\n  - 1\n"


# ---- 10: line ends -------------------------------------------------------------------------------------------------


def test_carriage_returns_stay() -> None:
    before = "a: 1 # c\r\nb: |\r\n  x\r\n\r\n# d\r\nc: [1]\r\n"
    edit = Edit(before).set("a", to={"x": ["l\nm"]}).add(key="d", value=tree("e: # f\n  g: |\n    h\n"))
    assert edit.text() == (
        "a: # c\r\n  x:\r\n  - |-\r\n    l\r\n    m\r\nb: |\r\n  x\r\n\r\n# d\r\nc: [1]\r\n"
        "d:\r\n  e: # f\r\n    g: |\r\n      h\r\n"
    )
    assert Edit("a: 1\n").set("a", to=tree(before)).text() == ("a:\n  a: 1 # c\n  b: |\n    x\n\n  # d\n  c: [1]\n")


@pytest.mark.parametrize("mark", ["\r", "\x85", "\u2028", "\u2029"])
def test_line_breaks_of_yaml_1_1(mark: str) -> None:
    text = f"a: 1{mark}b: 'x'{mark}"
    assert render(Editor(tree(text))).text == text
    with pytest.raises(CannotEditError, match="line breaks"):
        Edit(text).set("a", to=2).text()
    assert tree(Edit("x: 1\n").set("x", to=tree(text)).text()).get("x").canonical == tree(text).canonical  # type: ignore[union-attr]


# ---- 11 and other layouts ------------------------------------------------------------------------------------------


def test_values_on_lines_of_their_own() -> None:
    before = "a:\n  # why\n  'x' # c\nb: 1\n"
    assert Edit(before).set("a", to="z").text() == "a:\n  # why\n  'z' # c\nb: 1\n"
    assert Edit(before).set("a", to={"z": 1}).text() == "# why\na: # c\n  z: 1\nb: 1\n"


def test_a_comment_right_behind_quotes_stays_a_comment() -> None:
    assert Edit('a: "x"#c\nb: 1\n').set("a", to=5).text() == "a: 5 #c\nb: 1\n"
    assert Edit("- 'x'#c\n- y\n").set(0, to=5).text() == "- 5 #c\n- y\n"


def test_quoted_text_is_no_comment() -> None:
    before = 'a: "x\n# y"\nb: 1\n'
    assert Edit(before).remove("b").text() == 'a: "x\n# y"\n'
    assert Edit(before).remove("a").text() == "b: 1\n"


@pytest.mark.parametrize(
    "text", ["? [a]\n: 1\nb: 2\n", "? a\n: 1\nb: 2\n", "? |\n  a\n: 1\nb: 2\n", "?\n  |\n  a\n: 1\nb: 2\n"]
)
def test_complex_keys(text: str) -> None:
    assert render(Editor(tree(text))).text == text
    assert Edit(text).set("b", to=3).text() == text.replace("b: 2", "b: 3")
    with pytest.raises(CannotEditError, match="complex keys"):
        Edit(text).remove("b").text()


def test_complex_keys_elsewhere_are_in_nobodys_way() -> None:
    before = "x:\n  ? [a]\n  : 1\ny: 1\n"
    assert Edit(before).set("y", to=2).text() == "x:\n  ? [a]\n  : 1\ny: 2\n"


def test_quotes_stay_around_a_new_text() -> None:
    before = 'a: "x"\nb: \'x\' # c\nc: {"d":"x", e: \'x\'}\n'
    edit = Edit(before).set("a", to='say "y"').set("b", to="it's").set("c", "d", to="z").set("c", "e", to="z")
    assert edit.text() == 'a: "say \\"y\\""\nb: \'it\'\'s\' # c\nc: {"d":"z", e: \'z\'}\n'
    other = Edit(before).set("a", to=1).set("b", to=None).set("c", "e", to=True)
    assert other.text() == 'a: 1\nb: null # c\nc: {"d":"x", e: true}\n'


def test_document_marks_stay() -> None:
    before = "%YAML 1.1\n--- # c\na: 1\n...\n"
    assert Edit(before).set("a", to=2).text() == "%YAML 1.1\n--- # c\na: 2\n...\n"
    assert Edit("---\na: 1\n").remove("a").text() == "---\n{}\n"


def test_order_of_a_list_changes_with_the_fewest_moves() -> None:
    edit = Edit("- a\n\n- b # b\n# c\n- c\n- d\n")
    assert edit.move(3, after=None).move(0, after=2).text() == "- d\n\n- b # b\n# c\n- c\n- a\n"


def test_the_deepest_document_can_be_edited() -> None:
    depth = 120
    text = "".join("  " * level + "a:\n" for level in range(depth)) + "  " * depth + "b: 1\n"
    assert Edit(text).set(*["a"] * depth, "b", to=2).text() == text.replace("1", "2")
    flow = "[" * depth + "1" + "]" * depth
    assert Edit(flow).set(*[0] * depth, to=2).text() == flow.replace("1", "2")


# ---- JSON ------------------------------------------------------------------------------------------------------------

JSON = [
    '{"a":"b","n":{"x":1},"l":["y"],"e":{}}\n',
    '{\n    "a": "b",\n    "n": {\n        "x": 1\n    },\n    "l": [\n        "y"\n    ],\n    "e": {}\n}\n',
]
VALUES = tree("c: d\n'q': \"\\x41\\e\"\nlist: [x, 0x1F, yes, 1.5, ~]\nblock: |\n  two\n  lines\nr: 'it''s'\n")


@pytest.mark.parametrize("before", JSON)
def test_json_stays_json(before: str) -> None:
    for value in (VALUES, to_value(VALUES)):
        edit = Edit(before).add("n", key="new", value=value).add("l", value=value).add("e", key="true", value="on")
        after = json.loads(edit.set("a", to=value).text())
        assert after["n"] == {"x": 1, "new": to_value(VALUES)}
        assert after["l"] == ["y", to_value(VALUES)]
        assert (after["a"], after["e"]) == (to_value(VALUES), {"true": "on"})
    assert Edit(before).set("n", "x", to=True).text() == before.replace("1", "true")
    assert Edit(before).set("a", to=None).text() == before.replace('"b"', "null")
    assert Edit(before).set("a", to="c").text() == before.replace('"b"', '"c"')
