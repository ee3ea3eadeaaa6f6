"""The same campaign on every engine: processes, dask, dask over TLS with a worker killed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fleet import certificate_at
from distributed import Client

from e2e.hosts import GIT_ENVIRONMENT, installed_program, wait_until
from fleet.clusters import cluster
from fleet.world import World
from packages.repositories import snapshot

COUNT = 30


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """A working tree of packages, and what one process makes of a copy of it."""
    world = World.at(tmp_path_factory.mktemp("world"))
    world.working_tree(COUNT, conflicts=3)
    shutil.copytree(world.tree, world.place / "copy")
    world.plan("--packages", "copy", directory="one")
    world.fleet("run", "one", "--jobs", "1")
    return world, world.place / "copy"


@pytest.fixture
def world(reference: tuple[World, Path]) -> Iterator[World]:
    """The world with a campaign that has not begun."""
    before = reference[0]
    shutil.copytree(before.tree, before.place / "before")
    before.plan()
    yield before
    shutil.rmtree(before.place / "campaign")
    shutil.rmtree(before.tree)
    (before.place / "before").rename(before.tree)


def check(world: World, expected: tuple[World, Path]) -> None:
    assert world.states() == {"clean": COUNT - 3, "conflicts": 3}
    assert snapshot(world.tree) == snapshot(expected[1])


def test_processes(world: World, reference: tuple[World, Path]) -> None:
    assert world.fleet("run", "campaign", "--jobs", "2").returncode == 1
    check(world, reference)


def test_dask(world: World, reference: tuple[World, Path], tmp_path: Path) -> None:
    with cluster(tmp_path / "dask", 2) as workers:
        done = world.fleet("run", "campaign", "--scheduler", workers.address)
    assert done.returncode == 1, done.stderr
    check(world, reference)


def test_dask_with_tls_and_a_worker_killed(
    world: World, reference: tuple[World, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_at(tmp_path)
    with cluster(tmp_path / "dask", 2, certificate) as workers:
        assert workers.address.startswith("tls://")
        for name, value in workers.environment.items():
            monkeypatch.setenv(name, value)
        command = [sys.executable, "-m", "krm_merge", "fleet", "run", "campaign"]
        command += ["--scheduler", workers.address]
        run = subprocess.Popen(command, cwd=world.place, stdout=subprocess.DEVNULL)
        wait_until(lambda: run.poll() is not None or any(world.tree.glob("team-*/*/new.yaml")))
        workers.kill_worker()
        workers.add_worker()
        run.communicate()
        assert run.returncode == 1
    check(world, reference)


def start_run(world: World, address: str) -> subprocess.Popen[str]:
    """A run that waits for workers, in a process of its own."""
    command = [installed_program(), "fleet", "run", "campaign", "--scheduler", address]
    environment = {**os.environ, **GIT_ENVIRONMENT, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
    return subprocess.Popen(
        command, cwd=world.place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def tasks(address: str) -> int:
    """How many tasks a scheduler has."""
    connect: Any = Client
    with connect(address, set_as_default=False) as client:
        return len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))


def test_a_worker_of_another_version_that_comes_later_is_named(
    world: World, reference: tuple[World, Path], tmp_path: Path
) -> None:
    with cluster(tmp_path / "dask", 0) as workers:
        run = start_run(world, workers.address)
        wait_until(lambda: run.poll() is not None or tasks(workers.address))
        workers.add_worker("9.9.9")
        _, complained = run.communicate()
        assert run.returncode == 3
        assert re.search(r"tcp://127\.0\.0\.1:\d+ has krm-merge 9\.9\.9; this is .*; run again to cont", complained)
        workers.kill_worker()
        workers.add_worker()
        done = world.fleet("run", "campaign", "--scheduler", workers.address)
    assert done.returncode == 1, done.stderr
    check(world, reference)


def test_a_scheduler_that_dies_is_reported_and_what_was_done_stays(
    world: World, reference: tuple[World, Path], tmp_path: Path
) -> None:
    with cluster(tmp_path / "dask", 1) as workers:
        world.fleet("run", "campaign", "--only", "*-00*", "--scheduler", workers.address)
        assert world.states()["pending"] == COUNT - 10
        workers.kill_worker()
        run = start_run(world, workers.address)
        wait_until(lambda: run.poll() is not None or tasks(workers.address))
        workers.kill_scheduler()
        _, complained = run.communicate()
    assert run.returncode == 3
    assert complained == "error the connection to the scheduler was lost; run again to continue\n"
    assert world.states()["pending"] == COUNT - 10
    world.fleet("run", "campaign")
    check(world, reference)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("tcp://10.1.2.3:8786", "anyone who can reach it can run code"),
        ("scheduler", "the address of a scheduler is expected"),
    ],
)
def test_addresses_that_are_refused(world: World, address: str, problem: str) -> None:
    done = world.fleet("run", "campaign", "--scheduler", address)
    assert done.returncode == 3
    assert problem in done.stderr
