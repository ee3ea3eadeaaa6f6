"""A command that somebody repeats while the killed one still holds its lock."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.in_process import krm_merge
from fleet.world import World
from krm_merge import posix
from krm_merge.packages.git import CACHE_VARIABLE
from packages.repositories import snapshot

LOCKED: dict[str, Callable[[World], tuple[Path, list[str]]]] = {
    "package": lambda world: (world.tree / "team-0/pkg-000", ["update", "tree/team-0/pkg-000@v2"]),
    "campaign": lambda world: (world.place / "campaign/lock", ["fleet", "run", "campaign"]),
}
TRIES = 3


@pytest.mark.parametrize("of", LOCKED)
@pytest.mark.parametrize("dies", [True, False])
def test_a_lock_is_waited_for_until_its_holder_should_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str, dies: bool
) -> None:
    world = World.at(tmp_path)
    world.working_tree(1)
    world.plan()
    before = snapshot(world.tree)
    place, command = LOCKED[of](world)
    holder = os.open(place, os.O_RDONLY | (0 if place.is_dir() else os.O_CREAT))
    fcntl.flock(holder, fcntl.LOCK_EX)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if dies and len(slept) == TRIES:
            fcntl.flock(holder, fcntl.LOCK_UN)

    monkeypatch.setattr(posix, "sleep", sleep)
    monkeypatch.setattr(posix, "monotonic", lambda: sum(slept))
    done = krm_merge(*command, cwd=world.place, **{CACHE_VARIABLE: str(world.place / "cache")})
    os.close(holder)
    assert (done.returncode == 0) == dies, done.stderr
    assert (snapshot(world.tree) != before) == dies
    if dies:
        assert len(slept) == TRIES
    else:
        assert "working on" in done.stderr
        assert 1 <= sum(slept) <= 3
