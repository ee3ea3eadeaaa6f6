"""Patches made of two states: the shortest that lead there, and what names the object that they are for."""

from __future__ import annotations

from typing import Any, Final

import pytest

from generated.objects import SMALL, SpecShape
from krm_merge.patch import AnyShape, PatchError
from krm_merge.patch.patches import (
    Modes,
    ParsedPatch,
    PatchType,
    named_by,
    patch_between,
    target_of,
    with_names,
)

SHAPE: Final = SpecShape(SMALL)


# ---- of any type -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_known", "type_"), [(True, "strategic"), (False, "merge")])
def test_a_patch_is_strategic_where_the_type_is_known(is_known: bool, type_: PatchType) -> None:
    before: Any = {"a": 1, "l": [1, 2]}
    after: Any = {"a": 2, "l": [2]}
    patch = patch_between(before, after, AnyShape(), is_known=is_known)
    assert patch.type == type_
    assert [patch.apply(each, AnyShape(), Modes()) for each in (before, after)] == [after, after]
    with pytest.raises(PatchError, match="no patch sets a field to null; remove the field"):
        patch_between({"a": 1}, {"a": None}, AnyShape(), is_known=is_known)


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
    shortest = patch_between({"items": ITEMS}, {"items": items}, SHAPE, is_known=True)
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
