"""What nodes and their source say of a text."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.nodes import (
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Source,
    TextError,
    Value,
    from_value,
    is_template,
)
from krm_merge.text.reading.reader import MAX_DEPTH, check, check_events
from krm_merge.text.reading.scalars import type_of
from text.edits import tree


@pytest.mark.parametrize(
    ("text", "position", "line", "column"),
    [
        ("a: 1\nb: 2\n", 0, "a: 1\n", 0),
        ("a: 1\nb: 2\n", 4, "a: 1\n", 4),
        ("a: 1\nb: 2\n", 8, "b: 2\n", 3),
        ("a: 1\nb: 2", 9, "b: 2", 4),
        ("\na: 1\n", 0, "\n", 0),
        ("\na: 1\n", 1, "a: 1\n", 0),
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


def test_a_new_node_has_no_place() -> None:
    nodes: list[Node] = [Scalar.new("a"), MappingNode.new(False, []), SequenceNode.new(True, []), from_value([{}])]
    for node in nodes:
        assert (node.source, node.start, node.end) == (None, 0, 0)


@pytest.mark.parametrize(
    ("error", "place", "words"),
    [
        (TextError("bad"), (0, 0), "bad"),
        (TextError("bad", 3, 4), (3, 4), "line 3, column 4: bad"),
    ],
)
def test_an_error_says_where_it_is_if_that_is_known(error: TextError, place: tuple[int, int], words: str) -> None:
    assert ((error.line, error.column), str(error), error.problem) == (place, words, "bad")


@pytest.mark.parametrize(
    ("text", "limit", "is_refused"),
    [
        ("[[]]", 2, False),
        ("[[[]]]", 2, True),
        ("[{a: {}}]", 3, False),
        ("[{a: {}}]", 2, True),
        # Brackets beside each other are not deep.
        ("[[], [], [], []]", 2, False),
    ],
)
def test_brackets_are_counted_by_their_depth(text: str, limit: int, is_refused: bool) -> None:
    for look in (check, check_events):
        if is_refused:
            with pytest.raises(TextError, match=f"nested deeper than {limit} levels"):
                look(text, limit)
        else:
            look(text, limit)


def test_brackets_are_checked_to_the_depth_that_is_read_and_some_levels_around() -> None:
    most = MAX_DEPTH + 8
    for look in (check, check_events):
        look("[" * most + "]" * most)
        with pytest.raises(TextError, match="nested deeper"):
            look("[" * (most + 1) + "]" * (most + 1))


@pytest.mark.parametrize(("value", "kind"), [(None, "null"), (True, "bool"), (1, "int"), (1.5, "float"), ("1", "str")])
def test_a_value_has_the_type_that_it_is_read_with(value: Value, kind: str) -> None:
    assert type_of(from_value(value).canonical) == kind
