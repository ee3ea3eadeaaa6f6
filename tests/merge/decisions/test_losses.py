"""What messages say of a value that lost."""

from __future__ import annotations

import pytest

from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.report import LONGEST, MOST_SHOWN, losses, shorten, shown_paths
from krm_merge.merge.lines.three_way import merge_text
from krm_merge.text.reading.nodes import Node
from krm_merge.text.reading.reader import read


def node(text: str | None) -> Node | None:
    return None if text is None else read(text)


@pytest.mark.parametrize(
    ("original", "loser", "merged", "expected"),
    [
        ("{a: 1}", "{a: 1, b: 2}", "{a: 3}", "b: 2"),
        ("{a: 1}", "{a: 2}", "{a: 3}", "a: 2"),
        # What the original had, or what is in the result, is not lost.
        ("{a: 1, b: 1}", "{a: 1, b: 2}", "{b: 2, c: 3}", ""),
        ("{a: 1}", "{a: 1}", None, ""),
        (None, "{a: 1, b: {c: x}}", None, "a: 1, b.c: x"),
        ("[a]", "[a, b, {c: d}]", "[x]", "b, c: d"),
        ("[a, b]", "[b, a]", "[a]", ""),
        ("[a]", "[b, b]", "[b]", "b"),
        # Scalars and absent values are named as a whole.
        ("a", "b", "c", ""),
        ("{a: 1}", None, "{a: 2}", ""),
        (None, "{a: null, b: [], c: {}}", None, "a: null"),
    ],
)
def test_what_is_lost(original: str | None, loser: str | None, merged: str | None, expected: str) -> None:
    assert losses(node(original), node(loser), node(merged)) == expected


@pytest.mark.parametrize(("more", "counted"), [(0, []), (2, ["2 more"])])
def test_many_are_counted(more: int, counted: list[str]) -> None:
    loser = node("{" + ", ".join(f"k{at}: {at}" for at in range(MOST_SHOWN + more)) + "}")
    named = [f"k{at}: {at}" for at in range(MOST_SHOWN)]
    assert losses(None, loser, None) == ", ".join([*named, *counted])


def test_values_of_secrets_are_left_out() -> None:
    assert losses(None, node("{data: {password: hidden}, list: [hidden]}"), None, secret=True) == "data.password, list"
    assert losses(None, node("[hidden]"), None, secret=True) == "an element"


def test_values_are_one_short_line() -> None:
    assert shorten(" a\nb ") == "a\\nb"
    assert shorten("x" * LONGEST) == "x" * LONGEST
    assert shorten("x" * (LONGEST + 1)) == "x" * (LONGEST - 1) + "…"


def test_places_are_named_by_their_elements() -> None:
    container: FieldPath = ("spec", "containers", (("name", "web"),), "env", (("name", "A"),), "value")
    assert (
        shown_paths([container, ("spec", "replicas"), ("mutators", (("image", "x/y"),))]) == "A value, spec.replicas, y"
    )


@pytest.mark.parametrize(
    ("upstream", "local", "did"),
    [
        ("A\nb\nc\nd\ne\n", "1\nb\nc\nd\ne\n", "changed the same lines"),
        ("A\nb\nc\nd\nE\n", "1\nb\nc\nd\n2\n", "changed the same lines in 2 places"),
    ],
)
def test_lines_that_both_changed_are_counted(upstream: str, local: str, did: str) -> None:
    merged = merge_text("a\nb\nc\nd\ne\n", upstream, local, "local")
    assert merged is not None
    assert merged.explanation("local") == (did, "local's lines are kept")
