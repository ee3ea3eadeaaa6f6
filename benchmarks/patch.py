"""Measures a strategic merge patch on thousands of Deployments. `make bench` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import os
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
    present,
    program,
)
from benchmarks.packages import deployment
from benchmarks.resources import as_item

KUBECTL = "kubectl patch --local"
KUSTOMIZE = "kubectl kustomize"
ROOT = Path(__file__).resolve().parent.parent
NOTHING = Path(os.devnull)
ALL, FEWER = 3000, 1000

PATCH = """\
spec:
  template:
    spec:
      containers:
      - name: main
        env:
        - name: LOG_LEVEL
          value: debug
        - name: REGION
          value: north
      volumes:
      - name: tmp
        $patch: delete
"""
# kustomize wants a patch to look like a resource; its target says what it is for.
HEAD_FOR_KUSTOMIZE = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: any\n"
KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- resources.yaml
patches:
- path: patch.yaml
  target:
    kind: Deployment
"""


@dataclass(frozen=True, slots=True)
class Case:
    """So many Deployments, in the forms that the tools read."""

    deployments: int
    directory: Path

    @property
    def name(self) -> str:
        return f"{self.deployments:,} Deployments"

    def write(self) -> None:
        """Writes all forms."""
        (self.directory / "kustomize").mkdir(parents=True)
        for name, parts in (
            ("list.yaml", self._resource_list()),
            ("resources.yaml", self._stream()),
            ("patch.yaml", [PATCH]),
            ("kustomize/resources.yaml", self._stream()),
            ("kustomize/patch.yaml", [HEAD_FOR_KUSTOMIZE, PATCH]),
            ("kustomize/kustomization.yaml", [KUSTOMIZATION]),
        ):
            with (self.directory / name).open("w", encoding="utf-8") as file:
                file.writelines(parts)

    def _resource_list(self) -> Iterator[str]:
        """With the two annotations that every item has; those that kpt adds would make it half as long again."""
        yield "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        for number in range(self.deployments):
            annotations = (
                f"  annotations:\n    config.kubernetes.io/path: 'app-{number}.yaml'\n"
                "    config.kubernetes.io/index: '0'\n"
            )
            yield as_item(deployment(number, annotations=annotations))
        patch = "".join(f"      {line}" for line in PATCH.splitlines(keepends=True))
        yield (
            "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: PatchResources\n  metadata:\n    name: patch\n"
            f"  patches:\n  - target:\n      kind: Deployment\n    patch: |\n{patch}"
        )

    def _stream(self) -> Iterator[str]:
        for number in range(self.deployments):
            yield ("---\n" if number else "") + deployment(number)

    # ---- the commands --------------------------------------------------------------------------------------------

    def commands(self, path: str, runs: int, others: dict[str, int]) -> list[Command]:
        """krm-merge, and of the others those that are named, with their runs."""
        files = [f"--filename={self.directory}/resources.yaml", f"--patch-file={self.directory}/patch.yaml"]
        programs = {
            KUBECTL: ["kubectl", "patch", "--local", "--type=strategic", "--output=yaml", *files],
            KUSTOMIZE: ["kubectl", "kustomize", str(self.directory / "kustomize")],
        }
        commands = [Command(self.name, PROGRAM, [path], runs, self.directory / "list.yaml", self.directory / "patched")]
        for name, often in others.items():
            output = self.directory / f"{programs[name][1]}-output"
            commands.append(Command(self.name, name, programs[name], often, NOTHING, output))
        return commands

    def check(self, commands: list[Command]) -> None:
        """Runs each command once, and checks that krm-merge patched all, to the same values as the others."""
        for command in commands:
            command.run()
        output, *others = (command.stdout for command in commands)
        with output.open(encoding="utf-8") as file:
            lines = [line.strip() for line in file]
        counts = [lines.count(text) for text in ("value: info", "value: debug", "- name: REGION", "- name: tmp")]
        # Those of the patch itself.
        if counts != [0, self.deployments + 1, self.deployments + 1, 1]:
            raise RuntimeError(f"{self.name}: not all are patched: {counts}")
        for other in others:
            compare = [sys.executable, "-m", "benchmarks.values", str(output), str(other)]
            if subprocess.run(compare, cwd=ROOT).returncode != 0:
                raise RuntimeError(f"{self.name}: the values differ from those in {other.name}")


def report(numbers: list[Measured], bars: list[Bar], before: float) -> str:
    """All numbers as markdown."""
    out = machine(before)
    for case in dict.fromkeys(row.case for row in numbers):
        out += "\n" + case_table([row for row in numbers if row.case == case], seconds=True)
    return out + "\n" + bar_table(bars)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures a patch on many Deployments beside kubectl and kustomize.")
    parser.add_argument("--runs", type=int, default=5, help="runs of krm-merge and of kubectl patch")
    parser.add_argument("--kustomize-runs", type=int, default=2, help="runs of kubectl kustomize")
    parser.add_argument("--kustomize-all", action="store_true", help=f"kustomize with {ALL} Deployments too, minutes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    with_kubectl = present("kubectl")
    before = load()
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        commands = []
        try:
            for number in (ALL, FEWER):
                case = Case(number, Path(directory, str(number)))
                case.write()
                others = {KUBECTL: arguments.runs} if with_kubectl else {}
                if with_kubectl and (number == FEWER or arguments.kustomize_all):
                    others[KUSTOMIZE] = arguments.kustomize_runs
                commands_of_case = case.commands(path, arguments.runs, others)
                case.check(commands_of_case)
                commands += commands_of_case
            runs_by_case = alternate(commands)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
    numbers = [numbers_of(case, name, runs) for case, runs in runs_by_case.items() for name in runs]
    large = numbers[0]
    bars = [
        Bar(f"{large.case}, wall (median)", large.wall_ms / 1000, 4, " s"),
        Bar(f"{large.case}, peak", large.peak_mb, 200, " MB"),
    ]
    if arguments.json:
        print(json.dumps(as_value(numbers, load=[before, load()], bars=[asdict(bar) for bar in bars]), indent=2))
    else:
        print(report(numbers, bars, before), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
