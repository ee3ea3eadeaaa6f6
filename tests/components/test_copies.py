"""R28: what a pull request changes in the dependant's directory comes to its branch, and follows the pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.world import World, digest


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An operator in one repository: the bundle names the controller by digest."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    made = World(tmp_path)
    files = {"ctrl/a": "0\n", "bundle/Dockerfile": dockerfile("0"), "bundle/x": "x\n", "bundle/d/e": "e\n"}
    made.repository("mono", files)
    made.component("ctrl", "mono", context="ctrl")
    made.component("bundle", "mono", "ctrl", context="bundle", at="b")
    return made


def dockerfile(letter: str, label: int = 1) -> str:
    return f"FROM quay.io/o/ctrl@{digest(letter)}\nLABEL v={label}\n"


def entries(world: World, branch: str) -> dict[str, str]:
    """Mode and id by path, of the bundle's directory."""
    listed = world.git("--git-dir", world.url("mono"), "ls-tree", "-r", branch, "bundle/").splitlines()
    return {path: about for about, _, path in (line.partition("\t") for line in listed)}


def test_links_and_submodules_are_copied(world: World) -> None:
    """C4: exactly the paths, whatever stands there; a file that became a link is no deletion."""
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
    copied, own = entries(world, "feat@bundle"), entries(world, "feat")
    assert copied.pop("bundle/Dockerfile") != own.pop("bundle/Dockerfile")
    assert copied == own
    assert [copied[f"bundle/{name}"][:6] for name in ("x", "link", "sub")] == ["120000", "120000", "160000"]


def test_a_link_that_the_target_changed_is_not_merged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """R28: there are no lines to merge."""
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
    assert "bundle/x was changed on both sides, and is a symbolic link or submodule on one" in capsys.readouterr().err
