"""The lists, alternatives and local fields of Kptfiles and Kustomizations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkout import ROOT
from krm_merge.krm.identity import FieldPath
from krm_merge.schema import (
    FUNCTION_LISTS,
    ORDERED,
    SET,
    KeyedList,
    KptfileSchema,
    KustomizationSchema,
    ListKind,
    WithListKeys,
)
from krm_merge.schema.model import FUNCTIONS as FUNCTION_KIND
from krm_merge.schema.model import WHOLE, is_bookkeeping
from krm_merge.schema.packages import FUNCTION_ALTERNATIVES, KPTFILE_SHAPE, KptfileShape

FUNCTION = (("name", "labels"),)
FUNCTIONS = [(*functions, FUNCTION) for functions in FUNCTION_LISTS]


def shape_in(schema: dict[str, Any]) -> KptfileShape:
    """The shape that a JSON schema has."""
    schema = schema["anyOf"][0] if "anyOf" in schema else schema
    if schema["type"] == "array":
        return [shape_in(schema["items"])]
    if schema["type"] != "object":
        return "text"
    more = schema.get("additionalProperties")
    fields = {"*": shape_in(more)} if isinstance(more, dict) and more else {}
    return fields | {name: shape_in(field) for name, field in schema.get("properties", {}).items()}


def test_the_shape_of_a_kptfile_is_that_of_its_schema() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "kptfile.json").read_text(encoding="utf-8"))
    # It is no part of a merge (K1).
    del schema["properties"]["status"]
    assert shape_in(schema) == KPTFILE_SHAPE


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_one_way_to_run_and_one_configuration(function: FieldPath) -> None:
    schema = KptfileSchema()
    assert schema.at(function).alternatives == FUNCTION_ALTERNATIVES
    assert schema.at((*function, "selectors")).list_kind == schema.at((*function, "exclude")).list_kind == WHOLE
    assert schema.at((*function, "other")).list_kind == ORDERED
    for path in (function[:2], (*function, "configMap"), ("info", *function[1:])):
        assert schema.at(path).alternatives == ()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("info", "keywords"), SET),
        (("info", "emails"), SET),
        (("info", "readinessGates"), KeyedList(("conditionType",))),
        (("pipeline", "mutators"), FUNCTION_KIND),
        (("info", "a", "b", "selectors"), ORDERED),
    ],
)
def test_lists_of_a_kptfile(path: FieldPath, kind: ListKind) -> None:
    assert KptfileSchema().at(path).list_kind == kind


@pytest.mark.parametrize(
    ("path", "in_root", "in_subpackage"),
    [
        (("metadata", "name"), True, True),
        (("status",), True, True),
        (("upstream",), True, False),
        (("upstreamLock",), True, False),
        (("metadata", "labels"), False, False),
        (("info",), False, False),
    ],
)
def test_fields_that_stay_local(path: FieldPath, in_root: bool, in_subpackage: bool) -> None:
    assert KptfileSchema().stays_local(path) == in_root
    assert KptfileSchema(root=False).stays_local(path) == in_subpackage
    assert not KptfileSchema(fork=False).stays_local(path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("images",), KeyedList(("name",))),
        (("secretGenerator",), KeyedList(("name",))),
        (("resources",), SET),
        (("patches",), ORDERED),
        (("generatorOptions", "resources"), ORDERED),
    ],
)
def test_lists_of_a_kustomization(path: FieldPath, kind: ListKind) -> None:
    assert KustomizationSchema().at(path).list_kind == kind
    assert KustomizationSchema().at(path).patch_strategy == (() if kind == ORDERED else ("merge",))


def test_the_users_own_keys_and_local_fields_come_on_top() -> None:
    local: FieldPath = ("spec", "replicas")
    schema = WithListKeys(KptfileSchema(), ((("spec", "list"), KeyedList(("id",))),), local=(local,))
    assert schema.at(("spec", "list")).list_kind == KeyedList(("id",))
    assert schema.at(("info", "emails")).list_kind == SET
    assert schema.stays_local(local)
    assert schema.stays_local(("upstream",))
    assert not schema.stays_local(("spec",))


@pytest.mark.parametrize(
    ("path", "is_map"), [(("info",), True), (("pipeline",), True), (("upstream",), False), (("info", "man"), False)]
)
def test_each_field_of_info_and_pipeline_is_of_use_alone(path: FieldPath, is_map: bool) -> None:
    assert KptfileSchema().at(path).is_map is is_map


@pytest.mark.parametrize(
    ("annotation", "is_note"),
    [
        ("internal.config.kubernetes.io/anything", True),
        ("internal.kpt.dev/upstream-identifier", True),
        ("config.kubernetes.io/index", True),
        ("config.kubernetes.io/local-config", False),
        ("example.com/internal.kpt.dev/x", False),
    ],
)
def test_notes_of_kpt_are_not_values_of_a_resource(annotation: str, is_note: bool) -> None:
    assert is_bookkeeping(annotation) is is_note
