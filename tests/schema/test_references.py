"""Fields that name other resources: what counts as a name."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.krm.identity import format_path
from krm_merge.schema.references import files_in, references_in


def references_of(value: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(format_path(each.path), each.kind, each.name) for each in references_in(value)]


def role(*names: object, resources: object = ("secrets",)) -> dict[str, Any]:
    rule = {"resources": list(resources) if isinstance(resources, tuple) else resources, "resourceNames": list(names)}
    return {"kind": "Role", "metadata": {"name": "r"}, "rules": [rule]}


def test_names_in_rules_of_a_role() -> None:
    assert references_of(role("a", "b")) == [
        ("rules[0].resourceNames[0]", "Secret", "a"),
        ("rules[0].resourceNames[1]", "Secret", "b"),
    ]


@pytest.mark.parametrize("value", [1, None, {"a": "b"}])
def test_what_is_no_text_is_no_name(value: object) -> None:
    assert references_of(role("a", value)) == [("rules[0].resourceNames[0]", "Secret", "a")]


@pytest.mark.parametrize("resources", [("unknown",), (1,), "secrets", None])
def test_resources_that_are_not_known_name_nothing(resources: object) -> None:
    assert references_of(role("a", resources=resources)) == []


@pytest.mark.parametrize("kind", [None, 1, ["Role"]])
def test_an_object_without_a_kind_names_its_namespace_at_most(kind: object) -> None:
    value = {**role("a"), "kind": kind, "metadata": {"namespace": "shop"}}
    assert references_of(value) == [("metadata.namespace", "Namespace", "shop")]


def test_a_reference_that_says_no_kind_and_has_no_default_is_none() -> None:
    scaler = {"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": {"name": "web"}}}
    assert references_of(scaler) == []
    scaler["spec"]["scaleTargetRef"]["kind"] = "Deployment"  # type: ignore[index]
    assert references_of(scaler) == [("spec.scaleTargetRef.name", "Deployment", "web")]


def test_files_of_a_kustomization_are_those_of_one_line() -> None:
    patch = "kind: Deployment\nmetadata: {name: web}\n"
    value: dict[str, Any] = {
        "resources": ["base", 1],
        "patchesStrategicMerge": ["patch.yaml", patch],
        "configMapGenerator": [{"files": ["app.conf", "key=dir/app.conf"]}],
    }
    assert [(format_path(each.path), each.prefix, each.file) for each in files_in(value, of_kptfile=False)] == [
        ("resources[0]", "", "base"),
        ("patchesStrategicMerge[0]", "", "patch.yaml"),
        ("configMapGenerator[0].files[0]", "", "app.conf"),
        ("configMapGenerator[0].files[1]", "key=", "dir/app.conf"),
    ]
