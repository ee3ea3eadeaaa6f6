"""Strings that are one line of value on several lines of text."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.scalar_text import read_wrapped


@pytest.mark.parametrize(
    ("lines", "text"),
    [([">", "one", "", "two"], "one\ntwo\n"), (['"one', 'two"'], "one two"), (["one", "two"], "one two")],
)
def test_lines_are_read_as_a_string(lines: list[str], text: str) -> None:
    node = read_wrapped(lines)
    assert node is not None
    assert node.canonical == text


@pytest.mark.parametrize("lines", [['"one', "two"], ["one", "b: 1"], ["[one", "two]"], ["1"], ["*x"], [""]])
def test_what_is_no_string_any_more(lines: list[str]) -> None:
    assert read_wrapped(lines) is None
