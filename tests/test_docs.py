"""The docs say what the code does: generated files are current, rules exist, examples hold, fields are described.

Sessions (`console` blocks) of README.md, docs/command-line.md, docs/fleet.md and docs/transform.md are run;
`WRITE_GOLDEN_OUTPUT=1` rewrites what they print.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args

import click
import pytest
import yaml
from pydantic import BaseModel, ValidationError

from checkout import ROOT
from krm_merge import __version__
from krm_merge.functions import process
from krm_merge.functions.merge_package.models import ConfigMapData, MergePackage
from krm_merge.functions.patch_resources.models import PatchConfigMapData, PatchResources
from krm_merge.functions.plan_component_updates.models import PlanComponentUpdates
from krm_merge.functions.transform_resources.models import TransformConfigMapData, TransformResources
from krm_merge.merge.values.identity import SIMILARITY_THRESHOLD
from krm_merge.merge.values.likeness import THRESHOLD
from krm_merge.merge.values.pairing import MOST_COMPARED, WEAK_KEYS

README = (ROOT / "README.md").read_text(encoding="utf-8")
RULES = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
PATCHES = (ROOT / "docs" / "patches.md").read_text(encoding="utf-8")
TRANSFORM = (ROOT / "docs" / "transform.md").read_text(encoding="utf-8")
COMPONENTS = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def of_kind(schema: str, definition: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The JSON schema, the KRMFunctionDefinition and its schema of one kind."""
    found = yaml.safe_load((ROOT / "docs" / definition).read_text(encoding="utf-8"))
    openapi = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return json.loads((ROOT / "docs" / "schemas" / schema).read_text(encoding="utf-8")), found, openapi


SCHEMA, DEFINITION, OPENAPI = of_kind("merge-package.json", "krm-function-definition.yaml")
PATCH_SCHEMA, PATCH_DEFINITION, PATCH_OPENAPI = of_kind(
    "patch-resources.json", "krm-function-definition-patch-resources.yaml"
)
TRANSFORM_SCHEMA, TRANSFORM_DEFINITION, TRANSFORM_OPENAPI = of_kind(
    "transform-resources.json", "krm-function-definition-transform-resources.yaml"
)
COMPONENT_SCHEMA, COMPONENT_DEFINITION, COMPONENT_OPENAPI = of_kind(
    "plan-component-updates.json", "krm-function-definition-plan-component-updates.yaml"
)

RULE = re.compile(r"\b[VLFKRWPTM][0-9]{1,2}\b")
RULE_RANGE = re.compile(r"\b([VLFKRWPTM])([0-9]{1,2})[-\u2013]\1?([0-9]{1,2})\b")
HEADING = re.compile(r"^### ([A-H]|[VLFKRWPTM][0-9]{1,2})\. ", re.MULTILINE)
# The page of components has numbers of its own, in tables.
COMPONENT_RULE = re.compile(r"\b[CRIS][0-9]{1,2}\b")
COMPONENT_RULE_RANGE = re.compile(r"\b([CRIS])([0-9]{1,2})(?:[-\u2013]| to )\1([0-9]{1,2})\b")
COMPONENT_ROW = re.compile(r"^\| ([CRIS][0-9]{1,2}) \| ", re.MULTILINE)
YAML_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\$ ", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)

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


# ---- generated files ---------------------------------------------------------------------------------------------


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "generate_docs.py"), *arguments]
    env = os.environ | {"PYTHONPATH": str(ROOT / "fn")}
    return subprocess.run(command, capture_output=True, check=False, env=env, text=True, timeout=60)


def test_generated_files_are_current() -> None:
    run = generate("--check")
    assert run.returncode == 0, run.stderr


def test_check_tells_a_stale_file_and_writes_nothing(tmp_path: Path) -> None:
    assert generate("--docs", str(tmp_path)).returncode == 0
    definition = tmp_path / "krm-function-definition.yaml"
    definition.write_text("stale\n", encoding="utf-8")
    run = generate("--check", "--docs", str(tmp_path))
    assert run.returncode == 1
    assert run.stderr == "docs/krm-function-definition.yaml is out of date; run `make docs`\n"
    assert definition.read_text(encoding="utf-8") == "stale\n"


# ---- the JSON schema ---------------------------------------------------------------------------------------------

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
    """Every whole functionConfig that the README shows, and one with every field."""
    blocks = [block for block in YAML_BLOCK.findall(README) if re.search(r"^kind: MergePackage$", block, re.MULTILINE)]
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
    blocks = [block for block in YAML_BLOCK.findall(PATCHES) if "kind: PatchResources" in block]
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
    blocks = [block for block in YAML_BLOCK.findall(TRANSFORM) if "kind: TransformResources" in block]
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
    found = [problem.partition(":")[0] for problem in violations(TRANSFORM_SCHEMA, head | change)]
    # Of a field that may be null, no branch fits.
    assert found
    assert all(where.startswith(place) for place in found)


def test_examples_of_components_are_valid() -> None:
    files = sorted((ROOT / "examples").glob("components-*/components.yaml"))
    blocks = [block for block in YAML_BLOCK.findall(README + COMPONENTS) if "kind: PlanComponentUpdates" in block]
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
        ({"digest": {"tag": "drop"}}, ".digest.tag"),
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


# ---- the KRMFunctionDefinition -----------------------------------------------------------------------------------


def test_function_definition_names_the_function() -> None:
    metadata = yaml.safe_load((ROOT / "metadata.yaml").read_text(encoding="utf-8"))
    spec = DEFINITION["spec"]
    version = spec["versions"][0]
    assert (DEFINITION["apiVersion"], DEFINITION["kind"]) == (
        "config.kubernetes.io/v1alpha1",
        "KRMFunctionDefinition",
    )
    group_version = f"{spec['group']}/{version['name']}"
    assert (group_version, spec["names"]["kind"]) == (FULL.split()[1], FULL.split()[3])
    assert version["runtime"]["container"]["image"] == f"{metadata['image']}:v{__version__.rpartition('.')[0]}"
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


# ---- docs/rules.md -----------------------------------------------------------------------------------------------


def cited(text: str) -> set[str]:
    """The rules that a text names, those within a range included."""
    ranges = RULE_RANGE.findall(text)
    return {*RULE.findall(text), *(f"{a}{n}" for a, first, last in ranges for n in range(int(first), int(last) + 1))}


@pytest.mark.parametrize(
    "file", ["README.md", *(str(f.relative_to(ROOT)) for f in sorted((ROOT / "fn").rglob("*.py")))]
)
def test_every_rule_that_is_cited_exists(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    if "component" in file:
        assert cited_of_components(text) <= set(COMPONENT_ROW.findall(COMPONENTS))
        return
    assert cited(text) <= set(HEADING.findall(RULES + PATCHES + TRANSFORM))


def cited_of_components(text: str) -> set[str]:
    """The same for the numbers of the page of components."""
    ranges = COMPONENT_RULE_RANGE.findall(text)
    within = (f"{a}{n}" for a, first, last in ranges for n in range(int(first), int(last) + 1))
    return {*COMPONENT_RULE.findall(text), *within}


def test_rules_of_components_stand_once_and_in_order() -> None:
    numbers = {"C": range(1, 14), "R": range(1, 35), "I": range(1, 19), "S": (3, 7, 8)}
    assert COMPONENT_ROW.findall(COMPONENTS) == [f"{letter}{n}" for letter in "CRIS" for n in numbers[letter]]
    assert cited_of_components(COMPONENTS) <= set(COMPONENT_ROW.findall(COMPONENTS))


def test_rules_of_plugins_stand_once_and_in_order() -> None:
    assert HEADING.findall(TRANSFORM) == [f"T{number}" for number in range(1, 12)]
    assert cited(TRANSFORM) <= set(HEADING.findall(RULES + TRANSFORM))


LINKED = ["transform.md", "components.md", *(f"design/{f.name}" for f in sorted((ROOT / "docs" / "design").iterdir()))]


@pytest.mark.parametrize("name", [*LINKED, "reference/README.md", "../CONTRIBUTING.md"])
def test_every_link_in_the_page_leads_somewhere(name: str) -> None:
    page = (ROOT / "docs" / name).resolve()
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", CODE.sub("", page.read_text("utf-8"))):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in anchors, f"{path}#{anchor}"


def test_every_rule_is_cited_where_the_code_decides_it() -> None:
    index = (ROOT / "docs" / "design" / "finding-rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[([A-Z]\d*)\]\(\.\./([a-z]+\.md)#[^)]*\) \| .* \| (.*) \|$", index, re.MULTILINE)
    assert [(number, page) for number, page, places in rows if "](../../fn/" not in places and len(number) > 1] == []
    # Laws are held by tests where no single place decides them.
    assert [number for number, _, places in rows if not places.strip()] == []
    numbers = [number for number, page, _ in rows if page == "rules.md"]
    assert numbers == HEADING.findall(RULES)


def test_the_threshold_is_the_one_of_the_code() -> None:
    assert f"The threshold is **{SIMILARITY_THRESHOLD}**" in " ".join(RULES.split())


def test_how_elements_are_paired_is_as_the_code_has_it() -> None:
    text = " ".join(RULES.split())
    *names, last = (f"`{name}`" for name in WEAK_KEYS)
    assert f"the first of {', '.join(names)} and {last} that every element" in text
    assert f"The limit is **{THRESHOLD}**" in text
    assert f"the limit is {THRESHOLD}." in text
    assert f"more than {MOST_COMPARED:,} pairs" in text


def test_rules_stand_once_and_in_order() -> None:
    headings = HEADING.findall(RULES)
    laws, rules = headings[:8], headings[8:]
    assert laws == list("ABCDEFGH")
    assert rules == sorted(rules, key=lambda rule: ("VLFKRMW".index(rule[0]), int(rule[1:])))
    assert len(headings) == len(set(headings))
    assert cited(RULES) == set(rules)


def examples() -> Iterator[Any]:
    """The examples of the rules, each by the number of its rule."""
    for section in RULES.split("\n### ")[1:]:
        yield from (pytest.param(block, id=section.partition(".")[0]) for block in YAML_BLOCK.findall(section))


@pytest.mark.parametrize("block", list(examples()))
def test_examples_of_the_rules_hold(block: str) -> None:
    example = yaml.safe_load(block)
    original, upstream, local, merged = (
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n" + example.pop(side)
        for side in ("original", "upstream", "local", "merged")
    )
    config = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage", "original": original, "upstream": upstream}
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    tail = "functionConfig: " + json.dumps(config | example) + "\n"
    outcome = process((head + as_item(local) + tail).encode())
    assert outcome.exit_code == 0, outcome.message
    assert outcome.output.decode().startswith(head + as_item(merged) + tail), outcome.output.decode()


def as_item(text: str) -> str:
    return "- " + "".join(f"  {line}" for line in text.splitlines(keepends=True))[2:]


def test_examples_of_the_rules_are_found() -> None:
    assert len(list(examples())) == RULES.count("```yaml") > 0


# ---- README ------------------------------------------------------------------------------------------------------


def fields_of(model: type[BaseModel]) -> set[str]:
    """The fields of a model and of the models in it."""
    found = {field.alias or name for name, field in model.model_fields.items()}
    pending = [field.annotation for field in model.model_fields.values()]
    while pending:
        annotation = pending.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found |= fields_of(annotation)
        else:
            pending.extend(get_args(annotation))
    return found


def section_on(title: str, page: str = README) -> str:
    """A page's section of this title, to the next heading of its level or above."""
    found = re.search(rf"^(##+) {title}$", page, re.MULTILINE | re.IGNORECASE)
    assert found, f"there is no section {title}"
    return re.split(rf"^##{{1,{len(found[1]) - 1}}} ", page[found.end() :], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("field", sorted(fields_of(MergePackage) | fields_of(ConfigMapData)))
def test_readme_documents_every_field(field: str) -> None:
    code = "\n".join(CODE.findall(section_on("functionConfig")))
    assert re.search(rf"\b{field}\b", code), f"README.md, functionConfig: {field} is not documented"


@pytest.mark.parametrize("field", sorted(fields_of(PatchResources) | fields_of(PatchConfigMapData)))
def test_every_field_of_patches_is_documented(field: str) -> None:
    code = "\n".join((*YAML_BLOCK.findall(PATCHES), *CODE.findall(section_on("functionConfig", PATCHES))))
    assert re.search(rf"\b{field}\b", code), f"docs/patches.md: {field} is not documented"


@pytest.mark.parametrize("field", sorted(fields_of(TransformResources) | fields_of(TransformConfigMapData)))
def test_every_field_of_plugins_is_documented(field: str) -> None:
    whole = next(block for block in YAML_BLOCK.findall(TRANSFORM) if "kind: TransformResources" in block)
    code = "\n".join((whole, *CODE.findall(section_on("functionConfig", TRANSFORM))))
    assert re.search(rf"\b{field}\b", code), f"docs/transform.md: {field} is not documented"


@pytest.mark.parametrize("field", sorted(fields_of(PlanComponentUpdates)))
def test_every_field_of_components_is_documented(field: str) -> None:
    # Of a comment, too: there is the place of what is not documented yet.
    assert re.search(rf"`[a-z]*\.?{field}\b|^ *{field}:", section_on("functionConfig", COMPONENTS) + COMPONENTS, re.M)


@pytest.mark.parametrize(("name", "language"), [("contact.sh", "sh"), ("spread.py", "python")])
def test_the_page_of_plugins_shows_the_examples(name: str, language: str) -> None:
    file = f"examples/transform-plugins/image/plugins/{name}"
    code = (ROOT / file).read_text(encoding="utf-8")
    assert f"<!-- {file} -->\n\n```{language}\n{code}```\n" in TRANSFORM


# ---- sessions on the command line --------------------------------------------------------------------------------

ADDRESS = "https://git.example.com/packages"
KPTFILE = """\
    apiVersion: kpt.dev/v1
    kind: Kptfile
    metadata:
      name: web
    pipeline:
      mutators:
      - image: gcr.io/kpt-fn/set-labels:v0.1
        configMap:
          app: web
    """
DEPLOYMENT = """\
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      replicas: 1
      template:
        spec:
          containers:
          - name: web
            image: nginx:1.25
    """
SERVICE = """\
    apiVersion: v1
    kind: Service
    metadata:
      name: web
    spec:
      ports:
      - port: 80
    """
# As `kpt pkg get` writes it.
NOTED_DEPLOYMENT = DEPLOYMENT.replace(
    "metadata:\n      name: web\n",
    "metadata: # kpt-merge: /web\n      name: web\n      annotations:\n"
    "        internal.kpt.dev/upstream-identifier: 'apps|Deployment|default|web'\n",
)
UPSTREAM = """
    upstream:
      type: git
      git:
        repo: {address}
        directory: /web
        ref: v1
      updateStrategy: resource-merge
    upstreamLock:
      type: git
      git:
        repo: {address}
        directory: /web
        ref: v1
        commit: {commit}
    pipeline:"""

VERSIONS = {
    "v1": {"Kptfile": KPTFILE, "deployment.yaml": DEPLOYMENT},
    "v2": {
        "Kptfile": KPTFILE.replace("v0.1", "v0.2"),
        "deployment.yaml": DEPLOYMENT.replace("1.25", "1.27").replace("replicas: 1", "replicas: 2"),
        "service.yaml": SERVICE,
    },
    "v3": {
        "Kptfile": KPTFILE.replace("v0.1", "v0.2"),
        "deployment.yaml": DEPLOYMENT.replace("1.25", "1.28").replace("replicas: 1", "replicas: 2"),
        "service.yaml": SERVICE,
    },
}


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(dedent(text), encoding="utf-8")


class Shell:
    """A machine with the packages that the sessions speak of; every commit in them has the same id everywhere."""

    def __init__(self, place: Path) -> None:
        home, programs, upstream = place / "home", place / "bin", place / "packages"
        self.directory = place / "deploy"
        for folder in (home, programs, upstream, self.directory):
            folder.mkdir()
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "KRM_", "XDG_"))}
        self.env |= {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "fn")}
        self.env |= {f"GIT_{who}_DATE": "2026-01-02T03:04:05Z" for who in ("AUTHOR", "COMMITTER")}
        self.env |= {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
        (home / ".gitconfig").write_text(
            "[user]\nname = We\nemail = we@example.com\n[init]\ndefaultBranch = main\n"
            f'[url "file://{upstream}"]\ninsteadOf = {ADDRESS}\n'
        )
        program = programs / "krm-merge"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m krm_merge "$@"\n')
        program.chmod(0o755)
        self._git(upstream, "init", "--quiet")
        for version, files in VERSIONS.items():
            write(upstream / "web", files)
            write(self.directory / version, files)
            self._commit(upstream, version)
            self._git(upstream, "tag", version)
        self._git(self.directory, "init", "--quiet")
        (self.directory / ".git" / "info" / "exclude").write_text("/v[123]/\n")
        origin = UPSTREAM.format(address=ADDRESS, commit=self._git(upstream, "rev-parse", "v1").strip())
        kptfile = KPTFILE.replace("\n    pipeline:", origin)
        write(self.directory / "web", {"Kptfile": kptfile, "deployment.yaml": NOTED_DEPLOYMENT})
        self._commit(self.directory, "web v1")
        write(self.directory / "web", {"deployment.yaml": NOTED_DEPLOYMENT.replace("replicas: 1", "replicas: 5")})
        self._commit(self.directory, "more replicas")

    def outputs(self, commands: Sequence[str]) -> list[str]:
        """What each command of a session prints, on stdout and stderr."""
        # The marks between them leave $? as it is.
        mark = "status=$?; printf '\\0'; (exit $status)"
        script = "".join(f"{mark}\n{command}\n" for command in commands)
        run = subprocess.run(
            ["bash", "-c", script],
            cwd=self.directory,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=120,
        )
        return run.stdout.decode().split("\0")[1:]

    def _commit(self, repository: Path, message: str) -> None:
        self._git(repository, "add", "--all")
        self._git(repository, "commit", "--quiet", f"--message={message}")

    def _git(self, repository: Path, *arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=repository, env=self.env, capture_output=True, check=True, text=True).stdout


def sessions() -> Iterator[Any]:
    """The sections of the pages that show commands, each a session of its own."""
    for page in ("README.md", "docs/command-line.md", "docs/fleet.md", "docs/transform.md"):
        for section in (ROOT / page).read_text(encoding="utf-8").split("\n## ")[1:]:
            if CONSOLE_BLOCK.search(section):
                marks = [pytest.mark.kpt] if re.search(r"^\$ (kpt|krm-merge compare) ", section, re.MULTILINE) else []
                yield pytest.param(page, section, id=f"{page}, {section.partition(chr(10))[0]}", marks=marks)


def as_printed(expected: str, printed: str) -> bool:
    """Whether this was printed; a line `...` stands for any lines."""
    pattern = "".join(".*" if line == "...\n" else re.escape(line) for line in expected.splitlines(keepends=True))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize(("page", "section"), list(sessions()))
def test_sessions_print_what_the_docs_show(page: str, section: str, tmp_path: Path) -> None:
    steps = [step for block in CONSOLE_BLOCK.findall(section) for step in PROMPT.split(block)[1:]]
    commands, expected = zip(*(split_step(step) for step in steps), strict=True)
    printed = Shell(tmp_path).outputs([command.replace("\n> ", "\n") for command in commands])
    if os.environ.get("WRITE_GOLDEN_OUTPUT"):
        rewrite(page, section, [(command, *texts) for command, *texts in zip(commands, expected, printed, strict=True)])
        return
    for command, old, new in zip(commands, expected, printed, strict=True):
        assert as_printed(old, new), f"$ {command}\n{new}"


def rewrite(page: str, section: str, steps: list[tuple[str, str, str]]) -> None:
    """Puts what each command printed in the place of what the page says it prints."""
    done, rest = "", section
    for command, old, new in steps:
        before, prompt, rest = rest.partition(f"$ {command}\n{old}")
        assert prompt
        done += f"{before}$ {command}\n{old if as_printed(old, new) else new}"
    text = (ROOT / page).read_text(encoding="utf-8")
    (ROOT / page).write_text(text.replace(section, done + rest), encoding="utf-8")


def split_step(step: str) -> tuple[str, str]:
    """The command, which goes on in lines that start with `> `, and its output."""
    lines = step.splitlines(keepends=True)
    more = next((number for number, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
    return "".join(lines[:more]).rstrip("\n"), "".join(lines[more:])


def command_options() -> Iterator[Any]:
    from krm_merge.cli.app import COMMANDS as NAMES
    from krm_merge.cli.app import app

    for name in NAMES:
        command = app.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        parts = command.commands if isinstance(command, click.Group) else {"": command}
        for part, inner in parts.items():
            for parameter in inner.params:
                if parameter.param_type_name == "option":
                    shown = " ".join(filter(None, (name, part, parameter.opts[0])))
                    yield pytest.param(name, max(parameter.opts, key=len), id=shown)


@pytest.mark.parametrize(("command", "option"), list(command_options()))
def test_every_option_of_a_command_is_described(command: str, option: str) -> None:
    sections = {title.strip("`"): body for title, _, body in (s.partition("\n") for s in COMMANDS.split("\n## "))}
    shared = sections["Options that several commands have"]
    found = [text for text in (sections[f"krm-merge {command}"], shared) if re.search(rf"`{option}\b", text)]
    assert found, f"docs/command-line.md: {command} {option} is not described"
