"""Subpackages (R3, F5): what upstream changes in those that local removed, or that follow another upstream."""

from __future__ import annotations

import pytest

from krm_merge import MergedPackage, merge_packages
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.merge.trees import merge_trees
from packages.merge.cases import tree

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: %s}\nupstream: {type: git, git: {repo: %s}}\n"
ROOT = {"Kptfile": KPTFILE % ("root", "a")}
SUB = {"sub/Kptfile": KPTFILE % ("sub", "a")}


def config_map(value: int) -> dict[str, str]:
    return {"sub/a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n"}


def merge(original: dict[str, str], upstream: dict[str, str], local: dict[str, str]) -> MergedPackage:
    sides = [{path: text.encode() for path, text in (ROOT | side).items()} for side in (original, upstream, local)]
    return merge_packages(*sides)


def texts(package: MergedPackage) -> dict[str, str]:
    return {path: data.decode() for path, data in package.files.items() if path != "Kptfile"}


def rules(package: MergedPackage) -> list[tuple[str, str]]:
    return [(record.rule, record.file) for record in package.records]


def test_changes_in_a_subpackage_that_local_removed_stay_out_and_are_reported() -> None:
    done = merge(SUB | config_map(1), SUB | config_map(2), {})
    assert texts(done) == {}
    assert rules(done) == [("F5", "sub/Kptfile")]


def test_resources_that_local_kept_of_a_removed_subpackage_are_as_local_has_them() -> None:
    done = merge(SUB | config_map(1), SUB | config_map(2), config_map(1))
    assert texts(done) == config_map(1)
    assert rules(done) == [("F5", "sub/Kptfile")]


def test_a_subpackage_that_follows_another_upstream_is_left_alone() -> None:
    local = {"sub/Kptfile": KPTFILE % ("sub", "b")} | config_map(1)
    done = merge(SUB | config_map(1), SUB | config_map(2), local)
    assert texts(done) == local
    assert rules(done) == [("R3", "sub/Kptfile")]


@pytest.mark.parametrize(
    ("upstream", "is_reported"),
    [
        ({"sub/a.yaml": config_map(1)["sub/a.yaml"] + "# note\n"}, False),
        ({"sub/a.yaml": config_map(1)["sub/a.yaml"] + "more: 1\n"}, True),
        ({}, True),
    ],
)
def test_what_upstream_does_to_a_resource_of_a_subpackage_that_is_left_alone_is_reported(
    upstream: dict[str, str], is_reported: bool
) -> None:
    local = {"sub/Kptfile": KPTFILE % ("sub", "b")} | config_map(1)
    done = merge(SUB | config_map(1), SUB | upstream, local)
    assert texts(done) == local
    assert rules(done) == [("R3", "sub/Kptfile")] * is_reported


def test_a_subpackage_that_upstream_adds_is_added() -> None:
    assert texts(merge({}, SUB | config_map(1), {})) == SUB | config_map(1)


def test_a_subpackage_that_lost_its_upstream_locally_follows_another_one() -> None:
    local = {"sub/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\n"} | config_map(1)
    assert texts(merge(SUB | config_map(1), SUB | config_map(2), local)) == local


@pytest.mark.parametrize(
    ("of_local", "is_kept"), [({}, False), ({"sub/b.yaml": config_map(1)["sub/a.yaml"].replace("a}", "b}", 1)}, True)]
)
def test_a_removed_subpackage_keeps_its_kptfile_where_local_has_resources_of_its_own_in_it(
    of_local: dict[str, str], is_kept: bool
) -> None:
    done = merge(SUB | config_map(1), {}, SUB | config_map(1) | of_local)
    assert texts(done) == (SUB | of_local if is_kept else {})
    assert (("F5", "sub/Kptfile") in rules(done)) is is_kept


@pytest.mark.parametrize("upstream_of_own", ["", "upstream: {type: git, git: {repo: b}}\n"])
def test_a_subpackage_that_only_local_has_takes_nothing_where_it_follows_an_upstream(upstream_of_own: str) -> None:
    own = {"own/Kptfile": f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {{name: own}}\n{upstream_of_own}"}
    new = {"own/a.yaml": config_map(1)["sub/a.yaml"]}
    assert texts(merge({}, new, own)) == (own if upstream_of_own else own | new)


@pytest.mark.parametrize(("repo", "comes"), [("a", True), ("b", False)])
def test_a_subpackage_that_both_added_takes_from_upstream_what_follows_the_same(repo: str, comes: bool) -> None:
    local = {"sub/Kptfile": KPTFILE % ("sub", repo)}
    done = merge({}, SUB | config_map(1), local)
    assert texts(done) == local | (config_map(1) if comes else {})
    assert rules(done) == [("R2", "sub/a.yaml") if comes else ("R3", "sub/Kptfile")]


@pytest.mark.parametrize("of_resources", [True, False])
def test_a_subpackage_that_a_rule_adds_again_takes_what_upstream_changes(of_resources: bool) -> None:
    kptfile = {"sub/Kptfile": SUB["sub/Kptfile"] + "info: {site: x}\n"}
    sides = [tree(ROOT | side) for side in (SUB | config_map(1), kptfile | config_map(2), {})]
    rule = Rule(on_delete="upstream") if of_resources else Rule(kind="Kptfile", on_delete="upstream")
    merged = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy(rules=(rule,))))
    assert merged.changes == tree(kptfile | (config_map(2) if of_resources else {}))


@pytest.mark.parametrize(
    ("upstream", "is_reported"),
    [
        (SUB, False),
        # The same Kptfile in other words.
        ({"sub/Kptfile": SUB["sub/Kptfile"] + "# note\n"}, False),
        ({"sub/Kptfile": SUB["sub/Kptfile"] + "info: {site: x}\n"}, True),
        ({}, True),
    ],
)
def test_what_upstream_does_to_the_kptfile_of_a_subpackage_that_is_left_alone_is_reported(
    upstream: dict[str, str], is_reported: bool
) -> None:
    local = {"sub/Kptfile": KPTFILE % ("sub", "b")}
    done = merge(SUB, upstream, local)
    assert texts(done) == local
    assert rules(done) == [("R3", "sub/Kptfile")] * is_reported


@pytest.mark.parametrize("file", ["Kptfile", "sub/Kptfile"])
@pytest.mark.parametrize("of_branches", [False, True])
def test_the_name_of_a_package_is_locals_but_between_branches_of_it(file: str, of_branches: bool) -> None:
    sides = [tree(ROOT | SUB | {file: KPTFILE % (name, "a")}) for name in ("old", "new", "old")]
    merged = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy(), of_branches=of_branches))
    assert merged.changes == ({file: sides[1][file]} if of_branches else {})


def test_the_kptfile_of_a_package_with_another_upstream_is_decided_on_again_as_before() -> None:
    """R3 is for subpackages: local's own reference to its upstream is no reason to leave the package alone."""
    sides = [
        tree({"Kptfile": f"{KPTFILE % ('root', repo)}info: {{site: {value}}}\n"})
        for repo, value in (("a", "o"), ("a", "u"), ("b", "l"))
    ]
    decided = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy())).decided
    assert decided.again is not None
    (outcome,) = decided.again(decided.outcomes[0], Policy("local")).outcomes
    assert [(decision.rule, decision.merged) for decision in outcome.decisions] == [("V4", outcome.decisions[0].local)]
