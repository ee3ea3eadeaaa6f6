"""What nodes and their source say of a text."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.nodes import (
    Source,
    TextError,
    is_template,
)
from krm_merge.text.reading.reader import check, check_events
from text.edits import tree


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
