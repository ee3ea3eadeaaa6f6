"""R23: what `apply` does with a branch whose target moved on since it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.world import World, digest
from krm_merge.components.local_forge import LocalForge


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


# --- The target has it already ---------------------------------------------------------------------------------------


def test_what_a_person_brought_is_closed(world: World) -> None:
    """R22: the target is not pushed over the branch, which would count as a merge."""
    before = head(world)
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "2")})
    world.go_on("op1", "op2", "bundle")
    assert head(world) == before
    assert [one.state for one in world.pulls("bundle")] == ["open", "closed"]
    assert world.forge.comments(world.url("bundle"), 2)[-1].text == "Closed: nothing is left to update in main."
    assert "\nClosed: nothing is left to update in main.\n<!--" in world.pull("bundle", 2).body
    world.build("op2", "op2", "3", event="push", commit="3" * 40)
    world.go_on("op1", "op2", "bundle")
    assert [one.state for one in world.pulls("bundle")] == ["open", "closed", "open"]
    assert world.files("bundle", "component-update-op2/bundle")["Dockerfile"] == dockerfile("0", "3").strip()


def test_a_draft_that_brings_nothing_is_closed(world: World) -> None:
    """R22: what triggered it is still open, and opens another one with its next digest."""
    world.commit("op2", "feat", {"a": "b\n"})
    number = world.open("op2", "feat")
    world.build("op2", "op2", "4", number)
    world.go_on("op1", "op2", "bundle")
    assert world.pull("bundle", 3).draft
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "4")})
    world.go_on("op1", "op2", "bundle")
    assert world.pull("bundle", 3).state == "closed"
    world.build("op2", "op2", "5", number)
    world.go_on("op1", "op2", "bundle")
    (own,) = (one for one in world.pulls("bundle") if one.source_branch == "feat/bundle" and one.state == "open")
    assert own.draft
    assert world.files("bundle", "feat/bundle")["Dockerfile"] == dockerfile("0", "5").strip()


@pytest.mark.parametrize("step", ["edit", "close"])
def test_closing_that_was_interrupted_goes_on(world: World, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """C4."""

    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "2")})
    world.plan("op1", "op2", "bundle")
    with monkeypatch.context() as patched:
        patched.setattr(LocalForge, step, killed)
        with pytest.raises(Killed):
            world.apply()
    world.go_on("op1", "op2", "bundle")
    assert [one.state for one in world.pulls("bundle")] == ["open", "closed"]
