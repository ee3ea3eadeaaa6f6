"""Each function of the image in the layout of kpt's functions catalog, and as an image of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS, installed_program, run
from krm_merge.functions import KINDS
from krm_merge.krm.program import Docs
from packages.repositories import config_map, write

FUNCTIONS = ROOT / "integrations" / "functions" / "python"
NAMES = {kind: re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower() for kind in KINDS}
# The catalog's schema of metadata.yaml.
FIELDS = {"image", "description", "tags", "sourceURL", "examplePackageURLs", "license", "hidden"}
TAGS = {"mutator", "validator", "generator", "viewer", "test", "testing", "timing", "name prefix", "name suffix"}


def metadata(kind: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FUNCTIONS / NAMES[kind] / "metadata.yaml").read_text(encoding="utf-8"))
    return loaded


def function(kind: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The program as the image of one function starts it."""
    variables = {"KRM_MERGE_FUNCTION": kind, "KRM_MERGE_DOCS": str(FUNCTIONS / NAMES[kind])}
    return subprocess.run(
        [installed_program(), *arguments],
        input=stdin,
        env=os.environ | variables,
        capture_output=True,
        check=False,
        text=True,
        timeout=SECONDS,
    )


def test_generated_files_are_current() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_catalog.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr


def test_every_function_is_there() -> None:
    assert {folder.name for folder in FUNCTIONS.iterdir()} == set(NAMES.values())


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_is_as_the_catalog_wants_it(kind: str) -> None:
    fields = metadata(kind)
    assert {"image", "description", "tags"} <= fields.keys() <= FIELDS
    assert fields["tags"]
    assert set(fields["tags"]) <= TAGS
    assert ":" not in fields["image"].rpartition("/")[2]
    assert "\n" not in fields["description"]
    assert fields["examplePackageURLs"]
    for address in fields["examplePackageURLs"]:
        example = ROOT / address.rpartition("/main/")[2]
        assert (example / ".expected" / "config.yaml").is_file()
        assert (example / "README.md").is_file()


@pytest.mark.parametrize("kind", KINDS)
def test_readme_has_what_the_catalog_reads(kind: str) -> None:
    text = (FUNCTIONS / NAMES[kind] / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {NAMES[kind]}\n\n## Overview\n")
    assert all(Docs(text).sections().get(section) for section in ("short", "long", "examples"))
    assert "### FunctionConfig" in text or "## FunctionConfig" in text
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert link.startswith("https://"), link
        if "/krm-merge/krm-merge/" in link:
            assert (ROOT / link.partition("/main/")[2].partition("#")[0]).exists(), link


@pytest.mark.parametrize("kind", KINDS)
def test_help_and_doc_are_of_the_function(kind: str) -> None:
    output = function(kind, "--help").stdout
    assert output.startswith(metadata(kind)["description"])
    assert f"{metadata(kind)['image']}:dev" in output
    doc = json.loads(function(kind, "--doc").stdout)
    assert doc["image"] == metadata(kind)["image"]
    assert doc["short"] == metadata(kind)["description"]


def test_a_config_map_is_for_the_function_of_the_image() -> None:
    patch = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: c}\n"
    resource_list = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "functionConfig": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "function-input"},
            "data": {"patch": patch},
        },
        "items": [yaml.safe_load(config_map("a", a="'1'"))],
    }
    done = function("PatchResources", stdin=yaml.safe_dump(resource_list))
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["items"][0]["data"] == {"a": "1", "b": "c"}


# ---- images --------------------------------------------------------------------------------------------------------


@pytest.mark.kpt
@pytest.mark.docker
@pytest.mark.parametrize("kind", KINDS)
def test_kpt_shows_the_docs_of_the_image_of_a_function(kind: str, image: str, tmp_path: Path) -> None:
    import docker

    name = f"localhost/{NAMES[kind]}:test"
    client = docker.from_env()
    try:
        client.images.build(path=str(FUNCTIONS / NAMES[kind]), tag=name, buildargs={"KRM_MERGE": image}, rm=True)
    finally:
        client.close()
    done = run("kpt", "fn", "doc", "--image", name)
    assert done.returncode == 0, done.stderr
    assert metadata(kind)["description"] in done.stdout
    if kind == "PatchResources":
        package = write(tmp_path / "package", {"a.yaml": config_map("a", a="'1'")})
        patch = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: c}\n"
        done = run(
            "kpt", "fn", "eval", package, "--image", name, "--image-pull-policy", "never", "--", f"patch={patch}"
        )
        assert done.returncode == 0, done.stderr
        assert "b: c" in (package / "a.yaml").read_text(encoding="utf-8")
