"""Which rules the code and the tests cite: in comments, in docstrings, and in the `rule` of results.

Forms: `# L4`, `(rules T2 to T4)`, `rule="P9"`, `law D`. The place of a citation is the function around it, the method
with its class, the class, or the constant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "fn" / "krm_merge"
COMPONENT_LETTERS = ("C", "CR", "I", "S")
CITED = re.compile(r"\b(?P<letter>CR|[VLFKRMWPTCIS])(?P<first>\d{1,2})\b(?:(?:-| to )(?P=letter)(?P<last>\d{1,2})\b)?")
LAWS_CITED = re.compile(r"\b[Ll]aws? (?P<laws>[A-INU]\b(?:(?:-|, | to | and )[A-INU]\b)*)")
LAW_RANGE = re.compile(r"(?P<first>[A-INU])(?:(?:-| to )(?P<last>[A-INU]))?")

RuleId: TypeAlias = tuple[str, str]
"""The page of a rule, and its number there."""


@dataclass(frozen=True)
class Citation:
    """A rule cited in a module, a path from the root; `place` is '' outside of functions, classes and constants.

    `is_subject` says that the module's first line cites the rule.
    """

    rule: RuleId
    module: str
    place: str
    is_subject: bool


def citations() -> Iterator[Citation]:
    """All citations in the code, and those of laws in tests."""
    for file in sorted(SOURCES.rglob("*.py")):
        yield from _in_module(file, with_rules=True)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        yield from _in_module(file, with_rules=False)


def _in_module(file: Path, *, with_rules: bool) -> Iterator[Citation]:
    text, path = file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix()
    places = list(_places(ast.parse(text).body, text.splitlines()))
    for number, line in enumerate(text.splitlines(), 1):
        cited = [*(_rules_in(line, path) if with_rules else ()), *_laws_in(line)]
        if cited:
            place = next((name for first, last, name in reversed(places) if first <= number <= last), "")
            yield from (Citation(rule, path, place, number == 1) for rule in cited)


def _places(body: list[ast.stmt], lines: list[str], within: str = "") -> Iterator[tuple[int, int, str]]:
    """First and last line of each function, class and constant, with its name; inner ones behind outer ones."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                yield _with_comments(first, lines), node.end_lineno or first, f"{within}{node.name}"
                if isinstance(node, ast.ClassDef):
                    yield from _places(node.body, lines, f"{node.name}.")
            case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AnnAssign(target=ast.Name(id=name)) if not within:
                yield _with_comments(node.lineno, lines), node.end_lineno or node.lineno, name


def _with_comments(first: int, lines: list[str]) -> int:
    """The line where the comments above a statement begin."""
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first


def _rules_in(text: str, path: str) -> Iterator[RuleId]:
    of_components = "component" in path or path.startswith("fn/krm_merge/forges/")
    for match in CITED.finditer(text):
        letter, first = match["letter"], int(match["first"])
        if of_components and letter in COMPONENT_LETTERS:
            page = "components.md"
        elif letter in "VLFKRMW":
            page = "rules.md"
        elif letter in "PT":
            page = {"P": "patches.md", "T": "transform.md"}[letter]
        else:
            continue
        for number in range(first, int(match["last"] or first) + 1):
            yield page, f"{letter}{number}"


def _laws_in(text: str) -> Iterator[RuleId]:
    for match in LAWS_CITED.finditer(text):
        for each in LAW_RANGE.finditer(match["laws"]):
            for letter in range(ord(each["first"]), ord(each["last"] or each["first"]) + 1):
                yield "rules.md", chr(letter)
