"""Measures plans for many components. `make bench` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

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


@dataclass(frozen=True, slots=True)
class Size:
    """How much a ResourceList holds, and what planning it should take at most."""

    components: int
    pull_requests: int
    builds: int
    seconds: float
    megabytes: float

    @property
    def name(self) -> str:
        return f"{self.components:,} components, {self.builds:,} builds"


SIZES = (Size(300, 400, 2_000, 3, 150), Size(1_000, 2_000, 10_000, 8, 500), Size(5_000, 2_000, 10_000, 20, 500))


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def commit(number: int) -> str:
    return f"'{number:040x}'"


def merge(number: int) -> str:
    return f"'{number + 10**9:040x}'"


def resource_list(size: Size) -> Iterator[str]:
    """A graph of components with up to two dependencies each, pull requests in groups, and their builds."""
    random = Random(0)
    yield "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    for number in range(size.components):
        above = random.sample(range(number), min(number, random.choice((0, 1, 1, 2))))
        yield (
            "- apiVersion: appstudio.redhat.com/v1alpha1\n  kind: Component\n"
            f"  metadata: {{name: part-{number}, namespace: team}}\n  spec:\n    application: app\n"
            f"    dependsOn: [{', '.join(f'part-{number}' for number in above)}]\n"
            f"    source: {{git: {{url: https://example.com/o/part-{number}, revision: main}}}}\n"
            f"    containerImage: quay.io/o/part-{number}@{digest(number)}\n"
        )
    pulls: list[tuple[int, str, str]] = []
    for number in range(1, size.pull_requests + 1):
        part, state = random.randrange(size.components), random.choice(("open", "open", "merged", "closed"))
        branch = f"feature-{random.randrange(size.pull_requests * 3 // 10)}"
        pulls.append((part, branch, state))
        yield (
            "- apiVersion: components.krm-merge.dev/v1alpha1\n  kind: PullRequest\n"
            f"  metadata: {{name: pull-{number}, namespace: team}}\n"
            f"  spec: {{repository: https://example.com/o/part-{part}, number: {number}, sourceBranch: {branch}, "
            f"targetBranch: main}}\n"
            f"  status: {{state: {state}, headSHA: {commit(number)}, mergeSHA: {merge(number)}}}\n"
        )
    for number in range(size.builds):
        at = random.randrange(size.pull_requests)
        part, branch, state = pulls[at]
        pushed = state == "merged" and random.random() < 0.5
        pac = "pipelinesascode.tekton.dev"
        yield (
            f"- apiVersion: tekton.dev/v1\n  kind: PipelineRun\n  metadata:\n    name: build-{number}\n"
            f"    namespace: team\n    labels:\n      appstudio.openshift.io/component: part-{part}\n"
            f"      {pac}/event-type: {'push' if pushed else 'pull_request'}\n      {pac}/pull-request: '{at + 1}'\n"
            f"      {pac}/sha: {merge(at + 1) if pushed else commit(at + 1)}\n    annotations:\n"
            f"      {pac}/source-branch: {branch}\n      {pac}/repo-url: https://example.com/o/part-{part}\n"
            f"  status:\n    startTime: '2024-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z'\n"
            f"    conditions: [{{type: Succeeded, status: '{random.choice(('True', 'True', 'False'))}'}}]\n"
            f"    results:\n    - {{name: IMAGE_URL, value: quay.io/o/part-{part}:tag}}\n"
            f"    - {{name: IMAGE_DIGEST, value: '{digest(number + 10_000)}'}}\n"
        )
    yield "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: PlanComponentUpdates\n"


def command(size: Size, path: str, runs: int, directory: Path) -> Command:
    """What plans a ResourceList of this size, which is written into the directory."""
    source = directory / f"list-{size.components}.yaml"
    source.write_text("".join(resource_list(size)), encoding="utf-8")
    return Command(size.name, PROGRAM, [path], runs, source, source.with_suffix(".out"))


def check(command: Command, size: Size) -> None:
    """Runs the command once. Raises RuntimeError where it plans fewer pull requests than one for twenty builds."""
    command.run()
    planned = command.stdout.read_text(encoding="utf-8").count("kind: PullRequestPlan")
    if planned < size.builds // 20:
        raise RuntimeError(f"{size.name}: only {planned} plans")


def bars_of(size: Size, numbers: Measured) -> list[Bar]:
    return [
        # One process that waits for nothing: on a quiet machine its CPU time is its wall time.
        Bar(f"{size.name}, CPU (median)", numbers.cpu_ms / 1000, size.seconds, " s"),
        Bar(f"{size.name}, peak", numbers.peak_mb, size.megabytes, " MB"),
    ]


def report(numbers: list[Measured], bars: list[Bar], before: float) -> str:
    """All numbers as markdown."""
    tables = [case_table([row], seconds=True) for row in numbers]
    return "\n".join([machine(before), *tables, bar_table(bars)])


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures plans for many components.")
    parser.add_argument("--runs", type=int, default=5, help="runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    before = load()
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        commands = [command(size, path, arguments.runs, Path(directory)) for size in SIZES]
        try:
            for size, planning in zip(SIZES, commands, strict=True):
                check(planning, size)
            runs_by_case = alternate(commands)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    numbers = [numbers_of(case, name, runs) for case, runs in runs_by_case.items() for name in runs]
    bars = [bar for size, row in zip(SIZES, numbers, strict=True) for bar in bars_of(size, row)]
    if arguments.json:
        print(json.dumps(as_value(numbers, load=[before, load()], bars=[asdict(bar) for bar in bars]), indent=2))
    else:
        print(report(numbers, bars, before), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
