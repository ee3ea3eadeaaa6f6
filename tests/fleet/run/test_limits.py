"""What a run does where the machine has no more to give: a disk that is full, and memory whatever the number."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from e2e.hosts import git, run
from fleet.world import World
from packages.repositories import Repository, config_map

LARGEST_FILE = 200_000
"""Bytes. A limit of the process is a full disk for whatever it writes."""


def run_limited(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of a process that cannot write larger files."""
    program = (
        "import resource, sys, runpy\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({LARGEST_FILE}, {LARGEST_FILE}))\n"
        "if __name__ == '__main__':\n    runpy.run_module('krm_merge', run_name='__main__')\n"
    )
    place = world.place / "limited.py"
    place.write_text(program)
    return run(sys.executable, place, "fleet", *arguments, cwd=world.place)


def test_packages_that_cannot_be_written_are_as_they_were_and_run_again(world: World) -> None:
    tree = world.working_tree(4)
    upstream = Repository(world.place / "upstream")
    upstream.version("v3", {"shop/large.yaml": config_map("large", a="x" * (2 * LARGEST_FILE))})
    world.plan()
    campaign = world.place / "campaign/campaign.yaml"
    campaign.write_text(campaign.read_text().replace("ref: v2", "ref: v3"))
    done = run_limited(world, "run", "campaign")
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("failed")]
    assert re.fullmatch(
        r"failed \(permanent\): team-0/pkg-000 and 3 more: .*: File too large; nothing was changed", line
    )
    assert git(tree, "status", "--porcelain") == ""
    assert [str(place) for place in world.place.rglob("*.krm-merge")] == []
    assert world.fleet("run", "campaign").returncode == 0
    assert world.states() == {"clean": 4}


def test_a_ledger_that_cannot_be_written_is_named_and_the_next_run_goes_on(world: World, tmp_path: Path) -> None:
    world.working_tree(3)
    world.plan()
    campaign = world.place / "campaign"
    (campaign / "ledger.db").symlink_to("/dev/full")
    done = world.fleet("run", "campaign")
    assert done.returncode == 3
    assert "campaign/ledger.db: " in done.stderr
    (campaign / "ledger.db").unlink()
    assert world.fleet("run", "campaign").returncode == 0
