"""Packages of one working tree as several pull requests, on top of what origin has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.hosts import git
from e2e.in_process import krm_merge
from fleet.world import World

BRANCH = "krm-merge/shop-v2"


@pytest.fixture
def origin(world: World) -> Path:
    """The origin of a working tree with ten packages of seven teams, of which the first two have conflicts."""
    tree = world.working_tree(10, conflicts=2)
    origin = world.place / "forge/origin.git"
    git(tree, "clone", "--quiet", "--bare", str(tree), str(origin))
    git(tree, "remote", "add", "origin", f"file://{origin}")
    world.plan()
    assert world.fleet("run", "campaign").returncode == 1
    return origin


def publish(world: World, split: str, *options: str) -> str:
    place = world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("  waves: {}\n", f"  waves: {{}}\n  split: {split}\n"))
    done = world.fleet("publish", "campaign", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pulls(origin: Path) -> dict[str, dict[str, Any]]:
    """The pull requests by branch."""
    listed = json.loads(origin.with_suffix(".pulls.json").read_text())["pullRequests"]
    pulls = [record["pull"] for record in listed]
    return {pull["source_branch"].removeprefix(BRANCH): pull for pull in pulls}


def files(origin: Path, branch: str) -> set[str]:
    """The directories that a branch changes."""
    names = git(origin, "diff", "--name-only", f"main...{BRANCH}{branch}").split()
    return {name.rpartition("/")[0] for name in names}


def test_by_directory(world: World, origin: Path) -> None:
    publish(world, "directory")
    assert [*pulls(origin)] == [f"-team-{number}" for number in range(7)]
    assert files(origin, "-team-2") == {"team-2/pkg-002", "team-2/pkg-009"}
    assert pulls(origin)["-team-2"]["title"] == "Update 2 packages to v2"
    # Nothing is done twice.
    assert world.fleet("publish", "campaign").stdout == "nothing to publish\n"


def test_by_package(world: World, origin: Path) -> None:
    publish(world, "package")
    assert len(pulls(origin)) == 8
    assert files(origin, "-team-2-pkg-009") == {"team-2/pkg-009"}


def test_the_text_leads_with_what_needs_a_look(world: World, origin: Path) -> None:
    publish(world, "none")
    body = pulls(origin)[""]["body"].splitlines()
    assert body[1:6] == [
        "### Left out: 2 packages with conflicts",
        "",
        "| packages | where | local | what happened | settled by |",
        "|---:|---|---|---|---|",
        "| 2 | `ConfigMap data.a` | `three` | upstream changed it, local changed it |  |",
    ]
    assert "### 8 packages" in body


def test_the_text_names_values_that_upstream_overwrote(world: World, origin: Path) -> None:
    place = world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("  functionIdentity", "  onConflict: upstream\n  functionIdentity"))
    world.fleet("run", "campaign")
    publish(world, "none")
    body = pulls(origin)[""]["body"]
    assert "### Both sides changed these" in body
    assert "| 2 | `ConfigMap data.a` | `three` | upstream changed it, local changed it; upstream's value is " in body


def test_unfinished_commits_are_not_proposed(world: World, origin: Path) -> None:
    git(world.tree, "switch", "--quiet", "--create", "feature")
    (world.tree / "unfinished.md").write_text("work\n")
    git(world.tree, "add", "unfinished.md")
    git(world.tree, "commit", "--quiet", "--message=my unfinished work")
    publish(world, "none")
    assert "my unfinished work" not in git(origin, "log", "--format=%s", BRANCH)
    assert pulls(origin)[""]["target_branch"] == "main"


def test_packages_that_origin_has_otherwise_are_named(world: World, origin: Path) -> None:
    """What was merged is on top of commits that origin lacks: the request would have them, too."""
    tree = world.tree
    git(tree, "stash", "--quiet", "--include-untracked")
    note = tree / "team-3/pkg-003/b.yaml"
    note.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n")
    git(tree, "add", str(note))
    git(tree, "commit", "--quiet", "--message=not pushed")
    git(tree, "stash", "pop", "--quiet")
    world.fleet("run", "campaign")
    done = world.fleet("publish", "campaign")
    assert done.returncode == 1
    assert "team-3/pkg-003: the commits here differ from those of origin's branch" in done.stderr
    assert "team-3/pkg-003" not in files(origin, "")
    assert "team-4/pkg-004" in files(origin, "")


def test_rollback_of_a_shared_request(world: World, origin: Path) -> None:
    publish(world, "none")
    krm_merge("components", "pull-request", "merge", str(origin), "1", cwd=world.place)
    git(world.tree, "stash", "--quiet", "--include-untracked")
    world.fleet("publish", "campaign")
    done = world.fleet("rollback", "campaign")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "8 reverting"), done.stderr
    assert len(files(origin, "-rollback")) == 8
    assert git(origin, "diff", "main~", f"{BRANCH}-rollback") == ""
