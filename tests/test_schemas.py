"""The schemas and definitions are current, and say what the models of each kind say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge.functions.models import MergePackage, PatchResources, PlanComponentUpdates, TransformResources
from pages import COMPONENTS, FUNCTIONS, MERGING, PATCHES, TRANSFORM, YAML_BLOCK

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


class Kind(NamedTuple):
    """A kind of functionConfig: its model, the pages with examples of it, and the least that is valid."""

    model: type[BaseModel]
    pages: str
    example: dict[str, Any]
    page: str

    @property
    def file(self) -> str:
        return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in self.model.__name__)[1:]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema."""
        schema: dict[str, Any] = json.loads((ROOT / "docs" / "schemas" / f"{self.file}.json").read_text("utf-8"))
        return schema

    @property
    def definition(self) -> dict[str, Any]:
        """The `spec` of the KRMFunctionDefinition."""
        text = (ROOT / "integrations" / "definitions" / f"{self.file}.yaml").read_text("utf-8")
        definition: dict[str, Any] = yaml.safe_load(text)["spec"]
        return definition

    @property
    def openapi(self) -> dict[str, Any]:
        """The schema in the definition."""
        openapi: dict[str, Any] = self.definition["versions"][0]["schema"]["openAPIV3Schema"]
        return openapi


def of(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": kind, **fields}


KINDS = {
    kind.model.__name__: kind
    for kind in (
        Kind(MergePackage, MERGING, yaml.safe_load(FULL), "docs/functions/merge-package.md"),
        Kind(PatchResources, PATCHES, of("PatchResources", patches=[{"patch": "a: 1"}]), "docs/patches.md"),
        Kind(
            TransformResources,
            TRANSFORM,
            of("TransformResources", plugins=[{"builtin": "kubernetes"}]),
            "docs/transform.md",
        ),
        Kind(PlanComponentUpdates, COMPONENTS, of("PlanComponentUpdates"), "docs/components.md"),
    )
}
BY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


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


def places(schema: dict[str, Any], value: Any) -> list[str]:
    """Where a value breaks a schema, as the models name places: those of fields that are missing or unknown, too."""
    broken = []
    for error in Draft202012Validator(schema).iter_errors(value):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        names: list[str] = []
        if error.validator == "additionalProperties":
            names = [name for name in error.instance if name not in error.schema.get("properties", {})]
        elif error.validator == "required":
            names = [name for name in error.schema["required"] if name not in error.instance]
        broken += [f"{place}.{name}" for name in names] or [place]
    return broken


def as_json_schema(node: Any) -> Any:
    """A schema of OpenAPI 3.0 in the words of JSON schema: `nullable` is one more type."""
    if isinstance(node, list):
        return [as_json_schema(child) for child in node]
    if not isinstance(node, dict):
        return node
    schema = {key: as_json_schema(child) for key, child in node.items()}
    if schema.pop("nullable", None) is True and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if schema.get("exclusiveMinimum") is True:
        schema["exclusiveMinimum"] = schema.pop("minimum")
    return schema


@BY_KIND
def test_examples_are_valid_by_model_and_schemas(kind: Kind) -> None:
    name = kind.model.__name__
    blocks = [yaml.safe_load(text) for text in YAML_BLOCK.findall(FUNCTIONS + kind.pages) if f"kind: {name}" in text]
    files = [yaml.safe_load(file.read_text("utf-8")) for file in (ROOT / "examples").rglob("*.yaml") if is_one(file)]
    examples = [kind.example, *(value for value in (*blocks, *files) if value["kind"] == name)]
    assert len(examples) > 1
    for value in examples:
        kind.model.model_validate(value)
        assert places(kind.schema, value) == []
        assert places(as_json_schema(kind.openapi), value) == []


def is_one(file: Path) -> bool:
    """Whether the file of an example is a functionConfig alone."""
    text = file.read_text(encoding="utf-8")
    return "\n---" not in text and any(f"\nkind: {name}\n" in text for name in KINDS)


REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "MergePackage": [
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
    "PatchResources": [
        ({"patches": []}, ".patches"),
        ({"patches": [{"patch": ["a"]}]}, ".patches[0].patch"),
        ({"patches": [{"patch": "a", "type": "yaml"}]}, ".patches[0].type"),
        ({"patches": [{"target": {"kinds": "a"}}]}, ".patches[0].target"),
        ({"patches": [{"options": {"allowNameChange": 1}}]}, ".patches[0].options.allowNameChange"),
        ({"listOrder": "kubectl"}, ".listOrder"),
        ({"mergeKeys": None}, ".mergeKeys"),
    ],
    "TransformResources": [
        ({"plugins": []}, ".plugins"),
        ({"plugins": [{"builtin": "openshift"}]}, ".plugins[0].builtin"),
        ({"plugins": [{"exec": {}}]}, ".plugins[0].exec.file"),
        ({"plugins": [{"exec": {"file": "a", "timeoutSeconds": 0}}]}, ".plugins[0].exec.timeoutSeconds"),
        ({"plugins": [{"exec": {"file": "a", "protocol": "crane/v2"}}]}, ".plugins[0].exec.protocol"),
        ({"plugins": [{"patches": [{"ops": []}]}]}, ".plugins[0].patches[0].ops"),
        ({"plugins": [{"patches": [{"ops": [{"op": "add"}]}]}]}, ".plugins[0].patches[0].ops[0].path"),
        ({"priorities": "a"}, ".priorities"),
        ({"whiteout": {"action": "delete"}}, ".whiteout.action"),
    ],
    "PlanComponentUpdates": [
        ({"mode": "apply"}, ".mode"),
        ({"mode": None}, ".mode"),
        ({"separators": ["-"]}, ".separators[0]"),
        ({"emit": {"contexts": "yes"}}, ".emit.contexts"),
        ({"digest": {"match": "all"}}, ".digest.match"),
        ({"removed": [1]}, ".removed[0]"),
        ({"remove": []}, ".remove"),
    ],
}


@pytest.mark.parametrize(
    ("name", "change", "where"), [(name, *refused) for name, all_refused in REFUSED.items() for refused in all_refused]
)
def test_model_and_schema_refuse_the_same(name: str, change: dict[str, Any], where: str) -> None:
    kind = KINDS[name]
    with pytest.raises(ValidationError):
        kind.model.model_validate(kind.example | change)
    broken = places(kind.schema, kind.example | change)
    assert broken
    # Of a field with several types, no branch fits.
    assert all(where.startswith(place) and place for place in broken), broken


@pytest.mark.parametrize("change", [{"original": None}, {"rules": [{"path": None, "onDelete": None}]}, {"rules": [{}]}])
def test_model_and_schemas_take_the_same_nulls(change: dict[str, Any]) -> None:
    kind = KINDS["MergePackage"]
    kind.model.model_validate(kind.example | change)
    assert places(kind.schema, kind.example | change) == []
    assert places(as_json_schema(kind.openapi), kind.example | change) == []


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all schemas inside."""
    yield schema
    inside = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for child in [*inside, *([schema["items"]] if "items" in schema else [])]:
        yield from nodes(child)


@BY_KIND
def test_schema_and_definition_say_what_they_are(kind: Kind) -> None:
    schema, definition, model = kind.schema, kind.definition, kind.model
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f"/docs/schemas/{kind.file}.json")
    assert (schema["title"], schema["properties"].keys()) == (model.__name__, model.model_fields.keys())
    metadata = yaml.safe_load((ROOT / "integrations" / "metadata.yaml").read_text(encoding="utf-8"))
    version = definition["versions"][0]
    assert f"{definition['group']}/{version['name']}" == "fn.kpt.dev/v1alpha1"
    assert (definition["names"]["kind"], definition["tags"]) == (model.__name__, metadata["tags"])
    assert version["runtime"]["container"]["image"] == f"{metadata['image']}:dev"
    assert version["usage"].endswith(f"/{kind.page}")


@BY_KIND
def test_the_schema_of_a_definition_is_structural(kind: Kind) -> None:
    """As Kubernetes wants it: one type for each value, no references, no closed objects."""
    for node in nodes(kind.openapi):
        assert not {"$ref", "$defs", "const", "anyOf", "title"} & node.keys(), node
        assert not {"properties", "additionalProperties"} <= node.keys(), node
        assert node.get("additionalProperties", {}) is not False, node
        assert "type" in node or node.get("x-kubernetes-preserve-unknown-fields"), node
    assert kind.openapi["properties"]["metadata"] == {"type": "object"}
