"""Merges that people made: how they are found and judged, and the ledger and the page that say what came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.merges import entrants, judges, ledger
from benchmarks.merges.figures import class_of, figures_of, is_worse
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


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("a: 1\nb: 2\n", "b: 2 # two\na: 1\n", True),
        ("a: [x, y]\n", "a: [y, x]\n", False),
        ("a: 1\n", "a: '1'\n", False),
        ("a: ~\n", "a:\n", True),
        ("{{ if }}\na: 1\n", "{{ if }}\n\na: 1  \n", True),
        ("{{ if }}\na: 1\n", "{{ if }}\na: 2\n", False),
        ("a: &x {b: 1}\nc: *x\n", "a: {b: 1}\nc: {b: 1}\n", True),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", "a: {b: 1}\nc: {b: 1, d: 2}\n", True),
    ],
)
def test_files_are_the_same_by_their_values(first: str, other: str, same: bool) -> None:
    assert judges.is_same(first.encode(), other.encode()) is same


def test_every_change_of_one_side_alone_counts() -> None:
    original = "image: a:1\nreplicas: 1\nenv:\n- {name: X, value: a}\nargs: [p, q]\nrun: |\n  one\n  two\n"
    upstream = original.replace("a:1", "a:2").replace("two", "second").replace("replicas: 1", "replicas: 2")
    local = original.replace("value: a", "value: b").replace("[p, q]", "[p]").replace("replicas: 1", "replicas: 3")
    assert changes(original, upstream, local) == {
        "- .image: a:1",
        "+ .image: a:2",
        "- .run|: two",
        "+ .run|: second",
        "- .env[X].value: a",
        "+ .env[X].value: b",
        "- .args[q]: q",
    }


def test_what_both_sides_changed_differently_is_for_the_people() -> None:
    assert changes("bases: ['g?ref=1']\n", "bases: ['g?ref=2']\n", "bases: ['g?ref=3']\n") == set()
    assert changes("run: |\n  a\n  b\n", "run: |\n  a\n  x\n", "run: |\n  a\n  y\n") == set()


def test_changes_that_a_result_lacks_are_found() -> None:
    case = triple("a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n", "a: 2\nb: 2\n")
    assert judges.missing_changes(case, b"a: 2\nb: 2\n") == []
    assert [str(change) for change in judges.missing_changes(case, b"a: 2\nb: 1\n")] == ["- .b: !int 1", "+ .b: !int 2"]


def test_a_resource_is_the_same_where_another_of_its_kind_comes() -> None:
    def resource(name: str, value: int) -> str:
        return f"---\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: {value}}}\n"

    first, other = resource("one", 1), resource("two", 1)
    case = triple(first, resource("one", 2), first + other, resource("one", 2))
    both = (resource("one", 2) + other).encode()
    assert judges.lost_changes(case, both) == []
    assert [str(change) for change in judges.lost_changes(case, (first + other).encode())] == [
        "- ConfigMap one.data.a: !int 1",
        "+ ConfigMap one.data.a: !int 2",
    ]


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


def test_a_repeated_key_is_not_sound_unless_a_side_has_it() -> None:
    case = triple("a: 1\n", "a: 1\nb: 1\n", "b: 2\na: 1\n", "a: 1\n")
    assert judges.is_sound(case, b"b: 2\na: 1\n")
    assert not judges.is_sound(case, b"b: 2\na: 1\nb: 1\n")
    assert not judges.is_sound(case, b"b: 2\na: |\n  c: 1\n  d: 1\n  c: 2\n")
    assert not judges.is_sound(case, b"a: [\n")
    assert judges.is_sound(triple("a: 1\na: 2\n", "", "", ""), b"a: 1\na: 2\n")


def test_an_answer_is_reached_by_choosing_sides() -> None:
    marked = b"a: 0\n<<<<<<< local\nb: 1\n=======\nc: 1\n>>>>>>> upstream\n"
    for answer, reached in ((b"a: 0\nb: 1\n", True), (b"a: 0\nb: 1\nc: 1\n", True), (b"a: 0\nb: 2\n", False)):
        assert judges.is_reached(marked, answer) is reached
    with_original = marked.replace(b"=======", b"||||||| original\nd: 1\n=======")
    assert judges.is_reached(with_original, b"a: 0\nc: 1\n")


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


def test_a_merge_that_git_makes_right_is_worse_with_a_conflict() -> None:
    far = "".join(f"k{number}: 1\n" for number in range(9))
    upstream, local = far.replace("k0: 1", "k0: 2"), far.replace("k8: 1", "k8: 2")
    clean = triple(far, upstream, local, upstream.replace("k8: 1", "k8: 2"))

    def gives(text: bytes, *, conflict: bool) -> entrants.Entrant:
        return lambda _: entrants.Outcome(text, conflict)

    programs = {"conflict": gives(clean.people, conflict=True), "upstream": gives(clean.upstream, conflict=False)}
    case = judge(clean, {**entrants.ENTRANTS, **programs})
    worse = {name: is_worse(case, verdict) for name, verdict in case.verdicts.items()}
    assert worse == {**dict.fromkeys(entrants.ENTRANTS, False), "upstream": True, "conflict": True}


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


def test_the_ledger_is_read_as_it_is_written(tmp_path: Path) -> None:
    lines = [ledger.Line(RECIPE, "right")]
    ledger.write(lines, tmp_path / "ledger.tsv")
    assert ledger.read(tmp_path / "ledger.tsv") == lines
    (tmp_path / "ledger.tsv").write_text("grade\nfine\tacme/shop\tmerge\ta\tb\tclean\tp\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'fine' is not a grade; expected one of fault"):
        ledger.read(tmp_path / "ledger.tsv")


def test_the_ledger_names_200_merges_with_their_licenses() -> None:
    lines = ledger.read()
    licenses = ledger.LEDGER.with_name("README.md").read_text(encoding="utf-8")
    assert len({line.recipe for line in lines}) == len(lines) == 200
    assert {line.recipe.repository for line in lines if line.recipe.repository not in licenses} == set()
    seen = recipes_of(RECIPES / "seen")
    assert {line.recipe for line in lines} <= {*seen}
