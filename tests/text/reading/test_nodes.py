"""What nodes and their source say of a text."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.nodes import Source, is_template
from text.edits import tree


@pytest.mark.parametrize(
    ("text", "position", "line", "column"),
    [
        ("a: 1\nb: 2\n", 0, "a: 1\n", 0),
        ("a: 1\nb: 2\n", 4, "a: 1\n", 4),
        ("a: 1\nb: 2\n", 8, "b: 2\n", 3),
        ("a: 1\nb: 2", 9, "b: 2", 4),
        ("\na: 1\n", 0, "\n", 0),
    ],
)
def test_the_line_of_a_position(text: str, position: int, line: str, column: int) -> None:
    source = Source(text)
    assert text[source.line_start(position) : source.line_end(position)] == line
    assert source.column(position) == column


@pytest.mark.parametrize(("text", "has_some"), [("a: 1\n", False), ("a: 1 # b\n", True), ("a: 'b#c'\n", True)])
def test_a_text_without_number_signs_has_no_comments(text: str, has_some: bool) -> None:
    source = Source(text)
    assert (source.has_number_signs, source.has_number_signs) == (has_some, has_some)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("{{ name }}", True),
        ("{a: 1, {b}: 2}", True),
        ("{a: {b: 1}}", False),
        ("? {b: 1}\n: 2\n", False),
        ("'{{ name }}'", False),
        ("[{{ name }}]", False),
    ],
)
def test_a_map_between_brackets_with_a_map_as_key_is_a_template(text: str, is_one: bool) -> None:
    assert is_template(tree(text)) is is_one
