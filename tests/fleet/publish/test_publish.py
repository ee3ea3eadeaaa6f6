"""Results are published: pushed, and opened as pull requests, in waves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.hosts import git
from e2e.in_process import krm_merge
from effort import SEED
from fleet.world import World, kill
from krm_merge.packages.files.tree import File
from packages.repositories import write

BRANCH = "krm-merge/shop-v2"


def merge_repositories(world: World, count: int, *, conflicts: int = 0) -> list[Path]:
    places = world.repositories(count, conflicts=conflicts)
    (world.place / "repositories.txt").write_text("".join(f"file://{place}\n" for place in places))
    world.plan("--repositories", "repositories.txt", "--on-conflict", "upstream")
    world.fleet("run", "campaign")
    return places


def head(place: Path, branch: str = BRANCH) -> str:
    return git(place, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").strip()


def pulls(place: Path) -> list[dict[str, Any]]:
    return [record["pull"] for record in json.loads(place.with_suffix(".pulls.json").read_text())["pullRequests"]]


def merge(world: World, place: Path, number: int = 1) -> None:
    done = krm_merge("components", "pull-request", "merge", str(place), str(number), cwd=world.place)
    assert done.returncode == 0, done.stderr


def test_branches_are_pushed_with_a_commit_for_each_package(world: World) -> None:
    places = merge_repositories(world, 2)
    done = world.fleet("publish", "campaign", "--push-only")
    assert done.returncode == 0, done.stderr
    place = places[0]
    lines = git(place, "log", "--format=%an <%ae> %cI%n%B", f"main..{BRANCH}").splitlines()
    date = git(world.place / "upstream", "log", "-1", "--format=%cI", "v2").strip()
    assert lines[0] == f"krm-merge <krm-merge@users.noreply.github.com> {date}"
    assert lines[1:4] == ["Update deploy/shop to v2", "", "Fleet-Campaign: shop-v2"]
    assert git(place, "show", f"{BRANCH}:deploy/shop/a.yaml").endswith("data:\n  a: two\n  b: own-0\n")
    changed = git(place, "diff", "--name-only", f"main..{BRANCH}").split()
    assert changed == ["deploy/shop/Kptfile", "deploy/shop/a.yaml", "deploy/shop/new.yaml"]
    assert world.states() == {"pushed": 2}


def test_the_commit_is_made_again_where_its_copy_is_gone(world: World) -> None:
    places = merge_repositories(world, 1)
    (commit,) = [target["commit"] for target in world.status()["targets"]]
    shutil.rmtree(world.place / "campaign/cache")
    assert world.fleet("publish", "campaign", "--push-only").returncode == 0
    assert head(places[0]) == commit


def test_a_version_that_moved_back_is_not_published(world: World) -> None:
    (place,) = merge_repositories(world, 1)
    world.retag("older", "2001-01-01T00:00:00Z")
    done = world.fleet("publish", "campaign", "--push-only")
    assert (done.returncode, head(place)) == (3, "")
    assert "which is older; to update to it anyway: krm-merge fleet run --allow-older" in done.stderr
    assert "which is older" in world.fleet("status", "campaign").stdout
    git(world.place / "upstream", "tag", "--delete", "v2")
    assert world.fleet("close", "campaign").stdout == "no pull request to end\n"


def test_a_pull_request_carries_the_report(world: World) -> None:
    (place,) = merge_repositories(world, 1, conflicts=1)
    assert world.fleet("publish", "campaign").returncode == 0
    assert "### Settled conflicts" in pulls(place)[0]["body"]


def test_a_host_that_nobody_named_stops_no_other(world: World) -> None:
    (place,) = merge_repositories(world, 1)
    world.fleet("publish", "campaign")
    with (world.place / "campaign/targets.yaml").open("a") as targets:
        targets.write("- repository: https://nowhere.test/acme/shop\n")
    done = world.fleet("close", "campaign")
    assert done.returncode == 1
    assert "nowhere.test: its name does not show which forge it runs" in done.stderr
    assert pulls(place)[0]["state"] == "closed"


def test_the_next_wave_waits_for_the_one_before(world: World) -> None:
    places = merge_repositories(world, 5)
    place = world.place / "campaign/campaign.yaml"
    # Without a branch it is named after the campaign.
    text = place.read_text().replace(f"  branch: {BRANCH}\n", "")
    place.write_text(text.replace("waves: {}", "waves: {canary: 1, early: 40%, rest: rest}"))
    done = world.fleet("publish", "campaign")
    assert "the rest waits: 0 of 1 of canary merged; 100% must be" in done.stdout
    assert [bool(head(place)) for place in places] == [True, False, False, False, False]
    merge(world, places[0])
    done = world.fleet("publish", "campaign")
    assert "0 of 2 of early merged" in done.stdout
    assert [bool(head(place)) for place in places] == [True, True, True, False, False]
    assert world.fleet("publish", "campaign", "--wave", "rest").returncode == 0
    assert [bool(head(place)) for place in places[1:]] == [True] * 4


def test_no_more_than_so_many_are_open(world: World) -> None:
    places = merge_repositories(world, 3)
    place = world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("  perHour: 400", "  perHour: 400\n  maxOpen: 2"))
    done = world.fleet("publish", "campaign")
    assert "2 pull requests are open, the most that publish.maxOpen allows" in done.stdout
    assert sum(bool(head(place)) for place in places) == 2


def test_open_conflicts_have_no_branch(world: World) -> None:
    places = world.repositories(1, conflicts=1)
    (world.place / "repositories.txt").write_text(f"file://{places[0]}\n")
    world.plan("--repositories", "repositories.txt")
    world.fleet("run", "campaign")
    assert world.fleet("publish", "campaign").stdout == "nothing to publish\n"
    assert not head(places[0])


def test_a_dry_run_publishes_nothing(world: World) -> None:
    places = merge_repositories(world, 1)
    done = world.fleet("publish", "campaign", "--dry-run")
    assert done.stdout.endswith("dry run: 1 open\n")
    assert not head(places[0])
    assert world.states() == {"clean": 1}


@pytest.fixture
def tree(world: World) -> Path:
    """A working tree of three packages that are merged, with a remote."""
    tree = world.working_tree(3)
    git(tree, "clone", "--quiet", "--bare", str(tree), str(world.place / "origin.git"))
    git(tree, "remote", "add", "origin", f"file://{world.place}/origin.git")
    git(tree, "fetch", "--quiet")
    git(tree, "branch", "--quiet", "--set-upstream-to=origin/main")
    world.plan()
    world.fleet("run", "campaign")
    return tree


def test_a_working_tree_is_published_as_one_branch(world: World, tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    done = world.fleet("publish", "campaign")
    assert done.returncode == 0, done.stderr
    origin = world.place / "origin.git"
    subjects = git(origin, "log", "--format=%s", f"main..{BRANCH}").splitlines()
    assert sorted(subjects) == [f"Update team-{number}/pkg-00{number} to v2" for number in range(3)]
    assert [pull["title"] for pull in pulls(origin)] == ["Update 3 packages to v2"]
    assert git(tree, "rev-parse", "HEAD") == base
    pushed = head(origin)
    world.fleet("publish", "campaign")
    assert (head(origin), len(pulls(origin))) == (pushed, 1)


def test_a_working_tree_is_committed_directly(world: World, tree: Path) -> None:
    (tree / "mine.txt").write_text("not committed\n")
    done = world.fleet("publish", "campaign", "--direct")
    assert done.returncode == 0, done.stderr
    assert len(git(tree, "log", "--format=%s", "HEAD~3..HEAD").splitlines()) == 3
    assert git(tree, "status", "--porcelain") == "?? mine.txt\n"
    assert head(world.place / "origin.git", "main") == git(tree, "rev-parse", "HEAD").strip()
    assert world.fleet("run", "campaign").stdout.startswith("0 merged")


def test_a_working_tree_without_a_remote_is_committed_and_nothing_is_called_pushed(world: World) -> None:
    tree = world.working_tree(2)
    world.plan()
    world.fleet("run", "campaign")
    done = world.fleet("publish", "campaign")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{tree} has no remote origin to push branches to" in done.stderr
    done = world.fleet("publish", "campaign", "--direct")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 committed"), done.stderr
    assert world.states() == {"committed": 2}
    assert len(git(tree, "log", "--format=%s").splitlines()) == 3


def test_a_branch_that_was_merged_by_git_is_nobody_s(world: World) -> None:
    """People amended our commit and pushed it to main, too; the forge knows nothing of that."""
    (place,) = merge_repositories(world, 1)
    assert world.fleet("publish", "campaign", "--push-only").returncode == 0
    person = world.place / "person"
    git(world.place, "clone", "--quiet", "--branch", BRANCH, str(place), str(person))
    (person / "README.md").write_text("by hand\n")
    git(person, "commit", "--quiet", "--all", "--amend", "--reset-author", "--message=by hand")
    git(person, "push", "--quiet", "--force", "origin", BRANCH, f"{BRANCH}:main")
    upstream = world.place / "upstream"
    write(upstream, {"shop/new.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: newer\n"})
    git(upstream, "commit", "--quiet", "--all", "--message=v3")
    git(upstream, "tag", "v3")
    file = world.place / "campaign/campaign.yaml"
    file.write_text(file.read_text().replace("ref: v2", "ref: v3"))
    world.fleet("run", "campaign")
    done = world.fleet("publish", "campaign", "--push-only")
    assert (done.returncode, done.stderr) == (0, "")
    assert git(place, "log", "--format=%s", f"main..{BRANCH}") == "Update deploy/shop to v3\n"


def test_what_changed_since_is_not_published(world: World, tree: Path) -> None:
    (tree / "team-1/pkg-001/a.yaml").write_text("a: b\n")
    done = world.fleet("publish", "campaign", "--push-only")
    assert done.returncode == 1
    assert "team-1/pkg-001: it changed since it was merged" in done.stderr
    assert len(git(world.place / "origin.git", "log", "--format=%s", f"main..{BRANCH}").splitlines()) == 2


def test_what_the_git_of_a_killed_publish_pushes_meanwhile_is_published(world: World) -> None:
    (place,) = merge_repositories(world, 1)
    (commit,) = [target["commit"] for target in world.status()["targets"]]
    (result,) = world.place.glob("campaign/cache/**/refs/krm-merge/result")
    git(place, "fetch", "--quiet", str(result.parents[2]), "refs/krm-merge/result:refs/heads/other")
    other = f"#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/{BRANCH} {commit}\n"
    write(place / "hooks", {"pre-receive": File(other.encode(), "executable")})
    done = world.fleet("publish", "campaign", "--push-only")
    assert (done.returncode, done.stderr) == (0, "")
    assert head(place) == commit


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("count", [0, 1, 4, 8, 11] if SEED else [1, 8])
def test_a_killed_publish_goes_on(world: World, count: int) -> None:
    """Killed when so many branches and pull requests are there, of six each."""
    places = merge_repositories(world, 6)
    files = [file for place in places for file in (place / "refs/heads" / BRANCH, place.with_suffix(".pulls.json"))]
    command = [sys.executable, "-m", "krm_merge", "fleet", "publish", "campaign"]
    process = subprocess.Popen(command, cwd=world.place, stdout=subprocess.DEVNULL, start_new_session=True)
    begun = world.place / "campaign/tmp"
    kill(process, when=lambda: begun.exists() and sum(file.exists() for file in files) >= count)
    done = world.fleet("publish", "campaign")
    assert done.returncode == 0, done.stderr
    assert world.states() == {"open": 6}
    assert [len(pulls(place)) for place in places] == [1] * 6
    assert not (world.place / "campaign/tmp").exists()
