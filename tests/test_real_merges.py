"""Merges that people made: how they are found and judged, and the ledger and the page that say what came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.merges import entrants, judges, ledger, page
from benchmarks.merges.cloning import clone
from benchmarks.merges.figures import class_of, figures_of, is_worse
from benchmarks.merges.mining import Miner
from benchmarks.merges.triples import (
    RECIPES,
    MissingError,
    Recipe,
    Triple,
    recipes_of,
    triples_of,
    write_recipes,
)
from benchmarks.merges.verdicts import Judged, judge

from checkout import ROOT
from e2e.hosts import git, run

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


def test_a_program_that_fails_has_no_answer(tmp_path: Path) -> None:
    case = judge(CONFLICT, {"mine": entrants.Command("false"), "other": entrants.Command("sh -c 'exit 3'")})
    assert [verdict.status for verdict in case.verdicts.values()] == ["failed", "failed"]
    assert figures_of([case], "mine").failed == 1


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


@pytest.mark.kpt
def test_kpt_merges_files_of_resources() -> None:
    from benchmarks.merges.kpt import update_package

    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: '1'\n  y: '1'\n"
    both = triple(text, text.replace("x: '1'", "x: '2'"), text.replace("y: '1'", "y: '2'"), "")
    outcome = update_package(both)
    assert outcome is not None
    assert outcome.text is not None, outcome.error
    assert judges.is_same(outcome.text, text.replace("'1'", "'2'").encode())
    assert update_package(CONFLICT) is None


# ---- repositories ----------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server with the repository acme/shop: a merge that git makes, one that it does not, and a cherry-pick."""
    shop = tmp_path / "server" / "acme" / "shop"
    shop.mkdir(parents=True)
    git(shop, "init", "--quiet", "--initial-branch=main")
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git(shop, "config", key, "true")

    def commit(name: str, text: str, subject: str) -> None:
        (shop / name).write_text(text, encoding="utf-8")
        git(shop, "add", "--all")
        git(shop, "commit", "--quiet", "--message", subject)

    def merge(branch: str, **answers: str) -> None:
        run("git", "merge", "--quiet", "--no-commit", branch, cwd=shop)
        for name, text in answers.items():
            (shop / f"{name}.yaml").write_text(text, encoding="utf-8")
        git(shop, "add", "--all")
        git(shop, "commit", "--quiet", "--message=merge")

    far = "".join(f"k{number}: 1\n" for number in range(9))
    commit("near.yaml", "a: 1\nb: 1\n", "Add near")
    commit("far.yaml", far, "Add far")
    git(shop, "checkout", "--quiet", "-b", "theirs")
    commit("near.yaml", "a: 2\nb: 1\n", "Raise a")
    commit("far.yaml", far.replace("k0: 1", "k0: 2"), "Raise k0")
    git(shop, "checkout", "--quiet", "main")
    commit("near.yaml", "a: 1\nb: 2\n", "Raise b")
    commit("far.yaml", far.replace("k8: 1", "k8: 2"), "Raise k8")
    merge("theirs", near="a: 2\nb: 2\n", far=far.replace("k0: 1", "k0: 2").replace("k8: 1", "k8: 2"))
    git(shop, "checkout", "--quiet", "-b", "release")
    commit("near.yaml", "a: 2\nb: 2\nversion: 1\n", "Release")
    git(shop, "checkout", "--quiet", "main")
    commit("near.yaml", "a: 2\nb: 3\n", "Raise b again")
    raised = git(shop, "rev-parse", "HEAD").strip()
    git(shop, "checkout", "--quiet", "release")
    run("git", "cherry-pick", raised, cwd=shop)
    (shop / "near.yaml").write_text("a: 2\nb: 3\nversion: 1\n", encoding="utf-8")
    git(shop, "add", "--all")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2098-01-01T00:00:00Z")  # after the commit that is picked
    git(shop, "-c", "core.editor=true", "cherry-pick", "--continue")
    return tmp_path / "server"


def test_merges_are_found_written_down_and_fetched_again(server: Path, tmp_path: Path) -> None:
    whole, lean = tmp_path / "whole", tmp_path / "lean"
    git(tmp_path, "clone", "--quiet", "--mirror", str(server / "acme" / "shop"), str(whole / "acme+shop"))
    recipes = Miner(whole, "acme/shop", seconds=600).recipes()
    assert sorted((recipe.kind, recipe.path, recipe.is_clean) for recipe in recipes) == [
        ("merge", "far.yaml", True),
        ("merge", "near.yaml", False),
        ("pick", "near.yaml", False),
    ]
    write_recipes("acme/shop", recipes, tmp_path / "recipes")
    read = recipes_of(tmp_path / "recipes")
    assert sorted(map(Recipe.row, read)) == sorted(map(Recipe.row, recipes))
    clone(lean, "acme/shop", read[:1], f"file://{server}")
    clone(lean, "acme/shop", read, f"file://{server}")
    server.rename(tmp_path / "away")
    clone(lean, "acme/shop", read, f"file://{server}")  # fetches nothing
    fetched = list(triples_of(read, lean))
    assert fetched == list(triples_of(read, whole))
    picked = next(case for case in fetched if case.recipe.kind == "pick")
    assert (picked.original, picked.upstream) == (b"a: 2\nb: 2\n", b"a: 2\nb: 3\n")
    assert (picked.local, picked.people) == (b"a: 2\nb: 2\nversion: 1\n", b"a: 2\nb: 3\nversion: 1\n")


def test_a_mirror_that_lacks_something_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="has no clone of acme/shop"):
        list(triples_of([RECIPE], tmp_path))
    git(tmp_path, "init", "--quiet", "--bare", "acme+shop")
    with pytest.raises(MissingError, match=r"the clone of acme/shop lacks deploy/app\.yaml of aaaa"):
        list(triples_of([RECIPE], tmp_path))


# ---- the ledger and the page -----------------------------------------------------------------------------------------


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


def test_the_page_names_all_repositories() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert {recipe.repository for recipe in recipes_of(RECIPES) if f"[{recipe.repository}]" not in text} == set()
    unseen = {recipe.repository for recipe in recipes_of(RECIPES / "unseen")}
    assert not unseen & {recipe.repository for recipe in recipes_of(RECIPES / "seen")}
    _, _, failures = text.partition("<!-- failures -->")
    assert {repository for repository in unseen if f"[{repository} " in failures} == set()


def test_tables_have_their_places_on_the_page(tmp_path: Path) -> None:
    place = tmp_path / "page.md"
    place.write_text("before\n<!-- clean -->\nold\n<!-- end of clean -->\nafter\n", encoding="utf-8")
    page.write({"clean": "| a |"}, place)
    assert place.read_text(encoding="utf-8") == "before\n<!-- clean -->\n\n| a |\n<!-- end of clean -->\nafter\n"
    with pytest.raises(ValueError, match="no comment <!-- else -->"):
        page.write({"else": ""}, place)


def test_failures_are_listed_by_class() -> None:
    listed = page.failures([with_status("a: 5\nb: 5\n"), with_status("a: 2\nb: 2\n")])
    assert (
        f"- {RECIPE.id} [acme/shop aaaaaaa](https://github.com/acme/shop/commit/{'a' * 40}) `deploy/app.yaml`" in listed
    )
    assert "#### people dropped a change: 1" in listed
    assert "#### two versions: 0" in listed


def test_the_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    target = ledger.UPDATE.removeprefix("make ").partition(" ")[0]
    assert f"\n{target}:" in makefile
