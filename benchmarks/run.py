"""Measures krm-merge as whole processes: start-up, run time, peak memory. `make bench` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

INPUTS = Path(__file__).with_name("inputs.py")
START = "python -c pass"
COPY = "cat"
PROGRAM = "krm-merge"
MEGABYTE = 1_000_000
# Imports that take less than this are summed up.
SHOWN_IMPORT_MS = 0.5


@dataclass(frozen=True, slots=True)
class Run:
    """One process, from its start to its end."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of one command in one case. `ratios` are krm-merge's wall time to this command's, by command."""

    case: str
    command: str
    runs: int
    wall_ms: float
    wall_min_ms: float
    wall_max_ms: float
    cpu_ms: float
    peak_mb: float
    ratios: dict[str, float]


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
    import inputs

    return [
        Case("one Kptfile", inputs.KPTFILE_FILE, max(15, 2 * runs)),
        Case("10 MB of YAML, Kptfile changed", inputs.LARGE_FILE, runs),
        Case("1 MB of pretty-printed JSON, Kptfile changed", inputs.JSON_FILE, runs, changes_layout=True),
    ]


# ---- processes ---------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """The environment of what is measured: the first run may write bytecode, as the image has it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_once(argv: list[str], stdin: Path, stdout: Path) -> Run:
    """Runs a command between two files. Raises RuntimeError where it fails."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(stdout), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    environ = environment()
    # Emptying a file takes time: no command shall pay for what another one wrote.
    stdout.unlink(missing_ok=True)
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if (code := os.waitstatus_to_exitcode(status)) != 0:
        raise RuntimeError(f"{' '.join(argv)} < {stdin.name}: exit code {code}")
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss * unit / MEGABYTE)


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
    return [_measured(case, name, runs) for name in commands]


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


def _measured(case: Case, name: str, runs: dict[str, list[Run]]) -> Measured:
    own = runs[name]
    walls = [run.wall_ms for run in own]
    ratios = {}
    if name == PROGRAM:
        for other in runs.keys() - {name}:
            ratios[other] = median([a.wall_ms / b.wall_ms for a, b in zip(own, runs[other], strict=True)])
    cpu = median([run.cpu_ms for run in own])
    peak = max(run.peak_mb for run in own)
    return Measured(case.name, name, len(own), median(walls), min(walls), max(walls), cpu, peak, ratios)


def median(values: list[float]) -> float:
    """The middle value. The module statistics would weigh on this process, and so on the memory that is measured."""
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


# ---- imports -----------------------------------------------------------------------------------------------------


def imports(python: str, program: str, stdin: Path, rounds: int) -> list[Imported]:
    """What the program imports for one Kptfile, without what an empty Python program imports, by top-level package."""
    base = set(_import_times([python, "-X", "importtime", "-c", "pass"], stdin))
    samples = [_import_times([python, "-X", "importtime", program], stdin) for _ in range(rounds)]
    packages: dict[str, list[str]] = {}
    for module in samples[0]:
        if module not in base:
            packages.setdefault(module.partition(".")[0], []).append(module)
    found = [
        Imported(package, len(modules), median([sum(sample.get(m, 0.0) for m in modules) for sample in samples]))
        for package, modules in packages.items()
    ]
    return sorted(found, key=lambda imported: -imported.own_ms)


def _import_times(argv: list[str], stdin: Path) -> dict[str, float]:
    with stdin.open("rb") as source:
        done = subprocess.run(argv, stdin=source, capture_output=True, check=True, env=environment(), text=True)
    times = {}
    for line in done.stderr.splitlines():
        own, _, rest = line.removeprefix("import time:").partition("|")
        if line.startswith("import time:") and own.strip().isdigit():
            times[rest.rpartition("|")[2].strip()] = int(own) / 1000
    return times


# ---- the report --------------------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> str:
    """A markdown table; all columns but the first are numbers."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def report(measured: list[Measured], imported: list[Imported]) -> str:
    """All numbers as markdown."""
    out = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {cores()} cores\n"
    for case in dict.fromkeys(m.case for m in measured):
        own = [m for m in measured if m.case == case]
        ratios = next(m.ratios for m in own if m.command == PROGRAM)
        rows = [
            [
                f"`{m.command}`",
                f"{m.wall_ms:.1f}",
                f"{m.wall_min_ms:.1f}-{m.wall_max_ms:.1f}",
                f"{m.cpu_ms:.1f}",
                f"{m.peak_mb:.0f}",
                f"{ratios[m.command]:.1f}" if m.command in ratios else "",
            ]
            for m in own
        ]
        head = [f"{case} ({own[0].runs} runs)", "wall, ms", "min-max", "CPU, ms", "peak, MB", f"`{PROGRAM}` to it"]
        out += "\n" + table(head, rows)
    shown = [i for i in imported if i.own_ms >= SHOWN_IMPORT_MS]
    rest = [i for i in imported if i.own_ms < SHOWN_IMPORT_MS]
    rows = [[f"`{i.package}`", str(i.modules), f"{i.own_ms:.1f}"] for i in shown]
    for name, group in ((f"{len(rest)} others", rest), ("all", imported)):
        rows.append([name, str(sum(i.modules for i in group)), f"{sum(i.own_ms for i in group):.1f}"])
    return out + "\n" + table(["imported for one Kptfile", "modules", "own time, ms"], rows)


def cores() -> int:
    """How many cores this process may use."""
    count: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count else os.cpu_count() or 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures krm-merge as whole processes.")
    parser.add_argument(
        "--runs", type=int, default=11, help="runs of the large inputs; the small one has twice as many"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    program = Path(sys.executable).with_name(PROGRAM)
    if not program.is_file():
        print(f"{PROGRAM} is not installed beside {sys.executable}; use `make bench`", file=sys.stderr)
        return 2
    commands = {START: [sys.executable, "-c", "pass"], COPY: ["cat"], PROGRAM: [str(program)]}
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as name:
        directory = Path(name)
        # In a process of its own: this one has to stay small, since a child's peak counts from its parent's size.
        subprocess.run([sys.executable, str(INPUTS), name], check=True)
        every_case = cases(arguments.runs)
        try:
            measured = [m for case in every_case for m in measure(case, commands, directory)]
            imported = imports(sys.executable, str(program), directory / every_case[0].file, 7)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
    if arguments.json:
        numbers = {
            "python": platform.python_version(),
            "cores": cores(),
            "measured": [asdict(one) for one in measured],
            "imports": [asdict(one) for one in imported],
        }
        print(json.dumps(numbers, indent=2))
    else:
        print(report(measured, imported), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
