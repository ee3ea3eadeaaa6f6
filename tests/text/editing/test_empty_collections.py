"""Collections that are empty, become empty, or no longer are."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.nodes import Entry
from text.edits import Edit


@pytest.mark.parametrize("text", ["a: {b: { }, c: 1}\n", "a: {b: [ ], c: 1}\n"])
def test_an_empty_one_that_was_filled_and_emptied_again_is_as_it_was(text: str) -> None:
    edit = Edit(text)
    key = "x" if "{ }" in text else None
    edit.add("a", "b", key=key, value="new")
    holder = edit.collection("a", "b")
    edit.editor.remove(holder, edit.editor.children(holder)[0])
    edit.set("a", "c", to=2)
    assert edit.text() == text.replace("c: 1", "c: 2")


@pytest.mark.parametrize(
    ("inside", "rest"),
    [
        ("\n  # apart\n\n  b: 1\n", "\n  # apart\n\n"),
        ("  # about b\n  b: 1\n", ""),
        ("  b: 1\n  # below\n\n", "  # below\n\n"),
        ("\n  b: 1\n", ""),
    ],
)
def test_comments_of_no_field_stay_below_one_that_becomes_empty(inside: str, rest: str) -> None:
    assert Edit(f"a: # a\n{inside}c: 2\n").remove("a", "b").text() == f"a: {{}} # a\n{rest}c: 2\n"


def test_a_binary_text_of_several_lines_is_written_on_one_in_a_flow_mapping() -> None:
    edit = Edit("a: !!binary |\n  aGVs\n  bG8=\nb: {c: 1}\n")
    _, child = edit.child("a")
    assert isinstance(child, Entry)
    assert edit.add("b", key="d", value=child.value).text().endswith('b: {c: 1, d: !!binary "aGVsbG8="}\n')
