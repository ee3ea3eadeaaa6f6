"""W2: the text is read again and compared; what the editor cannot write is refused, with the field and a remedy."""

from __future__ import annotations

import pytest

import krm_merge.text.document
from krm_merge.text.document import rendered
from krm_merge.text.editing.render import Rendering
from krm_merge.text.reading.nodes import TextError
from text.edits import Edit, Path, tree


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
    assert rendered(Edit(before).set(*path, to="new text").editor) == (after, None)


COMPLEX = '# head\n[a, b]: 1\ntext: "yes"   # quoted\nlist:\n  - TRUE # item\n  - x\n'


def test_beside_what_cannot_be_edited_an_edit_stays_in_its_place() -> None:
    edit = Edit(COMPLEX).set("text", to="no").set("list", 1, to="on").add("list", value={"a": "l\nm\n", "b": None})
    expected = COMPLEX.replace('"yes"', '"no"').replace("- x", '- "on"') + "  - a: |\n      l\n      m\n    b: null\n"
    assert rendered(edit.editor).text == expected


def with_other_root() -> Edit:
    edit = Edit("# top\na: 1\n")
    edit.editor.replace(edit.root, tree("b: [1]\n"))
    return edit


REFUSED = {
    "a field beside a complex key": (
        Edit(COMPLEX).remove("text"),
        "cannot edit a mapping with complex keys; give it keys without ?",
    ),
    "a field inside of one": (
        Edit("a:\n- ? [x]\n  : 1\n  b: 2\n").remove("a", 0, "b"),
        "a[0]: cannot edit a mapping with complex keys; give it keys without ?",
    ),
    "an element between comments": (
        Edit("s:\n  a: [1, # one\n    2]\nb: 1 # b\n").remove("s", "a", 1),
        "s.a: cannot edit a collection in brackets with comments between elements on one line; "
        "give each a line of its own",
    ),
    "line breaks of YAML 1.1": (
        Edit("a: x\u2028  y\nb: 1\n").set("b", to=2),
        "cannot edit a string with line breaks that only YAML 1.1 has; replace them with newlines",
    ),
    "a key that YAML has no room for": (
        Edit("a: 1 # kept\n").add(key="k" * 2000, value=2),
        "cannot edit a key of more than 1000 characters; choose a shorter one",
    ),
    "the root": (with_other_root(), "cannot edit a document with another root"),
}


@pytest.mark.parametrize(("edit", "message"), REFUSED.values(), ids=REFUSED)
def test_what_the_layout_allows_no_edit_of_is_refused_with_its_field(edit: Edit, message: str) -> None:
    with pytest.raises(TextError) as error:
        rendered(edit.editor)
    assert str(error.value) == message


@pytest.mark.parametrize("text", ["a: 3\n", "a: [\n"])
def test_never_wrong_silently(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    edit = Edit("a: 1\n").set("a", to=2)
    monkeypatch.setattr(krm_merge.text.document, "render", lambda _: Rendering(text, None))
    with pytest.raises(TextError, match="the edits of this document cannot be written; please report it"):
        rendered(edit.editor)
