"""Workers end with the program that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from e2e.hosts import GIT_ENVIRONMENT, installed_program, wait_until
from fleet.world import World


def alive_in_group(group: int) -> list[int]:
    """The processes of a group that are more than a remembered exit code."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = place.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            found.append(int(place.parent.name))
    return found


def test_workers_end_when_the_program_is_killed(world: World) -> None:
    world.working_tree(120)
    world.planned()
    process = subprocess.Popen(
        [installed_program(), "fleet", "run", "campaign"],
        cwd=world.place,
        env={**os.environ, **GIT_ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # A worker has a file of its own for a crash.
    wait_until(lambda: list(world.place.glob("campaign/tmp/worker-*.log")) or process.poll() is not None)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    try:
        wait_until(lambda: not alive_in_group(process.pid))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
