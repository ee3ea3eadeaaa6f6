"""Measures merges of whole packages of every shape and size. `make bench PARTS=whole` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measuring import (
    PROGRAM,
    Bar,
    Command,
    Run,
    alternate,
    bar_table,
    load,
    machine,
    median,
    present,
    program,
    rounds,
    table,
)

ROOT = Path(__file__).resolve().parent.parent
SINK = "kpt fn sink"
SHAPES = (
    "mixed",
    "block",
    "unchanged",
    "tenth-edited",
    "all-edited",
    "all-in-conflict",
    "flow-metadata",
    "json",
    "backslashes",
    "many-small",
    "few-large",
    "rendered",
    "rendered-all-edited",
    "rendered-all-in-conflict",
    "rendered-third-renamed",
)
"""Those of benchmarks.shapes, which is not imported: a child's peak counts from its parent's size."""

KINDS = ("fields", "comments", "named", "texts", "unnamed", "flow", "lists", "equal", "images", "escapes")
ONE_RESOURCE = tuple(f"one-of-{kind}{state}" for kind in KINDS for state in ("", "-in-conflict"))
"""One resource that is one large collection: what somebody would write who wants to keep the merge busy."""


@dataclass(frozen=True, slots=True)
class Case:
    """A ResourceList of a shape, about so many megabytes with all three versions."""

    shape: str
    megabytes: int
    directory: Path

    @property
    def name(self) -> str:
        return f"{self.shape}-{self.megabytes}"

    def write(self) -> None:
        """Writes the input, in a process of its own."""
        command = [sys.executable, "-m", "benchmarks.shapes", self.shape, str(self.megabytes)]
        with self._input.open("wb") as file:
            subprocess.run(command, cwd=ROOT, stdout=file, check=True)

    def commands(self, path: str, runs: int, *, beside_kpt: bool) -> list[Command]:
        """krm-merge, and kpt writing the items of the same list into files."""
        commands = [Command(self.name, PROGRAM, [path], runs, self._input, self.directory / "output")]
        if beside_kpt:
            sink = self.directory / "sink"
            argv = ["kpt", "fn", "sink", str(sink)]
            remove = lambda: shutil.rmtree(sink, ignore_errors=True)  # noqa: E731 - a name for what is passed on
            commands.append(Command(self.name, SINK, argv, runs, self._input, self.directory / "said", None, remove))
        return commands

    @property
    def _input(self) -> Path:
        return self.directory / f"{self.name}.yaml"


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of one shape: of each size CPU time and peak; how the time grows; its ratio to that of kpt."""

    shape: str
    cpu_s: list[float]
    peak_mb: list[float]
    exponent: float | None
    to_kpt: float | None


def row(shape: str, sizes: list[int], runs: dict[str, dict[str, list[Run]]]) -> Row:
    """The numbers of one shape; the exponent of growth is that from the smallest to the largest size."""
    runs_of_sizes = [runs[f"{shape}-{size}"][PROGRAM] for size in sizes]
    cpu = [median([run.cpu_ms for run in runs_of_size]) / 1000 for runs_of_size in runs_of_sizes]
    exponent = math.log(cpu[-1] / cpu[0]) / math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else None
    other = runs[f"{shape}-{sizes[-1]}"].get(SINK)
    to_kpt = median(rounds(runs_of_sizes[-1], other, "cpu_ms")) if other else None
    return Row(
        shape, cpu, [max(run.peak_mb for run in runs_of_size) for runs_of_size in runs_of_sizes], exponent, to_kpt
    )


def report(rows: list[Row], sizes: list[int], before: float) -> str:
    """All numbers as markdown."""
    head = ["shape"]
    for size in sizes:
        head += [f"{size} MB: CPU, s", "peak, MB"]
    lines = []
    for row in rows:
        numbers = [
            text for cpu, peak in zip(row.cpu_s, row.peak_mb, strict=True) for text in (f"{cpu:.2f}", f"{peak:.0f}")
        ]
        exponent = "" if row.exponent is None else f"{row.exponent:.2f}"
        lines.append([row.shape, *numbers, exponent, "" if row.to_kpt is None else f"{row.to_kpt:.2f}"])
    bars = [bar for row in rows for bar in bars_of(row, sizes)]
    return "\n".join([machine(before), table([*head, "exponent", f"CPU to `{SINK}`"], lines), bar_table(bars)])


def bars_of(row: Row, sizes: list[int]) -> list[Bar]:
    """The bars of a shape: of one resource, and of the package of 10 MB with its other versions."""
    if row.shape in ONE_RESOURCE:
        return [
            Bar(f"{row.shape}, CPU", row.cpu_s[0], 2, " s"),
            Bar(f"{row.shape}, peak", row.peak_mb[0], 300, " MB"),
        ]
    if row.shape != "mixed" or row.to_kpt is None:
        return []
    return [
        Bar(f"{row.shape} of {sizes[-1]} MB, CPU to kpt's", row.to_kpt, 1, "x"),
        Bar(f"{row.shape} of {sizes[-1]} MB, peak", row.peak_mb[-1], 250, " MB"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures merges of whole packages of every shape.")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
    parser.add_argument("--megabytes", help="sizes of the lists, all three versions together")
    parser.add_argument("--shapes")
    parser.add_argument("--one-resource", action="store_true", help="the shapes of one resource, of 1 MB")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    sizes = [int(size) for size in (arguments.megabytes or ("1" if arguments.one_resource else "1,10")).split(",")]
    shapes = arguments.shapes.split(",") if arguments.shapes else ONE_RESOURCE if arguments.one_resource else SHAPES
    before, beside_kpt = load(), present("kpt")
    rows = []
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        try:
            for shape in shapes:
                commands = []
                for size in sizes:
                    case = Case(shape, size, Path(directory))
                    case.write()
                    commands += case.commands(path, arguments.runs, beside_kpt=beside_kpt)
                rows.append(row(shape, sizes, alternate(commands)))
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
    if arguments.json:
        print(json.dumps({"load": [before, load()], "megabytes": sizes, "shapes": [asdict(row) for row in rows]}))
    else:
        print(report(rows, sizes, before), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
