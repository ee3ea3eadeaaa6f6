"""Whose comment it is: lines directly above and at the end of the line travel with a child, what stands apart stays."""

from __future__ import annotations

import pytest

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.render import render
from krm_merge.text.reading.layout import CannotEditError, Comments, chunks, comments_of
from krm_merge.text.reading.nodes import MappingNode, SequenceNode
from text.edits import Edit, tree

DOCUMENT = """\
# license

# one
# two
a: 1   # line a
  # deeper
b:  # line b
  # head of c
  c: 2

  # detached

  # head of d
  d: |  # line d
    # text
  # foot of b

# detached

# head of e
e: [1]
# end
"""


def comments(text: str) -> dict[str, Comments]:
    by_field: dict[str, Comments] = {}
    pending = [tree(text)]
    while pending:
        node = pending.pop()
        if isinstance(node, MappingNode) and not node.flow:
            for entry, chunk in zip(node.entries, chunks(node), strict=True):
                by_field[entry.key.text] = comments_of(node, entry, chunk)  # type: ignore[union-attr]
                pending.append(entry.value)
        elif isinstance(node, SequenceNode) and not node.flow:
            for index, (item, chunk) in enumerate(zip(node.items, chunks(node), strict=True)):
                by_field[f"[{index}]"] = comments_of(node, item, chunk)
                pending.append(item)
    return by_field


def test_comments_belong_to_their_child() -> None:
    assert comments(DOCUMENT) == {
        "a": Comments(("# one", "# two"), "# line a"),
        "b": Comments((), "# line b"),
        "c": Comments(("# head of c",)),
        "d": Comments(("# head of d",), "# line d"),
        "e": Comments(("# head of e",)),
    }


def test_they_go_and_travel_with_it() -> None:
    assert Edit(DOCUMENT).remove("a").text() == DOCUMENT.replace("# one\n# two\na: 1   # line a\n  # deeper\n", "")
    assert Edit(DOCUMENT).move("a", after="e").text() == (
        DOCUMENT.replace("# one\n# two\na: 1   # line a\n  # deeper\n", "").replace(
            "e: [1]\n", "e: [1]\n# one\n# two\na: 1   # line a\n  # deeper\n"
        )
    )


def test_detached_ones_stay() -> None:
    assert Edit(DOCUMENT).remove("b").text() == (
        "# license\n\n# one\n# two\na: 1   # line a\n  # deeper\n\n# detached\n\n# head of e\ne: [1]\n# end\n"
    )
    assert Edit(DOCUMENT).remove("b", "d").text() == DOCUMENT.replace(
        "  # head of d\n  d: |  # line d\n    # text\n", ""
    )


def test_comments_are_changed_in_their_place() -> None:
    edit = Edit(DOCUMENT)
    edit.comment("a", head=("# new",), line="# kpt-set: ${a}")
    edit.comment("b", line="# b").comment("b", "c").comment("b", "d", head=("# head of d",), line="# d")
    edit.comment("e", head=("# head of e",), line="# e")
    text = DOCUMENT.replace("# one\n# two\n", "# new\n").replace("# line a", "# kpt-set: ${a}")
    text = text.replace("# line b", "# b").replace("  # head of c\n", "").replace("# line d", "# d")
    assert edit.text() == text.replace("[1]\n", "[1] # e\n")


def test_comments_above_keep_their_column_with_a_new_value() -> None:
    assert Edit("a:\n# h\n  - 1 # c\n").set("a", 0, to="x\ny").text() == "a:\n# h\n  - |- # c\n    x\n    y\n"


def test_with_a_new_value() -> None:
    assert Edit("a: 1   # c\n").set("a", to=22).comment("a", line="# d").text() == "a: 22   # d\n"
    assert Edit("a: 1   # c\n").set("a", to={"b": 1}).text() == "a:   # c\n  b: 1\n"
    assert Edit("# h\na: # c\n  # x\n  b: 1 # y\nd: 1\n").set("a", to=1).text() == "# h\na: 1 # c\nd: 1\n"


KPT_FORM = """\
- # head
  a: 1
- # one
  # of b
  b: 2
# above
- # behind
  c: 3
"""


def test_comment_behind_a_dash_is_a_head() -> None:
    by_field = comments(KPT_FORM)
    assert by_field["[0]"] == Comments(("# head",))
    assert by_field["[1]"] == Comments(("# one",))
    assert by_field["b"] == Comments(("# of b",))
    assert by_field["[2]"] == Comments(("# above", "# behind"))


def test_comment_behind_a_dash_keeps_its_form() -> None:
    assert Edit(KPT_FORM).set(0, "a", to=5).text() == KPT_FORM.replace("a: 1", "a: 5")
    assert Edit(KPT_FORM).comment(0, head=("# x", "# y")).text() == KPT_FORM.replace("- # head", "# x\n- # y")
    assert Edit(KPT_FORM).comment(0).text() == KPT_FORM.replace("- # head", "-")
    assert Edit(KPT_FORM).set(0, to="x").text() == KPT_FORM.replace("- # head\n  a: 1", "# head\n- x")
    assert Edit(KPT_FORM).move(0, after=2).text() == (
        "- # one\n  # of b\n  b: 2\n# above\n- # behind\n  c: 3\n- # head\n  a: 1\n"
    )
    assert Edit(KPT_FORM).remove(0, "a").text() == KPT_FORM.replace("- # head\n  a: 1", "# head\n- {}")


def test_new_comments_of_an_item_stand_above_it() -> None:
    assert Edit("- a: 1\n- b: 1\n").comment(1, head=("# h",), line="# l").text() == "- a: 1\n# h\n# l\n- b: 1\n"
    assert Edit("- 1\n").comment(0, head=("# h",), line="# l").text() == "# h\n- 1 # l\n"
    assert Edit("- a: 1\n").comment(0, "a", head=("# h",)).text() == "- # h\n  a: 1\n"


def test_inserted_with_comments() -> None:
    added = Edit("a:\n  b: 1\n").add("a", key="c", value={"d": 1}, comments=Comments(("# h", "# i"), "# l"))
    assert added.text() == "a:\n  b: 1\n  # h\n  # i\n  c: # l\n    d: 1\n"
    added = Edit("a:\n- 1\n").add("a", value={"d": 1}, comments=Comments(("# h",), "# l"))
    assert added.text() == "a:\n- 1\n# h\n# l\n- d: 1\n"
    added = Edit("a:\n- 1\n").add("a", value=tree("[2]"), comments=Comments(("# h",), "# l"))
    assert added.text() == "a:\n- 1\n# h\n- [2] # l\n"
    flow = Edit("a: [1]\n").add("a", value=2, comments=Comments(("# h",), "# l"))
    assert flow.text() == "a: [1, 2]\n"


def test_what_comes_from_another_text_keeps_the_comments_above_its_first_field() -> None:
    other = Edit("a:\n  # one\n\n  # two\n  b:\n    # three\n\n    c: 1\nl:\n-\n  # four\n\n  d: 1\n")
    edit = Edit("l:\n- e: 1\n")
    edit.editor.insert(edit.collection(), other.child("a")[1], edit.child("l")[1])
    edit.editor.insert(edit.collection("l"), other.child("l", 0)[1], None)
    assert edit.text() == ("l:\n# four\n- d: 1\n- e: 1\na:\n  # one\n\n  # two\n  b:\n    # three\n\n    c: 1\n")


@pytest.mark.parametrize(
    ("text", "is_apart"),
    [
        ("a: 1\nb: 2\n", False),
        ("a: 1\n\nb: 2\n", True),
        ("a: 1\n\n\nb: 2\n", True),
        ("a: 1\n# about b\nb: 2\n", False),
        ("a: 1\n\n# about b\nb: 2\n", True),
        # A blank line that sets a comment apart is the comment's.
        ("a: 1\n\n# apart\n\nb: 2\n", False),
        # Above the first field there is nothing that a blank line sets apart.
        ("\n\nb: 2\n\na: 1\n", False),
        ("# about b\nb: 2\n\na: 1\n", False),
    ],
)
def test_what_comes_from_another_text_stays_apart_from_what_is_above(text: str, is_apart: bool) -> None:
    edit, other = Edit("x: 1\ny: 2\n"), Edit(text)
    edit.editor.insert(edit.collection(), other.child("b")[1], edit.child("x")[1])
    assert edit.text() == "x: 1\n" + "\n" * is_apart + "b: 2\ny: 2\n"


@pytest.mark.parametrize("bad", ["no hash", "# two\n# lines", "# two\u2028lines", ""])
def test_only_comments_are_comments(bad: str) -> None:
    with pytest.raises(ValueError, match="comment"):
        Edit("a: 1\n").comment("a", line=bad)
    with pytest.raises(ValueError, match="comment"):
        Edit("a: 1\n").comment("a", head=(bad,))


def test_a_flow_collection_has_no_lines_for_comments() -> None:
    root = tree("a: [1]\n")
    assert isinstance(root, MappingNode)
    with pytest.raises(CannotEditError):
        chunks(root.entries[0].value)  # type: ignore[arg-type]
    assert render(Editor(root)).text == "a: [1]\n"


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (Edit("z: 1\na:\n- x\n  # own\n- y\n").remove("a", 0), "z: 1\na:\n- y\n"),
        (Edit("z: 1\na:\n- x\n  # own\n- y\n- z\n").move("a", 1, after=2), "z: 1\na:\n- x\n  # own\n- z\n- y\n"),
        (Edit("z: 1\na:\n-\n  # own\n- z\n").set("a", 0, to=1), "z: 1\na:\n- 1\n  # own\n- z\n"),
        # A blank line above it sets it apart.
        (Edit("z: 1\na:\n- x\n\n  # apart\n- y\n- z\n").remove("a", 1), "z: 1\na:\n- x\n\n  # apart\n- z\n"),
        (Edit("z: 1\na:\n  # apart\n- y\n- z\n").remove("a", 0), "z: 1\na:\n  # apart\n- z\n"),
    ],
)
def test_a_comment_that_is_deeper_than_the_dash_below_it_is_of_what_is_above(edit: Edit, after: str) -> None:
    assert edit.text() == after
