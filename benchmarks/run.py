"""Measures krm-merge as whole processes: start-up, run time, peak memory. `make bench` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measuring import (
    PROGRAM,
    Bar,
    Command,
    Measured,
    Run,
    alternate,
    as_value,
    bar_table,
    case_table,
    environment,
    machine,
    median,
    numbers_of,
    present,
    program,
    run_once,
    table,
)

ROOT = Path(__file__).resolve().parent.parent
START = "python -c pass"
COPY = "cat"
COMMANDS = {START: [sys.executable, "-c", "pass"], COPY: ["cat"], PROGRAM: [PROGRAM]}
EVAL = "kpt fn eval --image"
CONTAINER = "docker run"
IMAGE = os.environ.get("KRM_MERGE_IMAGE", "localhost/krm-merge:dev")
# Imports that take less than this are summed up.
SHOWN_IMPORT_MS = 0.5


@dataclass(frozen=True, slots=True)
class Imported:
    """What one top-level package costs at start-up: its modules' own time, without what they import."""

    package: str
    modules: int
    own_ms: float


@dataclass(frozen=True, slots=True)
class Case:
    """One input, and how often each command runs on it."""

    name: str
    file: str
    runs: int
    changes_layout: bool = False


def cases(runs: int) -> list[Case]:
    """All cases; the one with the short processes runs more often."""
    from benchmarks import inputs

    return [
        Case("one Kptfile", inputs.KPTFILE_FILE, max(15, 2 * runs)),
        Case("10 MB of YAML, Kptfile changed", inputs.LARGE_FILE, runs),
        Case("1 MB of pretty-printed JSON, Kptfile changed", inputs.JSON_FILE, runs, changes_layout=True),
    ]


# ---- processes ---------------------------------------------------------------------------------------------------


def measure(case: Case, commands: dict[str, list[str]], directory: Path) -> list[Measured]:
    """Runs the commands in turn, so that a machine that changes its pace changes it for all of them."""
    stdin, stdout = directory / case.file, directory / "output"
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(case.runs + 1):
        for name, argv in commands.items():
            run = run_once(argv, stdin, stdout)
            # The first round warms the caches.
            if number:
                runs[name].append(run)
            elif name == PROGRAM:
                check(case, stdin, stdout)
    return [numbers_of(case.name, name, runs) for name in commands]


def check(case: Case, stdin: Path, stdout: Path) -> None:
    """Checks that the work that is measured was done: the Kptfile merged, no other item changed.

    Reads by line, to stay small. Raises RuntimeError where it was not done.
    """
    with stdin.open(encoding="utf-8") as sent, stdout.open(encoding="utf-8") as received:
        if case.changes_layout:
            done = any("set-annotations:v0.1.5" in line for line in received)
        else:
            done = _skip_first_item(sent) == _skip_first_item(received) and all(map(str.__eq__, sent, received))
        # What follows the part that is compared.
        done = done and any(line.startswith("- message: ") for line in received)
    if not done:
        raise RuntimeError(f"{case.name}: the output is not the merged package")


def _skip_first_item(lines: Iterator[str]) -> str:
    """Reads on to the first line behind the first item, and returns it."""
    for line in lines:
        if line.startswith("- "):
            break
    return next((line for line in lines if not line.startswith(" ")), "")


def in_container(path: str, stdin: Path, runs: int) -> list[Measured]:
    """One Kptfile through kpt and a container, the container alone, and the program alone; [] without an engine."""
    if not present("kpt") or not present("docker"):
        return []
    if subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode:
        print(f"there is no image {IMAGE} or no engine: containers are not measured", file=sys.stderr)
        return []
    items, _, config = stdin.read_text(encoding="utf-8").partition("functionConfig:\n")
    package, settings, stdout = (stdin.with_name(name) for name in ("items.yaml", "config.yaml", "output"))
    package.write_text(items, encoding="utf-8")
    settings.write_text(textwrap.dedent(config), encoding="utf-8")
    kpt = ["kpt", "fn", "eval", "-", "--image", IMAGE, "--fn-config", str(settings), "--image-pull-policy", "Never"]
    docker = ["docker", "run", "--rm", "--interactive", "--network", "none", IMAGE]
    case = "one Kptfile in a container"
    commands = [
        Command(case, PROGRAM, [path], runs, stdin, stdout),
        Command(case, CONTAINER, docker, runs, stdin, stdout),
        Command(case, EVAL, kpt, runs, package, stdout),
    ]
    runs_of_case = alternate(commands)[case]
    return [numbers_of(case, command.name, runs_of_case) for command in commands]


# ---- imports -----------------------------------------------------------------------------------------------------


def imports(python: str, program: str, stdin: Path, rounds: int) -> list[Imported]:
    """What the program imports for one Kptfile, without what an empty Python program imports, by top-level package."""
    base = set(_import_times([python, "-X", "importtime", "-c", "pass"], stdin))
    samples = [_import_times([python, "-X", "importtime", program], stdin) for _ in range(rounds)]
    packages: dict[str, list[str]] = {}
    for module in samples[0]:
        if module not in base:
            packages.setdefault(module.partition(".")[0], []).append(module)
    imported = [
        Imported(package, len(modules), median([sum(sample.get(m, 0.0) for m in modules) for sample in samples]))
        for package, modules in packages.items()
    ]
    return sorted(imported, key=lambda package: -package.own_ms)


def _import_times(argv: list[str], stdin: Path) -> dict[str, float]:
    with stdin.open("rb") as source:
        done = subprocess.run(argv, stdin=source, capture_output=True, check=True, env=environment(), text=True)
    times = {}
    for line in done.stderr.splitlines():
        own_time, _, rest = line.removeprefix("import time:").partition("|")
        if line.startswith("import time:") and own_time.strip().isdigit():
            times[rest.rpartition("|")[2].strip()] = int(own_time) / 1000
    return times


# ---- the report --------------------------------------------------------------------------------------------------


def report(numbers: list[Measured], imported: list[Imported]) -> str:
    """All numbers as markdown."""
    out = machine()
    for case in dict.fromkeys(row.case for row in numbers):
        out += "\n" + case_table([row for row in numbers if row.case == case])
    rows_of_imports = [i for i in imported if i.own_ms >= SHOWN_IMPORT_MS]
    rest = [i for i in imported if i.own_ms < SHOWN_IMPORT_MS]
    rows = [[f"`{i.package}`", str(i.modules), f"{i.own_ms:.1f}"] for i in rows_of_imports]
    for name, group in ((f"{len(rest)} others", rest), ("all", imported)):
        rows.append([name, str(sum(i.modules for i in group)), f"{sum(i.own_ms for i in group):.1f}"])
    out += "\n" + table(["imported for one Kptfile", "modules", "own time, ms"], rows)
    small, large = (row for row in numbers[: 2 * len(COMMANDS)] if row.command == PROGRAM)
    bars = [
        Bar(f"{small.case}, wall (median)", small.wall_ms, 250, " ms"),
        Bar(f"{large.case}, wall (median)", large.wall_ms / 1000, 1, " s"),
        Bar(f"{large.case}, peak", large.peak_mb, 150, " MB"),
    ]
    return out + "\n" + bar_table(bars)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures krm-merge as whole processes.")
    parser.add_argument(
        "--runs", type=int, default=11, help="runs of the large inputs; the small one has twice as many"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    commands = {**COMMANDS, PROGRAM: [path]}
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as name:
        directory = Path(name)
        # In a process of its own: this one has to stay small, since a child's peak counts from its parent's size.
        subprocess.run([sys.executable, "-m", "benchmarks.inputs", name], cwd=ROOT, check=True)
        every_case = cases(arguments.runs)
        try:
            numbers = [m for case in every_case for m in measure(case, commands, directory)]
            numbers += in_container(path, directory / every_case[0].file, max(7, arguments.runs))
            imported = imports(sys.executable, path, directory / every_case[0].file, 7)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
    if arguments.json:
        print(json.dumps(as_value(numbers, imports=[asdict(package) for package in imported]), indent=2))
    else:
        print(report(numbers, imported), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
