"""Regular expressions take time in proportion to what they read, whatever it is, and whatever its line ends are.

Every expression of the program is found in its source, with the methods that are called on it, and needs a text in
`WORST` that it reads as badly as it can.
"""

from __future__ import annotations

import ast
import gc
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

import krm_merge
from krm_merge import merge_packages
from krm_merge.components.digests import _VARIABLE, _named
from krm_merge.components.konflux.model import is_digest
from krm_merge.fleet.job import grouped_by
from krm_merge.krm.resource import _KIND_LINE
from krm_merge.merge.package.narrow import _metadata, _name_at
from worst_texts import LINE_ENDS, WORST

SOURCES: Final = Path(krm_merge.__file__).parent
SIZE: Final = 1 << 15
TIMES: Final = 16
MOST: Final = 4
"""How much longer one large text may take than TIMES small ones: in proportion as long, with the square 16 times."""
SHORT: Final = 0.02
"""Seconds of the processor for SIZE characters that need no comparison: with the square they take a hundred times that.

Machines that share their processors measure shorter times badly.
"""
HANGS: Final = 30.0
"""Seconds of the processor after which an expression never ends."""
ATTEMPTS: Final = 5

MADE: Final[dict[str, Callable[[str], object]]] = {
    "components.digests._named": lambda text: list(_named(["a"], _VARIABLE).finditer(text.encode())),
    "components.konflux.model.is_digest": is_digest,
    "fleet.job.grouped_by": lambda text: grouped_by(text, "/a/target"),
    "krm.resource.kind": lambda text: re.search(_KIND_LINE % (0, 0), text.encode(), re.MULTILINE),
    "merge.package.narrow._metadata": lambda text: list(_metadata(0).finditer(text.encode())),
    "merge.package.narrow._name_at": lambda text: list(_name_at(2).finditer(text.encode())),
}
"""How to use expressions that are made of what the program is given."""

_COMPILING: Final = ("compile", "pattern")
_ANCHORED: Final = ("match", "fullmatch")
_USES: Final = (*_ANCHORED, "search", "sub", "subn", "split", "findall", "finditer")


class Expressions(ast.NodeVisitor):
    """The expressions of a module, and the methods of expressions that it uses, by the names that it has for them."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.written: dict[str, list[tuple[str, ast.expr]]] = defaultdict(list)
        self.uses: dict[str, set[str]] = defaultdict(set)
        self._function = ""
        self._constant = ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = before

    def visit_Assign(self, node: ast.Assign) -> None:
        if not self._function and isinstance(node.targets[0], ast.Name):
            self._constant = node.targets[0].id
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if not self._function and isinstance(node.target, ast.Name):
            self._constant = node.target.id
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.attr in _USES:
            self.uses[node.value.id].add(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        of_re = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
        name = called.attr if isinstance(called, ast.Attribute) and of_re else getattr(called, "id", "")
        if name == "pattern" or (of_re and name in (*_COMPILING, *_USES)):
            if self._function:
                self.written[self._function].append((name, node.args[0]))
            else:
                self.constants.append(self._constant)
        self.generic_visit(node)


@cache
def expressions() -> dict[str, list[Callable[[str], object]]]:
    """All expressions of the program by module and constant, or function, each as it is used on a text."""
    modules: dict[str, Expressions] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        module = modules[".".join(path.relative_to(SOURCES).with_suffix("").parts)] = Expressions()
        module.visit(ast.parse(path.read_text(encoding="utf-8")))
    del modules["startup"]  # compiles those of all others
    uses: dict[str, list[Callable[[str], object]]] = defaultdict(list)
    for name, module in modules.items():
        for constant in module.constants:
            value = getattr(import_module(f"krm_merge.{name}"), constant)
            # Others use it, or it is a field of a value: then it may be used in all ways.
            methods = {method if method in _ANCHORED else "search" for method in module.uses.get(constant, ["search"])}
            uses[f"{name}.{constant}"] += [use(getattr(value, "spellings", value), method) for method in methods]
        for function, calls in module.written.items():
            key = f"{name}.{function}"
            for method, argument in calls:
                text = argument.value if isinstance(argument, ast.Constant) else None
                uses[key].append(use(re.compile(text), method) if text is not None else MADE[key])
    return uses


def use(compiled: re.Pattern[Any], method: str) -> Callable[[str], object]:
    """Has a method of an expression read a text; whatever searches is as much work as finding all."""
    is_bytes = isinstance(compiled.pattern, bytes)

    def run(text: str) -> object:
        data: Any = text.encode() if is_bytes else text
        if method != "match":
            return compiled.fullmatch(data) if method == "fullmatch" else sum(1 for _ in compiled.finditer(data))
        at = 0
        # As for tokens, each behind the one before.
        while (match := compiled.match(data, at)) and match.end() > at:
            at = match.end()
        return at

    return run


class NeverEndsError(Exception):
    """An expression that took HANGS."""


@contextmanager
def time_limit(hangs: float = HANGS) -> Iterator[None]:
    """Ends what takes so many seconds of the processor, however busy the machine is."""

    def end(number: int, frame: FrameType | None) -> None:
        raise NeverEndsError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, hangs)
    gc.disable()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


def seconds(run: Callable[[str], object], text: str, times: int = 1) -> float:
    """The processor's time."""
    start = time.process_time()
    for _ in range(times):
        run(text)
    return time.process_time() - start


def is_in_proportion(run: Callable[[str], object], small: str, large: str) -> bool:
    """Whether a text that is TIMES as large takes TIMES as long, in one of some ATTEMPTS.

    With the square it takes four times as long as it may: more than what else the machine does adds to the small ones.
    """
    for _ in range(ATTEMPTS):
        time_of_large = seconds(run, large)
        if time_of_large < SHORT or time_of_large < MOST * seconds(run, small, TIMES):
            return True
    return False


def test_every_expression_has_a_worst_text() -> None:
    assert set(WORST) == set(expressions()), "give each a text that it reads as badly as it can"


@pytest.mark.parametrize("name", WORST)
def test_every_expression_takes_time_in_proportion(name: str) -> None:
    for run in expressions()[name]:
        for worst in WORST[name]:
            for small, large in zip(worst.texts(SIZE // TIMES), worst.texts(SIZE), strict=True):
                problem = f"{name} takes too long for {large[:80]!r} and so on"
                try:
                    with time_limit():
                        assert is_in_proportion(run, small, large), problem
                except NeverEndsError:
                    pytest.fail(problem)


def test_an_expression_that_takes_time_with_the_square_is_found() -> None:
    with time_limit():
        assert not is_in_proportion(use(re.compile("a+b"), "search"), "a" * 512, "a" * 512 * TIMES)


def test_an_expression_that_never_ends_is_ended() -> None:
    with pytest.raises(NeverEndsError), time_limit(0.1):
        re.match("(a|a)*b", "a" * SIZE)


def merge(lines: str, end: str) -> bytes:
    """A file below so many lines, with a change on each side."""
    texts = [f"{lines}kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\ndata: {{a: '1', b: '1'}}\n"] * 3
    texts[1:] = texts[1].replace("a: '1'", "a: '2'"), texts[2].replace("b: '1'", "b: '2'")
    original, upstream, local = ({"a.yaml": text.replace("\n", end).encode()} for text in texts)
    return merge_packages(original, upstream, local).files["a.yaml"]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_files_that_begin_with_comments_merge_in_proportion(end: str) -> None:
    small, large = ("# Licensed\n" * count for count in (10_000 // TIMES, 10_000))
    with time_limit():
        assert re.search(rb"a: .2., b: .2.", merge(large, end))
        assert is_in_proportion(lambda lines: merge(lines, end), small, large)
