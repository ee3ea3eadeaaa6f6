"""Measures everything and writes the numbers of README.md: `python -m benchmarks.numbers`, `make bench PARTS=numbers`.

All of it is measured on one machine and one commit; what is slower than a program beside it, and which bars are missed,
is said in sentences that are made from the tables.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import picture
from benchmarks.measuring import cores
from benchmarks.picture import README

ROOT = README.parent.parent
START = "## Numbers\n"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page, and the benchmarks that print it."""

    title: str
    commands: tuple[tuple[str, ...], ...]


SECTIONS = (
    Section("Numbers: functions", (("run", "--runs", "5"),)),
    Section("Numbers: whole packages", (("whole", "--runs", "2"), ("whole", "--runs", "1", "--one-resource"))),
    Section("Numbers: patches", (("patch", "--runs", "3", "--kustomize-runs", "3"),)),
    Section("Numbers: plugins", (("transform", "--runs", "3"),)),
    Section("Numbers: components", (("components", "--runs", "3"),)),
    Section("Numbers: updates", (("update", "--runs", "3", "--kpt-runs", "3"),)),
    Section("Numbers: the page", (("page", "--runs", "5"),)),
    Section("Numbers: fleets", (("fleet",),)),
)

ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)
FOR_SCALE = {"python -c pass", "cat"}
"""Commands that do not do the work."""


def output_of(command: tuple[str, ...]) -> str:
    """What a benchmark prints, without its line about the machine. Raises CalledProcessError where it fails."""
    module, *options = command
    print(f"benchmarks.{module} {' '.join(options)}", file=sys.stderr)
    run = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return run.stdout.partition("\n\n")[2].strip("\n")


def summary_of(tables: str) -> str:
    """In sentences, the missed bars of tables and what takes longer than another program."""
    missed: list[str] = []
    slower: dict[str, list[str]] = {}
    head: list[str] = []
    for cells in (match[1].split(" | ") for match in ROW.finditer(tables)):
        if set(cells[0]) == {"-"}:
            continue
        if cells[0].startswith("bar") or " to " in cells[-1]:
            head = cells
        elif cells[-1] == "missed":
            missed.append(f"{cells[0]} ({cells[1]}, at most {cells[2]})")
        elif head and len(cells) == len(head) and _is_more_than_one(cells[-1]):
            # Either the row or the head of its last column names the other program.
            case, program = head[0].partition(" (")[0], cells[0].partition("` (")[0].strip("`")
            if "`krm-merge` to it" not in head[-1]:
                case, program = cells[0], head[-1].partition("`")[2].strip("`")
            if program not in FOR_SCALE:
                slower.setdefault(program, []).append(f"{case} {cells[-1]} times")
    lines = [f"Missed: {'; '.join(missed)}.\n"] if missed else []
    lines += [f"Slower than `{program}`: {', '.join(cases)}.\n" for program, cases in slower.items()]
    return "\n".join(lines)


def _is_more_than_one(cell: str) -> bool:
    try:
        return float(cell) > 1
    except ValueError:
        return False


def processor() -> str:
    """The processor's name, "" where the system does not say."""
    try:
        match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return platform.processor()
    return match[1] if match else platform.processor()


def heading(commit: str) -> str:
    """What holds for all numbers: commit, date, machine."""
    machine = f"{platform.system()} {platform.machine()}, {cores()} cores" + (
        f" ({name})" if (name := processor()) else ""
    )
    return (
        f"{START}\n`make bench PARTS=numbers` measured all that follows and wrote it, on {datetime.now(UTC):%Y-%m-%d}, "
        f"commit {commit}, with Python {platform.python_version()} on {machine}. "
        f"The load before was {os.getloadavg()[2]:.1f}.\n"
    )


def commit() -> str:
    """The short name of the commit that is measured, marked where files differ from it."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(git, capture_output=True, check=True, text=True).stdout.strip()


def main() -> int:
    parts = [heading(commit())]
    for section in SECTIONS:
        tables = "\n\n".join(output_of(command) for command in section.commands)
        parts.append("\n".join(part for part in (f"## {section.title}\n", summary_of(tables), f"{tables}\n") if part))
    page = README.read_text(encoding="utf-8")
    README.write_text(page[: page.index(START)] + "\n".join(parts), encoding="utf-8")
    return picture.main()


if __name__ == "__main__":
    sys.exit(main())
