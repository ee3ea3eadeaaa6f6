"""JSON schemas that editors and validators read, held against the models and against kpt."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from kind_schemas import KINDS

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge.packages.models import Kptfile

SCHEMA_LINE = re.compile(r"\A# yaml-language-server: \$schema=(\S+)\n")
OUR_KIND = re.compile(rf"^kind: ({'|'.join(KINDS)})$", re.MULTILINE)
EXAMPLES = [
    file
    for file in sorted((ROOT / "examples").rglob("*"))
    if file.is_file()
    and ".expected" not in file.parts
    and (file.suffix == ".yaml" or file.name.endswith("Kptfile"))
    and OUR_KIND.search(file.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_docs_have_the_schema_of_each_kind(kind: str) -> None:
    schema = KINDS[kind].schema()
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == kind
    assert schema == json.loads((ROOT / "docs" / "schemas" / KINDS[kind].file).read_text(encoding="utf-8"))


def test_every_kind_of_ours_has_a_schema() -> None:
    """Kinds are named by models, and by constants in modules of what has none."""
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "fn" / "krm_merge").rglob("*.py")]
    named = {kind for text in sources for kind in re.findall(r'^    kind: Literal\["(\w+)"\]', text, re.MULTILINE)}
    named |= {
        kind for text in sources for kind in re.findall(r'^(?:KIND|PULL_REQUEST): Final = "(\w+)"$', text, re.MULTILINE)
    }
    assert named == set(KINDS)
    page = (ROOT / "docs" / "integrations" / "editors.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in page or f"schemas/{KINDS[kind].file}" not in page] == []


# ---- the Kptfile ---------------------------------------------------------------------------------------------------

KPTFILE = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "web"}}
UPSTREAM = {"type": "git", "git": {"repo": "https://example.com/a.git", "directory": "/web", "ref": "v1"}}
ACCEPTED: list[dict[str, Any]] = [
    {},
    {"info": None, "pipeline": None, "upstream": None},
    {"metadata": {"name": "web", "labels": {"a": 1}, "annotations": {"b": True}}},
    {"upstream": {**UPSTREAM, "updateStrategy": "copy-merge"}},
    {"upstream": {"type": "git", "git": {"repo": "r", "directory": "/", "ref": 1.0}}},
    {"upstreamLock": {"type": "git", "git": {**UPSTREAM["git"], "commit": "a" * 40}}},  # type: ignore[dict-item]
    {"info": {"description": 1, "keywords": ["a", 2], "readinessGates": [{"conditionType": "Ready"}]}},
    {"pipeline": {"mutators": [], "validators": [{"image": "a/b:v1"}]}},
    {"pipeline": {"mutators": [{"image": "a/b:v1", "configMap": {"a": 1, "b": True, "c": None}}]}},
    {"pipeline": {"mutators": [{"image": "a/b:v1", "selectors": [{"kind": "Kptfile"}], "exclude": [{"name": "a"}]}]}},
    {"inventory": {"name": "a", "namespace": "b", "inventoryID": "c", "labels": {"d": "e"}}},
    {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
]
REFUSED: list[dict[str, Any]] = [
    {"apiVersion": "kpt.dev/v1alpha2"},
    {"bogus": 1},
    {"metadata": {"name": "web", "uid": "abc"}},
    {"metadata": {"labels": {}}},
    {"info": {"descriptions": "a"}},
    {"info": {"keywords": "a"}},
    {"upstream": {"gitt": {}}},
    {"upstream": {**UPSTREAM, "git": []}},
    {"pipeline": {"mutators": [{"imagee": "a/b:v1"}]}},
    {"pipeline": {"mutators": [{"name": "a"}]}},
    {"pipeline": {"mutators": [{}]}},
    {"pipeline": {"mutators": [{"image": "a/b:v1", "exec": "cat"}]}},
    {"pipeline": {"mutators": [{"image": "a/b:v1", "configPath": "a.yaml", "configMap": {"a": "b"}}]}},
    {"pipeline": {"mutators": [{"image": "a/b:v1", "configMap": {"a": ["b"]}}]}},
    {"pipeline": {"validators": [{"image": "a/b:v1", "selectors": [{"kinds": "A"}]}]}},
    {"inventory": {"id": "a"}},
]


def is_valid(value: dict[str, Any]) -> bool:
    """Whether schema and model take it; they have to agree."""
    by_schema = Draft202012Validator(KINDS["Kptfile"].schema()).is_valid(value)
    try:
        Kptfile.model_validate(value)
    except ValueError:
        assert not by_schema, "only the schema takes it"
        return False
    assert by_schema, "only the model takes it"
    return True


CHANGES = [*((change, True) for change in ACCEPTED), *((change, False) for change in REFUSED)]


@pytest.mark.parametrize(("change", "accepted"), CHANGES)
def test_the_schema_of_the_kptfile(change: dict[str, Any], accepted: bool) -> None:
    assert is_valid(KPTFILE | change) == accepted


def test_fields_of_newer_versions_of_kpt_are_known() -> None:
    function = {"image": "set-labels", "tag": ">=0.2", "when": "true", "configRef": {"kind": "ConfigMap", "name": "a"}}
    lock = {"type": "generic", "generic": {"storeID": "DB", "resourceID": "a", "resourceVersion": "1"}}
    upstream = {**UPSTREAM, "preserveExplicitNull": True}
    assert is_valid(
        KPTFILE | {"upstream": upstream, "upstreamLock": lock, "pipeline": {"mutators": [function]}, "status": {}}
    )


@pytest.mark.kpt
@pytest.mark.parametrize(("change", "accepted"), CHANGES)
def test_kpt_says_the_same(change: dict[str, Any], accepted: bool, tmp_path: Path) -> None:
    (tmp_path / "Kptfile").write_text(yaml.safe_dump(KPTFILE | change), encoding="utf-8")
    # Without an engine kpt stops at the first function, behind its own validation.
    done = subprocess.run(
        ["kpt", "fn", "render", tmp_path, "--image-pull-policy", "never"],
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(tmp_path), "DOCKER_HOST": "unix:///nowhere"},
        text=True,
        timeout=SECONDS,
    )
    refused = re.search(r"can't be read|is invalid|old version|must have `metadata.name`", done.stderr)
    assert (refused is None) == accepted, done.stderr


# ---- the examples --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.relative_to(ROOT / "examples").as_posix())
def test_examples_name_their_schema_and_keep_to_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    line, kind = SCHEMA_LINE.match(text), OUR_KIND.search(text)
    assert line is not None, "the first line names no schema"
    assert kind is not None
    schema = (file.parent / line[1]).resolve()
    assert schema == ROOT / "docs" / "schemas" / KINDS[kind[1]].file
    validator = Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    errors = [error.message for document in yaml.safe_load_all(text) for error in validator.iter_errors(document)]
    assert errors == []


def test_there_are_examples_of_most_kinds() -> None:
    kinds = {match[1] for file in EXAMPLES if (match := OUR_KIND.search(file.read_text(encoding="utf-8")))}
    assert {"Kptfile", "MergePackage", "PatchResources", "TransformResources", "PlanComponentUpdates"} <= kinds
