"""Workers end with the program that started them, however it ends, and with a merge that does not."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from e2e.hosts import GIT_ENVIRONMENT, installed_program, run, wait_until
from fleet.world import World


def alive_in_group(group: int) -> list[int]:
    """The processes of a group that are more than a remembered exit code."""
    processes = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = place.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            processes.append(int(place.parent.name))
    return processes


def test_workers_end_when_the_program_is_killed(world: World) -> None:
    world.working_tree(120)
    world.plan()
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


def test_a_merge_that_takes_too_long_is_ended_and_set_aside(world: World) -> None:
    fifo, program = world.place / "fifo", world.place / "ssh"
    os.mkfifo(fifo)
    # Whatever opens the fifo for writing releases it.
    program.write_text(f"#!/bin/sh\nread line < {fifo}\n")
    program.chmod(0o755)
    (world.place / "repositories.txt").write_text("ssh://never.test/acme/shop.git\n")
    world.plan("--repositories", "repositories.txt")
    command = ("env", f"GIT_SSH_COMMAND={program}", "KRM_MERGE_GIT_TIMEOUT=100000", installed_program())
    done = run(*command, "fleet", "run", "campaign", "--timeout", "1", cwd=world.place)
    os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))
    assert done.returncode == 1
    assert "acme/shop.git: it crashed its worker or timed out 2 times; set aside" in done.stdout
    assert world.states() == {"failed": 1}
