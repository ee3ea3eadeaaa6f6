"""One document among others: the text that is its own."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from krm_merge.text import TextError, Value
from krm_merge.text.cut import has_open_end
from krm_merge.text.document import (
    document_text,
    text_of,
    with_separators_of,
    without_separators,
    yaml_of,
)
from krm_merge.text.reading.nodes import MappingNode, SequenceNode
from krm_merge.text.reading.reader import read_all
from text.edits import tree


def documents(text: str) -> list[MappingNode]:
    roots = list(read_all(text))
    assert all(isinstance(root, MappingNode) for root in roots)
    return [root for root in roots if isinstance(root, MappingNode)]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("a: 1\n---\nb: 2\n", ["a: 1\n", "b: 2\n"]),
        ("# head\n\na: 1 # one\n---\n# over b\nb: 2\n", ["# head\n\na: 1 # one\n", "# over b\nb: 2\n"]),
        ("\n# head\n\na: 1\n---\nb: 2\n", ["# head\n\na: 1\n", "b: 2\n"]),
        ("\n\na: 1\n---\n\n# over b\n\nb:\n  c: d\n", ["a: 1\n", "# over b\n\nb:\n  c: d\n"]),
        ("x: y\n---\n{a: 1, b: [2]}\n", ["x: y\n", "a: 1\nb: [2]\n"]),
    ],
)
def test_each_document_has_its_own_lines_and_comments(text: str, texts: list[str]) -> None:
    assert [text_of(root) for root in documents(text)] == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}\n"),
        ([], "[]\n"),
        ("", '""\n'),
        ("x", "x\n"),
        (None, "null\n"),
        ({"a": {"b": []}}, "a:\n  b: []\n"),
        ({"a": [1, {"b": [2]}]}, "a:\n- 1\n- b:\n  - 2\n"),
        ([1, [2], {"a": 3}], "- 1\n- - 2\n- a: 3\n"),
    ],
)
def test_a_value_is_written_as_a_document(value: Value, text: str) -> None:
    assert yaml_of(value) == text


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("- a: 1\n  b: 2\n- # about c\n  c: 3\n", ["a: 1\nb: 2\n", "c: 3\n"]),
        ("  - a: 1\n    b:\n      - c\n", ["a: 1\nb:\n  - c\n"]),
    ],
)
def test_an_element_is_a_document_of_its_own(text: str, texts: list[str]) -> None:
    items = tree(text)
    assert isinstance(items, SequenceNode)
    assert [document_text(item) for item in items.items if isinstance(item, MappingNode)] == texts


@pytest.mark.parametrize(
    ("document", "other", "expected"),
    [
        ("a: 1\n", "---\nb: 2\n", "---\na: 1\n"),
        ("a: 1\n", "---\r\n---\nb: 2\n", "---\r\n---\na: 1\n"),
        ("---\na: 1\n", "---\n---\nb: 2\n", "---\n---\na: 1\n"),
        ("---\na: 1\n", "b: 2\n", "a: 1\n"),
        ("a: 1\n", "b: 2\n", "a: 1\n"),
        # Comments above a separator are part of the text where the other version has separators.
        ("# c\n---\na: 1\n", "b: 1\n", "# c\na: 1\n"),
        ("# c\n---\na: 1\n", "---\nb: 1\n", "# c\n---\na: 1\n"),
        ("# c\na: 1\n", "---\nb: 1\n", "---\n# c\na: 1\n"),
        ("# c\na: 1\n", "# d\n---\nb: 1\n", "# c\na: 1\n"),
        # This one is not bare.
        ("--- # c\na: 1\n", "---\nb: 1\n", "--- # c\na: 1\n"),
    ],
)
def test_a_document_gets_the_separators_of_another_version(document: str, other: str, expected: str) -> None:
    assert with_separators_of(document, other) == expected


@pytest.mark.parametrize(
    ("document", "bare"),
    [("---\n---\r\na: 1\n", "a: 1\n"), ("a: 1\n---\n", "a: 1\n---\n"), ("--- a\n", "--- a\n"), ("", "")],
)
def test_the_separators_above_a_document_are_not_its_own(document: str, bare: str) -> None:
    assert without_separators(document) == bare


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("--- a\n" * 2, False),
        ("--- a\n" * 3, True),
        ("a\n...\n" * 3, True),
        # Only marks at the start of a line begin or end a document.
        ("a: ---\nb: ---\nc: ---\n", False),
        ("--- a\n...\n--- b\n...\n", False),
    ],
)
def test_more_documents_than_the_limit_are_refused(
    monkeypatch: pytest.MonkeyPatch, text: str, is_refused: bool
) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "2")
    with pytest.raises(TextError, match="holds more than 2 documents") if is_refused else nullcontext():
        assert list(read_all(text))


@pytest.mark.parametrize(("text", "is_open"), [("a: 'b\n", True), ("a: [b\n", True), ("a: b\nc: 'd'\n", False)])
def test_a_quote_or_a_bracket_may_leave_a_text_open(text: str, is_open: bool) -> None:
    assert has_open_end(text.encode(), len(text)) is is_open
    # What is behind the position is of no concern.
    assert not has_open_end(text.encode(), 2)
