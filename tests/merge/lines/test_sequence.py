"""Rule V6: how lines merge: as git merges them, and blank lines make no conflict.

Each letter is a line; a word is a text. `u` comes from upstream, `l` from local.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import scaled
from krm_merge.merge.lines.sequence import stretches
from krm_merge.merge.lines.three_way import (
    ChosenSide,
    CommentReader,
    MergedText,
    Winner,
    comments_in,
    merge_lines,
    merge_text,
    notes_in,
)
from krm_merge.merge.values.soundness import loses_json
from krm_merge.merge.values.texts import choose_text, merge_whole_text
from krm_merge.text import NO_COMMENTS, Comments, MappingNode, Node, Scalar, SequenceNode, read

SEQUENCES = st.lists(st.sampled_from("abcd"), max_size=7).map("".join)
WINNERS: st.SearchStrategy[Winner] = st.sampled_from(["upstream", "local"])


def lines(word: str) -> str:
    return "".join(f"{letter}\n" for letter in word)


def merge(original: str, upstream: str, local: str, chosen: ChosenSide = "upstream") -> tuple[str, int]:
    """The result as a word, and its conflicts."""
    merged = merge_text(lines(original), lines(upstream), lines(local), chosen)
    return merged.text.replace("\n", ""), merged.conflicts


@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_stretches_cover_all_three(original: str, upstream: str, local: str) -> None:
    parts = list(stretches(original, upstream, local))
    for side, name in ((original, "original"), (upstream, "upstream"), (local, "local")):
        spans = [getattr(part, name) for part in parts]
        assert "".join(side[start:stop] for start, stop in spans) == side
        assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    for part in parts:
        before, theirs, ours = (s[slice(*at)] for s, at in zip((original, upstream, local), part[:3], strict=True))
        changed = "both" if theirs not in (before, ours) and ours != before else None
        assert (part.changed_by == "both") == (changed == "both")


@given(SEQUENCES, SEQUENCES, WINNERS)
def test_a_b_c(first: str, other: str, winner: Winner) -> None:
    for sides in ((first, other, first), (first, first, other), (first, other, other)):
        assert merge(*sides, winner) == (other, 0)


@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_what_is_no_conflict_has_no_winner_and_no_sides(original: str, upstream: str, local: str) -> None:
    merged, conflicts = merge(original, upstream, local)
    assert merge(original, local, upstream)[1] == conflicts
    if not conflicts:
        assert merge(original, upstream, local, "local") == merge(original, local, upstream) == (merged, 0)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
@settings(max_examples=scaled(200), deadline=None)
@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_h_lines_merge_as_git_merges_them(original: str, upstream: str, local: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in "lou"]
        for path, word in zip(paths, (local, original, upstream), strict=True):
            path.write_text(lines(word))
        git = subprocess.run(["git", "merge-file", "-p", *map(str, paths)], capture_output=True, text=True, check=False)
    assert merge_lines(lines(original), lines(upstream), lines(local)) == (None if git.returncode else git.stdout)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "conflicts"),
    [
        pytest.param("abcd", "abd", "bcd", "bd", 0, id="both removed different ones"),
        pytest.param("abcdef", "xbcdef", "abcdey", "xbcdey", 0, id="far apart"),
        pytest.param("a", "ax", "ax", "ax", 0, id="both appended the same"),
        pytest.param("a", "au", "al", "au", 1, id="both appended"),
        pytest.param("abc", "auc", "alc", "auc", 1, id="both changed one"),
        pytest.param("abc", "ac", "alc", "ac", 1, id="one removed what the other changed"),
        pytest.param("abc", "ac", "abxc", "ac", 1, id="one removed, the other inserted beside it"),
        pytest.param("ab", "Ab", "aB", "Ab", 1, id="changes that touch"),
        pytest.param("ab", "aubu", "albl", "aubu", 2, id="at two places"),
        pytest.param("abc", "", "abx", "", 1, id="upstream removed all, local changed"),
        pytest.param("", "", "", "", 0, id="nothing"),
    ],
)
def test_example(original: str, upstream: str, local: str, expected: str, conflicts: int) -> None:
    assert merge(original, upstream, local) == (expected, conflicts)
    if conflicts:
        assert merge(original, local, upstream, "local") == (expected, conflicts)


@pytest.mark.parametrize(
    ("chosen", "local", "expected"),
    [
        ("upstream", "alb", "aub"),
        ("local", "alb", "alb"),
        ("upstream-then-local", "alb", "aulb"),
        ("local-then-upstream", "alb", "alub"),
        # Chosen before: a second time adds nothing.
        ("upstream-then-local", "aulb", "aulb"),
        ("local-then-upstream", "alub", "alub"),
    ],
)
@pytest.mark.parametrize("original", ["aob", "ab"], ids=["changed", "inserted"])
def test_what_a_person_chose(original: str, chosen: ChosenSide, local: str, expected: str) -> None:
    assert merge(original, "aub", local, chosen)[0] == expected
    assert choose_text(lines(original), lines("aub"), lines(local), chosen) == lines(expected)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param("a\nb\n", "a\n\nb\n", "a\nB\n", "a\nB\n", id="a blank line beside a change"),
        pytest.param("a\nb\n", "a  \nb\n", "a\nB\n", "a\nB\n", id="blanks at the end of a line beside a change"),
    ],
)
def test_blanks_make_no_conflict(original: str, upstream: str, local: str, expected: str) -> None:
    assert merge_text(original, upstream, local, "upstream") == MergedText(expected)
    assert not merge_text(original, local, upstream, "upstream").conflicts


JSON = '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n'


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        (JSON, JSON.replace("1,", "7,"), JSON.replace("3\n", "8\n"), JSON.replace("1,", "7,").replace("3\n", "8\n")),
        ("[\n1,\n2\n]", "[\n1,\n2,\n3\n]", "[\n0,\n1,\n2\n]", "[\n0,\n1,\n2,\n3\n]"),
    ],
)
def test_json_stays_json(original: str, upstream: str, local: str, expected: str) -> None:
    for sides in ((upstream, local), (local, upstream)):
        merged = merge_whole_text(original, *sides, "upstream")
        assert merged == MergedText(expected)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "text", "expected"),
    [
        ("[1]", "[2]", "[3]", "[2", True),
        ('{"a": 1}', " {}", "\n[]", "[1] 2", True),
        ("[1]", "[2]", "[3]", "[]", False),
        ("[1", "[2]", "[3]", "[2", False),
        ("[1]", "[2]", "[3", "[2", False),
        # A number is JSON as well, but nobody means it.
        ("1", "[2]", "[3]", "[2", False),
    ],
)
def test_json_is_lost(original: str, upstream: str, local: str, text: str, expected: bool) -> None:
    assert loses_json(original, upstream, local, text) is expected


def test_what_both_sides_did_is_said_in_words() -> None:
    assert MergedText("", 1).explanation("local") == ("changed the same lines", "local's lines are kept")
    assert MergedText("", 2).explanation("upstream")[0] == "changed the same lines in 2 places"


# ---- comments ----------------------------------------------------------------------------------------------------


def test_what_looks_like_a_comment() -> None:
    assert comments_in("a: 1 # x \n# y\nb: '#'\nc: 2") == ["# x", "# y", "#'"]
    assert comments_in("a: 1") == []
    assert notes_in("metadata: # kpt-merge: a/b\n  # c\n") == ["# kpt-merge: a/b"]
    assert notes_in("metadata: # c\n") == []


@pytest.mark.parametrize(
    ("text", "path", "comments", "around"),
    [
        ("# h\na: 1 # l\n", ("a",), Comments(("# h",), "# l"), ["# h", "# l"]),
        ("a: # l\n  # i\n  b: 1 # m\n", ("a",), Comments((), "# l"), ["# l", "# i", "# m"]),
        ("a:\n- 1 # l\n# h\n- 2\n", ("a", 1), Comments(("# h",)), ["# h"]),
        ("a: 1\n# h\nb: 2\n", ("a",), NO_COMMENTS, []),
        ("a: {b: 1} # l\n", ("a", "b"), NO_COMMENTS, []),
        ("? [x]\n: 1\na: 2 # l\n", ("a",), NO_COMMENTS, []),
    ],
)
def test_the_comments_of_a_child(text: str, path: tuple[str | int, ...], comments: Comments, around: list[str]) -> None:
    node: Node | None = read(text)
    for step in path:
        collection = node
        if isinstance(node, MappingNode):
            child = node.fields[str(step)]
            node = child.value
        elif isinstance(node, SequenceNode) and isinstance(step, int):
            child = node = node.items[step]  # type: ignore[assignment]
    assert CommentReader().of(collection, child) == comments
    assert CommentReader().around(collection, child) == around


def test_what_has_no_text_has_no_comments() -> None:
    new, child = SequenceNode.new(False, [Scalar.new("a")]), Scalar.new("b")
    for collection in (None, new, child):
        assert CommentReader().of(collection, child) == NO_COMMENTS
        assert CommentReader().around(collection, None) == []
