"""JSON patches: what operations copy, and what they leave in place of the object."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.krm import FieldPath
from krm_merge.patch import JsonPatch, PatchError
from krm_merge.patch.json_patch import create_json, field_path
from krm_merge.patch.patches import read_patches
from krm_merge.safe_text import LONGEST_QUOTE
from krm_merge.text import same
from krm_merge.text.reading.reader import MAX_DEPTH

COPY = {"op": "copy", "from": "/a", "path": "/b"}


def apply(document: Any, *operations: Any) -> Any:
    return JsonPatch(list(operations)).apply(document)


def nest(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"k": value}
    return value


def test_a_copy_is_a_value_of_its_own() -> None:
    later = {"op": "add", "path": "/b/-", "value": 3}
    assert apply({"a": [1, 2]}, COPY, later) == {"a": [1, 2], "b": [1, 2, 3]}


def test_the_document_is_not_changed() -> None:
    document = {"a": [1, 2]}
    apply(document, COPY)
    assert document == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ([{**COPY, "from": "/x"}], ["operation 1", '"from": "/x"']),
        ([COPY, {"op": "remove", "path": "/x"}], ["operation 2", '"path": "/x"']),
        ([{"op": "replace", "path": "", "value": "x"}], ['the patch leaves "x" in place of the object']),
        ([{"op": "add", "path": "/b", "value": nest(MAX_DEPTH + 1)}], ["nested deeper than"]),
    ],
)
def test_what_is_refused_names_the_operation_or_the_result(operations: list[Any], words: list[str]) -> None:
    with pytest.raises(PatchError) as raised:
        apply({"a": [1, 2]}, *operations)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_copies_of_copies_are_counted() -> None:
    """Each doubles the document: thirty would fill the memory."""
    double = [{"op": "copy", "from": "", "path": f"/c{number}"} for number in range(30)]
    with pytest.raises(PatchError, match=r"copies make more than .* nodes; write the values out"):
        apply({"a": [1, 2]}, *double)


def test_a_value_that_is_nested_too_deep_is_not_copied() -> None:
    with pytest.raises(PatchError, match=r"operation 1.*the value that it copies is nested deeper than 128 levels"):
        apply({"a": nest(MAX_DEPTH + 1)}, COPY)


def test_of_several_documents_the_wrong_one_is_named() -> None:
    with pytest.raises(PatchError, match=r"^document 2: "):
        read_patches("a: b\n---\n3\n")
    with pytest.raises(PatchError) as raised:
        read_patches("3\n")
    assert not str(raised.value).startswith("document")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"b": 1}, "b"),
        ({"0": 1}, ["0"]),
        ({"b": 1, "c": 2}, {"c": 3, "d/e~": None}),
        (1, True),
        ([{"c": 1}, 2, 3], [3, {"c": 1}, {"c": 2}]),
        ([1], [1]),
    ],
)
def test_the_operations_that_make_one_value_of_another(before: Any, after: Any) -> None:
    patch: Any = create_json({"a": before}, {"a": after})
    assert same(apply({"a": before}, *patch), {"a": after})
    assert bool(patch) == (not same(before, after))


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("/a/b", ("a", "b")),
        ("/a~1b/c~0d/~01", ("a/b", "c~d", "~1")),
        ("/a/0/12", ("a", 0, 12)),
        ("/a/-", ("a", "-")),
        ("/123456789", (123456789,)),
        # No list is that long: it is a name.
        ("/1234567890", ("1234567890",)),
        ("/", ("",)),
        ("", ()),
        ("a/b", ()),
        (1, ()),
        (None, ()),
    ],
)
def test_the_field_that_a_pointer_names(pointer: Any, path: FieldPath) -> None:
    assert field_path(pointer) == path


def test_of_a_long_value_that_a_test_does_not_find_both_ends_are_quoted() -> None:
    with pytest.raises(PatchError) as raised:
        apply({"a": "b" * 10_000}, {"op": "test", "path": "/a", "value": "c" * 10_000})
    problem = raised.value.problem
    assert "bbb" in problem
    assert "ccc" in problem
    # The operation and the answer of the library, each in at most as many characters.
    assert len(problem) < 3 * LONGEST_QUOTE
