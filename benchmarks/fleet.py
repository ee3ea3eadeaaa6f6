"""Measures `krm-merge fleet` on many packages. `make bench-fleet` runs it, README.md explains."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import load, machine, program, table
from benchmarks.packages import NAME, files, kptfile, write
from benchmarks.update import GIT, git

RESOURCES = 20
ONE_IN = 100
"""One of so many packages has a conflict."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A command: its seconds, and the peaks of memory of the program itself and of the largest of its workers."""

    wall: float
    own_mb: float
    worker_mb: float
    printed: str


class Memory(threading.Thread):
    """Looks at the peaks of a process and of those that it started, while it runs."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.own = self.workers = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            self.own = max(self.own, peak_mb(self.process))
            self.workers = max([self.workers, *map(peak_mb, descendants(self.process))])


def peak_mb(process: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def descendants(process: int) -> list[int]:
    """The Python processes below one: git is none of our memory."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [
            inner
            for child in map(int, children)
            if "python" in os.readlink(f"/proc/{child}/exe")
            for inner in (child, *descendants(child))
        ]
    except OSError:
        return []


def measured(directory: Path, *command: str) -> Measured:
    """Runs a command, whose exit code may be 1: there are conflicts."""
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=directory, env=os.environ | GIT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    memory = Memory(process.pid)
    memory.start()
    printed, complained = process.communicate()
    memory.ended.set()
    memory.join()
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: {complained}")
    return Measured(time.monotonic() - started, memory.own, memory.workers, printed)


# ---- what is merged --------------------------------------------------------------------------------------------------


def make_upstream(directory: Path) -> str:
    """An upstream with two versions; gives the commit of the first."""
    directory.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main", directory=directory)
    for ref in ("v1", "v2"):
        write(directory / NAME, kptfile(), files(RESOURCES, one_file=False, upstream=ref == "v2"))
        commit(directory)
        git("tag", ref, directory=directory)
    return git("rev-parse", "v1", directory=directory)


def write_package(place: Path, number: int, address: str, first: str) -> None:
    """A package that was fetched at v1 and changed; one in a hundred has changed what upstream changes, too."""
    parts = files(RESOURCES, one_file=False, local=True, fetched=True)
    if number % ONE_IN == 0:
        parts = ((path, text.replace(":v1", ":v1-own")) for path, text in parts)
    write(place, kptfile(address, "v1", first), parts)


def make_tree(directory: Path, count: int, address: str, first: str) -> None:
    directory.mkdir()
    git("init", "--quiet", "--initial-branch=main", directory=directory)
    for number in range(count):
        write_package(directory / f"team-{number // 100}" / f"shop-{number}", number, address, first)
    commit(directory)


def make_repositories(directory: Path, count: int, address: str, first: str) -> list[str]:
    made = []
    for number in range(count):
        place = directory / f"{number}"
        place.mkdir(parents=True)
        git("init", "--quiet", "--initial-branch=main", directory=place)
        write_package(place / NAME, number, address, first)
        commit(place)
        git("config", "core.bare", "true", directory=place)
        made.append(f"file://{place}/.git")
    return made


def commit(repository: Path) -> None:
    git("add", "--all", directory=repository)
    git("commit", "--quiet", "--message=version", directory=repository)


# ---- the report ------------------------------------------------------------------------------------------------------


def row(what: str, count: int, one: Measured, limit: str) -> list[str]:
    each = one.wall / count * 1000
    return [what, f"{one.wall:.1f} s", f"{each:.1f} ms", limit, f"{one.own_mb:.0f} MB", f"{one.worker_mb:.0f} MB"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures krm-merge fleet.")
    parser.add_argument("--packages", type=int, default=10_000, help="packages in one working tree")
    parser.add_argument("--repositories", type=int, default=1_000, help="repositories with one package each")
    parser.add_argument("--loop", type=int, default=100, help="packages that a loop of `krm-merge update` updates")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    before = load()
    rows = []
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as temporary:
        place = Path(temporary)
        first = make_upstream(place / "upstream")
        address = f"file://{place}/upstream"
        plan = ["--upstream", f"{address}/{NAME}", "--to", "v2"]
        make_tree(place / "tree", arguments.packages, address, first)
        many = f"{arguments.packages:,} packages"
        planned = measured(place, path, "fleet", "init", "campaign", *plan, "--packages", "tree")
        rows.append(row(f"{many}: init", arguments.packages, planned, ""))
        run = measured(place, path, "fleet", "run", "campaign")
        rows.append(row(f"{many}: run", arguments.packages, run, "18 ms"))
        again = measured(place, path, "fleet", "run", "campaign")
        rows.append(row(f"{many}: nothing to do", arguments.packages, again, "3 ms"))
        wrong = [text for text, one in (("0 merged", again),) if not one.printed.startswith(text)]
        conflicts = -(-arguments.packages // ONE_IN)
        if wrong or f"{conflicts:,} conflicts" not in run.printed:
            print(run.printed, again.printed, file=sys.stderr)
            return 1
        page = measured(place, path, "fleet", "report", "campaign")
        rows.append(row(f"{many}: report", arguments.packages, page, ""))

        listed = make_repositories(place / "repositories", arguments.repositories, address, first)
        (place / "repositories.txt").write_text("".join(f"{one}\n" for one in listed))
        many = f"{arguments.repositories:,} repositories"
        measured(place, path, "fleet", "init", "forks", *plan, "--repositories", "repositories.txt")
        run = measured(place, path, "fleet", "run", "forks")
        rows.append(row(f"{many}: run", arguments.repositories, run, ""))
        pushed = measured(place, path, "fleet", "publish", "forks", "--push-only")
        rows.append(row(f"{many}: publish --push-only", arguments.repositories, pushed, "60 ms with run"))
        again = measured(place, path, "fleet", "run", "forks")
        rows.append(row(f"{many}: nothing to do", arguments.repositories, again, "5 ms"))

        make_tree(place / "loop", arguments.loop, address, first)
        script = f'for package in loop/*/*; do {path} update "$package@v2" --quiet 2>/dev/null; done; true'
        loop = measured(place, "sh", "-c", script)
        rows.append(row(f"{arguments.loop:,} packages: a loop of krm-merge update", arguments.loop, loop, ""))
    print(machine(before))
    print(table(["what", "wall", "each", "limit", "memory", "of a worker"], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
