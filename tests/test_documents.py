"""docs/design/documents.md: what the five documents ask for, and the tests that show it."""

from __future__ import annotations

import ast
import re
from itertools import groupby

import pytest

from checkout import ROOT

PAGE = (ROOT / "docs" / "design" / "documents.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d)\.(\d+) \| (.+) \| \[(.+)\]\(\.\./\.\./tests/(.+)\): (.+) \|$", re.MULTILINE)
STATEMENTS = {"1": 4, "2": 12, "3": 8, "4": 10, "5": 25}
"""How many statements of each document the page has at least."""


def test_every_row_is_read() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == len(ROW.findall(PAGE))


def test_the_statements_of_each_document_are_numbered() -> None:
    for document, rows in groupby(ROW.findall(PAGE), key=lambda row: row[0]):
        numbers = [int(row[1]) for row in rows]
        assert numbers == list(range(1, STATEMENTS[document] + 1))


@pytest.mark.parametrize("row", ROW.findall(PAGE), ids=lambda row: f"{row[0]}.{row[1]}")
def test_the_tests_of_a_statement_exist(row: tuple[str, ...]) -> None:
    *_, test_file, file, names = row
    assert test_file == file
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    named = set(re.findall(r"`(\w+)`", names))
    assert named
    assert named <= tests


def test_developers_read_that_keys_must_identify_elements() -> None:
    page = (ROOT / "docs" / "patches.md").read_text(encoding="utf-8")
    assert "**Merge keys must identify an element in all cases**" in page
