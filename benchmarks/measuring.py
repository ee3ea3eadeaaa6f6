"""Measures whole processes: wall time, CPU, peak memory; and prints what was measured.

Stays small and imports little: a child's peak counts from its parent's size.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PROGRAM = "krm-merge"
MEGABYTE = 1_000_000


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
class Bar:
    """What a number should be at most."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def verdict(self) -> str:
        return "ok" if self.value <= self.limit else "missed"


@dataclass(frozen=True, slots=True)
class Command:
    """A command of one case, how often it runs, and what is done before each run."""

    case: str
    name: str
    argv: list[str]
    runs: int
    stdin: Path
    stdout: Path
    environment: Mapping[str, str] | None = None
    prepare: Callable[[], None] | None = None

    def run(self) -> Run:
        """Runs it once; what it says on stderr goes beside its stdout. Raises RuntimeError where it fails."""
        if self.prepare is not None:
            self.prepare()
        return run_once(self.argv, self.stdin, self.stdout, self.environment, self.stdout.with_suffix(".err"))


# ---- processes ---------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """The environment of what is measured: the first run may write bytecode, as the image has it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_once(
    argv: list[str],
    stdin: Path,
    stdout: Path,
    added: Mapping[str, str] | None = None,
    stderr: Path | None = None,
) -> Run:
    """Runs a command between two files, with variables `added` to its environment. Raises RuntimeError where it fails.

    CPU is that of the command and of all its children, the peak that of the largest of them.
    """
    # Emptying a file takes time: no command shall pay for what another one wrote.
    stdout.unlink(missing_ok=True)
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(stdout), write, 0o600),
    ]
    if stderr is not None:
        actions.append((os.POSIX_SPAWN_OPEN, 2, str(stderr), write, 0o600))
    environ = {**environment(), **(added or {})}
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if (code := os.waitstatus_to_exitcode(status)) != 0:
        output = f"\n{stderr.read_text(encoding='utf-8', errors='replace')[-2000:]}" if stderr is not None else ""
        raise RuntimeError(f"{' '.join(argv)} < {stdin.name}: exit code {code}{output}")
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss * unit / MEGABYTE)


def alternate(commands: Sequence[Command]) -> dict[str, dict[str, list[Run]]]:
    """Runs the commands in turn, so that a machine that changes its pace changes it for all; by case and name."""
    runs: dict[str, dict[str, list[Run]]] = {}
    for number in range(max((command.runs for command in commands), default=0)):
        for command in commands:
            if number < command.runs:
                runs.setdefault(command.case, {}).setdefault(command.name, []).append(command.run())
    return runs


def program() -> str | None:
    """krm-merge beside the interpreter; None, after a message, where it is not installed."""
    path = Path(sys.executable).with_name(PROGRAM)
    if path.is_file():
        return str(path)
    print(f"{PROGRAM} is not installed beside {sys.executable}; use `make bench`", file=sys.stderr)
    return None


def present(name: str) -> bool:
    """Whether a program to compare with is there; a message where it is not."""
    if shutil.which(name):
        return True
    print(f"{name} is not on PATH: not measured", file=sys.stderr)
    return False


# ---- numbers -----------------------------------------------------------------------------------------------------


def numbers_of(case: str, name: str, runs: Mapping[str, list[Run]]) -> Measured:
    """The numbers of one command; the ratios are taken round by round."""
    own_runs = runs[name]
    walls = [run.wall_ms for run in own_runs]
    others = runs.keys() - {name} if name == PROGRAM else set()
    ratios = {other: median(rounds(own_runs, runs[other])) for other in others}
    cpu = median([run.cpu_ms for run in own_runs])
    peak = max(run.peak_mb for run in own_runs)
    return Measured(case, name, len(own_runs), median(walls), min(walls), max(walls), cpu, peak, ratios)


def rounds(first: list[Run], other: list[Run], what: str = "wall_ms") -> list[float]:
    """One command's number to another's in every round in which both ran."""
    return [getattr(a, what) / getattr(b, what) for a, b in zip(first, other, strict=False)]


def median(values: list[float]) -> float:
    """The middle value. The module statistics would weigh on this process, and so on the memory that is measured."""
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def cores() -> int:
    """How many cores this process may use."""
    count: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count else os.cpu_count() or 1


def load() -> float:
    """How many processes wanted a processor in the last minute, by the system's own count."""
    return os.getloadavg()[0]


# ---- the report --------------------------------------------------------------------------------------------------


def machine(before: float | None = None) -> str:
    """The line above the tables; with the load before the first run, that, and the load now."""
    line = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {cores()} cores"
    return line + ("\n" if before is None else f", load {before:.1f} before and {load():.1f} after\n")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A markdown table; all columns but the first are numbers."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def case_table(case: list[Measured], *, seconds: bool = False) -> str:
    """The table of one case: one row for each command."""
    ratios = next(m.ratios for m in case if m.command == PROGRAM)
    unit, scale, digits = ("s", 1000, 2) if seconds else ("ms", 1, 1)
    most = max(m.runs for m in case)
    rows = [
        [
            f"`{m.command}`" + (f" ({m.runs} runs)" if m.runs != most else ""),
            f"{m.wall_ms / scale:.{digits}f}",
            f"{m.wall_min_ms / scale:.{digits}f}-{m.wall_max_ms / scale:.{digits}f}",
            f"{m.cpu_ms / scale:.{digits}f}",
            f"{m.peak_mb:.0f}",
            f"{ratios[m.command]:.{1 if ratios[m.command] >= 1 else 3}f}" if m.command in ratios else "",
        ]
        for m in case
    ]
    head = [
        f"{case[0].case} ({most} runs)",
        f"wall, {unit}",
        "min-max",
        f"CPU, {unit}",
        "peak, MB",
        f"`{PROGRAM}` to it",
    ]
    return table(head, rows)


def bar_table(bars: list[Bar]) -> str:
    """The bars, and whether they are kept."""
    rows = [[bar.name, f"{bar.value:.3g}{bar.unit}", f"{bar.limit:g}{bar.unit}", bar.verdict] for bar in bars]
    return table(["bar", "measured", "at most", ""], rows)


def as_value(measured: list[Measured], **more: object) -> dict[str, object]:
    """All of it for `--json`."""
    numbers = [asdict(row) for row in measured]
    return {"python": platform.python_version(), "cores": cores(), "measured": numbers, **more}
