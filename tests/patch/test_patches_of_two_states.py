"""Patches made of two states: the shortest that lead there, and what names the object that they are for."""

from __future__ import annotations

import itertools
from typing import Any, Final

import pytest

from generated.objects import SMALL, SpecShape
from krm_merge.patch import AnyShape, JsonPatch, PatchError
from krm_merge.patch.json_patch import create_json
from krm_merge.patch.patches import (
    Modes,
    ParsedPatch,
    PatchType,
    named_by,
    patch_between,
    smallest_patch,
    target_of,
    with_names,
)

SHAPE: Final = SpecShape(SMALL)


# ---- JSON patches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeatable", [False, True])
def test_a_json_patch_leads_from_each_list_to_each_other_one(repeatable: bool) -> None:
    lists: list[Any] = [list(items) for size in range(4) for items in itertools.product("ab", repeat=size)]
    for before, after in itertools.product(lists, lists):
        patch = JsonPatch([*create_json({"l": before}, {"l": after}, repeatable=repeatable)])
        assert patch.apply({"l": before}) == {"l": after}
        if repeatable:
            assert patch.apply({"l": after}) == {"l": after}


LONG: Final = "a text of several words that is longer than an operation"


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ([LONG, "b", LONG], [LONG, "c", LONG], [("replace", "/l/1", "c")]),
        ([LONG, LONG], [LONG, "c", LONG], [("add", "/l/1", "c")]),
        ([LONG, "b", LONG], [LONG, LONG], [("remove", "/l/1", None)]),
        ([LONG, LONG, "b"], [LONG, LONG], [("remove", "/l/2", None)]),
        (["a", "b"], ["c", "d"], [("replace", "/l", ["c", "d"])]),
        ({LONG: 1, "x/y": 1, "x~y": 1}, {LONG: 1, "x~y": 2}, [("remove", "/l/x~1y", None), ("replace", "/l/x~0y", 2)]),
        ({}, {"new": 1}, [("add", "/l/new", 1)]),
        ([1], [True], [("replace", "/l", [True])]),
    ],
)
def test_a_json_patch_names_what_differs_where_that_is_shorter(before: Any, after: Any, operations: list[Any]) -> None:
    patch = create_json({"l": before}, {"l": after})
    assert [(step["op"], step["path"], step.get("value")) for step in patch] == operations


def test_a_json_patch_for_every_render_sets_what_it_removes_and_replaces_lists_of_another_length() -> None:
    before: Any = {"gone": 1, "l": [LONG, "x"]}
    after: Any = {"l": [LONG]}
    assert create_json(before, after, repeatable=True) == [
        {"op": "add", "path": "/gone", "value": None},
        {"op": "remove", "path": "/gone"},
        {"op": "replace", "path": "/l", "value": [LONG]},
    ]


# ---- of any type -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "is_known", "type_"),
    [
        ({"a": 1}, {"a": 2}, True, "strategic"),
        ({"a": 1}, {"a": 2}, False, "merge"),
        # Neither of the others can set a field to null.
        ({"a": 1}, {"a": None}, True, "json"),
        ({"a": 1}, {"a": None}, False, "json"),
    ],
)
def test_the_smallest_patch_is_of_the_first_type_that_leads_there(
    before: Any, after: Any, is_known: bool, type_: PatchType
) -> None:
    patch = smallest_patch(before, after, AnyShape(), is_known=is_known, modes=Modes())
    assert patch is not None
    assert patch.type == type_
    assert patch.apply(before, AnyShape(), Modes()) == after


def test_there_is_no_patch_between_equal_objects() -> None:
    assert smallest_patch({"a": 1}, {"a": 1}, AnyShape(), is_known=True, modes=Modes()) is None


@pytest.mark.parametrize("type_", ["strategic", "merge"])
def test_a_patch_of_a_type_that_does_not_lead_there_is_refused(type_: PatchType) -> None:
    with pytest.raises(PatchError, match=f"no {type_} patch leads there.*make one of the type json"):
        patch_between({"a": 1}, {"a": None}, AnyShape(), type_, Modes())
    assert patch_between({"a": 1}, {"a": None}, AnyShape(), "json", Modes()).operations is not None


ITEMS: Final[Any] = [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("items", "patch"),
    [
        ([*ITEMS, {"name": "c"}], {"items": [{"name": "c"}]}),
        ([ITEMS[1], ITEMS[0]], {"$setElementOrder/items": [{"name": "b"}, {"name": "a"}]}),
        ([{"name": "c"}, *ITEMS], {"$setElementOrder/items": [{"name": x} for x in "cab"], "items": [{"name": "c"}]}),
    ],
)
def test_a_strategic_patch_has_an_order_only_where_its_elements_imply_another(items: Any, patch: Any) -> None:
    shortest = patch_between({"items": ITEMS}, {"items": items}, SHAPE, "strategic", Modes())
    assert shortest.body == patch


# ---- whose patch it is -----------------------------------------------------------------------------------------------

OBJECT: Final[Any] = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n"}}
HEAD: Final[Any] = {"apiVersion": "apps/v1", "kind": "Deployment"}


@pytest.mark.parametrize(
    ("patch", "document", "named"),
    [
        ({"spec": 1}, OBJECT, {**OBJECT, "spec": 1}),
        (
            {"metadata": {"labels": {"a": "b"}}},
            {**HEAD, "metadata": {"name": "web"}},
            {**HEAD, "metadata": {"name": "web", "labels": {"a": "b"}}},
        ),
        ({}, OBJECT, {}),
        ({"metadata": None}, OBJECT, {"metadata": None}),
        ({"metadata": {"name": "new"}}, OBJECT, {"metadata": {"name": "new"}}),
        ({"kind": "StatefulSet"}, OBJECT, {"kind": "StatefulSet"}),
        ({"spec": 1}, {**OBJECT, "metadata": {"namespace": "n"}}, {"spec": 1}),
        ({"spec": 1}, {"metadata": {"name": "web"}}, {"spec": 1}),
    ],
)
def test_a_patch_names_the_object_that_it_is_for_unless_it_changes_the_name(
    patch: Any, document: Any, named: Any
) -> None:
    assert with_names(patch, document) == named


def test_the_object_that_a_patch_names() -> None:
    target = target_of(ParsedPatch("strategic", OBJECT))
    assert target is not None
    assert (target.group, target.version, target.kind, target.name, target.namespace) == (
        "apps",
        "v1",
        "Deployment",
        "web",
        "n",
    )
    for body in ({**OBJECT, "kind": 1}, {**OBJECT, "apiVersion": None}, HEAD, {**HEAD, "metadata": {"name": 1}}):
        assert target_of(ParsedPatch("strategic", body)) is None
    other = target_of(ParsedPatch("strategic", {**HEAD, "metadata": {"name": "web", "namespace": 1}}))
    assert other is not None
    assert other.namespace is None


def test_the_fields_of_an_identity_that_a_patch_has() -> None:
    assert named_by(ParsedPatch("merge", OBJECT)) == ["apiVersion", "kind", "metadata.name", "metadata.namespace"]
    assert named_by(ParsedPatch("merge", {"metadata": {"labels": {}}, "spec": 1})) == []
