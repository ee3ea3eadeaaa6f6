"""Where comments are, and which of them a merge lost (rule V8)."""

from __future__ import annotations

import pytest

from krm_merge.krm import format_path, identity_of
from krm_merge.merge.decisions.decision import Member, ResourceOutcome
from krm_merge.merge.writing.comments import lost_comments, placed_comments
from krm_merge.text import MappingNode, read


def root_of(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1 # one\nb: 2\n", [("# one", "a")]),
        ("# head\n\na: 1\n", [("# head", "a")]),
        ("a: 1\n# above b\nb: 2\n# foot\n", [("# above b", "b"), ("# foot", "")]),
        ("a: # of a\n  b: 1 # of b\n", [("# of a", "a"), ("# of b", "a.b")]),
        ("a:\n  # above b\n  b: # of b\n    c: 1\n", [("# above b", "a.b"), ("# of b", "a.b")]),
        (
            "a:\n- x # one\n# above two\n- y: 1 # two\n",
            [("# one", "a[0]"), ("# above two", "a[1]"), ("# two", "a[1].y")],
        ),
        ("a: [1, # one\n  2] # two\n", [("# one", "a[0]"), ("# two", "a[1]")]),
        ("a: [1,\n2, # two\n3]\n", [("# two", "a[1]")]),
        # Number signs of values, of which one ends on the line of a comment.
        ("a: 'x # y' # z\nb: x#y\n", [("# z", "a")]),
        ("a: |\n  # text\nb: 1 # b\n", [("# b", "b")]),
        ("a: | # a\n  # text\nb: 1\n", [("# a", "a")]),
        ('a: "x\n  # y" # z\n', [("# z", "")]),
        ("'#a': 1 # one\n", [("# one", "#a")]),
        ("a: 1 # one # two\n", [("# one # two", "a")]),
        ("a: 1\n", []),
    ],
)
def test_comments_are_of_the_field_on_their_line_or_of_the_next(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(comment, format_path(path)) for comment, path in placed_comments(root_of(text))] == expected


HEAD = "kind: A\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "merged", "expected"),
    [
        ("a: 1\n", "a: 1 # u\n", "a: 1\n", "a: 1\n", [("upstream", "a", "info", "# u")]),
        ("a: 1\n", "a: 1\n", "a: 1 # l\n", "a: 1\n", [("local", "a", "info", "# l")]),
        ("a: 1 # o\n", "a: 1\n", "a: 1 # o\n", "a: 1\n", []),
        ("a: 1 # o\n", "a: 1 # o\n", "a: 1\n", "a: 1\n", []),
        ("a: 1 # o\n", "a: 1 # o\n", "a: 1 # o\n", "a: 1\n", [("local", "a", "info", "# o")]),
        # What both removed of two alike is gone once.
        (
            "a: 1 # o\nb: 1 # o\n",
            "a: 1\nb: 1 # o\n",
            "a: 1\nb: 1 # o\n",
            "a: 1\nb: 1\n",
            [("local", "b", "info", "# o")],
        ),
        ("a: 1\n", "a: 1 # kpt-set: ${a}\n", "a: 1\n", "a: 1\n", [("upstream", "a", "warning", "# kpt-set: ${a}")]),
    ],
)
def test_comments_that_the_merged_text_lacks_are_reported_by_side_and_place(
    original: str, upstream: str, local: str, merged: str, expected: list[tuple[str, str, str, str]]
) -> None:
    roots = [root_of(HEAD + side) for side in (original, upstream, local)]
    members = [Member("a.yaml", identity_of(root), root, "a.yaml") for root in roots]
    decisions = lost_comments(ResourceOutcome("merged", members[0], members[1], members[2], []), HEAD + merged, ())
    reported = [(d.side, format_path(d.path), d.severity, d.message.partition(": ")[2]) for d in decisions]
    assert reported == expected


def test_several_comments_of_one_place_are_reported_together() -> None:
    roots = [root_of(HEAD + side) for side in ("a: 1\n", "# one\n# two\na: 1\n", "a: 1\n")]
    members = [Member("a.yaml", identity_of(root), root, "a.yaml") for root in roots]
    (decision,) = lost_comments(ResourceOutcome("merged", members[0], members[1], members[2], []), HEAD + "a: 1\n", ())
    assert decision.message.startswith("upstream has 2 comments that the result does not have")
