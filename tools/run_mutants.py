"""Changes conditions, operators and small numbers, one at a time, and prints the changes that no test notices.

python tools/run_mutants.py 300                       # 300 mutants of all LAYERS, in proportion to their size
python tools/run_mutants.py 20 text patch --seed 7    # 20 others of these two

A mutant is killed if a test in the folder of its layer fails. Only those that execute the changed statement are run;
coverage.py tells which.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from compileall import compile_dir
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from coverage import CoverageData

ROOT = Path(__file__).parent.parent
LAYERS = ("text", "schema", "merge", "patch", "policy", "usecases")
MINIMUM = 95.0
"""Percent of the mutants that tests must kill."""
CPU_SECONDS = 120
"""The processor time of a run: a mutant that takes more loops, and counts as killed."""
NEEDED = ("fn", "tests", "testdata", "docs", "examples", "benchmarks", "tools", "pyproject.toml", "README.md")

COMPARISONS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "//": "*"}
LARGEST = 10
"""Larger numbers are limits, which tests set, or sizes of buffers."""
TEXTS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)
"""These have a sum, and no difference: such a mutant would die of its type."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module: the `text` that replaces its characters from `start` to `end`."""

    path: str
    lines: range
    start: int
    end: int
    text: str

    @property
    def layer(self) -> str:
        """The layer of its module."""
        return self.path.split("/")[2]

    def apply(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.text + source[self.end :]

    def describe(self, source: str) -> str:
        """Its place, and the changed line before and after."""
        line = source.count("\n", 0, self.start)
        changed = " ".join(self.apply(source).splitlines()[line].split())
        return f"{self.path}:{line + 1}\n  - {' '.join(source.splitlines()[line].split())}\n  + {changed}"


class _Mutations(ast.NodeVisitor):
    """Collects the mutants of a module."""

    def __init__(self, path: str, source: str) -> None:
        self._path, self._source = path, source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0, *accumulate(map(len, self._lines))]
        self._statement = range(0)
        self._functions = 0
        self.mutants: list[Mutant] = []

    def visit(self, node: ast.AST) -> None:
        """Keeps the lines of the innermost statement in a function: those that a run of it executes."""
        if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom) or _is_documentation(node) or _is_typing(node):
            return
        outer = self._statement
        self._functions += isinstance(node, ast.FunctionDef)
        if isinstance(node, ast.FunctionDef):
            self._statement = range(0)
        elif isinstance(node, ast.stmt | ast.ExceptHandler) and self._functions:
            body: list[ast.stmt] = getattr(node, "body", [])
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            self._statement = range(node.lineno, max(node.lineno, last) + 1)
        super().visit(node)
        self._functions -= isinstance(node, ast.FunctionDef)
        self._statement = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leaves the annotation out."""
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Leaves annotations of parameters out."""

    def visit_Compare(self, node: ast.Compare) -> None:
        """Mutates the operators."""
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            self._replace_between(left, right, COMPARISONS)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Mutates the operators, and leaves operands out."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._replace_between(left, right, {"and": "or", "or": "and"})
            self._replace(right, "True" if word == "and" else "False")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leaves `not` out."""
        if isinstance(node.op, ast.Not):
            self._replace(node, self._source[self._start(node.operand) : self._end(node.operand)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Mutates arithmetic."""
        is_text = any(_is_text(side) for side in (node.left, node.right))
        if not is_text:
            self._replace_between(node.left, node.right, ARITHMETIC)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Mutates arithmetic."""
        if not _is_text(node.value):
            self._replace_between(node.target, node.value, {f"{old}=": f"{new}=" for old, new in ARITHMETIC.items()})
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Adds one to a small number."""
        if type(node.value) is int and node.value <= LARGEST:
            self._replace(node, str(node.value + 1))

    def _replace_between(self, left: ast.expr, right: ast.expr, others: dict[str, str]) -> None:
        words = "|".join(sorted((re.escape(operator).replace(r"\ ", r"\s+") for operator in others), key=len)[::-1])
        operator = re.compile(rf"(?<![\w#])(?:{words})(?!\w)")
        if match := operator.search(self._source, self._end(left), self._start(right)):
            self.mutants.append(Mutant(self._path, self._statement, *match.span(), others[" ".join(match[0].split())]))

    def _replace(self, node: ast.expr, text: str) -> None:
        self.mutants.append(Mutant(self._path, self._statement, self._start(node), self._end(node), text))

    def _start(self, node: ast.expr) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node: ast.expr) -> int:
        return self._at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _at(self, line: int, offset: int) -> int:
        """The position in the source of a place, which `ast` gives in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:offset].decode())


def _is_documentation(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, TEXTS) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def mutants_of(path: str, source: str) -> list[Mutant]:
    """All mutants of a module; some may not compile."""
    mutations = _Mutations(path, source)
    mutations.visit(ast.parse(source))
    return mutations.mutants


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


class Tests:
    """The tests of one layer in a copy of the project, and which of them execute a line."""

    def __init__(self, copy: Path, layer: str) -> None:
        """Runs all of them once. Raises RuntimeError if one fails without a mutant."""
        self._copy, self._folder = copy, f"tests/{layer}"
        data = copy / f".coverage.{layer}"
        measured = ("--cov=krm_merge", "--cov-context=test", "--cov-report=", "--cov-config=/dev/null")
        done = self._run([self._folder, *measured], {"COVERAGE_FILE": str(data)}, limit=resource.RLIM_INFINITY)
        if done.returncode != 0:
            raise RuntimeError(f"{self._folder} fails without a mutant:\n{done.stdout}")
        self._coverage = CoverageData(str(data))
        self._coverage.read()

    def kills(self, mutant: Mutant) -> bool:
        """Whether a test fails with the mutant."""
        module = self._copy / mutant.path
        source = module.read_text(encoding="utf-8")
        module.write_text(mutant.apply(source), encoding="utf-8")
        try:
            # Lines that only an import executes have no test of their own, but for the first that imports the module.
            return self._run(self._reaching(mutant) or [self._folder]).returncode != 0
        finally:
            module.write_text(source, encoding="utf-8")

    def _reaching(self, mutant: Mutant) -> list[str]:
        """The test functions that execute a line of the mutant's statement."""
        contexts = self._coverage.contexts_by_lineno(str(self._copy / mutant.path))
        names = (context.partition("|")[0] for line in mutant.lines for context in contexts.get(line, ()))
        # Parameters may have any characters.
        return sorted({name.partition("[")[0] for name in names if name})

    def _run(
        self, arguments: Sequence[str], more: dict[str, str] | None = None, limit: int = CPU_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        environment = os.environ | (more or {})
        environment |= {
            "PYTHONPATH": str(self._copy / "fn"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", *arguments],
            cwd=self._copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit)),
            check=False,
        )
        if "ERROR: not found" in done.stdout or "ERROR: file or directory not found" in done.stdout:
            raise RuntimeError(done.stdout)
        return done


def sample(number: int, layers: Sequence[str], seed: int) -> Iterator[tuple[Mutant, str]]:
    """Random mutants of layers with the sources of their modules, sorted by layer."""
    every = []
    for layer in layers:
        for module in sorted((ROOT / "fn" / "krm_merge" / layer).rglob("*.py")):
            source = module.read_text(encoding="utf-8")
            path = module.relative_to(ROOT).as_posix()
            every += [(mutant, source) for mutant in mutants_of(path, source)]
    random.Random(seed).shuffle(every)
    chosen = islice((choice for choice in every if _compiles(choice[0].apply(choice[1]))), number)
    yield from sorted(chosen, key=lambda choice: (layers.index(choice[0].layer), choice[0].path, choice[0].start))


def main() -> int:
    """Returns 1 if fewer than MINIMUM percent of the mutants are killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, help="how many mutants")
    parser.add_argument("layers", nargs="*", help=f"of which layers, by default {' '.join(LAYERS)}")
    parser.add_argument("--seed", type=int, default=0, help="chooses the mutants")
    options = parser.parse_args()
    layers = tuple(options.layers or LAYERS)
    tests: dict[str, Tests] = {}
    counts = {layer: [0, 0] for layer in layers}
    with TemporaryDirectory() as folder:
        copy = Path(folder).resolve()
        for name in NEEDED:
            place = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(place, copy / name, ignore=ignored) if place.is_dir() else shutil.copy(place, copy)
        # By its hash, as a mutant may be of the size and the second of what it changes.
        compile_dir(copy / "fn", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        for mutant, source in sample(options.number, layers, options.seed):
            layer = mutant.layer
            if layer not in tests:
                tests[layer] = Tests(copy, layer)
            is_killed = tests[layer].kills(mutant)
            counts[layer][0] += is_killed
            counts[layer][1] += 1
            if not is_killed:
                print(f"survives: {mutant.describe(source)}", flush=True)
    for layer, (killed, total) in counts.items():
        print(f"{layer}: {killed} of {total} killed")
    killed, total = (sum(column) for column in zip(*counts.values(), strict=True))
    more = f" ARGS='{' '.join(options.layers)}'" if options.layers else ""
    print(f"repeat: make nightly PARTS=mutants SEED={options.seed} COUNT={options.number}{more}")
    print(f"{killed} of {total} mutants killed, {100 * killed / max(1, total):.1f} %; {MINIMUM:g} % are wanted")
    return 0 if 100 * killed >= MINIMUM * total else 1


if __name__ == "__main__":
    sys.exit(main())
