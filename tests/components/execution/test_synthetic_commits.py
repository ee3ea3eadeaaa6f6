"""CR28: what a pull request changes in the dependant's directory comes to its branch, and follows the pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.observations import digest
from components.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An operator in one repository: the bundle names the controller by digest."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    files = {"ctrl/a": "0\n", "bundle/Dockerfile": dockerfile("0"), "bundle/x": "x\n", "bundle/d/e": "e\n"}
    world.repository("mono", files)
    world.component("ctrl", "mono", context="ctrl")
    world.component("bundle", "mono", "ctrl", context="bundle", at="b")
    return world


def dockerfile(letter: str, label: int = 1) -> str:
    return f"FROM quay.io/o/ctrl@{digest(letter)}\nLABEL v={label}\n"


def entries(world: World, branch: str) -> dict[str, str]:
    """Mode and id by path, of the bundle's directory."""
    listed = world.git("--git-dir", world.url("mono"), "ls-tree", "-r", branch, "bundle/").splitlines()
    return {path: about for about, _, path in (line.partition("\t") for line in listed)}


def test_links_and_submodules_are_copied(world: World) -> None:
    """C4: exactly the paths, whatever their type; a file that became a link is not a deletion."""
    clone = world.root / "mono"
    world.in_clone("mono", "checkout", "--quiet", "-b", "feat")
    (clone / "bundle/x").unlink()
    (clone / "bundle/x").symlink_to("Dockerfile")
    (clone / "bundle/link").symlink_to("d")
    world.in_clone("mono", "add", "--all")
    world.in_clone("mono", "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},bundle/sub")
    world.in_clone("mono", "commit", "--quiet", "--message=links")
    world.in_clone("mono", "push", "--quiet", "origin", "feat")
    world.build("ctrl", "mono", "1", world.open("mono", "feat"))
    world.go_on("mono")
    copied, original = entries(world, "feat@bundle"), entries(world, "feat")
    assert copied.pop("bundle/Dockerfile") != original.pop("bundle/Dockerfile")
    assert copied == original
    assert [copied[f"bundle/{name}"][:6] for name in ("x", "link", "sub")] == ["120000", "120000", "160000"]


def test_a_link_that_the_target_changed_is_not_merged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """CR28: there are no lines to merge."""
    clone = world.root / "mono"
    world.in_clone("mono", "checkout", "--quiet", "-b", "feat")
    (clone / "bundle/x").unlink()
    (clone / "bundle/x").symlink_to("Dockerfile")
    world.in_clone("mono", "commit", "--quiet", "--all", "--message=link")
    world.in_clone("mono", "push", "--quiet", "origin", "feat")
    world.commit("mono", "main", {"bundle/x": "y\n"})
    world.build("ctrl", "mono", "1", world.open("mono", "feat"))
    world.plan("mono")
    assert world.apply() == 1
    assert "bundle/x was changed on both sides" in capsys.readouterr().err


def test_a_later_conflict_with_the_target_is_told(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """CR28: the pull request conflicts as well; until it is rebased, what it builds is brought."""
    world.commit("mono", "feat", {"ctrl/a": "1\n", "bundle/x": "y\n"})
    number = world.open("mono", "feat")
    world.build("ctrl", "mono", "1", number)
    world.go_on("mono")
    world.commit("mono", "main", {"bundle/x": "z\n"})
    world.build("ctrl", "mono", "2", number)
    world.go_on("mono")
    output = capsys.readouterr().err
    assert "warning bundle.feat: feat@bundle conflicts with main, and the changes of " in output
    assert "cannot be copied: bundle/x was changed on both sides; rebase it on main\n" in output
    assert world.files("mono", "feat@bundle")["bundle/x"] == "y"
    assert world.files("mono", "feat@bundle")["bundle/Dockerfile"] == dockerfile("2").strip()


# --- What is copied already ------------------------------------------------------------------------------------------


def bundle(world: World) -> dict[str, str]:
    """The files of the bundle on its branch."""
    return {path: text for path, text in world.files("mono", "feat@bundle").items() if path.startswith("bundle/")}


def test_what_is_copied_already_is_left_alone(world: World) -> None:
    """C4: the digest is kept beside the copied changes, and the same commit is built again."""
    world.commit("mono", "feat", {"ctrl/a": "1\n", "bundle/Dockerfile": dockerfile("0", label=2)})
    number = world.open("mono", "feat")
    world.build("ctrl", "mono", "1", number)
    world.go_on("mono")
    world.build("ctrl", "mono", "2", number)
    world.go_on("mono")
    assert bundle(world)["bundle/Dockerfile"] == dockerfile("2", label=2).strip()
    updates = [f"Update ctrl to {digest(letter)[:19]}" for letter in "12"]
    assert world.subjects("mono", "feat@bundle")[1:] == updates


def test_what_the_target_has_already_is_left_alone(world: World) -> None:
    """C4: nothing was copied then, and no commit tells of it."""
    world.commit("mono", "feat", {"ctrl/a": "1\n", "bundle/Dockerfile": dockerfile("0", label=2)})
    world.commit("mono", "main", {"bundle/Dockerfile": dockerfile("0", label=2)})
    number = world.open("mono", "feat")
    for letter in "12":
        world.build("ctrl", "mono", letter, number)
        world.go_on("mono")
    assert bundle(world)["bundle/Dockerfile"] == dockerfile("2", label=2).strip()


def test_beside_commits_of_people_later_changes_are_copied_by_hand(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """CR28: the line that the warning names tells the next run that it is done."""
    world.commit("mono", "feat", {"ctrl/a": "1\n", "bundle/x": "y\n"})
    number = world.open("mono", "feat")
    world.build("ctrl", "mono", "1", number)
    world.go_on("mono")
    world.commit("mono", "feat@bundle", {"bundle/fix": "fix\n"})
    world.go_on("mono")
    assert "by hand" not in capsys.readouterr().err
    head = world.commit("mono", "feat", {"bundle/x": "z\n"})
    world.build("ctrl", "mono", "2", number)
    world.go_on("mono")
    assert bundle(world) == {
        "bundle/Dockerfile": dockerfile("2").strip(),
        "bundle/d/e": "e",
        "bundle/fix": "fix",
        "bundle/x": "y",
    }
    line = f"Synthetic-From: {world.root.name}/mono#1 at {head}"
    assert f"copy the changes of {world.root.name}/mono#1 by hand, in a commit with the line: {line}\n" in (
        capsys.readouterr().err
    )
    world.commit("mono", "feat@bundle", {"bundle/x": "z\n"})
    world.in_clone("mono", "commit", "--quiet", "--amend", f"--message=By hand\n\n{line}")
    world.in_clone("mono", "push", "--quiet", "--force", "origin", "HEAD:feat@bundle")
    world.go_on("mono")
    assert "by hand" not in capsys.readouterr().err


# --- What is not to be copied any more -------------------------------------------------------------------------------


@pytest.fixture
def two(world: World) -> World:
    """A group of two pull requests, one in the bundle's repository; a person added a commit to the planned one, #2."""
    files = {"bundle/Dockerfile": f"{dockerfile('0')}RUN a\nRUN b\nRUN c\nENV OP=quay.io/o/op@{digest('a')}\n"}
    world.commit("mono", "main", files)
    world.repository("op", {"a": "a\n"})
    world.component("op", "op", at="a")
    world.component("bundle", "mono", "ctrl", "op", context="bundle", at="b")
    world.commit("mono", "feat/1", {"ctrl/a": "1\n", "bundle/x": "y\n", "bundle/new": "new\n"})
    world.build("ctrl", "mono", "1", world.open("mono", "feat/1"))
    world.commit("op", "feat/1", {"a": "b\n"})
    world.build("op", "op", "5", world.open("op", "feat/1"))
    world.go_on("mono", "op")
    world.commit("mono", "feat/bundle", {"bundle/fix": "fix\n"})
    return world


def differing(world: World) -> list[str]:
    """The changes that a merge of the planned pull request would bring."""
    return world.git("--git-dir", world.url("mono"), "diff", "--name-only", "main...feat/bundle").split()


def test_what_is_merged_stays(two: World) -> None:
    """CR28: the target has it, and it must not go from there."""
    world = two
    world.merge_and_build("ctrl", "mono", 1, "2", "squash")
    world.in_clone("mono", "fetch", "--quiet", "origin")
    world.in_clone("mono", "checkout", "--quiet", "-B", "feat/bundle", "origin/feat/bundle")
    world.in_clone("mono", "merge", "--quiet", "--no-edit", "origin/main")
    world.in_clone("mono", "push", "--quiet", "origin", "feat/bundle")
    world.commit("mono", "main", {"bundle/x": "later\n"})
    world.merge_and_build("op", "op", 1, "6", "squash")
    world.go_on("mono", "op")
    assert differing(world) == ["bundle/Dockerfile", "bundle/fix"]
    assert world.files("mono", "feat/bundle")["bundle/x"] == "y"


def test_what_was_closed_keeps_the_draft(two: World, capsys: pytest.CaptureFixture[str]) -> None:
    """CR28, CR30, S7: it must not leave draft with what was turned down, until a person takes that out."""
    world = two
    base = world.git("--git-dir", world.url("mono"), "rev-parse", "main")
    world.forge.close(world.url("mono"), 1)
    world.merge_and_build("op", "op", 1, "6", "squash")
    for _ in range(2):
        world.plan("mono", "op")
        assert world.apply() == 0
        assert world.pull("mono", 2).draft
    line = f"Synthetic-From: {world.root.name}/mono#1 at {base}"
    message = f"take out the changes of {world.root.name}/mono#1 by hand, in a commit with the line: {line}"
    assert f"{message}; it stays a draft until then\n" in capsys.readouterr().err
    world.commit("mono", "feat/bundle", {"bundle/new": None, "bundle/x": "x\n"})
    world.in_clone("mono", "commit", "--quiet", "--amend", f"--message=By hand\n\n{line}")
    world.in_clone("mono", "push", "--quiet", "--force", "origin", "HEAD:feat/bundle")
    world.go_on("mono", "op")
    assert not world.pull("mono", 2).draft
    assert differing(world) == ["bundle/Dockerfile", "bundle/fix"]
