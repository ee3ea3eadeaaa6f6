"""Where comments are, and which of them a merge lost (rule V8)."""

from __future__ import annotations

import pytest

from krm_merge import merge_packages
from krm_merge.krm import format_path
from krm_merge.merge.decisions.decision import INPUT_SIDES, InputSide
from krm_merge.merge.writing.comments import lost_comments, placed_comments
from krm_merge.schema import Secrecy
from krm_merge.text import MappingNode, Node, read


def root_of(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def documents_of(original: str, upstream: str, local: str) -> dict[InputSide, tuple[Node, str]]:
    texts = zip(INPUT_SIDES, (original, upstream, local), strict=True)
    return {side: (root_of(HEAD + text), HEAD + text) for side, text in texts}


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
    decisions = lost_comments(documents_of(original, upstream, local), HEAD + merged, (), Secrecy())
    reported = [(d.side, format_path(d.path), d.severity, d.message.partition(": ")[2]) for d in decisions]
    assert reported == expected


def test_several_comments_of_one_place_are_reported_together() -> None:
    documents = documents_of("a: 1\n", "# one\n# two\na: 1\n", "a: 1\n")
    (decision,) = lost_comments(documents, HEAD + "a: 1\n", (), Secrecy())
    assert decision.message.startswith("upstream has 2 comments that the result does not have")


def test_a_comment_of_a_text_of_fields_is_reported_with_the_field() -> None:
    """F: the text of a ConfigMap merges by its fields, so a comment goes with the field that local removed."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  f: |\n"
    texts = ("    a: 1\n    b: 1\n    c: 1\n", "    a: 1\n    # up\n    b: 1\n    c: 2\n", "    a: 2\n    c: 1\n")
    merged = merge_packages(*({"a.yaml": (head + text).encode()} for text in texts))
    assert merged.files["a.yaml"].decode() == head + "    a: 2\n    c: 2\n"
    lost = [(record.rule, record.path) for record in merged.records if "# up" in record.message]
    assert lost == [("V8", "data.f.b")]
