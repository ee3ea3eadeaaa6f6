"""Lists the lines of the program that nothing real runs: what they are for, nobody asked for yet.

Real are the examples of the documents, the tables of cases, merges that people made, updates of packages and vendored
manifests, kpt's own tables and renders, the commands of people who resolve, declare and report, the sessions of pages,
the examples of every `--help`, and a fleet through a month. Tests of functions and generated input are not. Lines of
blocks that end with an error count apart: users must see them where they err.

python tools/measure_world.py [TEST ...]    prints a table of the layers, and the functions with most such lines
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "fn" / "krm_merge"
WORLD = (
    # The examples of the documents, kubectl's and crane's answers, kpt's merges.
    "tests/test_spec_examples.py",
    "tests/patch/test_cases.py",
    "tests/patch/strategic/test_kubectl.py",
    "tests/packages/test_kpt_tables.py",
    "tests/transform/test_cases.py",
    "tests/components/execution/test_examples_on_git.py",
    "tests/components/execution/test_git_scenarios.py",
    # The tables of cases.
    "tests/merge/test_kptfile_rows.py",
    "tests/merge/test_resource_rows.py",
    "tests/merge/test_nothing_in_silence.py",
    "tests/test_golden.py",
    "tests/test_scenarios.py",
    # Sessions of pages and examples.
    "tests/test_docs.py",
    "tests/e2e/test_demo.py",
    "tests/e2e/test_examples.py",
    "tests/e2e/test_packages.py",
    "tests/e2e/test_kpt.py",
    "tests/e2e/test_declared_merge.py",
    "tests/e2e/test_comparisons.py",
    "tests/integrations",
    "tests/vendored/test_guide.py",
    "tests/cli/commands/test_declare.py",
    "tests/cli/commands/test_merge_reports.py",
    "tests/cli/commands/test_resolve.py",
    "tests/resolve/page/test_page.py",
    "tests/fleet/test_month.py",
)
CONFIGURATION = """\
[run]
source = krm_merge
parallel = true
patch = subprocess
data_file = {folder}/data
[report]
exclude_also =
    if TYPE_CHECKING:
"""
MOST_FUNCTIONS = 60
MOST_PERCENT = 10.0
"""Of the executable lines, those of errors aside."""


def main() -> int:
    with TemporaryDirectory() as folder:
        configuration = Path(folder) / "coveragerc"
        configuration.write_text(CONFIGURATION.format(folder=folder), encoding="utf-8")
        environment = {**os.environ, "COVERAGE_PROCESS_START": str(configuration), "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={configuration}", "-m"]
        tests = [*(sys.argv[1:] or WORLD), "--quiet", "-m", "not docker", "--numprocesses=auto"]
        subprocess.run([*command, "pytest", *tests], cwd=ROOT, env=environment, check=False)
        if not sys.argv[1:]:
            subprocess.run([*command, "benchmarks.merges", "ledger"], cwd=ROOT, env=environment, check=False)
        measured = Coverage(config_file=str(configuration))
        measured.combine([folder], keep=True)
        return report(measured)


def report(measured: Coverage) -> int:
    """Prints the table; 1 if more than MOST_PERCENT of the lines are never run."""
    layers: dict[str, Counter[str]] = {}
    functions: list[tuple[int, int, str]] = []
    for file in sorted(SOURCES.rglob("*.py")):
        _, executable, _, missing, _ = measured.analysis2(str(file))
        tree = ast.parse(file.read_text(encoding="utf-8"))
        errors = set(lines_of_errors(tree))
        path = file.relative_to(SOURCES)
        counts = layers.setdefault(path.parts[0], Counter())
        counts["lines"] += len(executable)
        counts["of errors"] += len(errors & {*missing})
        counts["never run"] += len({*missing} - errors)
        for name, lines in functions_of(tree):
            count = len(lines & {*missing} - errors)
            functions.append((count, len(lines & {*executable}), f"{path}:{name}"))
    print("| layer | lines | never run | errors never raised |\n|---|--:|--:|--:|")
    for layer, counts in sorted(layers.items(), key=lambda each: -each[1]["never run"]):
        print(f"| {layer} | {counts['lines']} | {counts['never run']} | {counts['of errors']} |")
    total = sum(layers.values(), Counter())
    percent = 100 * total["never run"] / total["lines"]
    print(f"| all | {total['lines']} | {total['never run']} ({percent:.1f} %) | {total['of errors']} |\n")
    print("| function | lines | never run |\n|---|--:|--:|")
    for count, lines, name in sorted(functions, reverse=True)[:MOST_FUNCTIONS]:
        print(f"| {name} | {lines} | {count} |")
    return 1 if percent > MOST_PERCENT else 0


def lines_of_errors(tree: ast.AST) -> Iterator[int]:
    """The lines of blocks that end with `raise`, and of handlers of exceptions."""
    for node in ast.walk(tree):
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        for block in blocks:
            is_error = isinstance(block, list) and block and isinstance(block[-1], ast.Raise)
            if is_error or (isinstance(node, ast.ExceptHandler) and block):
                yield from range(block[0].lineno, (block[-1].end_lineno or 0) + 1)


def functions_of(tree: ast.AST, within: str = "") -> Iterator[tuple[str, set[int]]]:
    """Each function with its lines, methods with their class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions_of(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{within}{node.name}", set(range(node.lineno, (node.end_lineno or 0) + 1))


if __name__ == "__main__":
    sys.exit(main())
