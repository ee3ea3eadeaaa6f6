"""Rule V6: the laws on random sequences of lines, the containment rule, conflicts.

Each letter is a line; a word is a text. `u` comes from upstream, `l` from local.
"""

from __future__ import annotations

import itertools
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krm_merge.merge.lines.sequence import ChosenSide, MergedRun, Settling, are_alike, merge_sequences
from krm_merge.merge.lines.three_way import AS_GIT, MergedText, merge_lines, merge_lines_without_conflict
from krm_merge.merge.values.texts import merge_text

SEQUENCES = st.lists(st.sampled_from("abcd"), max_size=7).map("".join)
WINNERS: st.SearchStrategy[Literal["upstream", "local"]] = st.sampled_from(["upstream", "local"])
Winner = Literal["upstream", "local"]


def merge(original: str, upstream: str, local: str, winner: Winner = "upstream") -> tuple[str, list[str]]:
    """The result and its clashes."""
    return text_and_clashes(merge_sequences(original, upstream, local, Settling(winner)), original, upstream, local)


def text_and_clashes(runs: list[MergedRun], original: str, upstream: str, local: str) -> tuple[str, list[str]]:
    sides = {"upstream": upstream, "local": local}
    text = "".join(sides[run.side][run.start : run.stop] for run in runs)
    return text, [run.clash for run in runs if run.clash]


@given(SEQUENCES, SEQUENCES, WINNERS)
def test_a_b_c(first: str, other: str, winner: Winner) -> None:
    assert merge(first, other, first, winner) == (other, [])  # A
    assert merge(first, first, other, winner) == (other, [])  # B
    assert merge(first, other, other, winner) == (other, [])  # C


@given(SEQUENCES, SEQUENCES, SEQUENCES, WINNERS, st.booleans())
@example("dc", "daccdb", "b", "local", True)
def test_runs_go_forward_and_say_what_clashed(
    original: str, upstream: str, local: str, winner: Winner, loose: bool
) -> None:
    runs = merge_sequences(original, upstream, local, Settling(winner, loose=loose))
    for side in ("upstream", "local"):
        runs_of_side = [run for run in runs if run.side == side]
        assert all(a.stop <= b.start for a, b in itertools.pairwise(runs_of_side))
    for run in runs:
        assert run.stop > run.start or run.clash
        assert run.stop <= len({"upstream": upstream, "local": local}[run.side])
        if run.clash == "changed":
            assert run.side == winner
        if run.clash == "inserted":
            assert run.side == "local"


@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_without_a_change_on_the_same_elements_the_winner_does_not_matter(o: str, u: str, l: str) -> None:  # noqa: E741
    result, clashes = merge(o, u, l, "upstream")
    if not {"changed", "alike"} & set(clashes):
        assert merge(o, u, l, "local") == (result, clashes)


EXAMPLES: list[tuple[str, str, str, str, str, list[str]]] = [
    ("both removed different ones", "abcd", "abd", "bcd", "bd", []),
    ("both appended", "a", "au", "al", "alu", ["inserted"]),
    ("both appended the same", "a", "ax", "ax", "ax", []),
    ("local's run contains upstream's", "a", "ax", "axl", "axl", []),
    ("local's run contains upstream's in its middle", "a", "ax", "akxl", "akxl", []),
    ("local's run contains upstream's two behind one of them", "a", "axxy", "akmnxxxyopq", "akmnxxxyopq", []),
    ("upstream's run contains local's", "a", "axuv", "au", "axuv", []),
    ("upstream's run contains local's usual end of a block", "ea", "eaxye", "eae", "eaexye", ["inserted"]),
    ("no contiguous part, but most of it", "a", "axy", "axly", "axly", []),
    ("no contiguous part, and less than half of it", "a", "axy", "axlmky", "axlmkyxy", ["inserted"]),
    ("at two places", "ab", "aubu", "albl", "alublu", ["inserted", "inserted"]),
    ("both changed one", "abc", "auc", "alc", "auc", ["changed"]),
    ("both changed one and began alike", "abc", "axuc", "axlc", "axuc", ["changed"]),
    ("both changed one and ended alike", "abc", "auxc", "alxc", "auxc", ["changed"]),
    ("one removed what the other changed", "abc", "ac", "alc", "ac", ["changed"]),
    ("one removed, the other inserted beside it", "abc", "ac", "abxc", "ac", ["changed"]),
    (
        "one removed, the other put more lines in the place of its neighbour",
        "abcd",
        "axycd",
        "abd",
        "axycd",
        ["changed"],
    ),
    ("one removed one, the other this and another one", "abcd", "acd", "ad", "ad", []),
    ("one removed one, the other put one in the place of two", "abcd", "acd", "axd", "acd", ["changed"]),
    ("the other way round", "abcd", "axd", "acd", "axd", ["changed"]),
    ("one removed one, the other put others in the place of two", "abcd", "acd", "axyd", "ayd", ["changed"]),
    ("from nothing", "", "u", "l", "lu", ["inserted"]),
    ("from nothing, contained", "", "u", "ul", "ul", []),
    ("far apart", "abcdef", "xbcdef", "abcdey", "xbcdey", []),
    ("upstream removed all, local changed", "abc", "", "abx", "", ["changed"]),
    ("nothing", "", "", "", "", []),
]


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "clashes"), [e[1:] for e in EXAMPLES], ids=[e[0] for e in EXAMPLES]
)
def test_example(original: str, upstream: str, local: str, expected: str, clashes: list[str]) -> None:
    assert merge(original, upstream, local) == (expected, clashes)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "clashes"),
    [
        ("", "u", "l", "lu", ["inserted"]),
        ("abc", "c", "abxc", "xc", []),
        ("abc", "ac", "abxc", "axc", []),
        ("abc", "ac", "alc", "ac", ["changed"]),
        ("ab", "", "l", "", ["changed"]),
    ],
)
def test_loose_lines_say_nothing_of_their_neighbours(
    original: str, upstream: str, local: str, expected: str, clashes: list[str]
) -> None:
    runs = merge_sequences(original, upstream, local, Settling("upstream", loose=True))
    assert text_and_clashes(runs, original, upstream, local) == (expected, clashes)


def test_local_wins_where_it_is_told_to() -> None:
    assert merge("abc", "auc", "alc", "local") == ("alc", ["changed"])
    assert merge("abc", "ac", "alc", "local") == ("alc", ["changed"])
    assert merge("abc", "auc", "ac", "local") == ("ac", ["changed"])


CHOICES: list[tuple[ChosenSide, str, str]] = [
    # the choice, local, the result where upstream has `u` between a and b
    ("upstream", "alb", "aub"),
    ("local", "alb", "alb"),
    ("upstream-then-local", "alb", "aulb"),
    ("local-then-upstream", "alb", "alub"),
    # Chosen before: a second time adds nothing.
    ("upstream-then-local", "aulb", "aulb"),
    ("local-then-upstream", "alub", "alub"),
]


@pytest.mark.parametrize("original", ["aob", "ab"], ids=["changed", "inserted"])
@pytest.mark.parametrize(("chosen", "local", "expected"), CHOICES)
def test_what_a_person_chose(original: str, chosen: ChosenSide, local: str, expected: str) -> None:
    """M5: a choice that was made before changes nothing."""
    upstream = "aub"
    sides = {"upstream": upstream, "local": local}
    runs = merge_sequences(original, upstream, local, Settling(chosen, chooses_inserted=True))
    assert "".join(sides[run.side][run.start : run.stop] for run in runs) == expected


@pytest.mark.parametrize(("chosen", "local"), [("upstream-then-local", "umx"), ("local-then-upstream", "xmu")])
def test_what_a_person_chose_of_lines_that_are_one_place(chosen: ChosenSide, local: str) -> None:
    runs = merge_sequences("x", "u", local, Settling(chosen, splits=False))
    assert text_and_clashes(runs, "x", "u", local) == (local, ["changed"])


# ---- lines -------------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=5).map("\n".join)


@given(LINES, LINES, WINNERS)
def test_lines_a_b_c(first: str, other: str, winner: Winner) -> None:
    for original, upstream, local in ((first, other, first), (first, first, other), (first, other, other)):
        result = merge_text(original, upstream, local, winner)
        assert result is not None
        assert (result.text, result.conflicts) == (other, 0)


@given(LINES, LINES, LINES, WINNERS)
def test_lines_d_where_a_conflict_is_decided(original: str, upstream: str, local: str, winner: Winner) -> None:
    result = merge_text(original, upstream, local, winner)
    if result is not None and result.conflicts:
        again = merge_text(original, upstream, result.text, winner)
        assert again is not None
        assert again.text == result.text


@given(LINES, LINES, LINES, WINNERS)
def test_lines_h(original: str, upstream: str, local: str, winner: Winner) -> None:
    by_git, result = merge_lines(original, upstream, local, AS_GIT), merge_text(original, upstream, local, winner)
    if not by_git.conflicts:
        assert result == by_git


def test_the_winners_lines_are_kept_in_each_place() -> None:
    original, upstream, local = "a\nb\nc\nd\ne\n", "a\nU\nc\nV\ne\n", "a\nL\nc\nM\ne\n"
    result = merge_text(original, upstream, local, "upstream")
    assert result is not None
    assert (result.text, result.changed) == (upstream, 2)
    result = merge_text(original, upstream, local, "local")
    assert result is not None
    assert (result.text, result.changed) == (local, 2)


def test_a_line_that_both_added_with_a_difference_is_there_once() -> None:
    result = merge_text("a: 1\n", "a: 1\nport: 80\n", "a: 1\nport: 81\n", "upstream")
    assert result is not None
    assert (result.text, result.alike, result.inserted) == ("a: 1\nport: 80\n", 1, 0)


JSON = '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n'
BOTH = '{\n  "a": 7,\n  "b": 2,\n  "c": 8\n}\n'
SCRIPT = "echo a\noc apply -f /config\necho b"


@pytest.mark.parametrize("winner", ["upstream", "local"])
def test_lines_that_both_added_beside_a_changed_one_are_not_there_twice(winner: Winner) -> None:
    """The last line of the addition is more like the changed line than what upstream made of that."""
    added = "if [ -d /config/api ]; then\n  oc apply -f /config/api\n"
    upstream = SCRIPT.replace("/config\n", f"/config/gateway\n{added}fi\n")
    local = SCRIPT.replace("/config\n", f"/config\n{added}  oc get all\nfi\n")
    merged = merge_lines(SCRIPT, upstream, local, Settling(winner))
    assert (merged.text, merged.conflicts) == ({"upstream": upstream, "local": local}[winner], 1)


GUARDED = [
    # Both wrapped it in an object of their own: two opening brackets, one closing.
    ("[\n1\n]", '{\n"u":\n[\n1\n]\n}', '{\n"l":\n[\n1\n]\n}', None),
    (JSON, JSON.replace("1,", "7,"), JSON.replace("3\n", "8\n"), BOTH),
    # No JSON on some side: nothing to guard.
    ("[\n1\n", '{\n"u":\n[\n1\n}', '{\n"l":\n[\n1\n}', '{\n"l":\n{\n"u":\n[\n1\n}'),
    ("[\n1,\n2\n]", "[\n1,\n2,\n3\n]", "[\n0,\n1,\n2\n]", "[\n0,\n1,\n2,\n3\n]"),
]


@pytest.mark.parametrize(("original", "upstream", "local", "expected"), GUARDED)
@pytest.mark.parametrize("winner", ["upstream", "local"])
def test_json_stays_json(original: str, upstream: str, local: str, expected: str | None, winner: Winner) -> None:
    result = merge_text(original, upstream, local, winner)
    assert (result and result.text) == expected


BLOCKS = [
    # A helm chart's, as in istio 7200c264.
    ("{{- if .a }}", "{{- end }}"),
    ("{{range .a}}", "{{end}}"),
    ("{{- with .a }}", "{{ end }}"),
    ('{{ define "a" }}', "{{ end }}"),
    ('{{ block "a" . }}', "{{ end }}"),
    ("server {", "}"),
    ("servers = [", "]"),
    ("concat(", ")"),
    ("if a; then", "fi"),
    ("for a in b; do", "done"),
    ("case a in", "esac"),
]


@pytest.mark.parametrize(("begin", "end"), BLOCKS)
@pytest.mark.parametrize("winner", ["upstream", "local"])
def test_a_block_keeps_its_end(begin: str, end: str, winner: Winner) -> None:
    """Upstream wraps a block in another, and the end of that is in local's addition by chance."""
    block, added = f"{begin}\n  a\n{end}\n", f"{begin}\n  b\n{end}\n"
    merged = merge_text(block, f"{begin}\n{block}{end}\n", block + added, winner)
    assert merged == MergedText(f"{begin}\n{block}{added}{end}\n", inserted=1)


@pytest.mark.parametrize("winner", ["upstream", "local"])
def test_what_is_a_conflict_leaves_marks(winner: Winner) -> None:
    texts = "c", "a", "c\nc"
    conflict, marked = merge_text(*texts, winner), merge_text(*texts, winner, marks=True)
    assert conflict is not None
    assert marked is not None
    assert conflict.conflicts
    assert marked == conflict


@pytest.mark.parametrize("winner", ["upstream", "local"])
def test_what_only_git_takes_for_a_conflict_leaves_no_marks(winner: Winner) -> None:
    assert merge_lines("a\nb\n", "A\nb\n", "a\nB\n", AS_GIT).conflicts == 1
    assert merge_text("a\nb\n", "A\nb\n", "a\nB\n", winner, marks=True) == MergedText("A\nB\n")


def test_a_line_that_one_side_moved_and_the_other_removed_is_a_conflict() -> None:
    """Both took it away where it was, but only one of them altogether (law S)."""
    for moved, conflicts in (("d\na\nb\nc\n", 1), ("a\nb\nc\n", 0)):
        assert merge_lines("a\nb\nc\nd\n", "a\n", moved, AS_GIT).conflicts == conflicts
        assert merge_lines("a\nb\nc\nd\n", moved, "a\n", AS_GIT).conflicts == conflicts


def test_lines_that_git_would_make_a_key_twice_of_leave_the_whole_text_in_conflict() -> None:
    log, rest = "  log:\n    x: 1\n", ["- value:\n", "  a: 1\n", "  z: 3\n"]
    original, upstream, local = "".join(rest), log.join(rest[:2]) + rest[2], rest[0] + log.join(rest[1:])
    assert merge_lines(original, upstream, local, AS_GIT).conflicts == 0
    assert merge_text(original, upstream, local, "local", marks=True) is None


def test_a_change_is_not_made_again_where_a_blank_line_hides_it() -> None:
    original = "a\nset -e\n\nexec server # old\n"
    upstream = "a\nn\nset -e\n\nexec server # old\n\n# TODO\n"
    merged = merge_text(original, upstream, "a\nset -e\nexec server\n", "upstream")
    assert merged is not None
    assert merged.text == "a\nn\nset -e\nexec server\n\n# TODO\n"
    assert merge_text(original, upstream, merged.text, "upstream") == MergedText(merged.text)
    assert merge_lines_without_conflict(original, upstream, merged.text) == merged.text


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("", "\n\nd:", "\n", "\n\nd:"),
        ("", "\nc:", "c:\nb: 1\n", "c:\nb: 1\n"),
    ],
)
def test_blank_lines_say_nothing_of_what_is_there_already(
    original: str, upstream: str, local: str, expected: str
) -> None:
    assert merge_lines(original, upstream, local, Settling("upstream")).text == expected
    assert merge_lines_without_conflict(original, upstream, local) == expected


def test_all_places_where_the_sides_could_not_agree_are_counted() -> None:
    assert MergedText("a").conflicts == 0
    assert MergedText("a", changed=1, inserted=2, alike=4).conflicts == 7


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (["a: 1"], ["a: 2"], True),
        (["a: 1"], ["b: 1"], False),
        (["a: 1"], ["some other words"], False),
        (["half"], ["halfdone"], True),
        (["half"], ["half-done"], False),
        (["a: 1", "  x: 1"], ["a: 2", "  y: 3"], True),
        # Keys that are indented more are part of something else.
        (["a: 1", "  x: 1"], ["b: 2", "  x: 3"], False),
        # Half of all lines, blank ones left out.
        (["p", "q", ""], ["p", "r s t", ""], False),
        (["p", "q", "r"], ["p", "q", "s t"], True),
    ],
)
def test_what_is_one_addition_made_twice(first: list[str], second: list[str], alike: bool) -> None:
    assert are_alike(first, second) is alike


@pytest.mark.parametrize(
    ("theirs", "ours", "merged", "alike", "inserted"),
    [
        # What agrees is there once, and what only one side added as well.
        (["a: 1", "more", "b: 2"], ["a: 1", "b: 2"], ["a: 1", "more", "b: 2"], 0, 0),
        (["a: 1", "b: 2"], ["a: 1", "more", "b: 2"], ["a: 1", "more", "b: 2"], 0, 0),
        # Two unlike additions between lines that agree.
        (["a: 1", "p q", "b: 2"], ["a: 1", "xx", "yy", "b: 2"], ["a: 1", "xx", "yy", "p q", "b: 2"], 0, 1),
        (["a: 1", "c: 3"], ["a: 2", "c: 3"], ["a: 1", "c: 3"], 1, 0),
    ],
)
def test_of_an_addition_made_twice_only_what_differs_is_in_question(
    theirs: list[str], ours: list[str], merged: list[str], alike: int, inserted: int
) -> None:
    def text(lines: list[str]) -> str:
        return "\n".join(["top", *lines, "end", ""])

    done = merge_lines(text([]), text(theirs), text(ours), Settling("upstream"))
    assert done == MergedText(text(merged), alike=alike, inserted=inserted)
