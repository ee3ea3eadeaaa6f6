"""CR23: what `apply` does with a branch whose target moved on since it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.observations import digest
from components.world import World
from forges.origins import comments_of
from krm_merge.cli.app import main


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A bundle that names two operands on neighbouring lines, and a pull request for each."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    world.repository("bundle", {"Dockerfile": dockerfile("0", "0")})
    for name, letter in (("op1", "1"), ("op2", "2")):
        world.repository(name, {"a": "a\n"})
        world.component(name, name)
        world.commit(name, f"for-{name}", {"a": "b\n"})
        world.merge_and_build(name, name, world.open(name, f"for-{name}"), letter, "merge")
    world.component("bundle", "bundle", "op1", "op2", at="b")
    world.go_on("op1", "op2", "bundle")
    return world


def dockerfile(op1: str, op2: str) -> str:
    return f"FROM scratch\nENV OP1=quay.io/o/op1@{digest(op1)}\nENV OP2=quay.io/o/op2@{digest(op2)}\n"


def head(world: World) -> str:
    return world.git("--git-dir", world.url("bundle"), "rev-parse", "for-op2/bundle")


def test_a_branch_that_conflicts_is_made_anew(world: World) -> None:
    """Two pull requests conflict: when one is merged, the other can still be merged."""
    world.merge("bundle", 1)
    world.go_on("op1", "op2", "bundle")
    assert world.subjects("bundle", "for-op2/bundle") == [f"Update op2 to {digest('2')[:19]}"]
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
    """CR23, C4: it is theirs to rebase."""
    before = world.commit("bundle", "for-op2/bundle", {"README": "mine\n"})
    world.merge("bundle", 1)
    world.go_on("op1", "op2", "bundle")
    assert head(world) == before
    message = (
        "people added commits to for-op2/bundle: it is not rebased and conflicts with main "
        "(Dockerfile was changed on both sides); rebase it by hand"
    )
    assert message in capsys.readouterr().err


# --- The target has it already ---------------------------------------------------------------------------------------


def test_what_a_person_brought_is_closed(world: World) -> None:
    """CR22: whatever else changed in the target; it is not pushed over the branch, which would count as a merge."""
    before = head(world)
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "2"), "README": "new\n"})
    world.go_on("op1", "op2", "bundle")
    assert head(world) == before
    assert [pull.state for pull in world.pulls("bundle")] == ["open", "closed"]
    assert comments_of(world.url("bundle"), 2)[-1] == "Closed: nothing is left to update in main."
    assert "\nClosed: nothing is left to update in main.\n<!--" in world.pull("bundle", 2).body
    world.build("op2", "op2", "3", event="push", commit="3" * 40)
    world.go_on("op1", "op2", "bundle")
    assert [pull.state for pull in world.pulls("bundle")] == ["open", "closed", "open"]
    assert world.files("bundle", "component-update-op2/bundle")["Dockerfile"] == dockerfile("0", "3").strip()


def test_what_is_taken_back_is_brought_again(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """CR22: that the target had it once does not count as having brought it."""
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "2")})
    world.go_on("op1", "op2", "bundle")
    assert world.pull("bundle", 2).state == "closed"
    # C3: a round that changes nothing says why.
    before = world.heads()
    world.observe("op1", "op2", "bundle")
    assert main(["components", "plan", str(world.package)]) == 0
    assert "main had the digests of bundle#2, which was closed; apply opens another if" in capsys.readouterr().err
    world.go_on("op1", "op2", "bundle")
    assert world.heads() == before
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "0")})
    world.go_on("op1", "op2", "bundle")
    assert [pull.state for pull in world.pulls("bundle")] == ["open", "closed", "open"]
    world.merge("bundle", 3)
    assert world.files("bundle", "main")["Dockerfile"] == dockerfile("0", "2").strip()


def test_what_is_taken_back_is_brought_again_beside_others(world: World) -> None:
    """CR22: also if another pull request of the group is still open."""
    numbers = {}
    for name, letter in (("op1", "4"), ("op2", "5")):
        world.commit(name, "feat", {"a": "b\n"})
        numbers[name] = world.open(name, "feat")
        world.build(name, name, letter, numbers[name])
    world.go_on("op1", "op2", "bundle")
    world.commit("bundle", "main", {"Dockerfile": dockerfile("4", "5")})
    world.go_on("op1", "op2", "bundle")
    assert not [pull for pull in world.pulls("bundle") if pull.source_branch == "feat/bundle" and pull.state == "open"]
    world.merge_and_build("op1", "op1", numbers["op1"], "4", "squash")
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "0")})
    world.go_on("op1", "op2", "bundle")
    (pull,) = (pull for pull in world.pulls("bundle") if pull.source_branch == "feat/bundle" and pull.state == "open")
    assert f"- `op1` is `quay.io/o/op1@{digest('4')}`" in pull.body
    world.merge("bundle", pull.number)
    assert world.files("bundle", "main")["Dockerfile"] == dockerfile("4", "5").strip()


def test_what_has_no_place_for_now_is_not_closed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C5: the target does not have the digest; when it names one again, that is brought."""
    before = head(world)
    world.commit("bundle", "main", {"Dockerfile": "FROM quay.io/o/op2:latest\n"})
    world.go_on("op1", "op2", "bundle")
    assert [pull.state for pull in world.pulls("bundle")] == ["open", "open"]
    assert head(world) == before
    assert "no file names quay.io/o/op2 by digest; check digest.files" in capsys.readouterr().err
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "0")})
    world.go_on("op1", "op2", "bundle")
    world.merge("bundle", 2)
    assert world.files("bundle", "main")["Dockerfile"] == dockerfile("0", "2").strip()


@pytest.mark.parametrize("by_person", [False, True])
def test_what_is_taken_back_on_the_branch_alone_is_taken_back_in_the_target(
    world: World, capsys: pytest.CaptureFixture[str], by_person: bool
) -> None:
    """C5, CR23: that the merge of a branch changes nothing does not say that the target has its digests."""
    world.commit("op2", "feat", {"a": "b\n"})
    number = world.open("op2", "feat")
    world.build("op2", "op2", "4", number)
    world.go_on("op1", "op2", "bundle")
    if by_person:
        world.commit("bundle", "feat/bundle", {})
    world.commit("bundle", "main", {"Dockerfile": dockerfile("0", "4")})
    world.build("op2", "op2", "0", number)
    world.go_on("op1", "op2", "bundle")
    (pull,) = (pull for pull in world.pulls("bundle") if pull.source_branch == "feat/bundle")
    assert pull.state == "open"
    if by_person:
        message = "people added commits to feat/bundle, and its merge would change nothing; rebase it by hand"
        assert message in capsys.readouterr().err
    else:
        world.merge("bundle", pull.number)
        assert world.files("bundle", "main")["Dockerfile"] == dockerfile("0", "0").strip()


def test_what_is_left_is_not_missing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C5: a reference that may belong to another Component is reported."""
    world.repository("op3", {"a": "a\n"})
    world.component("op3", "op3")
    place = world.package / "components" / "op3.yaml"
    place.write_text(place.read_text().replace("quay.io/o/op3@", "quay.io/o/op2@"))
    world.component("bundle", "bundle", "op1", "op2", "op3", at="b")
    world.forge.close(world.url("bundle"), 2)
    world.build("op2", "op2", "3", event="push", commit="3" * 40)
    capsys.readouterr()
    world.plan("op1", "op2", "op3", "bundle")
    assert world.apply() == 0
    errors = capsys.readouterr().err
    assert "may belong to another Component whose image has this name; it is kept" in errors
    assert "check digest.files" not in errors
