"""R23: what `apply` does with a branch whose target moved on since it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.world import World, digest


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A bundle that names two operands on neighbouring lines, and a pull request for each."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    made = World(tmp_path)
    made.repository("bundle", {"Dockerfile": dockerfile("0", "0")})
    for name, letter in (("op1", "1"), ("op2", "2")):
        made.repository(name, {"a": "a\n"})
        made.component(name, name)
        made.build(name, name, letter, event="push", commit=letter * 40)
    made.component("bundle", "bundle", "op1", "op2", at="b")
    made.go_on("op1", "op2", "bundle")
    return made


def dockerfile(op1: str, op2: str) -> str:
    return f"FROM scratch\nENV OP1=quay.io/o/op1@{digest(op1)}\nENV OP2=quay.io/o/op2@{digest(op2)}\n"


def head(world: World) -> str:
    return world.git("--git-dir", world.url("bundle"), "rev-parse", "component-update-op2/bundle")


def test_a_branch_that_conflicts_is_made_anew(world: World) -> None:
    """What merges was in the way of each other: the one that is left can be merged, too."""
    world.merge("bundle", 1)
    world.go_on("op1", "op2", "bundle")
    assert world.subjects("bundle", "component-update-op2/bundle") == [f"Update op2 to {digest('2')[:19]}"]
    world.build("op2", "op2", "3", event="push", commit="3" * 40)
    world.go_on("op1", "op2", "bundle")
    world.merge("bundle", 2)
    assert world.files("bundle", "main")["Dockerfile"] == dockerfile("1", "3").strip()


def test_a_branch_that_merges_is_left_alone(world: World) -> None:
    """C4: nothing is pushed without need."""
    before = head(world)
    world.commit("bundle", "main", {"README": "new\n"})
    world.go_on("op1", "op2", "bundle")
    assert head(world) == before


def test_a_branch_of_people_that_conflicts_is_told(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """R23, C4: it is theirs to rebase."""
    before = world.commit("bundle", "component-update-op2/bundle", {"README": "mine\n"})
    world.merge("bundle", 1)
    world.go_on("op1", "op2", "bundle")
    assert head(world) == before
    message = (
        "people added commits to component-update-op2/bundle: it is not rebased and conflicts with main "
        "(Dockerfile was changed on both sides); rebase it by hand"
    )
    assert message in capsys.readouterr().err
