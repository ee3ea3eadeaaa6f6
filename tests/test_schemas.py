"""The schemas and definitions in docs/ are current, and say what the models of each kind say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge.functions.models import MergePackage, PatchResources, PlanComponentUpdates, TransformResources
from pages import COMPONENTS, FUNCTIONS, MERGING, PATCHES, TRANSFORM, YAML_BLOCK


def of_kind(schema: str, definition: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The JSON schema, the KRMFunctionDefinition and its schema of one kind."""
    crd = yaml.safe_load((ROOT / "integrations" / "definitions" / definition).read_text(encoding="utf-8"))
    openapi = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return json.loads((ROOT / "docs" / "schemas" / schema).read_text(encoding="utf-8")), crd, openapi


SCHEMA, DEFINITION, OPENAPI = of_kind("merge-package.json", "merge-package.yaml")
PATCH_SCHEMA, PATCH_DEFINITION, PATCH_OPENAPI = of_kind("patch-resources.json", "patch-resources.yaml")
TRANSFORM_SCHEMA, TRANSFORM_DEFINITION, TRANSFORM_OPENAPI = of_kind(
    "transform-resources.json", "transform-resources.yaml"
)
COMPONENT_SCHEMA, COMPONENT_DEFINITION, COMPONENT_OPENAPI = of_kind(
    "plan-component-updates.json", "plan-component-updates.yaml"
)
FULL = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: MergePackage
metadata:
  name: merge
  annotations: {config.kubernetes.io/local-config: "true"}
original: |
  apiVersion: kpt.dev/v1
  kind: Kptfile
upstream:
- apiVersion: kpt.dev/v1
  kind: Kptfile
onConflict: upstream
rules:
- {group: apps, kind: Deployment, namespace: web, name: web, path: spec.replicas, onConflict: local, onDelete: local}
listKeys:
- {apiVersion: example.com/v1, kind: Widget, path: spec.parts, keys: [name, side]}
functionIdentity: document
"""


# ---- generated files -------------------------------------------------------------------------------------------------


def test_generated_files_are_current_and_the_one_that_is_not_is_named(tmp_path: Path) -> None:
    for folder in ("docs", "integrations"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    definition = tmp_path / "integrations" / "definitions" / "merge-package.yaml"
    definition.write_text("stale\n", encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check", "--root", str(tmp_path)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "fn")}
    run = subprocess.run(command, capture_output=True, check=False, env=env, text=True, timeout=SECONDS)
    assert run.returncode == 1
    assert run.stderr == "integrations/definitions/merge-package.yaml is out of date; run `make docs`\n"
    assert definition.read_text(encoding="utf-8") == "stale\n"


# ---- the JSON schema -------------------------------------------------------------------------------------------------

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "null": type(None),
}


def violations(schema: dict[str, Any], value: Any, at: str = "") -> Iterator[str]:
    """What a value breaks of a schema, for the keywords that our schemas use."""
    if "anyOf" in schema and all(list(violations(branch, value, at)) for branch in schema["anyOf"]):
        yield f"{at}: no branch fits"
    if value is None and schema.get("nullable"):
        return
    if "type" in schema and not isinstance(value, TYPES[schema["type"]]):
        yield f"{at}: not of type {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: none of {schema['enum']}"
    if schema.get("type") == "number" and not schema["exclusiveMinimum"] < value <= schema["maximum"]:
        yield f"{at}: out of bounds"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{at}: too short"
        for number, item in enumerate(value):
            yield from violations(schema.get("items", {}), item, f"{at}[{number}]")
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        yield from (f"{at}.{name}: missing" for name in schema.get("required", []) if name not in value)
        for name, field in value.items():
            if name in fields:
                yield from violations(fields[name], field, f"{at}.{name}")
            elif isinstance(rest := schema.get("additionalProperties"), dict):
                yield from violations(rest, field, f"{at}.{name}")
            elif rest is False:
                yield f"{at}.{name}: unknown"


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all schemas inside."""
    yield schema
    inside = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for child in [*inside, *([schema["items"]] if "items" in schema else [])]:
        yield from nodes(child)


def configs() -> list[str]:
    """Every whole functionConfig that the page shows, and one with every field."""
    blocks = [block for block in YAML_BLOCK.findall(MERGING) if re.search(r"^kind: MergePackage$", block, re.MULTILINE)]
    return [FULL, *blocks]


@pytest.mark.parametrize("config", configs())
def test_examples_are_valid(config: str) -> None:
    value = yaml.safe_load(config)
    MergePackage.model_validate(value)
    assert list(violations(SCHEMA, value)) == []
    assert list(violations(OPENAPI, value)) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"onConflicts": "local"}, ".onConflicts"),
        ({"onConflict": "ours"}, ".onConflict"),
        ({"onConflict": None}, ".onConflict"),
        ({"kind": "MergePackages"}, ".kind"),
        ({"original": 1}, ".original"),
        ({"original": [1]}, ".original"),
        ({"metadata": []}, ".metadata"),
        ({"rules": [{"paths": "a"}]}, ".rules[0].paths"),
        ({"rules": [{"onDelete": "fail"}]}, ".rules[0].onDelete"),
        ({"listKeys": [{"apiVersion": "v1", "kind": "A", "path": "a", "keys": []}]}, ".listKeys[0].keys"),
        ({"listKeys": [{"apiVersion": "v1", "kind": "A", "keys": ["a"]}]}, ".listKeys[0].path"),
    ],
)
def test_model_and_schema_refuse_the_same(change: dict[str, Any], where: str) -> None:
    value = yaml.safe_load(FULL) | change
    with pytest.raises(ValidationError):
        MergePackage.model_validate(value)
    assert [problem.partition(":")[0] for problem in violations(SCHEMA, value)] == [where]


@pytest.mark.parametrize("change", [{"original": None}, {"rules": [{"path": None, "onDelete": None}]}, {"rules": [{}]}])
def test_model_and_schemas_take_the_same_nulls(change: dict[str, Any]) -> None:
    value = yaml.safe_load(FULL) | change
    MergePackage.model_validate(value)
    assert list(violations(SCHEMA, value)) == []
    assert list(violations(OPENAPI, value)) == []


def test_examples_of_patches_are_valid() -> None:
    blocks = [block for block in YAML_BLOCK.findall(FUNCTIONS + PATCHES) if "kind: PatchResources" in block]
    assert blocks
    for value in map(yaml.safe_load, blocks):
        PatchResources.model_validate(value)
        assert list(violations(PATCH_SCHEMA, value)) == []
        assert list(violations(PATCH_OPENAPI, value)) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"patches": []}, ".patches"),
        ({"patches": [{"patch": ["a"]}]}, ".patches[0].patch"),
        ({"patches": [{"patch": "a", "type": "yaml"}]}, ".patches[0].type"),
        ({"patches": [{"target": {"kinds": "a"}}]}, ".patches[0].target"),
        ({"patches": [{"options": None}]}, ".patches[0].options"),
        ({"patches": [{"options": {"allowNameChange": 1}}]}, ".patches[0].options.allowNameChange"),
        ({"listOrder": "kubectl"}, ".listOrder"),
        ({"mergeKeys": None}, ".mergeKeys"),
        ({"listKeys": [{"apiVersion": "v1", "kind": "A", "path": "a", "keys": []}]}, ".listKeys[0].keys"),
    ],
)
def test_model_and_schema_of_patches_refuse_the_same(change: dict[str, Any], where: str) -> None:
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "PatchResources", "patches": [{"patch": "a: 1"}]}
    with pytest.raises(ValidationError):
        PatchResources.model_validate(head | change)
    assert [problem.partition(":")[0] for problem in violations(PATCH_SCHEMA, head | change)] == [where]


def test_examples_of_plugins_are_valid() -> None:
    files = sorted((ROOT / "examples").glob("transform*/transform.yaml"))
    blocks = [block for block in YAML_BLOCK.findall(FUNCTIONS + TRANSFORM) if "kind: TransformResources" in block]
    assert len(files) == 2
    assert blocks
    for value in map(yaml.safe_load, [*blocks, *(file.read_text(encoding="utf-8") for file in files)]):
        TransformResources.model_validate(value)
        assert list(violations(TRANSFORM_SCHEMA, value)) == []
        assert list(violations(TRANSFORM_OPENAPI, value)) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"plugins": []}, ".plugins"),
        ({"plugins": [{"builtin": "openshift"}]}, ".plugins[0].builtin"),
        ({"plugins": [{"exec": {}}]}, ".plugins[0].exec.file"),
        ({"plugins": [{"exec": {"file": "a", "timeoutSeconds": 0}}]}, ".plugins[0].exec.timeoutSeconds"),
        ({"plugins": [{"exec": {"file": "a", "timeoutSeconds": 301}}]}, ".plugins[0].exec.timeoutSeconds"),
        ({"plugins": [{"exec": {"file": "a", "protocol": "crane/v2"}}]}, ".plugins[0].exec.protocol"),
        ({"plugins": [{"options": {"a": 1}}]}, ".plugins[0].options.a"),
        ({"plugins": [{"patches": [{"ops": []}]}]}, ".plugins[0].patches[0].ops"),
        ({"plugins": [{"patches": [{"ops": [{"op": "put", "path": ""}]}]}]}, ".plugins[0].patches[0].ops[0].op"),
        ({"plugins": [{"patches": [{"ops": [{"op": "add"}]}]}]}, ".plugins[0].patches[0].ops[0].path"),
        ({"priorities": "a"}, ".priorities"),
        ({"conflicts": {"detect": "text"}}, ".conflicts.detect"),
        ({"whiteout": {"action": "delete"}}, ".whiteout.action"),
    ],
)
def test_model_and_schema_of_plugins_refuse_the_same(change: dict[str, Any], where: str) -> None:
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "TransformResources", "plugins": [{"builtin": "kubernetes"}]}
    TransformResources.model_validate(head)
    with pytest.raises(ValidationError):
        TransformResources.model_validate(head | change)
    places = [problem.partition(":")[0] for problem in violations(TRANSFORM_SCHEMA, head | change)]
    # Of a field that may be null, no branch fits.
    assert places
    assert all(where.startswith(place) for place in places)


def test_examples_of_components_are_valid() -> None:
    files = sorted((ROOT / "examples").glob("components-*/components.yaml"))
    blocks = [block for block in YAML_BLOCK.findall(FUNCTIONS + COMPONENTS) if "kind: PlanComponentUpdates" in block]
    assert len(files) == 3
    assert len(blocks) == 2
    for value in map(yaml.safe_load, [*blocks, *(file.read_text(encoding="utf-8") for file in files)]):
        PlanComponentUpdates.model_validate(value)
        assert list(violations(COMPONENT_SCHEMA, value)) == []
        assert list(violations(COMPONENT_OPENAPI, value)) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"mode": "apply"}, ".mode"),
        ({"mode": None}, ".mode"),
        ({"separators": ["-"]}, ".separators[0]"),
        ({"ignoredPrefixes": "renovate"}, ".ignoredPrefixes"),
        ({"suffix": "name"}, ".suffix"),
        ({"emit": {"snapshots": True}}, ".emit.snapshots"),
        ({"emit": {"contexts": "yes"}}, ".emit.contexts"),
        ({"digest": {"match": "all"}}, ".digest.match"),
        ({"digest": {"tag": "new"}}, ".digest.tag"),
        ({"digest": {"multiDigestFile": "keep"}}, ".digest.multiDigestFile"),
        ({"onClosed": "close"}, ".onClosed"),
        ({"removed": [1]}, ".removed[0]"),
        ({"remove": []}, ".remove"),
    ],
)
def test_model_and_schema_of_components_refuse_the_same(change: dict[str, Any], where: str) -> None:
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "PlanComponentUpdates"}
    PlanComponentUpdates.model_validate(head)
    with pytest.raises(ValidationError):
        PlanComponentUpdates.model_validate(head | change)
    assert [problem.partition(":")[0] for problem in violations(COMPONENT_SCHEMA, head | change)] == [where]


@pytest.mark.parametrize(
    ("schema", "model", "file"),
    [
        (SCHEMA, MergePackage, "merge-package"),
        (PATCH_SCHEMA, PatchResources, "patch-resources"),
        (TRANSFORM_SCHEMA, TransformResources, "transform-resources"),
        (COMPONENT_SCHEMA, PlanComponentUpdates, "plan-component-updates"),
    ],
)
def test_schema_says_what_it_is(schema: dict[str, Any], model: type[BaseModel], file: str) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f"/docs/schemas/{file}.json")
    assert schema["title"] == model.__name__
    assert schema["properties"].keys() == model.model_fields.keys()


# ---- the KRMFunctionDefinition ---------------------------------------------------------------------------------------


def test_function_definition_names_the_function() -> None:
    metadata = yaml.safe_load((ROOT / "integrations" / "metadata.yaml").read_text(encoding="utf-8"))
    spec = DEFINITION["spec"]
    version = spec["versions"][0]
    assert (DEFINITION["apiVersion"], DEFINITION["kind"]) == (
        "config.kubernetes.io/v1alpha1",
        "KRMFunctionDefinition",
    )
    group_version = f"{spec['group']}/{version['name']}"
    assert (group_version, spec["names"]["kind"]) == (FULL.split()[1], FULL.split()[3])
    assert version["runtime"]["container"]["image"] == f"{metadata['image']}:dev"
    assert (spec["description"], spec["tags"]) == (metadata["description"], metadata["tags"])
    assert version["license"] == metadata["license"]


@pytest.mark.parametrize(
    ("definition", "kind", "page"),
    [
        (PATCH_DEFINITION, "PatchResources", "docs/patches.md"),
        (TRANSFORM_DEFINITION, "TransformResources", "docs/transform.md"),
        (COMPONENT_DEFINITION, "PlanComponentUpdates", "docs/components.md"),
    ],
)
def test_the_definitions_of_other_kinds(definition: dict[str, Any], kind: str, page: str) -> None:
    spec, other = definition["spec"], DEFINITION["spec"]
    assert (spec["names"]["kind"], spec["group"]) == (kind, other["group"])
    version = spec["versions"][0]
    assert version["runtime"] == other["versions"][0]["runtime"]
    assert version["usage"].endswith(f"/{page}")


@pytest.mark.parametrize(
    ("openapi", "model"),
    [
        (OPENAPI, MergePackage),
        (PATCH_OPENAPI, PatchResources),
        (TRANSFORM_OPENAPI, TransformResources),
        (COMPONENT_OPENAPI, PlanComponentUpdates),
    ],
)
def test_openapi_schema_is_structural(openapi: dict[str, Any], model: type[BaseModel]) -> None:
    forbidden = {"$ref", "$defs", "const", "anyOf", "title"}
    for node in nodes(openapi):
        assert not forbidden & node.keys(), node
        assert not {"properties", "additionalProperties"} <= node.keys(), node
        assert node.get("additionalProperties", {}) is not False, node
        assert "type" in node or node.get("x-kubernetes-preserve-unknown-fields"), node
    assert openapi["properties"]["metadata"] == {"type": "object"}
    assert openapi["properties"].keys() == model.model_fields.keys()
