"""Rule V6: whether lines have a change already, and where they have it.

Each letter is a line where a word stands for lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from krm_merge.merge.lines import sequence
from krm_merge.merge.lines.sequence import (
    EditGroup,
    LineEdit,
    Settling,
    anchors,
    are_alike,
    come_twice,
    edits_of,
    groups_of,
    has_change,
    key_of,
    line_likeness,
    merge_sequences,
    pair_alike,
)
from krm_merge.merge.lines.three_way import (
    CommentReader,
    MergedText,
    are_in_place,
    comments_in,
    loses_json,
    merge_added_lines,
    merge_lines,
)
from krm_merge.text import NO_COMMENTS, Child, Comments, MappingNode, Node, Scalar, SequenceNode, read


@pytest.mark.parametrize(
    ("before", "after", "other", "expected"),
    [
        pytest.param("ab", "axb", "axb", True, id="the same change"),
        pytest.param("ab", "axb", "axby", True, id="more changes"),
        pytest.param("ab", "axb", "ab", False, id="no change"),
        pytest.param("ab", "axyb", "axb", False, id="a part of the change"),
        pytest.param("ab", "ab", "cd", True, id="nothing to change"),
        pytest.param("ab", "xb", "axb", False, id="what was added, but not what was removed"),
        pytest.param("ab", "xb", "b", False, id="what was removed, but not what was added"),
        pytest.param("", "ab", "ba", False, id="both lines in the other order"),
        pytest.param("xab", "ab", "abx", False, id="what was removed is elsewhere"),
        pytest.param("xab", "abx", "abxy", True, id="moved, and one more"),
        pytest.param(["  a", "  b", "  c"], ["a", "c"], ["a", "b", "c"], False, id="removed, indented anew"),
        pytest.param(["  a", "  b", "  c"], ["a", "c"], ["a", "c", "d"], True, id="all indented anew, and one more"),
        pytest.param("bb", "b", "bc", True, id="one of two removed"),
        pytest.param(["  a", "", "  c"], ["a", "c"], ["a", " ", "c"], True, id="another blank line"),
    ],
)
def test_lines_have_a_change(before: Sequence[str], after: Sequence[str], other: Sequence[str], expected: bool) -> None:
    assert has_change([*before], [*after], [*other]) is expected


@pytest.mark.parametrize(
    ("before", "theirs", "ours", "expected"),
    [
        pytest.param("a:", "a:|  x", "a:|  x|  y", True, id="in one key"),
        pytest.param("a:|b:", "a:|  x|  y|b:", "a:|b:|  x|  y", False, id="in another key"),
        pytest.param(
            "p|q|r|s|t|a:|b:",
            "p|q|r|s|t|a:|  x|  y|b:",
            "p|q|r|s|t|a:|b:|  x|  y",
            False,
            id="in another key far below",
        ),
        pytest.param("a:|b:", "a:|- x|- y|b:", "a:|b:|- x|- y", False, id="in the list of another key"),
        pytest.param("- a|- b", "- a| x| y|- b", "- a|- b| x| y", False, id="in another element"),
        pytest.param("k:", "k:|n:|  x|  y", "k:|  x|  y", False, id="in a key of local, not in upstream's new one"),
        pytest.param("k:", "k:|  x|  y", "k:|m:|  x|  y", False, id="in a new key of local"),
        pytest.param("a: 1", "a: 2|  x|  y", "a: 3|  x|  y", True, id="in another version of the key"),
        pytest.param(
            "k:|l:", "k:|  n: 1|    x|    y|l:", "k:|l:|  n: 2|    x|    y", False, id="in a version in another key"
        ),
        pytest.param("k:", "k:|  n: 1|    x", "k:|  n: 2|    x", True, id="in a version in one key"),
        pytest.param("a:", "a:|b:|  x", "a:|c:|b:|  x", True, id="behind another key that is as deep"),
        pytest.param("a:|  x", "a:|  x||  y", "a:|  x|  y", True, id="behind a blank line, which ends no key"),
        pytest.param("a:|b:", "a:|||b:", "a:|b:||", True, id="blank lines are in nothing"),
        pytest.param(
            "a:|  x|  y|b:", "a:|  x|  y|b:|n:", "a:|b:|  x|  y|n:", True, id="what local moved was not added"
        ),
    ],
)
def test_added_lines_are_inside_of_the_same(before: str, theirs: str, ours: str, expected: bool) -> None:
    assert are_in_place(before.split("|"), theirs.split("|"), ours.split("|")) is expected


@pytest.mark.parametrize(
    ("original", "upstream", "local", "merged", "expected"),
    [
        ("a", "ax", "ax", "axx", True),
        ("a", "ax", "ax", "ax", False),
        ("", "xx", "x", "xx", False),
        ("", "xx", "x", "xxx", True),
        ("", "x", "xx", "xxx", True),
        # Only one side added it, or both had it.
        ("", "x", "y", "xxy", False),
        ("x", "xx", "xx", "xxx", False),
        # Blank lines are there as often as they like.
        ("", [""], [""], ["", ""], False),
        ("", [" "], [" "], [" ", " "], False),
    ],
)
def test_lines_that_both_added_come_twice(
    original: Sequence[str], upstream: Sequence[str], local: Sequence[str], merged: Sequence[str], expected: bool
) -> None:
    assert come_twice([*original], [*upstream], [*local], [*merged]) is expected


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("a: 1", "a"),
        ("a:", "a"),
        ("  a.b-c = 1", "a.b-c"),
        ("a=1", "a"),
        ("export A=1", "A"),
        ("a:b", ""),
        ("a == b", ""),
        ("- name: a", ""),
        ("# a: 1", ""),
        ("words alone", ""),
        ("", ""),
    ],
)
def test_the_key_that_a_line_sets(line: str, key: str) -> None:
    assert key_of(line) == key


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a: 1", "a: 2", 1),
        ("a: 1", "b: 1", 0),
        ("abcd", "abXcd", 4 / 5),
        ("  # abc", "abc", 1),
        ("a: 1", "a: 1 words", 1),
        ("", "", 1),
        ("  ", "", 1),
        ("#", "", 0),
        ("a", "", 0),
    ],
)
def test_likeness_of_lines(first: str, second: str, expected: float) -> None:
    assert line_likeness(first, second) == line_likeness(second, first) == pytest.approx(expected)


def test_too_many_lines_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "MOST_COMPARED", 4)
    assert pair_alike(["a: 1", "b: 1"], ["b: 2", "c: 2"]) == [(1, 0)]
    assert pair_alike(["a: 1", "b: 1", "c: 1"], ["b: 2", "c: 2"]) == []
    monkeypatch.setattr(sequence, "MOST_COMPARED", 5)
    assert pair_alike(["a: 1", "b: 1", "c: 1"], ["b: 2", "c: 2"]) == []


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("half", "halfdone", True),
        ("a: 1|  x: 1|  y: 1", "a: 2|  x: 2|  z: 2", True),
        # Three of six lines in common, and two of five.
        ("p|q|r|s s", "p|q|r|t t|u u", True),
        ("p|q|s s", "p|q|t t|u u", False),
        # Blank lines are not in common.
        ("|||s s", "|||t t", False),
        ("|", "|", False),
    ],
)
def test_one_addition_made_twice(first: str, second: str, alike: bool) -> None:
    assert are_alike(first.split("|"), second.split("|")) is alike
    assert are_alike(second.split("|"), first.split("|")) is alike


@pytest.mark.parametrize(
    ("first", "second", "edits", "edits_by_place"),
    [
        pytest.param("a|b", "a|b", [], [], id="none"),
        pytest.param("a|b", "a|x|b", [(1, 1, 1, 2)], [(1, 1, 1, 2)], id="inserted"),
        pytest.param("a|x|b", "a|b", [(1, 2, 1, 1)], [(1, 2, 1, 1)], id="removed"),
        pytest.param("a|k: 1|b", "a|k: 2|b", [(1, 2, 1, 2)], [(1, 2, 1, 2)], id="alike"),
        pytest.param("a|xx|b", "a|yy|b", [(1, 2, 1, 2)], [(1, 2, 1, 2)], id="unlike, one for one"),
        pytest.param("a|xx|zz|b", "a|yy|ww|b", [(1, 3, 1, 3)], [(1, 2, 1, 2), (2, 3, 2, 3)], id="as many"),
        pytest.param(
            "a|xx|k: 1|b",
            "a|yy|zz|k: 2|b",
            [(1, 2, 1, 3), (2, 3, 3, 4)],
            [(1, 2, 1, 3), (2, 3, 3, 4)],
            id="more in front of an alike one",
        ),
        pytest.param("xx|zz|b", "yy|b", [(0, 2, 0, 1)], [(0, 2, 0, 1)], id="fewer"),
        pytest.param(
            "a|k: 1|xx|b",
            "a|yy|zz|k: 2|b",
            [(1, 1, 1, 3), (1, 2, 3, 4), (2, 3, 4, 4)],
            [(1, 1, 1, 3), (1, 2, 3, 4), (2, 3, 4, 4)],
            id="around an alike one",
        ),
    ],
)
def test_edits_are_as_small_as_they_can_be_seen_to_be(
    first: str, second: str, edits: list[tuple[int, ...]], edits_by_place: list[tuple[int, ...]]
) -> None:
    ours, theirs = first.split("|"), second.split("|")
    spans = (0, len(ours)), (0, len(theirs))
    assert edits_of(ours, theirs, *spans, by_place=False) == edits
    assert edits_of(ours, theirs, *spans) == edits_by_place
    # The same behind other lines.
    spans = (2, len(ours) + 2), (3, len(theirs) + 3)
    moved = edits_of(["p", "q", *ours], ["r", "s", "t", *theirs], *spans)
    assert [(a - 2, b - 2, c - 3, d - 3) for a, b, c, d in moved] == edits_by_place


EDITS = [
    pytest.param((1, 1, 1, 2), (1, 1, 1, 3), True, True, id="inserted at one place"),
    pytest.param((1, 1, 1, 2), (2, 2, 2, 3), False, False, id="inserted at two places"),
    pytest.param((1, 2, 1, 2), (1, 2, 1, 1), True, True, id="changed and removed"),
    pytest.param((1, 2, 1, 2), (2, 3, 2, 3), False, False, id="one line exchanged beside another"),
    pytest.param((1, 3, 1, 2), (2, 4, 2, 3), True, True, id="overlapping"),
    pytest.param((1, 3, 1, 2), (3, 4, 3, 3), False, False, id="removed beside fewer"),
    pytest.param((1, 3, 1, 3), (3, 4, 3, 3), False, False, id="removed beside as many"),
    pytest.param((1, 2, 1, 1), (2, 2, 2, 3), True, False, id="removed and inserted behind"),
    pytest.param((1, 1, 1, 2), (1, 2, 1, 1), True, False, id="inserted and removed behind"),
    pytest.param((1, 2, 1, 1), (2, 3, 2, 4), True, False, id="removed and more put behind"),
    pytest.param((1, 2, 1, 2), (2, 2, 2, 3), False, False, id="exchanged and inserted behind"),
    pytest.param((1, 4, 1, 2), (2, 2, 2, 3), True, True, id="inserted inside of replaced ones"),
]


@pytest.mark.parametrize(("first", "second", "together", "together_loose"), EDITS)
def test_edits_of_the_same_lines(
    first: tuple[int, int, int, int], second: tuple[int, int, int, int], together: bool, together_loose: bool
) -> None:
    for upstream, local in ((first, second), (second, first)):
        groups = groups_of([LineEdit(*upstream)], [LineEdit(*local)], loose=False)
        assert len(groups) == (1 if together else 2)
        groups = groups_of([LineEdit(*upstream)], [LineEdit(*local)], loose=True)
        assert (len(groups) == 1) == together_loose


def test_a_group_has_all_lines_of_its_edits() -> None:
    group = EditGroup(LineEdit(1, 3, 1, 2))
    group.add(0, LineEdit(1, 3, 1, 2))
    group.add(1, LineEdit(2, 5, 2, 7))
    assert (group.start, group.stop) == (1, 5)
    assert (group.size(0), group.size(1)) == (3, 6)


def test_loose_lines_that_went_are_edits_of_their_own() -> None:
    removed, replaced = LineEdit(1, 3, 1, 1), LineEdit(1, 3, 1, 2)
    for edit, starts in ((removed, [1, 2]), (replaced, [1])):
        assert [group.start for group in groups_of([edit], [], loose=True)] == starts
        assert [group.start for group in groups_of([edit], [], loose=False)] == [1]


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("abc", "abc", "abc", [(0, 0, 0, 3), (3, 3, 3, 0)]),
        ("abcd", "axbcd", "abcyd", [(0, 0, 0, 1), (1, 2, 1, 2), (3, 4, 4, 1), (4, 5, 5, 0)]),
        ("abc", "bc", "ab", [(1, 0, 1, 1), (3, 2, 2, 0)]),
        ("abc", "", "abc", [(3, 0, 3, 0)]),
        ("ab", "xa", "by", [(2, 2, 2, 0)]),
    ],
)
def test_stretches_that_all_three_have(
    original: str, upstream: str, local: str, expected: list[tuple[int, int, int, int]]
) -> None:
    assert anchors(original, upstream, local) == expected


LAID_OUT = [
    pytest.param("a|b", "a|  b", "a|x|b", 1, id="inserted above one that was indented"),
    pytest.param("b|c", "  b|c", "b|x|c", 1, id="inserted below one that was indented"),
    pytest.param("a|b", "# a|# b", "a|x|b", 1, id="inserted among ones that were commented out"),
    pytest.param("# a|# b", "a|b", "# a|# x|# b", 1, id="inserted among ones that were comments"),
    pytest.param("a|b", "# a|b", "a|x|b", 0, id="inserted below the last one that was commented out"),
    pytest.param("a|b", "a|k b", "a|x|b", 0, id="inserted above one that was changed otherwise"),
]


@pytest.mark.parametrize(("original", "upstream", "local", "clashes"), LAID_OUT)
def test_nobody_can_tell_how_lines_are_laid_out_among_others(
    original: str, upstream: str, local: str, clashes: int
) -> None:
    sides = [side.split("|") for side in (original, upstream, local)]
    for theirs, ours in ((1, 2), (2, 1)):
        runs = merge_sequences(sides[0], sides[theirs], sides[ours], Settling("local"))
        assert [run.clash for run in runs if run.clash] == ["changed"] * clashes
        runs = merge_sequences(sides[0], sides[theirs], sides[ours], Settling("local", loose=True))
        assert not any(run.clash for run in runs)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "text", "expected"),
    [
        ("[1]", "[2]", "[3]", "[2", True),
        ('{"a": 1}', " {}", "\n[]", "[1] 2", True),
        ("[1]", "[2]", "[3]", "[]", False),
        ("[1", "[2]", "[3]", "[2", False),
        ("[1]", "[2", "[3]", "[2", False),
        ("[1]", "[2]", "[3", "[2", False),
        # A number is JSON as well, but nobody means it.
        ("1", "[2]", "[3]", "[2", False),
        ("[1]", "[2]", "[3]", "2", True),
    ],
)
def test_json_is_lost(original: str, upstream: str, local: str, text: str, expected: bool) -> None:
    assert loses_json(original, upstream, local, text) is expected


@pytest.mark.parametrize(
    ("upstream", "local", "winner", "text", "changed"),
    [
        ("a|b", "a|b", "upstream", "a|b", 0),
        ("a|b", "b", "local", "a|b", 0),
        ("b", "b|c", "upstream", "b|c", 0),
        ("a|x|c|y", "a|z|c|w", "upstream", "a|x|c|y", 2),
        ("a|x|c|y", "a|z|c|w", "local", "a|z|c|w", 2),
    ],
)
def test_a_text_that_both_added(upstream: str, local: str, winner: str, text: str, changed: int) -> None:
    merged = merge_added_lines(
        upstream.replace("|", "\n"), local.replace("|", "\n"), "upstream" if winner == "upstream" else "local"
    )
    assert merged == MergedText(text.replace("|", "\n"), changed)


def test_what_both_sides_did_is_said_in_words() -> None:
    assert MergedText("", changed=1).explanation("local") == ("changed the same lines", "local's lines are kept")
    assert MergedText("", changed=2, alike=1, inserted=1).explanation("upstream") == (
        "changed the same lines in 2 places and added nearly the same lines and added lines at the same place",
        "upstream's lines are kept and both are kept, local's first",
    )
    assert MergedText("", inserted=3).explanation("local") == (
        "added lines at the same place in 3 places",
        "both are kept, local's first",
    )
    assert MergedText("", alike=1).explanation("local")[1] == "local's lines are kept"


def test_what_may_be_a_comment_is_the_rest_of_a_line() -> None:
    assert comments_in("a: 1 # x \n# y\nb: '#'\nc: 2") == ["# x", "# y", "#'"]
    assert comments_in("a: 1") == []


@pytest.mark.parametrize("chosen", ["upstream", "local"])
@pytest.mark.parametrize(
    ("original", "upstream", "local", "text", "conflicts"),
    [
        pytest.param("k: 1|l", "k: 2|l", "k: 3|m", {"upstream": "k: 2|m", "local": "k: 3|m"}, 1, id="lines beside"),
        pytest.param(
            "a|k: 1|b",
            "a|x|k: 2|y|b",
            "a|x|k: 3|y|b",
            {"upstream": "a|x|k: 2|y|b", "local": "a|x|k: 3|y|b"},
            1,
            id="ends",
        ),
    ],
)
def test_only_what_differs_is_in_conflict(
    chosen: str, original: str, upstream: str, local: str, text: dict[str, str], conflicts: int
) -> None:
    before, theirs, ours = (side.replace("|", "\n") for side in (original, upstream, local))
    merged = merge_lines(before, theirs, ours, Settling("upstream" if chosen == "upstream" else "local"))
    assert merged == MergedText(text[chosen].replace("|", "\n"), changed=conflicts)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "span"),
    [
        pytest.param("a|k|b", "a|x|p p|y|b", "a|x|q q|y|b", (2, 3), id="alike at both ends"),
        pytest.param("a|k|b", "a|w|x|p p|y|z|b", "a|w|x|q q|y|z|b", (3, 4), id="two lines alike at both ends"),
        pytest.param("a|k|b", "a|p p|y|b", "a|q q|y|b", (1, 2), id="alike at the end"),
        pytest.param("a|k|b", "a|x|p p|b", "a|x|q q|b", (2, 3), id="alike at the start"),
    ],
)
def test_only_what_differs_of_replaced_lines_is_in_conflict(
    original: str, upstream: str, local: str, span: tuple[int, int]
) -> None:
    sides = [side.split("|") for side in (original, upstream, local)]
    for chosen, other in (("local", 2), ("upstream", 1)):
        settling = Settling("local" if chosen == "local" else "upstream")
        runs = merge_sequences(sides[0], sides[1], sides[2], settling)
        assert [(run.side, run.start, run.stop) for run in runs if run.clash] == [(chosen, *span)]
        lines = {"upstream": sides[1], "local": sides[2]}
        assert [line for run in runs for line in lines[run.side][run.start : run.stop]] == sides[other]


@pytest.mark.parametrize(("original", "clash"), [("ab", "inserted"), ("aob", "changed")])
def test_lines_that_are_one_place_clash_as_one(original: str, clash: str) -> None:
    runs = merge_sequences(original, "aub", "alb", Settling("local", splits=False))
    assert [run.clash for run in runs if run.clash] == [clash]


def comments_at(text: str, *path: str | int) -> tuple[Comments, list[str]]:
    """The comments of a child, and all around it."""
    node: Node | None = read(text)
    collection: Node | None = node
    child: Child | None = None
    for step in path:
        collection = node
        if isinstance(node, MappingNode):
            child = node.fields[str(step)]
            node = child.value
        elif isinstance(node, SequenceNode) and isinstance(step, int):
            child = node = node.items[step]
    reader = CommentReader()
    assert child is not None
    assert reader.around(collection, child) == reader.around(collection, child)
    return reader.of(collection, child), reader.around(collection, child)


@pytest.mark.parametrize(
    ("text", "path", "comments", "around"),
    [
        ("# h\na: 1 # l\n", ("a",), Comments(("# h",), "# l"), ["# h", "# l"]),
        ("a: # l\n  # i\n  b: 1 # m\n", ("a",), Comments((), "# l"), ["# l", "# i", "# m"]),
        ("a:\n- 1 # l\n# h\n- 2\n", ("a", 1), Comments(("# h",)), ["# h"]),
        ("a: 1\n# h\nb: 2\n", ("a",), NO_COMMENTS, []),
        ("a: {b: 1} # l\n", ("a", "b"), NO_COMMENTS, []),
        ("a: 1\n", ("a",), NO_COMMENTS, []),
        ("? [x]\n: 1\na: 2 # l\n", ("a",), NO_COMMENTS, []),
    ],
)
def test_the_comments_of_a_child(text: str, path: tuple[str | int, ...], comments: Comments, around: list[str]) -> None:
    assert comments_at(text, *path) == (comments, around)


def test_what_has_no_text_has_no_comments() -> None:
    new, child = SequenceNode.new(False, [Scalar.new("a")]), Scalar.new("b")
    for collection in (None, new, child):
        assert CommentReader().of(collection, child) == NO_COMMENTS
        assert CommentReader().around(collection, None) == []
    assert CommentReader().around(read("a: 1 # l\n"), None) == []
