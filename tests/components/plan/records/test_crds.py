"""The definitions in docs/crds: structural, and true of what plan and observe write."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from jsonschema import Draft202012Validator

from checkout import ROOT
from components.observations import digest
from components.world import World
from krm_merge.components.konflux.reading import read_pull_request
from krm_merge.components.plan.model import MARK, Action, TriggerState
from krm_merge.components.plan.plan_file import read_recorded_plan
from krm_merge.forges.interface import PullRequestState
from krm_merge.forges.proposals import MarkedPart

CRDS = ROOT / "docs" / "crds"
TYPES = {"object", "array", "string", "boolean", "integer"}

Schema = dict[str, Any]


def schema_of(kind: str) -> Schema:
    (definition,) = yaml.safe_load_all((CRDS / f"{kind.lower()}s.yaml").read_text(encoding="utf-8"))
    assert definition["spec"]["names"]["kind"] == kind
    assert definition["metadata"]["name"] == f"{definition['spec']['names']['plural']}.{definition['spec']['group']}"
    (version,) = definition["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def violations(schema: Schema, value: Any) -> list[str]:
    """The paths of a value that violate a schema, unknown fields among them: a cluster would drop those."""
    closed = deepcopy(schema)
    for node in nodes(closed):
        if "properties" in node:
            node["additionalProperties"] = False
    return [error.json_path.removeprefix("$") for error in Draft202012Validator(closed).iter_errors(value)]


def nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from nodes(inner)


@pytest.mark.parametrize("kind", ["PullRequest", "PullRequestPlan"])
def test_schemas_are_structural(kind: str) -> None:
    keywords = {
        *("description", "type", "enum", "default", "minimum", "minLength", "items", "required", "properties"),
        "x-kubernetes-preserve-unknown-fields",
    }
    for node in nodes(schema_of(kind)):
        assert node["type"] in TYPES, node
        assert node.keys() <= keywords, node
        assert ("items" in node) == (node["type"] == "array"), node


def test_choices_are_those_of_the_code() -> None:
    plan, pull = (schema_of(kind)["properties"] for kind in ("PullRequestPlan", "PullRequest"))
    spec = plan["spec"]["properties"]
    assert spec["actions"]["items"]["enum"] == [*get_args(Action)]
    assert spec["triggers"]["items"]["properties"]["state"]["enum"] == [*get_args(TriggerState)]
    assert pull["status"]["properties"]["state"]["enum"] == [*get_args(PullRequestState)]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An operator whose controller and bundle share a repository, and two base images of one name in another one."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    world.repository("base", {"Dockerfile": "FROM scratch\n"})
    bundle = f"a: quay.io/o/controller@{digest('0')}\nb: quay.io/o/base@{digest('0')}\n"
    world.repository("op", {"controller/main.go": "package main\n", "bundle/csv.yaml": bundle})
    world.component("base", "base")
    world.component("base9", "base", at="9")
    for name, tag in (("base", "rhel8"), ("base9", "rhel9")):
        place = world.package / f"components/{name}.yaml"
        place.write_text(place.read_text(encoding="utf-8").replace(f"quay.io/o/{name}@", f"quay.io/o/base:{tag}@"))
    world.component("controller", "op", context="controller")
    world.component("bundle", "op", "controller", "base", context="bundle", at="b")
    return world


def written(world: World) -> list[dict[str, Any]]:
    """The resources that observe and plan have written."""
    files = sorted([*(world.package / "observed").glob("*.yaml"), *(world.package / "plans").glob("*.yaml")])
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def test_what_is_written_is_as_defined(world: World) -> None:
    """From the first build to the merge, and to a close; every field that has no setting is among it."""
    seen: dict[str, set[str]] = {"PullRequest": set(), "PullRequestPlan": set()}

    def check() -> None:
        world.plan("base", "op")
        for value in written(world):
            kind = value["kind"]
            assert violations(schema_of(kind), value) == []
            seen[kind] |= set(paths(value))
        world.apply()

    world.commit("base", "feature", {"Dockerfile": "FROM scratch\nRUN true\n"})
    base = world.open("base", "feature")
    world.build("base", "base", "1", base, commit=world.pull("base", base).head)
    world.build("base", "base", "1", base, outcome="False")
    world.commit("op", "feature", {"controller/main.go": "package op\n", "bundle/new.yaml": "a: 1\n"})
    controller = world.open("op", "feature")
    world.build("controller", "op", "1", controller)
    check()
    check()
    planned = next(pull for pull in world.pulls("op") if pull.number != controller)
    world.forge.edit(world.url("op"), planned.number, planned.title, "")
    check()
    world.merge_and_build("base", "base", base, "2", "merge")
    check()
    world.forge.close(world.url("op"), controller)
    check()
    world.commit("base", "other", {"Dockerfile": "FROM scratch\nRUN false\n"})
    other = world.open("base", "other")
    world.build("base", "base", "3", other)
    check()
    world.forge.close(world.url("base"), other)
    check()
    for kind, seen_paths in seen.items():
        fields = {path for path in paths_of(schema_of(kind)) if not path.startswith(".status") or kind == "PullRequest"}
        settings = {".spec.digest", ".spec.digest.files", ".spec.digest.exclude"}
        assert fields - seen_paths <= settings


def paths(value: Any, at: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if at or name not in ("metadata",):
                yield f"{at}.{name}"
                yield from paths(inner, f"{at}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, at)


def paths_of(schema: Schema, at: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        if at or name not in ("metadata",):
            yield f"{at}.{name}"
            yield from paths_of(inner, f"{at}.{name}")
    if "items" in schema:
        yield from paths_of(schema["items"], at)


PLAN = {
    "components": [{"name": "child"}],
    "group": "a",
    "state": "open",
    "draft": True,
    "title": "Update",
    "description": str(MarkedPart(MARK, "")),
}


@pytest.mark.parametrize(
    ("kind", "spec", "where"),
    [
        ("PullRequest", {"number": 0}, ".spec.number"),
        ("PullRequest", {"sourceBranch": ""}, ".spec.sourceBranch"),
        ("PullRequestPlan", {"state": "merged"}, ".spec.state"),
        ("PullRequestPlan", {"targetBranch": ""}, ".spec.targetBranch"),
    ],
)
def test_reader_and_schema_refuse_the_same(kind: str, spec: dict[str, Any], where: str) -> None:
    good: dict[str, Any] = {"repository": "https://example.com/o/a", "sourceBranch": "a", "targetBranch": "main"}
    good |= {"number": 1} if kind == "PullRequest" else PLAN
    value: dict[str, Any] = {"apiVersion": "components.krm-merge.dev/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    read = read_pull_request if kind == "PullRequest" else read_recorded_plan
    read(value | {"spec": good})
    assert violations(schema_of(kind), value | {"spec": good}) == []
    with pytest.raises(ValueError, match=where[1:]):
        read(value | {"spec": good | spec})
    assert violations(schema_of(kind), value | {"spec": good | spec}) == [where]
