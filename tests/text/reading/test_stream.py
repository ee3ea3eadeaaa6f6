"""Files of several documents, divided and put together again."""

from __future__ import annotations

import pytest

from krm_merge.errors import KrmMergeError
from krm_merge.text.reading.stream import BOM_BYTES, detached_head, is_empty, joined, split_documents


@pytest.mark.parametrize(
    ("documents", "like", "file"),
    [
        ([b"a: 1\n", b"b: 2\n"], b"", b"a: 1\n---\nb: 2\n"),
        ([b"a: 1", b"b: 2"], b"", b"a: 1\n---\nb: 2"),
        ([b"a: 1", b"---\nb: 2\n"], b"", b"a: 1\n---\nb: 2\n"),
        ([b"a: 1", b"b: 2"], b"x: 1\r\n", b"a: 1\r\n---\r\nb: 2"),
        # Those that most lines have.
        ([b"a: 1\n"], b"x: 1\r\ny: 1\r\n# z\nz: 1\n# end\n", b"a: 1\n"),
        ([b"a: 1", b"b: 2"], b"x: 1\r\ny: 1\r\nz: 1\n# z\n# end\n", b"a: 1\n---\nb: 2"),
        ([b"a: 1", b"b: 2"], b"x: 1\r\ny: 1\r\nz: 1\n", b"a: 1\r\n---\r\nb: 2"),
        ([b"a: 1\n"], BOM_BYTES + b"x: 1\n", BOM_BYTES + b"a: 1\n"),
        ([], b"x: 1\n", b""),
    ],
)
def test_documents_are_joined_with_separators_and_the_line_ends_of_the_file(
    documents: list[bytes], like: bytes, file: bytes
) -> None:
    assert joined(documents, like) == file


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    ("document", "empty"),
    [
        (b"", True),
        (b"# a\n\n# b\n", True),
        (b"# a\n \t\n\t# b", True),
        (b"---\n# a\n", True),
        (b"--- # a\n", True),
        (b"---", True),
        (b"# a\nb: c\n", False),
        (b"# a\n---\n# b\n", False),
        (b"---\n\n  b", False),
        (b"--- b\n", False),
        (b"b", False),
        (b"-", False),
    ],
)
def test_a_document_of_comments_is_empty(document: bytes, empty: bool, end: bytes) -> None:
    assert is_empty(document.replace(b"\n", end)) is empty


@pytest.mark.parametrize(
    "documents",
    [
        [b"a: 1\n", b"---\nb: 2\n"],
        [b"%YAML 1.2\n---\na: 1\n", b"%A\n%B x\n---\nb: 2\n"],
        [b"%A\n%B\na: 1\n", b"---\n"],
        [b"a: 1\n%a\n", b"---"],
        [b"%A\r\n---\r\na: 1\r\n", b"%A\r\n---\r\n"],
    ],
)
def test_directives_belong_to_the_document_below_them(documents: list[bytes]) -> None:
    assert split_documents(b"".join(documents)) == documents
    assert joined(documents, b"") == b"".join(documents)


def test_a_head_that_a_blank_line_sets_apart() -> None:
    assert detached_head(b"# licence\n\na: 1\n") == b"# licence\n\n"
    assert detached_head(b"# about a\na: 1\n") == b""


def test_more_documents_than_the_limit_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "2")
    documents = [b"a: 1\n", b"---\nb: 2\n", b"---\nc: 3\n"]
    assert split_documents(b"".join(documents[:2])) == documents[:2]
    # White space above the first separator is not a document.
    assert split_documents(b"\n" + b"".join(documents[1:])) == [b"\n" + documents[1], documents[2]]
    for text in (b"".join(documents), b"---\n" * 9):
        with pytest.raises(KrmMergeError, match=r"c\.yaml holds more than 2 documents; split it"):
            split_documents(text, "c.yaml")
