"""How alike two values are: laws on generated values, and the examples that the rules rest on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.merge.values.likeness import are_images, blind_to_versions, is_image, likeness, without_version
from krm_merge.text.editing.change import THRESHOLD
from krm_merge.text.reading.nodes import Node, from_value
from krm_merge.text.reading.reader import read

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["", "a", "--a=1", "--a=2", "--b=1"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def node(text: str) -> Node:
    root = read(text)
    assert root is not None
    return root


@given(VALUES, VALUES)
def test_it_is_a_share_and_the_same_both_ways(value: Any, other: Any) -> None:
    first, second = from_value(value), from_value(other)
    assert 0 <= likeness(first, second) <= 1
    assert likeness(first, second) == likeness(second, first)
    assert likeness(first, from_value(value)) == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Strings: the share that they begin and end with.
        ("aaaa", "aaab", 3 / 4),
        ("abcd", "abXcd", 4 / 5),
        ("abc", "xyz", 0),
        ("aa", "a", 1 / 2),
        ("--level=info", "--level=debug", 1),
        ("--level=info", "--format=info", 0),
        ("--verbose", "--verbose=1", 9 / 11),
        # Texts of several lines: the lines that both have, whatever is before a "=" in them.
        ('"a\\nb\\nc\\n"', '"x\\nb\\nc\\n"', 2 / 3),
        ('"a=1\\nb\\n\\nc\\n"', '"b\\nc\\na=2\\nd\\n"', 2 / 4),
        ('"a\\nb\\n"', "a", 1 / 4),
        # Other scalars are equal or not.
        ("1", "1", 1),
        ("1", "2", 0),
        ("1", "'1'", 0),
        ("null", "''", 0),
        # Another kind of value is another one.
        ("a", "[a]", 0),
        ("[a]", "{a: a}", 0),
        ("{}", "{}", 1),
        ("{}", "{a: 1}", 0),
        # Fields by their path; one that both have counts once.
        ("{a: 1, b: 2}", "{b: 2, a: 1}", 1),
        ("{a: 1, b: 2}", "{a: 1, b: 3}", 1 / 2),
        ("{a: 1, b: 2}", "{a: 1}", 1 / 2),
        ("{a: 1, b: 2}", "{a: 1, c: 2}", 1 / 3),
        ("{a: {b: 1, c: 1, d: 1}}", "{a: {b: 1, c: 1, d: 2}}", 2 / 3),
        # Elements by their value, in any order.
        ("[a, b]", "[b, a]", 1),
        ("[a, b, c]", "[a, c]", 2 / 3),
        ("[a, a]", "[a]", 1 / 2),
        ("{x: [a, b]}", "{x: [a], y: [b]}", 1 / 3),
    ],
)
def test_example(first: str, second: str, expected: float) -> None:
    assert likeness(node(first), node(second)) == likeness(node(second), node(first)) == pytest.approx(expected)


def test_aliases_are_what_they_stand_for() -> None:
    mapping = node("{a: &x {b: 1, c: 2}, d: *x}")
    assert likeness(mapping, node("{a: {b: 1, c: 2}, d: {b: 1, c: 2}}")) == 1


def test_one_changed_field_of_two_is_alike_enough() -> None:
    assert likeness(node("{name: a, value: 1}"), node("{name: a, value: 2}")) >= THRESHOLD
    assert likeness(node("{name: a, value: 1}"), node("{name: b, value: 2}")) < THRESHOLD


@pytest.mark.parametrize("empty", ["{}", "[]"])
def test_empty_collections_are_alike(empty: str) -> None:
    assert likeness(node(empty), node(empty)) == 1


@pytest.mark.parametrize(
    ("text", "other", "is_same"),
    [
        ("https://h/x?ref=v1.2.3", "https://h/x?ref=main", True),
        ("a.io/b:v1.2", "a.io/b:v1.3", True),
        ("a.io/b:v1.2", "a.io/c:v1.2", False),
        ("apps/v1/a", "apps/v2beta1/a", True),
        ("plain-1", "plain-2", False),
        # A commit has a digit, a word has none.
        ("a/deadbee1", "a/cafebab2", True),
        ("a/deadbeef", "a/cafebabe", False),
        # An IP address only looks like a version.
        ("10.0.0.1:80", "10.0.0.2:80", False),
        # A longer text is prose.
        (f"v1.2 {'x' * 1995}", f"v1.3 {'x' * 1995}", True),
        (f"v1.2 {'x' * 1996}", f"v1.3 {'x' * 1996}", False),
    ],
)
def test_texts_that_differ_only_in_versions(text: str, other: str, is_same: bool) -> None:
    assert (without_version(text) == without_version(other)) is is_same
    first, second = (blind_to_versions(from_value([1, side]).canonical) for side in (text, other))
    assert (first == second) is is_same
    # What is no list of the same is another value.
    assert first != blind_to_versions(from_value({"a": text}).canonical)
    assert first[0] == "seq"


@pytest.mark.parametrize(
    ("texts", "are_some"),
    [
        (["a.io/b:v1", "localhost/b:1", "c:5000/b@sha256:1"], True),
        (["a.io/b:v1", "b:v1"], False),
        (["lib/b:v1"], False),
        (["a.io/b"], False),
        (["https://a.io/b:1"], False),
        (["see a.io/b:1"], False),
    ],
)
def test_texts_that_name_registries_and_versions_are_images(texts: list[str], are_some: bool) -> None:
    assert are_images(("spec", "x"), texts) is are_some
    assert are_images(("spec", "image"), texts)


def test_numbers_stay_numbers_without_versions() -> None:
    assert blind_to_versions(node("1").canonical) == ("int", 1)
    assert blind_to_versions(node("1.5").canonical)[0] == "float"
    assert blind_to_versions(node("1.5").canonical) == blind_to_versions(node("1.6").canonical)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("spec", "image"), True),
        (("spec", "sidecarImage"), True),
        (("spec", "images"), False),
        (("spec", "image", "name"), False),
        (("image", 0), False),
        ((), False),
    ],
)
def test_fields_that_hold_images(path: tuple[str | int, ...], expected: bool) -> None:
    assert is_image(path) is expected
