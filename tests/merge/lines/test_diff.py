"""Which elements of two sequences are the same: the laws on random sequences, and where equal ones may be taken."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.merge.lines import sequence
from krm_merge.merge.lines.sequence import Block, matching_blocks

SEQUENCES = st.lists(st.sampled_from("abcd"), max_size=12).map("".join)


def check(first: str, second: str, blocks: list[Block]) -> None:
    """Common stretches, in order, none empty and none that goes on in the next."""
    for start, other, size in blocks:
        assert size > 0
        assert first[start : start + size] == second[other : other + size]
    for (start, other, size), (later, later_other, _) in itertools.pairwise(blocks):
        assert start + size <= later
        assert other + size <= later_other
        assert (start + size, other + size) != (later, later_other)


def most_in_common(first: str, second: str) -> int:
    """The length of a longest common subsequence."""
    row = [0] * (len(second) + 1)
    for item in first:
        above = row[:]
        for at, other in enumerate(second):
            row[at + 1] = above[at] + 1 if item == other else max(row[at], above[at + 1])
    return row[-1]


@given(SEQUENCES, SEQUENCES)
def test_common_stretches_in_order_and_as_many_as_there_are(first: str, second: str) -> None:
    blocks = matching_blocks(first, second)
    check(first, second, blocks)
    assert sum(size for _, _, size in blocks) == most_in_common(first, second)


@given(SEQUENCES)
def test_equal_sequences_are_one_stretch(sequence: str) -> None:
    assert matching_blocks(sequence, sequence) == ([(0, 0, len(sequence))] if sequence else [])


@given(SEQUENCES, SEQUENCES)
def test_what_is_given_up_or_cut_is_still_common(first: str, second: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "_blocks", sequence._blocks.__wrapped__)
        patch.setattr(sequence, "MAX_COST", 1)
        check(first, second, matching_blocks(first, second))
        patch.setattr(sequence, "SPLIT_ABOVE", 2)
        check(first, second, matching_blocks(first, second))
        patch.undo()
        patch.setattr(sequence, "_blocks", sequence._blocks.__wrapped__)
        patch.setattr(sequence, "SPLIT_ABOVE", 2)
        check(first, second, matching_blocks(first, second))


def changes_by_git(folder: Path, pairs: list[tuple[str, str]]) -> list[list[tuple[int, int, int, int]]]:
    """Where the changes that git's merge sees begin in both, and how long they are there; for all pairs at once."""
    for at, sides in enumerate(pairs):
        for name, side in zip("ab", sides, strict=True):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{at:04}").write_text("".join(f"{element}\n" for element in side))
    command = ["git", "diff", "--no-index", "-U0", "--no-indent-heuristic", "--diff-algorithm=myers", "a", "b"]
    diff_of_all = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    changes: list[list[tuple[int, int, int, int]]] = [[] for _ in pairs]
    for line in diff_of_all.splitlines():
        if line.startswith("diff --git"):
            at = int(line.rpartition("/")[2])
        elif match := re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            start, size, other, other_size = (1 if group is None else int(group) for group in match.groups())
            # git numbers lines from 1, and names the line before where there is none.
            changes[at].append((start - (size > 0), size, other - (other_size > 0), other_size))
    return changes


def test_of_equally_short_differences_it_is_that_of_git(tmp_path: Path) -> None:
    random = Random(2)
    pairs = []
    for _ in range(400):
        before = random.choices("abcdef"[: random.randint(2, 6)], k=random.randint(1, 14))
        after = before[:]
        for _ in range(random.randint(1, 4)):
            at = random.randint(0, len(after))
            after[at : at + random.randint(0, 2)] = random.choices("abcdef", k=random.randint(0, 2))
        pairs.append(("".join(before), "".join(after)))
    for (first, second), expected in zip(pairs, changes_by_git(tmp_path, pairs), strict=True):
        blocks = [(0, 0, 0), *matching_blocks(first, second), (len(first), len(second), 0)]
        edges = [((a + size, b + size), (c, d)) for (a, b, size), (c, d, _) in itertools.pairwise(blocks)]
        changes = [(a, c - a, b, d - b) for (a, b), (c, d) in edges if (a, b) != (c, d)]
        assert changes == expected, (first, second)


@pytest.mark.parametrize(
    ("first", "second", "blocks"),
    [
        ("", "", []),
        ("a", "", []),
        ("a", "b", []),
        ("ab", "axb", [(0, 0, 1), (1, 2, 1)]),
        ("abc", "bc", [(1, 0, 2)]),
        # Of equal ones the last is the new one.
        ("ab", "aab", [(0, 0, 1), (1, 2, 1)]),
        ("aab", "ab", [(0, 0, 1), (2, 1, 1)]),
        ("xaby", "xababy", [(0, 0, 3), (3, 5, 1)]),
        # Where both have something of their own, it is one difference.
        ("xay", "xbay", [(0, 0, 1), (1, 2, 2)]),
    ],
)
def test_example(first: str, second: str, blocks: list[Block]) -> None:
    assert matching_blocks(first, second) == blocks


def test_long_sequences() -> None:
    lines = [f"{at % 700}" for at in range(5_000)]
    changed = [*lines[:100], "new", *lines[101:3_000], *lines[3_010:], "end"]
    blocks = matching_blocks(lines, changed)
    assert sum(size for _, _, size in blocks) == 5_000 - 11


def test_beyond_its_effort_a_comparison_finds_few_differences_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What both start and end with is found all the same."""
    random = Random(1)
    first, second = ([0, *random.choices((1, 2), k=500), 3] for _ in range(2))
    near = [*first[:100], 9, *first[100:]]
    whole = matching_blocks(first, second)
    monkeypatch.setattr(sequence, "MAX_EFFORT", 0)
    monkeypatch.setattr(sequence, "_blocks", sequence._blocks.__wrapped__)
    cut = matching_blocks(first, second)
    assert sum(size for _, _, size in cut) < sum(size for _, _, size in whole)
    assert cut[0][:2] == (0, 0)
    assert cut[-1][0] + cut[-1][2] == len(first)
    assert sum(size for _, _, size in matching_blocks(first, near)) == len(first)


def test_what_both_hold_once_is_found_however_different_all_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "_blocks", sequence._blocks.__wrapped__)
    monkeypatch.setattr(sequence, "MAX_COST", 1)
    monkeypatch.setattr(sequence, "SPLIT_ABOVE", 100)
    first = [element for at in range(40) for element in (f"once {at}", "a", "b", "c")]
    second = [element for at in range(40) for element in (f"once {at}", "c", "c", "b", "a", "a")]
    blocks = matching_blocks(first, second)
    assert {(4 * at, 6 * at) for at in range(40)} <= {(start, other) for start, other, _ in blocks}
    # As far as it is in the same order.
    moved = [*second[6 * 20 :], *second[: 6 * 20]]
    common = [first[start + at] for start, _, size in matching_blocks(first, moved) for at in range(size)]
    assert sum(element.startswith("once") for element in common) == 20


@pytest.mark.parametrize(
    ("first", "second", "limits", "in_common"),
    [
        # Six differences, three from either end, at a cost of 2 + 4 + 6.
        pytest.param("abcd", "dcba", {"MAX_COST": 3}, 1, id="as many differences as are looked for"),
        pytest.param("abcd", "dcba", {"MAX_COST": 2}, 0, id="more differences"),
        pytest.param("ab", "ba", {"MAX_COST": 1}, 1, id="two differences"),
        pytest.param("abcd", "dcba", {"MAX_EFFORT": 12, "SMALL_COST": 0}, 1, id="as much effort as there may be"),
        pytest.param("abcd", "dcba", {"MAX_EFFORT": 11, "SMALL_COST": 0}, 0, id="more effort"),
        pytest.param("abcd", "dcba", {"MAX_EFFORT": 0, "SMALL_COST": 3}, 1, id="more effort for few differences"),
        pytest.param("abcd", "dcba", {"MAX_EFFORT": 0, "SMALL_COST": 2}, 0, id="more effort for many differences"),
        pytest.param("uaa", "aau", {"SPLIT_ABOVE": 3}, 2, id="not long enough to be cut"),
        pytest.param("uaa", "aau", {"SPLIT_ABOVE": 2}, 1, id="cut at what both hold once"),
        pytest.param("uaa", "aaub", {"SPLIT_ABOVE": 3}, 2, id="long by what the other lacks"),
        pytest.param("uaa", "aaaau", {"SPLIT_ABOVE": 4}, 1, id="the other one long enough to be cut"),
    ],
)
def test_limits_of_a_comparison(
    first: str, second: str, limits: dict[str, int], in_common: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequence, "_blocks", sequence._blocks.__wrapped__)
    for name, limit in limits.items():
        monkeypatch.setattr(sequence, name, limit)
    assert sum(size for _, _, size in matching_blocks(first, second)) == in_common
