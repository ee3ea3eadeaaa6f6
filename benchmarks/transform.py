"""Measures five plugins on a thousand Deployments. `make bench` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measuring import (
    PROGRAM,
    Bar,
    Command,
    Measured,
    alternate,
    as_value,
    bar_table,
    case_table,
    load,
    machine,
    numbers_of,
    program,
)
from benchmarks.packages import deployment
from benchmarks.resources import as_item

ROOT = Path(__file__).resolve().parent.parent
DEPLOYMENTS = 1000
Operation = dict[str, object]

# Five plugins, each with the operations that it wants.
CONTAINER = "/spec/template/spec/containers/[name=main]"
DISJOINT: tuple[list[Operation], ...] = (
    [{"op": "replace", "path": "/spec/replicas", "value": 3}],
    [{"op": "replace", "path": f"{CONTAINER}/image", "value": "registry.example.com/shop/all:v2"}],
    [
        {"op": "test", "path": f"{CONTAINER}/env/[name=LOG_LEVEL]/value", "value": "info"},
        {"op": "replace", "path": f"{CONTAINER}/env/[name=LOG_LEVEL]/value", "value": "debug"},
    ],
    [{"op": "add", "path": "/metadata/annotations/example.com~1owner", "value": "shop"}],
    [{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}],
)
CONFLICTS: tuple[list[Operation], ...] = tuple(
    [
        {"op": "replace", "path": "/spec/replicas", "value": 3 + number},
        {"op": "replace", "path": f"{CONTAINER}/image", "value": f"registry.example.com/shop/all:v{2 + number}"},
    ]
    for number in range(5)
)


@dataclass(frozen=True, slots=True)
class Case:
    """A thousand Deployments, five plugins; `expected` says how often lines are in the output."""

    name: str
    plugins: tuple[list[Operation], ...]
    expected: dict[str, int]
    directory: Path

    def write(self) -> None:
        """Writes the input."""
        self.directory.mkdir()
        with (self.directory / "list.yaml").open("w", encoding="utf-8") as file:
            file.writelines(self._resource_list())

    def _resource_list(self) -> Iterator[str]:
        """With the two annotations that every item has; those that kpt adds would make it half as long again."""
        yield "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        for number in range(DEPLOYMENTS):
            annotations = (
                f"  annotations:\n    config.kubernetes.io/path: 'app-{number}.yaml'\n"
                "    config.kubernetes.io/index: '0'\n"
            )
            yield as_item(deployment(number, annotations=annotations))
        yield "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: TransformResources\n  plugins:\n"
        for number, operations in enumerate(self.plugins):
            patches = json.dumps([{"target": {"kind": "Deployment"}, "ops": operations}])
            yield f"  - name: plugin-{number}\n    patches: {patches}\n"

    def command(self, path: str, runs: int) -> Command:
        """krm-merge on the input."""
        return Command(self.name, PROGRAM, [path], runs, self.directory / "list.yaml", self.directory / "output")

    def check(self, command: Command) -> None:
        """Runs the command once. Raises RuntimeError where not everything was done."""
        command.run()
        counts = dict.fromkeys(self.expected, 0)
        with command.stdout.open(encoding="utf-8") as file:
            for line in map(str.strip, file):
                if line in counts:
                    counts[line] += 1
        if counts != self.expected:
            raise RuntimeError(f"{self.name}: expected {self.expected}, found {counts}")


def cases(directory: Path) -> list[Case]:
    """The changes of all plugins side by side, and every change of one against those of all others."""
    done = (
        "replicas: 3",
        "image: registry.example.com/shop/all:v2",
        "value: debug",
        "example.com/owner: shop",
        "priorityClassName: high",
    )
    disjoint = dict.fromkeys(done, DEPLOYMENTS) | {"event: ignored": 0}
    conflicts = dict.fromkeys(done[:2], DEPLOYMENTS) | {"event: ignored": 8 * DEPLOYMENTS}
    return [
        Case(f"{DEPLOYMENTS:,} Deployments, no conflicts", DISJOINT, disjoint, directory / "disjoint"),
        Case(f"{DEPLOYMENTS:,} Deployments, eight conflicts each", CONFLICTS, conflicts, directory / "conflicts"),
    ]


def report(numbers: list[Measured], bars: list[Bar], before: float) -> str:
    """All numbers as markdown."""
    out = machine(before)
    for case in dict.fromkeys(row.case for row in numbers):
        out += "\n" + case_table([row for row in numbers if row.case == case], seconds=True)
    return out + "\n" + bar_table(bars)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures plugins on many Deployments.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each case")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    before = load()
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        try:
            commands = []
            for case in cases(Path(directory)):
                case.write()
                command = case.command(path, arguments.runs)
                case.check(command)
                commands.append(command)
            runs_by_case = alternate(commands)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
    numbers = [numbers_of(case, name, runs) for case, runs in runs_by_case.items() for name in runs]
    bars = [Bar(f"{row.case}, wall (median)", row.wall_ms / 1000, 3, " s") for row in numbers]
    bars += [Bar(f"{row.case}, peak", row.peak_mb, 200, " MB") for row in numbers]
    if arguments.json:
        more = {"load": [before, load()], "bars": [asdict(bar) for bar in bars]}
        print(json.dumps(as_value(numbers, **more), indent=2))
    else:
        print(report(numbers, bars, before), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
