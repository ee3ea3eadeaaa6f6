"""Files of several documents, divided and put together again."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.stream import BOM, detached_head, is_empty, joined


@pytest.mark.parametrize(
    ("documents", "like", "file"),
    [
        ([b"a: 1\n", b"b: 2\n"], b"", b"a: 1\n---\nb: 2\n"),
        ([b"a: 1", b"b: 2"], b"", b"a: 1\n---\nb: 2"),
        ([b"a: 1", b"---\nb: 2\n"], b"", b"a: 1\n---\nb: 2\n"),
        ([b"a: 1", b"b: 2"], b"x: 1\r\n", b"a: 1\r\n---\r\nb: 2"),
        ([b"a: 1\n"], BOM + b"x: 1\n", BOM + b"a: 1\n"),
        ([], b"x: 1\n", b""),
    ],
)
def test_documents_are_joined_with_separators_and_the_line_ends_of_the_file(
    documents: list[bytes], like: bytes, file: bytes
) -> None:
    assert joined(documents, like) == file


def test_a_document_of_comments_is_empty() -> None:
    assert is_empty(b"# a\n\n# b\n")
    assert not is_empty(b"# a\nb: c\n")


def test_a_head_that_a_blank_line_sets_apart() -> None:
    assert detached_head(b"# licence\n\na: 1\n") == b"# licence\n\n"
    assert detached_head(b"# about a\na: 1\n") == b""
