"""Campaigns for repositories."""

from __future__ import annotations

import shutil

import pytest

from e2e.hosts import git
from fleet.world import World
from krm_merge.fleet.campaign import CampaignUpstream
from krm_merge.fleet.discovery import follows


def plan(world: World, count: int, *, conflicts: int = 0) -> str:
    places = world.repositories(count, conflicts=conflicts)
    (world.place / "repositories.txt").write_text("# ours\n" + "".join(f"file://{place}\n" for place in places))
    return world.plan("--repositories", "repositories.txt")


def test_every_package_is_merged_in_a_commit_of_its_own(world: World) -> None:
    plan(world, 3, conflicts=1)
    done = world.fleet("run", "campaign")
    assert done.returncode == 1, done.stderr
    assert world.states() == {"clean": 2, "conflicts": 1}
    assert not git(world.place / "forge/001.git", "branch", "--list", "krm-merge/*")
    again = world.fleet("run", "campaign")
    assert again.stdout.startswith("0 merged")


def test_equal_inputs_give_equal_commits(world: World) -> None:
    plan(world, 2)
    world.fleet("run", "campaign")
    commits = [target["commit"] for target in world.status()["targets"]]
    shutil.rmtree(world.place / "campaign")
    world.plan("--repositories", "repositories.txt")
    world.fleet("run", "campaign")
    assert [target["commit"] for target in world.status()["targets"]] == commits
    assert len(set(commits)) == 2


def test_a_repository_that_moved_on_is_merged_again(world: World) -> None:
    plan(world, 2)
    world.fleet("run", "campaign")
    work = world.place / "work/000"
    (work / "README.md").write_text("more\n")
    git(work, "commit", "--quiet", "--all", "--message=more")
    git(work, "push", "--quiet", str(world.place / "forge/000.git"), "main")
    assert world.fleet("run", "campaign").stdout.startswith("1 merged")


def test_a_repository_that_vanished_stops_nobody_else(world: World) -> None:
    plan(world, 3)
    shutil.rmtree(world.place / "forge/001.git")
    done = world.fleet("run", "campaign")
    assert done.returncode == 1
    assert world.states() == {"clean": 2, "failed": 1}
    assert "failed (permanent): file://" in done.stdout
    assert "does not appear to be a git repository" in done.stdout


def test_a_repository_without_such_a_package_is_unchanged(world: World) -> None:
    plan(world, 1)
    work = world.place / "work/000"
    git(work, "rm", "-rq", "deploy")
    git(work, "commit", "--quiet", "--message=gone")
    git(work, "push", "--quiet", str(world.place / "forge/000.git"), "main")
    assert world.fleet("run", "campaign").returncode == 0
    (target,) = world.status()["targets"]
    assert (target["state"], target["message"]) == ("unchanged", "no package in it follows the upstream")


def test_addresses_come_from_stdin_too(world: World) -> None:
    (place,) = world.repositories(1)
    done = world.fleet(
        "init",
        "campaign",
        "--upstream",
        f"{world.upstream}/shop",
        "--to",
        "v2",
        "--repositories",
        "-",
        stdin=f"{place}\n",
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "1 repository")


def test_the_repositories_of_an_owner(world: World) -> None:
    world.repositories(2)
    world.plan("--host", str(world.place), "--owner", "forge")
    assert world.fleet("run", "campaign").returncode == 0
    assert world.states() == {"clean": 2}


@pytest.mark.parametrize("written", ["/web", "web", "web/", "./web"])
@pytest.mark.parametrize("asked", ["/web", "web", "/"])
def test_a_package_follows_a_directory_however_it_is_written(written: str, asked: str) -> None:
    git_of_package = f"{{repo: https://git.example.com/packages, directory: {written}, ref: v1}}"
    kptfile = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nupstream: {{type: git, git: {git_of_package}}}\n".encode()
    assert follows(CampaignUpstream("https://git.example.com/packages", asked, "v2"), kptfile, "Kptfile")
    assert not follows(CampaignUpstream("https://git.example.com/packages", "/api", "v2"), kptfile, "Kptfile")
