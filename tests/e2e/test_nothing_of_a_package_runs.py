"""A package can be a repository to git. Its settings start nothing and decide nothing, whatever the command (A1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.hostile import arm, repository_files
from e2e.hosts import git, run
from e2e.in_process import krm_merge
from packages.repositories import Repository, Text, config_map, kptfile, write

COMMANDS = [
    "update web@v2",
    "update web@v2 --dry-run --diff",
    "update web@v2 --allow-dirty",
    "status web",
    "status .",
    "resolve web@v2 --terminal",
    "resolve up/web user/web other --terminal",
    "merge up/web web other --in-place",
    "merge up/web web other --diff",
    "diff web other",
    "check web",
    "config web --to v2",
    "names web",
    "mergetool web/cm.yaml other/cm.yaml web/cm.yaml other/cm.yaml --terminal",
    "merge-driver web/cm.yaml other/cm.yaml web/cm.yaml other/cm.yaml",
    "components status file://{up}",
    "fleet init campaign {up}/web@v2 web",
    "fleet init again file://{up}/web@v2 web && fleet run again && fleet status again && fleet publish again --dry-run",
]


@dataclass(frozen=True)
class World:
    """A user's repository with packages that are repositories to git, and their upstream."""

    place: Path
    user: Path
    marks: Path

    def left(self) -> list[str]:
        return sorted(mark.name for mark in self.marks.iterdir())


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    marks = tmp_path / "marks"
    marks.mkdir()
    hostile = repository_files(marks)

    def package(value: str, upstream_of: str = "") -> dict[str, Text | None]:
        unfollowing = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
        own_kptfile = kptfile(f"file://{tmp_path}/up", "v1", upstream_of, "/web") if upstream_of else unfollowing
        return {
            **{name: text for name, text in hostile.items() if name != ".gitattributes"},
            **{f"inside/{name}": text for name, text in hostile.items() if name != ".gitattributes"},
            "Kptfile": own_kptfile,
            "cm.yaml": config_map("a", v=value),
            "inside/Kptfile": unfollowing,
            "inside/cm.yaml": config_map("b", v=value),
        }

    def place(folder: str, files: dict[str, Text | None]) -> dict[str, Text | None]:
        return {f"{folder}/{name}": text for name, text in files.items()}

    up = Repository.at(tmp_path / "up")
    first = up.version("v1", place("web", package("1")))
    up.version("v2", place("web", package("2")))
    user = Repository.at(tmp_path / "user")
    user.commit(place("web", package("1", first)) | place("other", package("3", first)))
    for folder in ("web", "web/inside", "other", "other/inside"):
        write(user.path / folder, {".gitattributes": hostile[".gitattributes"]})
        arm(user.path / folder)
    git(user.path, "-c", "core.attributesFile=/dev/null", "add", "--all")
    git(user.path, "commit", "--quiet", "--message=attributes")
    for mark in marks.iterdir():
        mark.unlink()
    return World(tmp_path, user.path, marks)


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("where", ["", "web", "web/inside"])
def test_no_command_runs_what_a_package_names(world: World, line: str, where: str) -> None:
    """From the top of the user's repository, and from inside the packages."""
    for command in line.format(up=world.place / "up").split(" && "):
        words = [_seen_from(where, word, world) for word in command.split()]
        krm_merge(*words, cwd=world.user / where)
        assert world.left() == [], command


def _seen_from(where: str, word: str, world: World) -> str:
    place, at, version = word.partition("@")
    first = place.split("/")[0]
    folder = world.place if first in ("up", "user") else world.user
    return f"{folder / place}{at}{version}" if first in ("web", "other", "up", "user") else word


@pytest.mark.kpt
def test_the_comparison_with_kpt_runs_nothing_of_it(world: World) -> None:
    krm_merge("compare", "web@v2", cwd=world.user)
    assert world.left() == []


def test_plain_git_runs_it(world: World) -> None:
    """The trap works: git itself obeys such a folder."""
    run("git", "status", cwd=world.user / "web")
    run("git", "fetch", "https://example.com/x", cwd=world.user / "web")
    assert {"fsmonitor", "other-address"} & set(world.left())


def test_choices_in_a_package_are_not_taken(world: World) -> None:
    """`krm-merge/choices.yaml` would be a mistake, were it read."""
    done = krm_merge("resolve", world.place / "up/web", world.user / "other", "web", "--terminal", cwd=world.user)
    assert "choices.yaml" not in done.stderr
    assert done.returncode in (0, 1), done.stderr


class TestUpstreamAddsARepository:
    @pytest.fixture
    def plain(self, tmp_path: Path, world: World) -> Path:
        """A package without one, whose upstream comes to have one."""
        up = Repository.at(tmp_path / "plain-up")
        first = up.version("v1", {"cm.yaml": config_map("a", v="1"), "Kptfile": kptfile("", "")})
        files = repository_files(world.marks)
        up.version("v2", {f"deep/down/{name}": text for name, text in files.items() if name != ".gitattributes"})
        package_files = {"cm.yaml": config_map("a", v="1"), "Kptfile": kptfile(f"file://{up.path}", "v1", first)}
        user = Repository.at(tmp_path / "plain")
        user.commit({f"web/{name}": text for name, text in package_files.items()})
        return user.path

    @pytest.mark.parametrize("command", ["update web@v2", "update web@v2 --dry-run", "resolve web@v2 --terminal"])
    def test_it_is_refused_with_its_path(self, plain: Path, command: str) -> None:
        done = krm_merge(*command.split(), cwd=plain)
        assert done.returncode == 3
        assert "web/deep/down would be a git repository" in done.stderr
        assert not (plain / "web" / "deep").exists()
