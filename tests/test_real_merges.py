"""Merges that people made: how they are found and judged, and the ledger and the page that say what came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.merges import entrants, judges, ledger
from benchmarks.merges.figures import class_of, figures_of
from benchmarks.merges.triples import (
    RECIPES,
    Recipe,
    Triple,
    recipes_of,
)
from benchmarks.merges.verdicts import Judged, judge

RECIPE = Recipe("acme/shop", "merge", "a" * 40, "b" * 40, False, "deploy/app.yaml")


def triple(original: str, upstream: str, local: str, people: str) -> Triple:
    return Triple(RECIPE, original.encode(), upstream.encode(), local.encode(), people.encode())


def changes(original: str, upstream: str, local: str) -> set[str]:
    return {str(change) for change in judges.one_sided_changes(triple(original, upstream, local, ""))}


# ---- the judges ------------------------------------------------------------------------------------------------------


NAMED = "- {{name: {}, kind: x}}"
VERB = "- {{group: a, kind: x, verbs: {}}}"


@pytest.mark.parametrize(
    ("judge", "sides", "result", "expected"),
    [
        (
            judges.two_versions,
            ["- g?ref=1", "- g?ref=2", "- g?ref=3", "- g?ref=3"],
            "- g?ref=2\n- g?ref=3",
            ["g?ref=*"],
        ),
        (judges.two_versions, ["- g?ref=1", "- g?ref=2", "- g?ref=3", "- g?ref=3"], "- g?ref=3", []),
        (judges.two_versions, ["[]", "- x@v1.2", "- x@v1.3", "- x@v1.2\n- x@v1.3"], "- x@v1.2\n- x@v1.3", []),
        (judges.doubled_elements, ["- a", "- a\n- b", "- b\n- a", "- a\n- b"], "- b\n- a\n- b", ["b"]),
        (judges.doubled_elements, ["- a\n- a", "- a\n- a", "- a", "- a"], "- a\n- a", []),
        (judges.lost_comments, ["a: 1", "a: 1 # why", "a: 1\nb: 2", "a: 1 # why"], "a: 1\nb: 2", ["# why"]),
        (judges.lost_comments, ["a: 1", "a: 1 # why", "a: 1\nb: 2", "a: 1"], "a: 1\nb: 2", []),
        (
            judges.added_twice,
            ["[]", VERB.format("get"), VERB.format("list"), VERB.format("list")],
            f"{VERB.format('list')}\n{VERB.format('get')}",
            ["a x list"],
        ),
        (
            judges.added_twice,
            ["[]", NAMED.format("a"), NAMED.format("b"), "[]"],
            "- {name: a, kind: x}\n- {name: b}",
            [],
        ),
        (
            judges.added_twice,
            [NAMED.format("a"), "- {name: a, kind: y}", "- {name: a, kind: x}\n- {name: b, kind: y}", "[]"],
            "- {name: a, kind: y}\n- {name: b, kind: y}",
            [],
        ),
        (judges.lost_comments, ["# x\n# x", "# x\n# x\n# x", "", "# x\n# x"], "# x", []),
    ],
)
def test_faults_that_no_side_had_are_found(
    judge: Callable[[Triple, bytes], list[str]], sides: list[str], result: str, expected: list[str]
) -> None:
    original, upstream, local, people = (f"{text}\n" for text in sides)
    faults = judge(triple(original, upstream, local, people), f"{result}\n".encode())
    assert [fault.removeprefix(": ") for fault in faults] == expected


# ---- the programs, and what is counted -------------------------------------------------------------------------------

CONFLICT = triple("a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n", "a: 2\nb: 2\n")


def test_every_program_is_judged_in_the_same_way(tmp_path: Path) -> None:
    script = tmp_path / "take-upstream"
    script.write_text('#!/bin/sh\ncp "$2" "$4"\n', encoding="utf-8")
    script.chmod(0o755)
    case = judge(CONFLICT, {**entrants.ENTRANTS, "mine": entrants.Command(str(script))})
    assert {name: verdict.status for name, verdict in case.verdicts.items()} == {
        "git": "conflict",
        "git --zdiff3": "conflict",
        "krm-merge": "right",
        "krm-merge merge-driver": "right",
        "mine": "different",
    }
    assert case.answer.kept_all
    assert case.verdicts["mine"].faults == ["one-sided change lost"]
    assert class_of(case, case.verdicts["mine"]) == "one-sided change lost"
    figures = figures_of([case], "krm-merge")
    assert str(figures.right_of_kept) == "1 of 1 (100.0 %)"


# ---- the ledger -----------------------------------------------------------------------------------------------------


def with_status(people: str) -> Judged:
    return judge(triple("a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n", people), entrants.ENTRANTS)


@pytest.mark.parametrize(
    ("before", "people", "worse", "better"),
    [
        ("right", "a: 2\nb: 2\n", False, False),
        ("different", "a: 2\nb: 2\n", False, True),
        ("right", "a: 5\nb: 5\n", True, False),
        ("conflict", "a: 5\nb: 5\n", True, False),
    ],
)
def test_a_merge_in_the_ledger_gets_worse_or_better(before: str, people: str, worse: bool, better: bool) -> None:
    compared = ledger.compare([ledger.Line(RECIPE, before)], [with_status(people)])
    assert (bool(compared.worse), bool(compared.better)) == (worse, better)


def test_the_ledger_names_200_merges_with_their_licenses() -> None:
    lines = ledger.read()
    licenses = ledger.LEDGER.with_name("README.md").read_text(encoding="utf-8")
    assert len({line.recipe for line in lines}) == len(lines) == 200
    assert {line.recipe.repository for line in lines if line.recipe.repository not in licenses} == set()
    seen = recipes_of(RECIPES / "seen")
    assert {line.recipe for line in lines} <= {*seen}
