"""Rule V6 on texts of settings, which merge by their keys, and on texts that both sides added."""

from __future__ import annotations

import pytest

from krm_merge.merge.lines.sequence import ChosenSide
from krm_merge.merge.lines.three_way import merge_added_lines
from krm_merge.merge.values.texts import choose_text, merge_added_text, merge_text, read_settings

SETTINGS = [
    # Clashing lines beside each other: git sees one conflict, the keys say what belongs together.
    ("both changed others", "a=1\nb=2\n", "a=7\nb=2\n", "a=1\nb=8\n", "a=7\nb=8\n", 0, 0),
    ("both changed one", "a=1\nb=2\n", "a=7\nb=2\n", "a=8\nb=9\n", "a=7\nb=9\n", 1, 0),
    ("both added one", "a=1\n", "a=1\nb=7\n", "a=1\nb=8\n", "a=1\nb=7\n", 0, 1),
    ("both added others", "a=1\n", "a=1\nb=7\n", "a=1\nc=8\n", "a=1\nc=8\nb=7\n", 0, 0),
    ("one removed, the other changed its neighbour", "a=1\nb=2\n", "b=2\n", "a=1\nb=8\n", "b=8\n", 0, 0),
    ("one removed what the other changed", "a=1\nb=2\n", "b=2\n", "a=8\nb=2\n", "b=2\n", 1, 0),
    ("a section each", "a=1\n", "a=1\n[u]\nx=1\n", "a=1\n[l]\nx=2\n", "a=1\n[l]\nx=2\n[u]\nx=1\n", 0, 0),
    (
        "one key in two sections",
        "[s]\na=1\n[t]\na=1\n",
        "[s]\na=7\n[t]\na=1\n",
        "[s]\na=1\n[t]\na=8\n",
        "[s]\na=7\n[t]\na=8\n",
        0,
        0,
    ),
    (
        "a removed section with something new",
        "a=1\n[s]\nx=1\n",
        "a=1\n",
        "a=1\n[s]\nx=1\ny=2\n",
        "a=1\n[s]\ny=2\n",
        0,
        0,
    ),
    (
        "a section that local removed, with something new of upstream",
        "a=1\n[s]\nx=1\n",
        "a=1\n[s]\nx=1\ny=2\n",
        "a=1\n",
        "a=1\n[s]\ny=2\n",
        0,
        0,
    ),
    ("comments of each", "a=1\nb=2\n", "# u\na=7\nb=2\n", "a=1\n# l\nb=8\n", "# u\na=7\n# l\nb=8\n", 0, 0),
    ("comments of both on one", "# o\na=1\nb=2\n", "# u\na=7\nb=2\n", "# l\na=1\nb=8\n", "# l\na=7\nb=8\n", 0, 0),
    ("comments at the end", "a=1\nb=2\n", "a=7\nb=2\n# u\n", "a=1\nb=8\n", "a=7\nb=8\n# u\n", 0, 0),
    ("another order", "a=1\nb=2\nc=3\n", "c=3\na=7\nb=2\n", "a=1\nb=8\nc=3\n", "a=7\nb=8\nc=3\n", 0, 0),
    (
        "another order, where git finds no conflict",
        "a=1\nb=2\nx=0\ny=0\nc=3\n",
        "c=3\na=1\nb=2\nx=0\ny=0\n",
        "a=1\nb=8\nx=0\ny=0\nc=3\n",
        "c=3\na=1\nb=8\nx=0\ny=0\n",
        0,
        0,
    ),
    ("a section that local removed", "a=1\nb=2\n[s]\nx=1\n", "a=7\nb=2\n[s]\nx=1\n", "a=1\nb=8\n", "a=7\nb=8\n", 0, 0),
    (
        "comments above a section",
        "a=1\nb=2\n# o\n[s]\nx=1\n",
        "a=7\nb=2\n# u\n[s]\nx=1\n",
        "a=1\nb=8\n# o\n[s]\nx=1\n",
        "a=7\nb=8\n# u\n[s]\nx=1\n",
        0,
        0,
    ),
    (
        "one key at two places",
        "a=1\nx=0\ny=0\n",
        "b=7\na=1\nx=0\ny=0\n",
        "a=1\nx=0\ny=0\nb=8\n",
        "a=1\nx=0\ny=0\nb=7\n",
        0,
        1,
    ),
    ("no settings before", "a=1\nwords\n", "a=7\nb=2\n", "a=1\nb=3\n", "a=7\nb=2\n", 1, 0),
    ("no settings in upstream", "a=1\nb=2\n", "a=1\nwords\n", "a=7\nb=3\n", "a=7\nwords\n", 1, 0),
    ("no settings in local", "a=1\nb=2\n", "a=7\nb=3\n", "a=1\nwords\n", "a=7\nb=3\n", 1, 0),
]


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "changed", "alike"),
    [row[1:] for row in SETTINGS],
    ids=[row[0] for row in SETTINGS],
)
def test_settings_merge_by_their_keys(
    original: str, upstream: str, local: str, expected: str, changed: int, alike: int
) -> None:
    result = merge_text(original, upstream, local, "upstream")
    assert result is not None
    assert (result.text, result.changed, result.alike, result.inserted) == (expected, changed, alike, 0)


LIST = "l:\n- x: 1\n- y: 2\n- z: 3\n"
FIRST, LAST = LIST.replace("l:\n", "l:\n- n: 1\n  m: 2\n"), LIST + "- n: 1\n  m: 2\n"
WORDS = "k:\n- a\n- b\n- c\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "conflicts"),
    [
        pytest.param(LIST, FIRST, LAST, None, 0, id="an element that both added at two places"),
        pytest.param(
            LIST,
            FIRST.replace("y: 2", "y: 3"),
            LAST.replace("y: 2", "y: 4"),
            FIRST.replace("y: 2", "y: 3") + LAST.removeprefix(LIST),
            1,
            id="the same beside a conflict",
        ),
        pytest.param(
            LIST + WORDS,
            FIRST + WORDS.replace("k:\n", "k:\n- s\n"),
            FIRST + WORDS + "- s\n",
            FIRST + WORDS.replace("k:\n", "k:\n- s\n") + "- s\n",
            0,
            id="an element that both added at one place, and a text at two",
        ),
        pytest.param(
            "a: 1\nx: 0\ny: 0\n",
            "b: 7\na: 1\nx: 0\ny: 0\n",
            "a: 1\nx: 0\ny: 0\nb: 8\n",
            None,
            0,
            id="a key that both added at two places",
        ),
    ],
)
def test_lines_of_yaml(original: str, upstream: str, local: str, expected: str | None, conflicts: int) -> None:
    merged = merge_text(original, upstream, local, "upstream")
    assert (merged and merged.text) == expected
    assert (0 if merged is None else merged.conflicts) == conflicts


@pytest.mark.parametrize(
    "text",
    [
        "a=1\na=2\n",
        "[s]\na=1\n[s]\nb=1\n",
        "a=1 \\\nb=2\n",
        "a=1\nsomething else\n",
        "# only a comment\n",
        "[s]\n[s]\n",
    ],
)
def test_other_texts_are_no_settings(text: str) -> None:
    assert read_settings(text.split("\n")) is None


ADDED = [
    ("a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n", 0),
    ("a\nb\n", "a\n", "a\nb\n", "a\nb\n", 0),
    ("a\n", "a\nb\n", "a\nb\n", "a\nb\n", 0),
    ("a\nu\nb\n", "a\nl\nb\n", "a\nu\nb\n", "a\nl\nb\n", 1),
    ("u\na\nu\n", "l\na\nl\n", "u\na\nu\n", "l\na\nl\n", 2),
]


@pytest.mark.parametrize(("upstream", "local", "won_by_upstream", "won_by_local", "changed"), ADDED)
def test_a_text_that_both_added(
    upstream: str, local: str, won_by_upstream: str, won_by_local: str, changed: int
) -> None:
    for winner, expected in (("upstream", won_by_upstream), ("local", won_by_local)):
        merged = merge_added_lines(upstream, local, winner)  # type: ignore[arg-type]
        assert (merged.text, merged.changed) == (expected, changed)


def test_added_texts_of_json_that_would_repeat_a_key_are_one_conflict() -> None:
    assert merge_added_text('{\n"a": 1,\n"b": 2\n}', '{\n"b": 2\n,"a": 3\n}', "upstream") is None
    merged = merge_added_text('{\n"a": 1,\n"b": 2\n}', '{\n"a": 1,\n"b": 3\n}', "upstream")
    assert merged is not None
    assert merged.text == '{\n"a": 1,\n"b": 2\n}'


@pytest.mark.parametrize(("chosen", "expected"), [("upstream", "a=7\nb=8\n"), ("local", "a=9\nb=8\n")])
def test_a_choice_between_settings_is_one_for_each_key(chosen: ChosenSide, expected: str) -> None:
    assert choose_text("a=1\nb=2\n", "a=7\nb=2\n", "a=9\nb=8\n", chosen) == expected


@pytest.mark.parametrize(("chosen", "expected"), [("upstream", "a=7\nb=2\n"), ("local", "a=9\nb=2\n")])
def test_a_choice_between_settings_keeps_their_order(chosen: ChosenSide, expected: str) -> None:
    assert choose_text("a=1\nb=2\n", "b=2\na=7\n", "a=9\nb=2\n", chosen) == expected


def test_a_choice_that_merging_again_would_change_is_none() -> None:
    assert choose_text("- a\n", "- u\n", "- l\n", "upstream-then-local") == "- u\n- l\n"
    assert choose_text('{"a": 1}', '{"a": 2}', '{"a": 3}', "upstream-then-local") is None
