"""Builds that fail, and descriptions that people edit: at each step plan and description are true (CR19, CR26)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.observations import digest
from components.world import World, common_parent
from krm_merge.cli.app import main

PARENT = ("parent", "child")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A parent with a pull request of one commit."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    common_parent(world)
    world.commit("parent", "feature", {"Dockerfile": "FROM scratch\nRUN 1\n"})
    assert world.open("parent", "feature") == 1
    return world


def build(world: World, letter: str, *, passes: bool = True) -> str:
    """A build of the newest commit of the pull request, or of its merge; returns its name."""
    pull = world.pull("parent", 1)
    merged = pull.state == "merged"
    outcome = "True" if passes else "False"
    about = {"commit": pull.merge_commit, "event": "push", "branch": "main"} if merged else {"commit": pull.head}
    world.build("parent", "parent", letter, 1, outcome=outcome, **about)
    return f"parent-{world.clock}"


def step(world: World, letter: str, commit: str, failure: str = "", *, draft: bool = True) -> str:
    """A round. There is one pull request, with this digest, built from this commit; returns its description."""
    (plan,) = world.go_on(*PARENT)
    (pull,) = world.pulls("child")
    triggers = plan["triggers"]
    assert isinstance(triggers, list)
    (trigger,) = triggers
    assert (trigger["digest"], trigger["builtSHA"]) == (digest(letter), commit)
    assert trigger.get("failure", "") == failure
    assert digest(letter) in world.files("child", pull.source_branch)["Dockerfile"]
    assert re.findall(r"sha256:\w+", pull.body) == [digest(letter)]
    # No commit is named whose digest it does not carry, and what failed is named.
    assert re.findall(r"\b[0-9a-f]{40}\b", pull.body) == [commit]
    assert (f"\n  - {failure}\n" in pull.body) == bool(failure)
    assert pull.draft is draft
    return pull.body


def test_the_first_build_fails(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    failed = build(world, "1", passes=False)
    assert world.plan(*PARENT) == []
    assert main(["components", "plan", str(world.package), "--dry-run"]) == 0
    assert f"nothing of parent#1 yet: its newest build {failed} failed" in capsys.readouterr().err
    build(world, "1")
    step(world, "1", world.pull("parent", 1).head)


def test_a_later_build_fails_and_is_run_again(world: World) -> None:
    build(world, "1")
    first = world.pull("parent", 1).head
    step(world, "1", first)
    second = world.commit("parent", "feature", {"Dockerfile": "FROM scratch\nRUN 2\n"})
    step(world, "1", first)
    failed = build(world, "2", passes=False)
    step(world, "1", first, f"its newest build {failed} failed")
    build(world, "2")
    step(world, "2", second)
    # A build of the same commit that fails afterwards does not take its image away.
    step(world, "2", second, f"its newest build {build(world, '2', passes=False)} failed")


def test_the_build_of_the_merge_fails_and_is_run_again(world: World) -> None:
    build(world, "1")
    first = world.pull("parent", 1).head
    step(world, "1", first)
    merge = world.merge("parent", 1)
    assert "merged, but the merge is not built" in step(world, "1", first)
    failed = build(world, "2", passes=False)
    step(world, "1", first, f"the build {failed} of its merge failed")
    build(world, "2")
    step(world, "2", merge, draft=False)


def test_a_later_push_has_what_the_failed_build_of_the_merge_has_not(world: World) -> None:
    build(world, "1")
    first = world.pull("parent", 1).head
    step(world, "1", first)
    world.merge("parent", 1)
    step(world, "1", first, f"the build {build(world, '2', passes=False)} of its merge failed")
    push = world.commit("parent", "main", {"more": "1\n"})
    world.build("parent", "parent", "3", commit=push, event="push", branch="main")
    step(world, "3", push, draft=False)


@pytest.mark.parametrize(
    "body",
    ["We looked at it.\n", "We looked at it.\n<!-- krm-merge components -->\n- `parent` is nothing\n"],
    ids=["text", "half-a-block"],
)
def test_a_description_without_its_block(world: World, body: str) -> None:
    """It is known by its commits: no second pull request, and the text of people is kept."""
    build(world, "1")
    first = world.pull("parent", 1).head
    step(world, "1", first)
    world.forge.edit(world.url("child"), 1, "Ours", body)
    step(world, "1", first)
    assert body.strip() in world.pull("child", 1).body
    # Also where a build fails, and where another one is there before anybody saw it.
    world.forge.edit(world.url("child"), 1, "Ours", body)
    second = world.commit("parent", "feature", {"Dockerfile": "FROM scratch\nRUN 2\n"})
    step(world, "1", first, f"its newest build {build(world, '2', passes=False)} failed")
    world.forge.edit(world.url("child"), 1, "Ours", body)
    build(world, "2")
    step(world, "2", second)


def test_a_block_that_people_removed_after_the_plan(world: World) -> None:
    """`apply` knows it, too: whether the plan named the pull request or was to open it."""
    build(world, "1")
    world.plan(*PARENT)
    assert world.apply() == 0
    world.forge.edit(world.url("child"), 1, "Ours", "")
    assert world.apply() == 0
    assert [pull.number for pull in world.pulls("child")] == [1]
    step(world, "1", world.pull("parent", 1).head)


def test_digests_that_people_wrote_into_the_block(world: World) -> None:
    build(world, "1")
    first = world.pull("parent", 1).head
    body = step(world, "1", first)
    world.forge.edit(world.url("child"), 1, "Ours", body.replace(digest("1"), digest("9")).replace(first, "9" * 40))
    step(world, "1", first)
    # With a failed build whose image nobody has.
    world.merge("parent", 1)
    step(world, "1", first, f"the build {build(world, '2', passes=False)} of its merge failed")
