"""Subpackages (R3, F5): what upstream changes in those that local removed, or that follow another upstream."""

from __future__ import annotations

from krm_merge import MergedPackage, merge_packages

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


def test_a_subpackage_that_lost_its_upstream_locally_follows_another_one() -> None:
    local = {"sub/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\n"} | config_map(1)
    assert texts(merge(SUB | config_map(1), SUB | config_map(2), local)) == local
