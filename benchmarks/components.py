"""Measures plans for many components. `make bench` runs it, README.md explains."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
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
    measured,
    program,
)

COMPONENTS, PULL_REQUESTS, BUILDS = 300, 400, 2000
NAME = f"{COMPONENTS} components, {BUILDS:,} builds"


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def commit(number: int) -> str:
    return f"'{number:040x}'"


def merge(number: int) -> str:
    return f"'{number + 10**9:040x}'"


def resource_list() -> Iterator[str]:
    """A graph of components with up to two dependencies each, pull requests in 120 groups, and their builds."""
    random = Random(0)
    yield "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    for number in range(COMPONENTS):
        above = random.sample(range(number), min(number, random.choice((0, 1, 1, 2))))
        yield (
            "- apiVersion: appstudio.redhat.com/v1alpha1\n  kind: Component\n"
            f"  metadata: {{name: part-{number}, namespace: team}}\n  spec:\n    application: app\n"
            f"    dependsOn: [{', '.join(f'part-{one}' for one in above)}]\n"
            f"    source: {{git: {{url: https://example.com/o/part-{number}, revision: main}}}}\n"
            f"    containerImage: quay.io/o/part-{number}@{digest(number)}\n"
        )
    pulls: list[tuple[int, str, str]] = []
    for number in range(1, PULL_REQUESTS + 1):
        part, state = random.randrange(COMPONENTS), random.choice(("open", "open", "merged", "closed"))
        branch = f"feature-{random.randrange(120)}"
        pulls.append((part, branch, state))
        yield (
            "- apiVersion: components.krm-merge.dev/v1alpha1\n  kind: PullRequest\n"
            f"  metadata: {{name: pull-{number}, namespace: team}}\n"
            f"  spec: {{repository: https://example.com/o/part-{part}, number: {number}, sourceBranch: {branch}, "
            f"targetBranch: main}}\n"
            f"  status: {{state: {state}, headSHA: {commit(number)}, mergeSHA: {merge(number)}}}\n"
        )
    for number in range(BUILDS):
        at = random.randrange(PULL_REQUESTS)
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
            f"    - {{name: IMAGE_DIGEST, value: '{digest(number + 1000)}'}}\n"
        )
    yield "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: PlanComponentUpdates\n"


def check(command: Command) -> None:
    """Runs the command once. Raises RuntimeError where it plans nothing to speak of."""
    command.run()
    planned = command.stdout.read_text(encoding="utf-8").count("kind: PullRequestPlan")
    if planned < BUILDS // 20:
        raise RuntimeError(f"{NAME}: only {planned} plans")


def report(numbers: list[Measured], bars: list[Bar], before: float) -> str:
    """All numbers as markdown."""
    return machine(before) + "\n" + case_table(numbers, seconds=True) + "\n" + bar_table(bars)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures plans for many components.")
    parser.add_argument("--runs", type=int, default=5, help="runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    if (path := program()) is None:
        return 2
    before = load()
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        source = Path(directory, "list.yaml")
        source.write_text("".join(resource_list()), encoding="utf-8")
        command = Command(NAME, PROGRAM, [path], arguments.runs, source, Path(directory, "output"))
        try:
            check(command)
            runs_by_case = alternate([command])
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    numbers = [measured(case, name, runs) for case, runs in runs_by_case.items() for name in runs]
    bars = [Bar(f"{one.case}, wall (median)", one.wall_ms / 1000, 3, " s") for one in numbers]
    if arguments.json:
        print(json.dumps(as_value(numbers, load=[before, load()], bars=[asdict(bar) for bar in bars]), indent=2))
    else:
        print(report(numbers, bars, before), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
