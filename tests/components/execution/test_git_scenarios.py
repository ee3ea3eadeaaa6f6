"""The scenarios that need git, step by step on real repositories: commands in, branches and pull requests out."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.observations import digest
from components.world import World, change_parent, common_parent, dockerfile, is_killed
from forges.origins import comments_of
from krm_merge.components.repository import Repository
from krm_merge.forges.local import LocalForge
from krm_merge.git.store import Remote

BUNDLE = {
    "bundle/csv.yaml": f"image: quay.io/o/controller@{digest('0')}  # the controller\n",
    "bundle/old.txt": "old\n",
}
CONTROLLER = {"controller/main.go": "package main\n"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    return World(tmp_path)


@pytest.fixture
def monorepo(world: World) -> World:
    """Use case 3: an operator whose controller and bundle are in one repository."""
    world.repository("op", {**BUNDLE, **CONTROLLER})
    world.component("controller", "op", context="controller")
    world.component("bundle", "op", "controller", context="bundle", at="b")
    return world


def csv(letter: str) -> str:
    return f"image: quay.io/o/controller@{digest(letter)}  # the controller"


def test_s3_one_repository(monorepo: World) -> None:
    """CR28 to CR30: the bundle's branch beside the user's; what the user changed in the bundle is below the digest."""
    world = monorepo
    world.commit("op", "new-feature", {"controller/main.go": "package main // 1\n"})
    number = world.open("op", "new-feature")
    world.build("controller", "op", "1", number)

    # Step 1: only the controller changes.
    (plan,) = world.go_on_twice("op")
    assert plan["sourceBranch"] == "new-feature@bundle"
    assert world.branches("op") == {"main", "new-feature", "new-feature@bundle"}
    assert world.subjects("op", "new-feature@bundle") == [f"Update controller to {digest('1')[:19]}"]
    assert world.files("op", "new-feature@bundle")["bundle/csv.yaml"] == csv("1")
    pull = world.pulls("op")[-1]
    assert (pull.draft, pull.target_branch, pull.state) == (True, "main", "open")
    assert "op#1 (open)" in pull.body

    # Step 2: it also changes the bundle.
    changes = {
        "bundle/csv.yaml": BUNDLE["bundle/csv.yaml"] + "x: 1\n",
        "bundle/new.txt": "new\n",
        "bundle/old.txt": None,
    }
    world.commit("op", "new-feature", changes)
    world.build("controller", "op", "2", number)
    world.go_on_twice("op")
    assert world.subjects("op", "new-feature@bundle") == [
        "Copy changes of " + reference(world, "op", number),
        f"Update controller to {digest('2')[:19]}",
    ]
    files = world.files("op", "new-feature@bundle")
    assert files["bundle/csv.yaml"] == csv("2") + "\nx: 1"
    assert files["bundle/new.txt"] == "new"
    assert "bundle/old.txt" not in files
    assert files["controller/main.go"] == "package main"
    assert len(world.pulls("op")) == 2

    # Step 3: it pushes again into the bundle.
    world.commit("op", "new-feature", {"bundle/new.txt": "newer\n"})
    world.build("controller", "op", "3", number)
    world.go_on_twice("op")
    assert len(world.subjects("op", "new-feature@bundle")) == 2
    assert world.files("op", "new-feature@bundle")["bundle/new.txt"] == "newer"

    # Merged, but not built yet (I10).
    commit = world.merge("op", number, "squash")
    world.go_on_twice("op")
    assert world.pull("op", pull.number).draft

    # Step 5: built after a squash merge, one digest is left of the branch.
    world.build("controller", "op", "9", number, commit=commit, event="push", branch="main")
    world.go_on_twice("op")
    assert world.subjects("op", "new-feature@bundle") == [f"Update controller to {digest('9')[:19]}"]
    assert world.files("op", "new-feature@bundle") == {
        **world.files("op", "main"),
        "bundle/csv.yaml": csv("9") + "\nx: 1",
    }
    pull = world.pull("op", pull.number)
    assert (pull.draft, pull.state) == (False, "open")
    world.merge("op", pull.number)
    world.build("bundle", "op", "f", pull.number, commit=world.pull("op", pull.number).merge_commit, event="push")
    assert world.plan("op") == []


@pytest.fixture
def parent(world: World) -> World:
    """Use case 1: a common parent image."""
    common_parent(world)
    change_parent(world)
    return world


def test_s7_closed_without_a_merge(parent: World) -> None:
    """Its trigger is closed: it is closed too, and its description says so."""
    world = parent
    world.go_on_twice("parent", "child")
    world.forge.close(world.url("parent"), 1)
    world.go_on_twice("parent", "child")
    (pull,) = world.pulls("child")
    assert pull.state == "closed"
    comment = comments_of(world.url("child"), pull.number)[-1]
    assert comment == "Closed: all of its triggers were closed without a merge."
    assert world.plan("parent", "child") == []


def test_s8_merged_before_what_triggered_it(parent: World) -> None:
    """CR34: it is reported, and corrected when the other is merged."""
    world = parent
    world.go_on_twice("parent", "child")
    world.merge("child", 1)
    assert world.plan("parent", "child") == []
    world.merge_and_build("parent", "parent", 1, "9", "squash")
    world.go_on_twice("parent", "child")
    pull = world.pulls("child")[-1]
    assert (pull.number, pull.draft, pull.state) == (2, False, "open")
    assert world.files("child", pull.source_branch)["Dockerfile"] == dockerfile("9")
    assert world.subjects("child", pull.source_branch) == [f"Update parent to {digest('9')[:19]}"]


def test_s8_and_the_other_is_closed(parent: World) -> None:
    """The digest in main would expire: it goes back to the promoted one."""
    world = parent
    world.go_on_twice("parent", "child")
    world.merge("child", 1)
    world.forge.close(world.url("parent"), 1)
    world.go_on_twice("parent", "child")
    pull = world.pulls("child")[-1]
    assert (pull.number, pull.draft) == (2, False)
    assert world.files("child", pull.source_branch)["Dockerfile"] == dockerfile("0")


STEPS = [
    (Repository, "commit", True),
    (Repository, "push", False),
    (Repository, "push", True),
    (LocalForge, "create", True),
    (LocalForge, "edit", False),
    (LocalForge, "set_draft", False),
]


@pytest.mark.parametrize(("owner", "step", "after"), STEPS)
def test_what_an_interrupted_run_left_undone_the_next_one_does(
    parent: World, monkeypatch: pytest.MonkeyPatch, owner: type, step: str, after: bool
) -> None:
    """C4: killed before or after any step, the same plans lead to the same branches and pull requests."""
    world = parent
    world.plan("parent", "child")
    killed = is_killed(world, monkeypatch, owner, step, after=after)
    assert world.apply() == 0
    world.build("parent", "parent", "2", 1)
    world.merge_and_build("parent", "parent", 1, "9", "merge")
    world.plan("parent", "child")
    killed |= is_killed(world, monkeypatch, owner, step, after=after)
    assert killed
    assert world.apply() == 0
    (pull,) = world.pulls("child")
    assert (pull.draft, pull.state) == (False, "open")
    assert world.files("child", "update/child")["Dockerfile"] == dockerfile("9")
    assert world.subjects("child", "update/child") == [f"Update parent to {digest('9')[:19]}"]
    assert all(not plan.get("actions") for plan in world.plan("parent", "child"))


def test_people_add_commits(parent: World) -> None:
    """Their commits stay on the branch, below the next digest."""
    world = parent
    world.go_on_twice("parent", "child")
    world.commit("child", "update/child", {"README": "mine\n"})
    world.build("parent", "parent", "2", 1)
    world.go_on_twice("parent", "child")
    assert world.files("child", "update/child") == {"Dockerfile": dockerfile("2"), "README": "mine"}
    assert len(world.subjects("child", "update/child")) == 3


@pytest.mark.parametrize("merged", [False, True], ids=["no pull request", "a merged pull request"])
def test_a_branch_that_nobody_observed_is_in_the_way(parent: World, merged: bool) -> None:
    """I5: only git knows that it is there; the pull request is found again."""
    world = parent
    world.commit("child", "update", {"README": "mine\n"})
    if merged:
        world.merge("child", world.open("child", "update"))
    world.go_on_twice("parent", "child")
    pull = world.pulls("child")[-1]
    assert (pull.source_branch, pull.draft) == ("update@child", True)
    world.build("parent", "parent", "2", 1)
    world.go_on_twice("parent", "child")
    assert world.pulls("child")[-1].number == pull.number
    assert world.files("child", "update@child")["Dockerfile"] == dockerfile("2")


def test_settings_of_the_user_do_not_count(parent: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: the same commits for everybody."""
    world = parent
    world.plan("parent", "child")
    settings = world.root / "settings"
    settings.write_text("[i18n]\ncommitEncoding = ISO-8859-1\n[log]\nshowSignature = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert world.apply() == 0
    commit = world.git("--git-dir", world.url("child"), "cat-file", "commit", "update/child")
    assert "encoding" not in commit
    assert "author krm-merge" in commit


def test_a_branch_that_moved_meanwhile_is_left_alone(parent: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: --force-with-lease; nobody's push is lost."""
    world = parent
    world.plan("parent", "child")
    refresh = Remote.refresh

    def late(repository: Remote) -> None:
        refresh(repository)
        if repository.url == world.url("child"):
            world.commit("child", "update/child", {"README": "mine\n"})

    monkeypatch.setattr(Remote, "refresh", late)
    assert world.apply() == 1
    assert world.files("child", "update/child")["README"] == "mine"
    assert world.pulls("child") == []


def test_a_pinned_digest_is_left_and_told(parent: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C5: it may be one that somebody chose."""
    world = parent
    world.commit("child", "main", {"Dockerfile": dockerfile("d") + "\n"})
    world.plan("parent", "child")
    assert world.apply() == 0
    output = capsys.readouterr().err
    assert f"{digest('d')} of quay.io/o/parent in Dockerfile:1 is not a known digest of it; it is kept" in output
    assert world.pulls("child") == []


def test_files_without_the_image_are_told(parent: World, capsys: pytest.CaptureFixture[str]) -> None:
    """C5: no match is reported, and no empty pull request is opened."""
    world = parent
    world.commit("child", "main", {"Dockerfile": "FROM quay.io/o/other:1\n"})
    world.plan("parent", "child")
    assert world.apply() == 0
    assert "names quay.io/o/parent by digest" in capsys.readouterr().err
    assert world.pulls("child") == []
    assert world.branches("child") == {"main"}


def reference(world: World, name: str, number: int) -> str:
    return f"{world.root.name}/{name}#{number}"
