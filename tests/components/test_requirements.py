"""Every requirement, reading and scenario of docs/components.md is named by a test that shows it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from checkout import ROOT

TESTS = ROOT / "tests"
PLACES = ("components/**/test_*.py", "forges/**/test_*.py", "cli/**/test_components*.py", "cli/forges/test_*.py")
RANGE = re.compile(r"\b(CR|[SIC])(\d+)(?: to (?:\1)?(\d+))?\b")
# Readings that say whom a word means or what is not done, and what `make bench` measures.
WORDS = {"I1", "I2", "I3", "I8", "I9", "I15", "I16", "I18", "C7"}


def citations() -> dict[str, list[str]]:
    """The tests by what their docstrings name; `CR19 to CR23` names five."""
    tests: dict[str, list[str]] = defaultdict(list)
    for file in sorted(file for place in PLACES for file in TESTS.glob(place)):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            words = f"{ast.get_docstring(node) or ''} {node.name.upper().replace('_', ' ')}"
            for letter, first, last in RANGE.findall(words):
                for number in range(int(first), int(last or first) + 1):
                    tests[f"{letter}{number}"].append(f"{file.name}::{node.name}")
    return tests


@pytest.mark.parametrize("letter", ["C", "CR", "S", "I"])
def test_each_is_named_by_a_test(letter: str) -> None:
    last = {"C": 17, "CR": 34, "S": 12, "I": 18}[letter]
    expected = {f"{letter}{number}" for number in range(1, last + 1)} - WORDS
    assert expected <= citations().keys()
