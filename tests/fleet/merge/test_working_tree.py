"""Campaigns for directories of one working tree."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.hosts import git, wait_until
from e2e.in_process import krm_merge
from effort import SEED
from fleet.world import World, kill
from packages.repositories import config_map, kptfile, snapshot, write


def text(place: Path, name: str = "a.yaml") -> str:
    return (place / name).read_text(encoding="utf-8")


def test_a_hundred_packages_take_the_new_version(world: World) -> None:
    tree = world.working_tree(100, conflicts=3)
    world.plan()
    done = world.fleet("run", "campaign")
    assert done.returncode == 1
    assert world.states() == {"clean": 97, "conflicts": 3}
    package = tree / "team-4/pkg-004"
    assert "a: two\n  b: own-4\n" in text(package)
    assert f"commit: {world.commit('v2')}" in text(package, "Kptfile")
    assert "kpt-merge" in text(package, "new.yaml")
    before = snapshot(tree)
    again = world.fleet("run", "campaign")
    assert (again.returncode, again.stdout.partition(" in ")[0]) == (1, "0 merged")
    assert snapshot(tree) == before
    assert world.states() == {"clean": 97, "conflicts": 3}


def test_every_package_is_as_update_would_have_it(world: World) -> None:
    tree = world.working_tree(6, conflicts=3)
    shutil.copytree(tree, world.place / "other")
    world.plan()
    # One worker: what it has read for one package, it takes for the next.
    world.fleet("run", "campaign", "--jobs", "1")
    for name in sorted(f"team-{number}/pkg-00{number}" for number in range(6)):
        assert krm_merge("update", f"{world.place}/other/{name}@v2", cwd=world.place).returncode == (name[5] in "012")
    assert snapshot(tree) == snapshot(world.place / "other")


def test_a_dry_run_changes_nothing(world: World) -> None:
    tree = world.working_tree(3, conflicts=1)
    world.plan()
    before = snapshot(tree)
    done = world.fleet("run", "campaign", "--dry-run")
    assert done.returncode == 1
    assert "2 clean, 1 conflicts" in done.stdout
    assert snapshot(tree) == before
    assert world.states() == {"pending": 3}


def test_the_campaign_may_be_removed_at_any_time(world: World) -> None:
    tree = world.working_tree(4, conflicts=1)
    world.plan()
    world.fleet("run", "campaign")
    before = snapshot(tree)
    shutil.rmtree(world.place / "campaign")
    world.plan()
    world.fleet("run", "campaign")
    assert world.states() == {"clean": 3, "conflicts": 1}
    assert snapshot(tree) == before


def test_what_is_committed_meanwhile_has_nothing_to_do(world: World) -> None:
    tree = world.working_tree(2)
    world.plan()
    world.fleet("run", "campaign")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=updated")
    assert world.fleet("run", "campaign").stdout.startswith("0 merged")
    assert world.states() == {"clean": 2}


def test_uncommitted_changes_of_somebody_else_are_kept(world: World) -> None:
    tree = world.working_tree(2)
    write(tree / "team-0/pkg-000", {"a.yaml": config_map("a", a="one", b="mine")})
    world.plan()
    done = world.fleet("run", "campaign")
    assert done.returncode == 1
    assert "refused: team-0/pkg-000: uncommitted changes: a.yaml; commit them first" in done.stdout
    assert "b: mine" in text(tree / "team-0/pkg-000")
    git(tree, "commit", "--quiet", "--all", "--message=mine")
    assert world.fleet("run", "campaign").returncode == 0
    assert "a: two\n  b: mine\n" in text(tree / "team-0/pkg-000")


def test_changes_made_after_a_run_are_kept(world: World) -> None:
    tree = world.working_tree(1)
    world.plan()
    world.fleet("run", "campaign")
    write(tree / "team-0/pkg-000", {"a.yaml": config_map("a", a="mine")})
    assert world.fleet("run", "campaign").returncode == 1
    assert "a: mine" in text(tree / "team-0/pkg-000")


def test_one_failure_stops_nobody_else(world: World) -> None:
    tree = world.working_tree(5)
    gone = kptfile(world.upstream, "v1", "0" * 40, "/shop")
    for number in (1, 3):
        write(tree / f"team-{number}/pkg-00{number}", {"Kptfile": gone})
    git(tree, "commit", "--quiet", "--all", "--message=broken")
    world.plan()
    done = world.fleet("run", "campaign")
    assert done.returncode == 1
    assert world.states() == {"clean": 3, "failed": 2}
    (group,) = [line for line in done.stdout.splitlines() if line.startswith("failed")]
    assert group.startswith("failed (permanent): team-1/pkg-001 and 1 more: ")


def test_only_what_failed_runs_again(world: World) -> None:
    tree = world.working_tree(3)
    world.plan()
    (tree / "team-0/pkg-000").rename(tree / "aside")
    assert world.fleet("run", "campaign").returncode == 1
    (tree / "aside").rename(tree / "team-0/pkg-000")
    done = world.fleet("run", "campaign", "--failed")
    assert (done.returncode, done.stdout.partition(" in ")[0]) == (0, "1 merged")
    assert world.states() == {"clean": 3}


def test_some_targets_first(world: World) -> None:
    world.working_tree(10)
    world.plan()
    world.fleet("run", "campaign", "--only", "*-00[01]")
    world.fleet("run", "campaign", "--only", "*-00[2-4]")
    assert world.states() == {"clean": 5, "pending": 5}
    world.fleet("run", "campaign", "--only", "team-6/*")
    assert world.states() == {"clean": 6, "pending": 4}


def test_packages_inside_packages_count(world: World) -> None:
    tree = world.working_tree(1)
    write(tree / "outer", {"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: outer\n"})
    write(tree / "outer/inner", world.package())
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=more")
    world.plan()
    assert world.fleet("run", "campaign").returncode == 0
    assert [target["target"] for target in world.status()["targets"]] == ["outer/inner", "team-0/pkg-000"]
    assert "a: two" in text(tree / "outer/inner")


def test_a_second_run_is_refused_with_the_first_ones_process(world: World) -> None:
    world.working_tree(1)
    world.plan()
    with (world.place / "campaign/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        json.dump({"process": 4711, "host": socket.gethostname()}, lock)
        lock.flush()
        done = world.fleet("run", "campaign")
    assert done.returncode == 3
    assert f"process 4711 on {socket.gethostname()} is working on this campaign" in done.stderr


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("count", [0, 1, 5, 15, 25, 35, 45, 55] if SEED else [0, 5, 45])
def test_a_killed_run_goes_on(world: World, count: int) -> None:
    """Killed when so many packages are merged."""
    tree = world.working_tree(60, conflicts=2)
    world.plan()
    command = [sys.executable, "-m", "krm_merge", "fleet", "run", "campaign"]
    process = subprocess.Popen(command, cwd=world.place, stdout=subprocess.DEVNULL, start_new_session=True)
    begun = world.place / "campaign/tmp"
    kill(process, when=lambda: begun.exists() and len(list(tree.glob("team-*/*/new.yaml"))) >= count)
    world.fleet("run", "campaign")
    assert world.states() == {"clean": 58, "conflicts": 2}
    assert not list(tree.rglob(".*.krm-merge*"))
    assert not (world.place / "campaign/tmp").exists()
    updated = ["a: two" in path.read_text() for path in tree.rglob("a.yaml")]
    assert (sum(updated), len(updated)) == (58, 60)


@pytest.mark.usefixtures("patient")
def test_an_interrupted_run_says_so(world: World) -> None:
    tree = world.working_tree(40)
    world.plan()
    command = [sys.executable, "-m", "krm_merge", "fleet", "run", "campaign"]
    process = subprocess.Popen(command, cwd=world.place, stdout=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: process.poll() is not None or any(tree.glob("team-*/*/new.yaml")))
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() in (0, 130)
    assert world.fleet("run", "campaign").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--packages", "nothing-*"], "nothing-*: no directory matches"),
        (["--packages", "upstream"], "no package there follows"),
        ([], "say where the packages are"),
    ],
)
def test_what_cannot_be_planned(world: World, arguments: list[str], problem: str) -> None:
    done = world.fleet("init", "campaign", "--upstream", f"{world.upstream}/shop", "--to", "v2", *arguments)
    assert done.returncode in (2, 3)
    assert problem in done.stderr
    assert not (world.place / "campaign").exists()


def test_a_version_that_upstream_lacks_is_named(world: World) -> None:
    world.working_tree(1)
    done = world.fleet("init", "campaign", "--upstream", f"{world.upstream}/shop", "--to", "v9", "--packages", "tree")
    assert done.returncode == 3
    assert f"{world.upstream} has no tag or branch v9" in done.stderr


def test_wrong_fields_are_named(world: World) -> None:
    world.working_tree(1)
    world.plan()
    place = world.place / "campaign/campaign.yaml"
    place.write_text(place.read_text().replace("waves: {}", "waves: {canary: lots}").replace("kind:", "kinds:"))
    done = world.fleet("run", "campaign")
    assert done.returncode == 3
    assert "kinds is an unknown field" in done.stderr
    assert "publish.waves.canary" in done.stderr


def test_a_version_that_moved_back_or_is_gone_stops_the_run(world: World) -> None:
    world.working_tree(1)
    world.retag("new", "2001-01-02T00:00:00Z")
    world.plan()
    assert world.fleet("run", "campaign").returncode == 0
    world.retag("newer", "2001-01-03T00:00:00Z")
    assert world.fleet("run", "campaign").returncode == 0
    world.retag("older", "2001-01-01T00:00:00Z")
    done = world.fleet("run", "campaign")
    assert done.returncode == 3
    assert "which is older; to update to it anyway: krm-merge fleet run --allow-older" in done.stderr
    assert "  a: newer\n" in (world.tree / "team-0/pkg-000/a.yaml").read_text()
    assert "upstream: v2 was at " in world.fleet("status", "campaign").stdout
    assert world.fleet("run", "campaign", "--allow-older").returncode == 0
    assert "  a: older\n" in (world.tree / "team-0/pkg-000/a.yaml").read_text()
    assert "upstream: v2 " not in world.fleet("status", "campaign").stdout
    git(world.place / "upstream", "tag", "--delete", "v2")
    assert world.fleet("run", "campaign").returncode == 3
    assert "v2" in world.status()["problem"]
