"""One document among others: the text that is its own."""

from __future__ import annotations

import pytest

from krm_merge.text import Value
from krm_merge.text.document import document_of, document_text, text_of, yaml_of
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read_all


def documents(text: str) -> list[MappingNode]:
    roots = list(read_all(text))
    assert all(isinstance(root, MappingNode) for root in roots)
    return [root for root in roots if isinstance(root, MappingNode)]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("a: 1\n---\nb: 2\n", ["a: 1\n", "b: 2\n"]),
        ("# head\n\na: 1 # one\n---\n# over b\nb: 2\n", ["# head\n\na: 1 # one\n", "# over b\nb: 2\n"]),
        ("\n\na: 1\n---\n\n# over b\n\nb:\n  c: d\n", ["a: 1\n", "# over b\n\nb:\n  c: d\n"]),
        ("x: y\n---\n{a: 1, b: [2]}\n", ["x: y\n", "a: 1\nb: [2]\n"]),
    ],
)
def test_each_document_has_its_own_lines_and_comments(text: str, texts: list[str]) -> None:
    roots = documents(text)
    assert [text_of(root) for root in roots] == texts
    for root in roots:
        alone = document_of(root)
        assert alone.canonical == root.canonical
        assert document_text(alone) == document_text(root)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}\n"),
        ([], "[]\n"),
        ("", '""\n'),
        ("x", "x\n"),
        (None, "null\n"),
        ({"a": {"b": []}}, "a:\n  b: []\n"),
        ([1, [2], {"a": 3}], "- 1\n- - 2\n- a: 3\n"),
    ],
)
def test_a_value_is_written_as_a_document(value: Value, text: str) -> None:
    assert yaml_of(value) == text
