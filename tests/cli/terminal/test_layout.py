"""Lines that fit a terminal: cut between words, and long words where they end."""

from __future__ import annotations

import pytest

from krm_merge.cli.terminal import fit

LONG = 'a.yaml: metadata.annotations["example.com/some-long-name"]: upstream changed it'


def test_a_line_that_fits_and_one_for_a_program_stay_as_they_are() -> None:
    assert fit("short", 60, 2) == "short"
    assert fit(LONG, None, 2) == LONG


def test_lines_are_cut_between_words() -> None:
    assert fit("warning one two three", 14, 4).split("\n") == ["warning one", "    two three"]


def test_long_words_are_cut_where_the_line_ends() -> None:
    assert fit("x" * 25, 10, 2).split("\n") == ["x" * 10, "  " + "x" * 8, "  " + "x" * 7]


@pytest.mark.parametrize("width", range(30, 121, 7))
def test_no_line_is_wider_and_no_word_is_lost(width: int) -> None:
    text = f"  {LONG} {'y' * 200} and more of it, at last"
    lines = fit(text, width, 8).split("\n")
    assert max(map(len, lines)) <= width
    assert "".join(line.replace(" ", "") for line in lines) == text.replace(" ", "")
