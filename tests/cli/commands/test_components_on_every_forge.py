"""The commands on GitHub, GitLab and Forgejo: the same on each, and after a kill at any step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.hosted_world import HostedWorld, environment
from components.world import change_parent, common_parent, dockerfile, is_killed
from effort import SEED
from forges.connected import HOSTED
from forges.fake_forge import TOKEN, Pull
from krm_merge.forges.hosted.answers import HostedForge
from krm_merge.git.store import Remote


@pytest.fixture(params=[*HOSTED])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedWorld]:
    """A common parent image, whose pull request is built."""
    hosted = HOSTED[request.param]
    environment(tmp_path, monkeypatch)
    monkeypatch.setenv(hosted.variable, TOKEN)
    with hosted.server(TOKEN) as server:
        options = ("--forge", f"127.0.0.1={request.param}", "--api", f"127.0.0.1={server.api}", "--pace", "0")
        world = HostedWorld(tmp_path, forge_options=options, server=server, kind=request.param)
        common_parent(world)
        change_parent(world)
        yield world


on_one_forge_by_day = pytest.mark.parametrize("world", [*HOSTED] if SEED else [*HOSTED][:1], indirect=True)


def merge_and_build(world: HostedWorld, letter: str) -> None:
    commit = world.merge("parent", 1)
    world.build("parent", "parent", letter, 1, commit=commit, event="push", branch="main")


def test_from_draft_to_merge(world: HostedWorld) -> None:
    """C13, CR21 to CR23, CR30: doing it again asks for no change."""
    world.go_on("parent", "child")
    (pull,) = world.pulls("child")
    assert (pull.source_branch, pull.draft, pull.title) == ("update/child", True, "Update parent in child (update)")
    assert world.files("child", "update/child") == {"Dockerfile": dockerfile("1")}
    merge_and_build(world, "9")
    world.go_on("parent", "child")
    (pull,) = world.pulls("child")
    assert (pull.number, pull.draft, pull.title) == (1, False, "Update parent in child (update)")
    assert "It can be merged." in pull.body
    world.merge("child", 1)
    assert world.plan("parent", "child") == []


def test_a_fork_triggers(world: HostedWorld) -> None:
    """CR7, C13: its branch is not among ours, its commit is below refs/pull or refs/merge-requests."""
    world.open_from_fork("parent", "someone", "feature")
    world.build("parent", "parent", "2", 2, branch="feature")
    plans = world.go_on("parent", "child")
    assert {str(plan["group"]) for plan in plans} == {"update", "feature"}
    pull_request = next(pull for pull in world.pulls("child") if pull.source_branch == "feature/child")
    assert "- acme/parent#2 (open): not merged yet; built as `parent`" in pull_request.body


def test_nothing_to_do_costs_one_request(world: HostedWorld) -> None:
    """C13: whatever the history of the repository."""
    old = [Pull(n, f"old{n}", "main", "old", "", False, "f" * 40, [], "closed") for n in range(1, 301)]
    world.on_server("child").pulls += old
    world.go_on("parent", "child")
    world.plan("parent", "child")
    world.server.seen.clear()
    assert world.apply() == 0
    assert {seen.method for seen in world.server.seen} == {"GET"}


KILLS = [
    (Remote, "push", False),
    # Before a step is after the one before it.
    (Remote, "push", True),
    *((HostedForge, name, True) for name in ("create", "edit", "set_draft")),
]


@on_one_forge_by_day
@pytest.mark.parametrize(("owner", "step", "after"), KILLS)
def test_killed_at_any_step_the_next_run_ends_the_same(
    world: HostedWorld, monkeypatch: pytest.MonkeyPatch, owner: type, step: str, after: bool
) -> None:
    """C4: before and after pushed, opened, described, ready; a second pull request is never opened."""
    world.plan("parent", "child")
    killed = is_killed(world, monkeypatch, owner, step, after=after)
    assert world.apply() == 0
    (pull,) = world.pulls("child")
    assert (pull.draft, pull.state, pull.source_branch) == (True, "open", "update/child")
    world.build("parent", "parent", "2", 1)
    merge_and_build(world, "9")
    world.plan("parent", "child")
    killed |= is_killed(world, monkeypatch, owner, step, after=after)
    assert killed
    assert world.apply() == 0
    (pull,) = world.pulls("child")
    assert (pull.draft, pull.state, pull.source_branch) == (False, "open", "update/child")
    assert world.files("child", "update/child") == {"Dockerfile": dockerfile("9")}
    assert all(not plan.get("actions") for plan in world.plan("parent", "child"))


@on_one_forge_by_day
@pytest.mark.parametrize("between", ["closed", "commented"])
def test_killed_while_closing(world: HostedWorld, monkeypatch: pytest.MonkeyPatch, between: str) -> None:
    """C4, S7: what was closed stays closed."""
    world.go_on("parent", "child")
    world.on_server("parent").pulls[0].state = "closed"
    world.plan("parent", "child")
    client = HOSTED[world.kind].client
    assert isinstance(client, type)
    assert is_killed(world, monkeypatch, client, "close" if between == "closed" else "comment", after=True)
    assert world.apply() == 0
    (pull,) = world.pulls("child")
    assert pull.state == "closed"
    assert world.plan("parent", "child") == []
