"""Strings that are one line of value on several lines of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.text.reading.nodes import MappingNode, Scalar
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.scalar_text import read_wrapped, wrapped_lines

WORDS = st.lists(st.sampled_from(["one", "two", "a: b", "it's", "- x", "#no"]), min_size=1, max_size=6)


def scalar(text: str) -> Scalar:
    root = read(text)
    node = root.get("a") if isinstance(root, MappingNode) else None
    assert isinstance(node, Scalar)
    return node


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: >\n  one\n  two\n", [">", "one", "two"]),
        ("a: >-\n    one\n      two\n", [">-", "one", "  two"]),
        ("a: >2\n  one\n\n  two\n", [">2", "one", "", "two"]),
        ("a: > # why\n  one\n", ["> # why", "one"]),
        ('a: "one\n  two"\n', ['"one', 'two"']),
        ("a: 'one\n\n  two'\n", ["'one", "", "two'"]),
        ("a: one\n  two\n  three\nb: 1\n", ["one", "two", "three"]),
        ("a: >\r\n  one\r\n  two\r\n", [">", "one", "two"]),
        ("a: one\n", ["one"]),
        # The lines of these are lines of the value.
        ("a: |\n  one\n  two\n", []),
    ],
)
def test_the_lines_of_a_string(text: str, lines: list[str]) -> None:
    assert wrapped_lines(scalar(text)) == lines


@given(WORDS, st.sampled_from([">", ">-", ">+"]))
def test_folded_lines_are_read_as_they_were(words: list[str], header: str) -> None:
    node = scalar(f"a: {header}\n" + "".join(f"  {word}\n" for word in words))
    again = read_wrapped(wrapped_lines(node))
    assert again is not None
    assert again.canonical == node.canonical


@pytest.mark.parametrize("text", ['a: "one\n  two"\n', "a: 'one\n\n  two'\n", "a: one\n  two\n"])
def test_wrapped_lines_are_read_as_they_were(text: str) -> None:
    node = scalar(text)
    again = read_wrapped(wrapped_lines(node))
    assert again is not None
    assert again.canonical == node.canonical


@pytest.mark.parametrize("lines", [['"one', "two"], ["one", "b: 1"], ["[one", "two]"], ["1"], ["*x"], [""]])
def test_what_is_no_string_any_more(lines: list[str]) -> None:
    assert read_wrapped(lines) is None
