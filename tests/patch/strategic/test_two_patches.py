"""Two strategic merge patches as one: it does what the first and then the second do, whatever document they meet."""

from __future__ import annotations

from typing import Any, Final

import pytest

from generated.objects import SMALL, SpecShape
from krm_merge.patch import PatchError, apply, merge_patches
from krm_merge.patch.strategic.combine import patches_conflict

SHAPE: Final = SpecShape(SMALL)
DOCUMENTS: Final[list[Any]] = [
    {},
    {"items": [{"name": "a", "value": "x"}, {"name": "b"}], "set": ["x", "y"], "inner": {"value": "x"}},
    {"items": [{"name": "b"}, {"name": "c", "value": "z"}], "set": ["z"], "kept": {"value": "x", "other": "y"}},
]


def both(first: Any, second: Any) -> Any:
    """The one patch, which does to each document what the two do."""
    merged = merge_patches(first, second, SHAPE)
    for document in DOCUMENTS:
        at_once, one_by_one = apply(document, merged, SHAPE), apply(apply(document, first, SHAPE), second, SHAPE)
        # The order of a list without `$setElementOrder` depends on the document.
        assert in_any_order(at_once) == in_any_order(one_by_one), document
    return merged


def in_any_order(document: Any) -> Any:
    return {**document, "items": sorted(document.get("items") or [], key=str)}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"inner": {"value": "1"}}, {"inner": {"other": "2"}}, {"inner": {"value": "1", "other": "2"}}),
        ({"inner": {"value": "1"}}, {"inner": {"value": None}}, {"inner": {"value": None}}),
        ({"inner": None}, {"inner": {"value": "1"}}, {"inner": {"$patch": "replace", "value": "1"}}),
        ({"inner": {"value": "1"}}, {"inner": None}, {"inner": None}),
        (
            {"inner": {"$patch": "replace", "value": "1"}},
            {"inner": {"other": "2"}},
            {"inner": {"$patch": "replace", "value": "1", "other": "2"}},
        ),
        (
            {"inner": {"value": "1"}},
            {"inner": {"$patch": "replace", "other": "2"}},
            {"inner": {"$patch": "replace", "other": "2"}},
        ),
        (
            {"kept": {"$retainKeys": ["value"], "value": "1"}},
            {"kept": {"$retainKeys": ["value", "other"], "other": "2"}},
            {"kept": {"$retainKeys": ["value", "other"], "value": "1", "other": "2"}},
        ),
        # Lists with keys.
        (
            {"items": [{"name": "a", "value": "1"}]},
            {"items": [{"name": "a", "other": "2"}, {"$patch": "delete", "name": "a"}]},
            {"items": [{"name": "a", "other": "2"}, {"$patch": "delete", "name": "a"}]},
        ),
        (
            {"items": [{"name": "a", "value": "1"}]},
            {"items": [{"name": "b", "value": "2"}]},
            {"items": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]},
        ),
        (
            {"items": [{"name": "a", "value": "1"}]},
            {"items": [{"name": "a", "value": "2"}]},
            {"items": [{"name": "a", "value": "2"}]},
        ),
        (
            {"items": [{"name": "a", "value": "1"}]},
            {"items": [{"name": "a", "$patch": "delete"}]},
            {"items": [{"name": "a", "$patch": "delete"}]},
        ),
        (
            {"items": [{"name": "a", "$patch": "merge", "value": "1"}]},
            {"items": [{"name": "a", "$patch": "merge", "value": "2"}]},
            {"items": [{"name": "a", "value": "2"}]},
        ),
        # A patch that replaces the list determines all of it.
        (
            {"items": [{"$patch": "replace"}, {"name": "n", "value": "1"}]},
            {"items": [{"name": "n", "value": "2"}, {"name": "o"}]},
            {"items": [{"$patch": "replace"}, {"name": "n", "value": "2"}, {"name": "o"}]},
        ),
        (
            {"items": [{"name": "n", "value": "1"}], "$setElementOrder/items": [{"name": "n"}]},
            {"items": [{"$patch": "replace"}, {"name": "o"}]},
            {"items": [{"$patch": "replace"}, {"name": "o"}]},
        ),
        ({"items": None}, {"items": [{"name": "o"}]}, {"items": [{"$patch": "replace"}, {"name": "o"}]}),
        # Sets of scalars.
        ({"set": ["p"]}, {"set": ["q"]}, {"set": ["p", "q"]}),
        ({"set": ["p"]}, {"set": ["p"]}, {"set": ["p"]}),
        (
            {"set": ["p"]},
            {"$deleteFromPrimitiveList/set": ["p"]},
            {"set": [], "$deleteFromPrimitiveList/set": ["p"]},
        ),
        (
            {"$deleteFromPrimitiveList/set": ["x", "y"]},
            {"set": ["x"]},
            {"$deleteFromPrimitiveList/set": ["y"], "set": ["x"]},
        ),
        (
            {"$deleteFromPrimitiveList/set": ["x"]},
            {"$deleteFromPrimitiveList/set": ["x", "y"]},
            {"$deleteFromPrimitiveList/set": ["x", "y"]},
        ),
        ({"set": ["p"]}, {"set": None}, {"set": None}),
    ],
)
def test_one_patch_for_two(first: Any, second: Any, expected: Any) -> None:
    assert both(first, second) == expected


def test_no_one_patch_removes_a_list_of_scalars_and_sets_it_anew() -> None:
    with pytest.raises(PatchError, match="cannot remove a list of scalars and set it anew"):
        merge_patches({"set": None}, {"set": ["x"]}, SHAPE)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"items": [{"name": "a"}], "$setElementOrder/items": [{"name": "b"}, {"name": "a"}]},
            {"items": [{"name": "a"}, {"name": "b"}]},
        ),
        ({"set": ["x"], "$setElementOrder/set": ["y", "x"]}, {"set": ["x", "y"]}),
    ],
)
def test_no_one_order_is_that_of_a_list_and_of_other_elements_behind_it(first: Any, second: Any) -> None:
    with pytest.raises(PatchError, match="no one order says what both patches do"):
        merge_patches(first, second, SHAPE)


def test_lists_of_scalars_where_maps_are_expected_do_not_conflict() -> None:
    assert patches_conflict({"items": ["a"]}, {"items": ["b"]}, SHAPE, "multi") is None
