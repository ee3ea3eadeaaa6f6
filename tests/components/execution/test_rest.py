"""C14: observe, plan and apply come to rest, on git and in the package of a user."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.world import World, digest


@pytest.mark.parametrize(("revision", "outcome"), [("", "True"), ("main", "False")])
def test_another_push_after_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str, outcome: str
) -> None:
    """C12, C14: what the pull request of the group has is opened for no push, whether a revision is declared or not."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    world.repository("base", {"Dockerfile": "FROM scratch\n"})
    world.repository("app", {"Dockerfile": f"FROM quay.io/o/base@{digest('0')}\n"})
    world.component("base", "base", revision=revision)
    world.component("app", "app", "base", revision=revision)
    world.commit("base", "u", {"Dockerfile": "FROM scratch\nRUN new\n"})
    assert world.open("base", "u") == 1
    world.build("base", "base", "1", 1)
    world.go_on_twice("base", "app")
    commit = world.merge("base", 1)
    world.build("base", "base", "2", 1, commit=commit, event="push", branch="main", outcome=outcome)
    world.go_on_twice("base", "app")
    world.build("base", "base", "3", event="push")
    for _ in range(3):
        world.go_on_twice("base", "app")
    assert [(pull.number, pull.state, pull.target_branch) for pull in world.pulls("app")] == [(1, "open", "main")]
    assert digest("3") in world.files("app", "u/app")["Dockerfile"]
