"""The test tables of Kubernetes, and the examples of the two specifications. See testdata/patch/README.md."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from checkout import ROOT
from krm_merge.patch import (
    PatchConflictError,
    PatchError,
    TypeShape,
    apply,
    apply_merge,
    create,
    create_merge_three_way,
    create_three_way,
    have_conflicts,
)
from krm_merge.patch.json_patch import only_nulls, without_nulls
from krm_merge.patch.model import same

CASES = ROOT / "testdata" / "patch"
TYPES = json.loads((CASES / "schema.json").read_text())
KUBERNETES: Any = {"list_order": "kubernetes", "merge_keys": "single"}


def cases(name: str, count: int, having: str = "") -> pytest.MarkDecorator:
    rows = json.loads((CASES / f"{name}.json").read_text())
    rows = [case for case in rows if not having or case[having] is not None]
    assert len(rows) == count
    return pytest.mark.parametrize("case", rows, ids=[case.get("id", "") for case in rows])


def schema(case: dict[str, Any]) -> TypeShape:
    return TypeShape(TYPES, case["schema"])


def assert_same(result: Any, expected: Any) -> None:
    assert same(result, expected), json.dumps({"result": result, "expected": expected}, indent=1)


@cases("apply", 28)
def test_apply(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    if "expectError" in case:
        with pytest.raises(PatchError, match=case["expectError"]):
            apply(case["original"], case["patch"], schema(case), **KUBERNETES)
    else:
        assert_same(apply(case["original"], case["patch"], schema(case), **KUBERNETES), case["expect"])
    assert case == before


@cases("create_two_way", 140)
def test_create(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    check_patch(case, case["original"], lambda: create(case["original"], case["modified"], schema(case), **KUBERNETES))
    assert case == before


@cases("create_three_way", 163)
def test_create_three_way(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    original, modified, live = case["original"], case["modified"], case["current"]

    def patch() -> Any:
        return create_three_way(original, modified, live, schema(case), overwrite=case["overwrite"], **KUBERNETES)

    if case.get("expectConflict"):
        with pytest.raises(PatchConflictError):
            patch()
    else:
        check_patch(case, live, patch)
    assert case == before


def check_patch(case: dict[str, Any], document: dict[str, Any], make: Any) -> None:
    try:
        patch = make()
    except PatchError as error:
        # Where the table has both, the error or the patch will do.
        assert case.get("expectError", "no error") in str(error)  # noqa: PT017
        return
    assert "expectError" not in case or "orExpectPatch" in case
    expected = [case[name] for name in ("expectPatch", "orExpectPatch") if name in case]
    assert any(same(patch, alternative) for alternative in expected), json.dumps(
        {"patch": patch, "expected": expected}, indent=1
    )
    applied = [case[name] for name in ("expectApplied", "orExpectApplied") if name in case]
    result = apply(document, patch, schema(case), **KUBERNETES)
    assert any(same(result, alternative) for alternative in applied), json.dumps(
        {"result": result, "expected": applied}, indent=1
    )


@cases("jsonmerge_three_way", 23)
def test_json_merge_three_way(case: dict[str, Any]) -> None:
    patch = create_merge_three_way(case["original"], case["modified"], case["current"])
    assert_same(patch, case["expectPatch"])
    assert_same(apply_merge(case["current"], patch), case["expectApplied"])


@cases("jsonmerge_filter_null", 15)
def test_json_merge_filter_null(case: dict[str, Any]) -> None:
    assert_same(only_nulls(case["original"]), case["expectWithNull"])
    assert_same(without_nulls(case["original"]), case["expectWithoutNull"])


@cases("has_conflicts", 34)
def test_have_conflicts(case: dict[str, Any]) -> None:
    assert have_conflicts(case["left"], case["right"]) is case["expect"]


# ---- the specifications ------------------------------------------------------------------------------------------


@cases("seed001", 19)
def test_the_order_as_kubernetes_has_it(case: dict[str, Any]) -> None:
    if "expectError" in case:
        with pytest.raises(PatchError, match="doesn't match"):
            apply(case["original"], case["patch"], schema(case), **KUBERNETES)
    else:
        assert_same(apply(case["original"], case["patch"], schema(case), **KUBERNETES), case["expect"])


@cases("seed001", 17, having="seedText")
def test_the_order_as_the_document_has_it(case: dict[str, Any]) -> None:
    if case["seedText"] == "ERROR":
        with pytest.raises(PatchError, match="doesn't match"):
            apply(case["original"], case["patch"], schema(case))
        return
    result = apply(case["original"], case["patch"], schema(case))
    expected = case["seedText"].replace("'", "").replace(".", "").split()
    (items,) = result.values()
    assert isinstance(items, list)
    assert [item["name"] if isinstance(item, dict) else letter(item) for item in items] == expected
    assert sorted(map(str, items)) == sorted(map(str, next(iter(case["expect"].values()))))


def letter(value: Any) -> str:
    return chr(value)


@cases("seed002", 7)
def test_several_key_fields(case: dict[str, Any]) -> None:
    if "expectError" in case:
        with pytest.raises(PatchError, match=case["expectError"]) as raised:
            apply(case["original"], case["patch"], schema(case))
        assert raised.value.path == ("list",)
    else:
        assert_same(apply(case["original"], case["patch"], schema(case)), case["expect"])
