"""Several patches of one object, and texts of patches: what one takes from another, and what messages say."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.patch import AnyShape, PatchError
from krm_merge.patch.patches import (
    Modes,
    ParsedPatch,
    PatchType,
    format_problem,
    patches_of,
    path_by_keys,
    read_patches,
    with_labels,
)


def parsed(*values: Any) -> list[ParsedPatch]:
    return [patches_of([value])[0] for value in values]


def test_a_path_names_elements_by_their_keys() -> None:
    value: Any = {"l": [{"name": "a", "port": 80}, {"name": "b"}], "m": [1]}

    def path(*steps: Any, keys: tuple[str, ...] = ("name",)) -> Any:
        return path_by_keys(steps, value, lambda names: keys if names == ("l",) else ())

    assert path("l", 0, "port") == ("l", (("name", "a"),), "port")
    assert path("l", 0, keys=("name", "port")) == ("l", (("name", "a"), ("port", "80")))
    assert path("l", 1, keys=("name", "port")) == ("l", 1)
    assert path("m", 0) == ("m", 0)
    assert path("l", 2) == ("l", 2)


# ---- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("", []),
        ("a: 1\n---\nb: 2\n", ["strategic", "strategic"]),
        ("- {op: add, path: /a, value: 1}\n", ["json"]),
        # Operations as documents, or as one map.
        ("op: add\npath: /a\nvalue: 1\n---\nop: remove\npath: /b\n", ["json"]),
        ("op: add\npath: /a\nvalue: 1\n", ["json"]),
        ("op: add\npath: /a\nvalue: 1\n---\na: 1\n", ["strategic", "strategic"]),
        ("op: add\n", ["strategic"]),
    ],
)
def test_the_types_of_the_patches_in_a_text(text: str, types: list[str]) -> None:
    assert [patch.type for patch in read_patches(text)] == types


def test_a_map_of_an_operation_is_no_json_patch_where_it_is_said_to_be_another() -> None:
    assert [patch.type for patch in read_patches("op: add\npath: /a\n", "merge")] == ["merge"]


def test_a_text_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(PatchError, match="not valid YAML"):
        read_patches("a: [")


def test_several_patches_of_a_text_have_numbers_and_the_objects_that_they_name() -> None:
    patches = parsed({"kind": "A", "metadata": {"name": "x"}}, {"kind": "B"}, {"metadata": None})
    assert [label for label, _ in with_labels(patches, "p.yaml")] == [
        "p.yaml document 1 (A x)",
        "p.yaml document 2 (B)",
        "p.yaml document 3",
    ]
    assert [label for label, _ in with_labels(patches[:1], "p.yaml")] == ["p.yaml"]


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"op": "test", "path": "/a", "value": 1}, "the value there differs"),
        ({"op": "remove", "path": "/x"}, "can't remove a non-existent object 'x'"),
        ({"op": "add", "path": "/a/b", "value": 1}, "it cannot be applied"),
    ],
)
def test_a_message_on_a_secret_quotes_nothing_of_it(operation: Any, words: str) -> None:
    (patch,) = parsed([operation])
    with pytest.raises(PatchError) as raised:
        patch.apply({"a": "hidden"}, AnyShape(), Modes())
    message = format_problem(raised.value, patch, secret=True)
    assert message.startswith("operation 1, ")
    assert message.endswith(f": {words}")
    assert "hidden" not in message
    assert format_problem(raised.value, patch, secret=False) == str(raised.value)


@pytest.mark.parametrize(
    ("patch", "is_secret"),
    [
        ({"kind": "Secret", "stringData": {"a": "b"}}, True),
        ({"kind": "ConfigMap", "data": {"a": "b"}}, False),
        ({"stringData": {"a": "b"}}, True),
        ([{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/stringData/b", "value": "c"}], True),
        ([{"op": "add", "path": "/spec/user", "value": "b"}], False),
    ],
)
def test_whether_a_patch_has_values_that_messages_must_not_show(patch: Any, is_secret: bool) -> None:
    assert parsed(patch)[0].is_secret is is_secret


@pytest.mark.parametrize(("type_", "removes"), [("strategic", True), ("merge", False)])
def test_a_strategic_patch_may_remove_the_whole_object(type_: PatchType, removes: bool) -> None:
    assert ParsedPatch(type_, {"$patch": "delete"}).removes is removes
    assert not ParsedPatch(type_, {"$patch": "replace"}).removes


def test_kubectl_removes_no_whole_object() -> None:
    of_kubectl = Modes(list_order="kubernetes")
    with pytest.raises(PatchError, match="is not a deletion in kubectl; use listOrder: document"):
        ParsedPatch("strategic", {"$patch": "delete"}).apply({"a": 1}, AnyShape(), of_kubectl)
    assert ParsedPatch("strategic", {"a": 2}).apply({"a": 1}, AnyShape(), of_kubectl) == {"a": 2}
