"""W2: the text is read again and compared; what the editor cannot write ruamel writes, or we write it anew."""

from __future__ import annotations

from typing import Any

import pytest

import krm_merge.text.document
import krm_merge.text.editing.reemit
from krm_merge.text.document import rendered
from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.reemit import reemit, written_anew
from krm_merge.text.editing.render import Rendering
from krm_merge.text.reading.nodes import TextError, from_value, to_value
from text.edits import Edit, Path, tree

COMPLEX = """\
# head
[a, b]: 1
text: "yes"   # quoted
number: 0644
nothing: ~
time: 2024-01-01
list:
  - TRUE # item
  - x
"""


def test_the_editor_does_what_it_can() -> None:
    assert rendered(Edit("a: 1\n").set("a", to=2).editor)[::2] == ("a: 2\n", False)


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a: x # c\nb: 1\n", ("a",), "a: new text # c\nb: 1\n"),
        ("a: [1, 2] # c\nb: 1\n", ("a", 0), "a: [new text, 2] # c\nb: 1\n"),
        ("a: &x {c: [1], d: 2}\nb: 1\n", ("a", "d"), "a: &x {c: [1], d: new text}\nb: 1\n"),
        ("a: !!seq\n- c:\n  d: 2\nb: 1\n", ("a", 0, "c"), "a: !!seq\n- c: new text\n  d: 2\nb: 1\n"),
    ],
)
def test_the_rest_of_the_text_is_not_read_again(before: str, path: Path, after: str) -> None:
    assert rendered(Edit(before).set(*path, to="new text").editor) == (after, None, False)


def test_complex_keys() -> None:
    edit = Edit(COMPLEX).set("text", to="no").set("list", 1, to="on").add("list", value={"a": "l\nm\n", "b": None})
    text, _, fallback = rendered(edit.remove("number").editor)
    assert fallback
    result = COMPLEX.replace('"yes" ', '"no"  ').replace("  - x", '  - "on"').replace("number: 0644\n", "")
    assert text == result + "  - a: |\n      l\n      m\n    b: null\n"


def test_the_value_of_a_complex_key() -> None:
    edit = Edit("? [a]\n: 1\nb: 2 # c\n")
    edit.editor.replace(edit.collection().entries[0], from_value("yes"))  # type: ignore[union-attr]
    assert rendered(edit.editor)[::2] == ('[a]: "yes"\nb: 2 # c\n', True)


def test_commented_flow() -> None:
    edit = Edit("a: [1, # one\n  2]\nb: 1 # b\n").remove("a", 1)
    text, _, fallback = rendered(edit.editor)
    assert fallback
    assert to_value(tree(text)) == {"a": [1], "b": 1}
    assert "b: 1 # b\n" in text


def test_every_edit_in_a_document_for_ruamel() -> None:
    edit = Edit("? [x]\n: 1\na: 1 # a\nb: 2 # b\nc: [1, 2]\nd:\n- x # x\n- y\n- z # z\ne: {f: 1}\n")
    edit.move("b", after=None).remove("a").set("c", 0, to="off").add("c", value=True)
    edit.move("d", 2, after=None).remove("d", 1).add("d", value=1.5, after=0).add("e", key="g h", value="#")
    edit.add(key="z", value=[], after="c").comment("e", head=("# e",))
    assert reemit(*both(edit)) == (
        'b: 2 # b\n[x]: 1\nc: ["off", 2, true]\nz: []\nd:\n- z # z\n- x # x\n- 1.5\n# e\ne: {f: 1, g h: "#"}\n'
    )


def both(edit: Edit) -> tuple[str, Editor]:
    assert edit.root.source is not None
    return edit.root.source.text, edit.editor


@pytest.mark.parametrize("text", ["a: &x {b: 1}\nc: *x\n? [d]\n: 1\n", "a: &x {b: 1}\nc:\n  <<: *x\n? [d]\n: 1\n"])
def test_aliases_in_a_document_for_ruamel(text: str) -> None:
    text, _, fallback = rendered(Edit(text).set("c", "b", to=2).editor)
    assert fallback
    assert to_value(tree(text)) == {"a": {"b": 1}, "c": {"b": 2}, "[d]": 1}
    text, _, fallback = rendered(Edit("a: &x {b: 1}\nc: *x\n? [d]\n: 1\n").set("a", "b", to=2).editor)
    assert to_value(tree(text)) == {"a": {"b": 2}, "c": {"b": 1}, "[d]": 1}


SHARED = "a: &x {b: 1}\nc: *x\nd: [*x] # d\n? [d]\n: 1\ne: 1\n"


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        pytest.param(
            Edit(SHARED).move("e", after=None), "e: 1\na: &x {b: 1}\nc: *x\nd: [*x] # d\n[d]: 1\n", id="no alias"
        ),
        pytest.param(
            Edit(SHARED).set("a", "b", to=2), "a: &x {b: 2}\nc: {b: 1}\nd: [*x] # d\n[d]: 1\ne: 1\n", id="its anchor"
        ),
        pytest.param(Edit(SHARED).set("c", to=2), "a: &x {b: 1}\nc: 2\nd: [*x] # d\n[d]: 1\ne: 1\n", id="an alias"),
        pytest.param(
            Edit(SHARED).set("c", "b", to=2),
            "a: &x {b: 1}\nc: {b: 2}\nd: [*x] # d\n[d]: 1\ne: 1\n",
            id="what is in an alias",
        ),
    ],
)
def test_ruamel_writes_aliases_out_that_no_longer_mean_their_anchor_after_an_edit_of(edit: Edit, after: str) -> None:
    assert reemit(*both(edit)) == after


COMMENTED = "# h\na: 1 # a\nb: 2\n? [d]\n: 1\nc:\n  x: 1\n  y: 2\n"


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        pytest.param(Edit(COMMENTED).comment("a", head=("# h",), line="# n"), COMMENTED, id="no second one at a line"),
        pytest.param(
            Edit(COMMENTED).comment("b", line="# n"),
            COMMENTED.replace("b: 2", "b: 2 # n"),
            id="at a line that has none",
        ),
        pytest.param(
            Edit(f"x: 1\n{COMMENTED}").comment("b").comment("a", head=("# h",), line="# a"),
            f"x: 1\n{COMMENTED}",
            id="no second one that is there",
        ),
        pytest.param(
            Edit("x: 1\n# h\na: 1\n? [d]\n: 1\n").comment("a", head=("# h",)),
            "x: 1\n# h\na: 1\n? [d]\n: 1\n",
            id="no second one above a line",
        ),
        pytest.param(
            Edit(COMMENTED).comment("c", "y", head=("# n",)), COMMENTED.replace("  y", "  # n\n  y"), id="in its column"
        ),
    ],
)
def test_ruamel_writes_comments(edit: Edit, after: str) -> None:
    assert reemit(*both(edit)) == after.replace("? [d]\n:", "[d]:")


def test_a_mapping_with_a_merge_key_that_no_edit_touches_stays_in_a_document_for_ruamel() -> None:
    before = "? [d]\n: 1\na: &x {b: 1}\nc:\n  <<: *x\n  # why\n  e: 'q' # f\ng: 1\n"
    text, _, fallback = rendered(Edit(before).move("g", after=None).editor)
    assert fallback
    assert text == "g: 1\n[d]: 1\na: &x {b: 1}\nc:\n  <<: *x\n  # why\n  e: 'q' # f\n"


def test_line_ends_and_column_are_kept() -> None:
    before = "".join(f"  {line}\r\n" for line in COMPLEX.splitlines())
    text, _, fallback = rendered(Edit(before).remove("number").editor)
    assert fallback
    assert text == before.replace("  number: 0644\r\n", "")
    text, _, fallback = rendered(Edit(before).set("number", to=1).editor)
    assert not fallback
    assert text == before.replace("0644", "1")


def test_what_ruamel_cannot_read_is_written_anew() -> None:
    before = "# top\n\n# head\n? [a]\n: 1\nb:\t# ruamel knows no tabs\n  # c\n  c: 'x' # d\n"
    text, _, fallback = rendered(Edit(before).add("b", key="d", value="yes").add(key="e", value=2).editor)
    assert fallback
    assert text == "# top\n\n# head\n[a]: 1\nb: # ruamel knows no tabs\n  # c\n  c: 'x' # d\n  d: \"yes\"\ne: 2\n"


def test_beside_what_cannot_be_edited_an_edit_stays_in_its_place() -> None:
    before = "# head\n? [a]\n: 1\nb:\t# a tab\n  # c\n  c: 'x' # d\n"
    text, _, fallback = rendered(Edit(before).add("b", key="d", value="yes").editor)
    assert not fallback
    assert text == before + '  d: "yes"\n'


def test_another_root() -> None:
    edit = Edit("# top\na: 1\n")
    edit.editor.replace(edit.root, tree("b: [1]\n"))
    text, _, fallback = rendered(edit.editor)
    assert fallback
    assert to_value(tree(text)) == {"b": [1]}
    for root in ("{a: 1}", "a"):
        edit = Edit(f"--- {root}\n")
        edit.editor.replace(edit.root, tree("b: [1]\n"))
        assert written_anew(*both(edit)) == "b: [1]\n"
    scalar = Edit("# top\na\n")
    scalar.editor.replace(scalar.root, tree("x: 1\n"))
    assert written_anew(*both(scalar)) == "# top\nx: 1\n"


@pytest.mark.parametrize("value", ["x", "[1, 2]", "{b: 1}"])
@pytest.mark.parametrize(("head", "pad"), [("# top\n", ""), ("# top\n", "  "), ("", ""), ("---\n", "")])
def test_a_root_on_one_line_keeps_its_column_and_the_comments_above(head: str, pad: str, value: str) -> None:
    edit = Edit(f"{head}{pad}a: 1\n")
    edit.editor.replace(edit.root, tree(value))
    assert written_anew(*both(edit)) == f"{head}{pad}{value}\n"


def test_never_wrong_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = Edit("a: 1\n").set("a", to=2)
    monkeypatch.setattr(krm_merge.text.document, "render", lambda _: Rendering("a: 3\n", None))
    assert rendered(edit.editor)[::2] == ("a: 2\n", True)
    monkeypatch.setattr(krm_merge.text.document, "render", lambda _: Rendering("a: [\n", None))
    assert rendered(edit.editor)[::2] == ("a: 2\n", True)

    def wrong(text: str, editor: Editor) -> Any:
        return "a: 3\n"

    monkeypatch.setattr(krm_merge.text.editing.reemit, "reemit", wrong)
    assert rendered(edit.editor)[::2] == ("a: 2\n", True)
    monkeypatch.setattr(krm_merge.text.editing.reemit, "written_anew", wrong)
    with pytest.raises(TextError, match="cannot be written"):
        rendered(edit.editor)
