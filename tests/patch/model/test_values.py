"""Plain values: when two are equal, how deep they are, and how Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.patch.model import identity, is_deeper, text_of


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (1, True, False),
        ("1", 1, False),
        ({}, [], False),
    ],
)
def test_equal_values_have_one_identity(first: Any, second: Any, is_equal: bool) -> None:
    assert (identity(first) == identity(second)) is is_equal


def test_depth() -> None:
    assert not is_deeper({"a": [1, "b"]}, 2)
    assert is_deeper({"a": [{"b": 1}]}, 2)
    assert not is_deeper("text", 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (None, "<nil>"),
        (8080, "8080"),
        (0.0001, "0.0001"),
        ("a", "a"),
        (2.5, "2.5"),
        (3.0, "3"),
        (2.5e22, "2.5e+22"),
        (0.0, "0"),
        (1e21, "1e+21"),
        (2.5e-7, "2.5e-07"),
        (0.00002, "2e-05"),
    ],
)
def test_scalars_are_printed_as_go_prints_them(value: Any, text: str) -> None:
    assert text_of(value) == text
