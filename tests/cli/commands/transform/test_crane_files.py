"""`krm-merge transform` with the directories and files of crane."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from posixpath import join, relpath

import jsonpatch
import pytest
import yaml

from cli.commands.transform.place import (
    CLAIM,
    DNS,
    IMAGE,
    TABLES,
    WEB,
    Place,
    Value,
    replicas,
)
from krm_merge.transform.runner import crane_file


@pytest.fixture
def export(three: Place) -> Place:
    """An export of crane, and plugins that want much of it."""
    three.write(**{"pkg/claim.yaml": CLAIM, "pkg/names/api.yaml": DNS.replace("dns", "api")})
    more = [
        IMAGE,
        {"op": "add", "path": "/metadata/labels/a.b~1c", "value": "ü"},
        {"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "log"}},
        {"op": "remove", "path": "/spec/none"},
        {"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "init"}},
        {"op": "remove", "path": "/spec/template/spec/containers/1/args/0"},
    ]
    three.plugin("d", {"Deployment": {"patches": more}})
    return three


def test_the_files_of_crane(export: Place) -> None:
    """transform- always, .wh. for what is left out, ignored- with the plugins; the package stays as it is."""
    before = export.files("pkg")
    _, err = export.transform("--transform-dir", "out", "--ignored-patches-dir", "lost")
    assert export.files("pkg") == before
    out = export.files("out")
    assert sorted(out) == [
        ".wh.claim.yaml",
        "names/transform-api.yaml",
        "names/transform-dns.yml",
        "transform-web.yaml",
    ]
    assert out[".wh.claim.yaml"] == ""
    assert json.loads(out["names/transform-dns.yml"]) == []
    lost = export.files("lost")
    assert sorted(lost) == ["ignored-web.yaml"]
    assert json.loads(lost["ignored-web.yaml"]) == [
        {"PluginName": name, "Operation": replicas(number)} for name, number in (("b", 4), ("c", 5))
    ]
    assert "it is left out of what is applied" in err
    # What stands, carried out by another library, is what is done in place.
    patched = jsonpatch.apply_patch(yaml.safe_load(WEB), json.loads(out["transform-web.yaml"]))
    export.transform()
    assert patched == yaml.safe_load(export.read("pkg/web.yaml"))
    assert [container["name"] for container in patched["spec"]["template"]["spec"]["containers"]] == [
        "init",
        "web",
        "log",
    ]


def test_ignored_patches_are_not_kept_without_a_directory(export: Place) -> None:
    export.transform("--transform-dir", "out")
    assert sorted(os.listdir(export.directory)) == ["out", "pkg", "plugins"]
    assert not [name for name in export.files("out") if "ignored-" in name]


def test_one_directory_for_all_of_it(export: Place) -> None:
    export.transform("--transform-dir", "out", "--ignored-patches-dir", "out")
    assert {"ignored-web.yaml", "transform-web.yaml"} <= set(export.files("out"))


def test_a_dry_run_writes_none_of_them(export: Place) -> None:
    _, err = export.transform("--transform-dir", "out", "--dry-run")
    assert "Deployment web: " in err
    assert not (export.directory / "out").exists()


@pytest.mark.parametrize("option", ["--transform-dir", "--ignored-patches-dir"])
def test_the_directories_of_crane_are_new(export: Place, option: str) -> None:
    export.write(**{"there/mine.txt": ""})
    run = {"--transform-dir": "out", "--ignored-patches-dir": "lost", option: "there"}
    _, err = export.transform(*(word for pair in run.items() for word in pair), code=3)
    assert "is not empty; name a new directory" in err
    assert export.files("there") == {"mine.txt": ""}


BOOKS = {"internal.kpt.dev/upstream-identifier": "apps|Deployment|default|web", "config.kubernetes.io/index": "3"}
IDENTIFIER = "/metadata/annotations/internal.kpt.dev~1upstream-identifier"
ABOUT_BOOKS = [
    [{"op": "replace", "path": "/metadata", "value": {"name": "z"}}],
    [{"op": "replace", "path": "/metadata", "value": {"name": "z", "annotations": {"a": "b", **dict.fromkeys(BOOKS)}}}],
    [{"op": "remove", "path": "/metadata"}, {"op": "add", "path": "/metadata/name", "value": "z"}],
    [{"op": "add", "path": IDENTIFIER, "value": "mine"}],
    [
        {"op": "add", "path": IDENTIFIER, "value": "mine"},
        {"op": "add", "path": "/metadata/annotations/a", "value": "b"},
    ],
    [{"op": "remove", "path": IDENTIFIER}],
    [{"op": "remove", "path": "/metadata/annotations"}],
    [{"op": "move", "path": "/metadata/labels", "from": "/metadata/annotations"}],
    [{"op": "add", "path": "/metadata/annotations", "value": {**BOOKS, "a": "b"}}],
    [{"op": "add", "path": "/metadata/annotations/a", "value": "b"}],
    [{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "Other", "metadata": {"name": "z"}}}],
]


@pytest.mark.parametrize("patch", ABOUT_BOOKS, ids=json.dumps)
@pytest.mark.parametrize("books", [BOOKS, {}], ids=["books", "none"])
@pytest.mark.parametrize("annotations", [{"team": "red"}, {}], ids=["own", "none"])
def test_patches_keep_what_kpt_keeps(place: Place, patch: list[Value], books: Value, annotations: Value) -> None:
    """T1: carried out by another library, they do what is done in place."""
    metadata = {"name": "web", **({"annotations": {**books, **annotations}} if books or annotations else {})}
    item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    if any("from" in operation for operation in patch) and not annotations:
        return  # there is nothing to move
    place.write(**{"pkg/web.yaml": yaml.safe_dump(item)})
    plugins = [{"name": "a", "patches": [{"target": {"name": "web"}, "ops": patch}]}]
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "TransformResources", "metadata": {"name": "x"}}
    place.write(**{"config.yaml": yaml.safe_dump({**head, "plugins": plugins})})
    run = ("pkg", "--config", "config.yaml")
    _, errors = place.run(*run, "--transform-dir", "out", "--ignored-patches-dir", "lost")
    patched = jsonpatch.apply_patch(item, json.loads(place.read("out/transform-web.yaml")))
    _, err = place.run(*run)
    assert patched == yaml.safe_load(place.read("pkg/web.yaml"))
    annotations_after = patched["metadata"].get("annotations", {})
    assert {name: text for name, text in annotations_after.items() if name in BOOKS} == books
    writes = any(operation["op"] == "add" and operation["path"] == IDENTIFIER for operation in patch)
    assert writes <= (errors.count("kpt manages this annotation") == err.count("kpt manages this annotation") > 0)


def test_each_resource_needs_a_file_of_its_own(export: Place) -> None:
    """There is one patch for each file; a document that is no resource does not count."""
    export.write(**{"pkg/names/dns.yml": f"# nothing\n---\n{DNS}"})
    export.transform("--transform-dir", "out")
    export.write(**{"pkg/names/dns.yml": f"{DNS}---\n{DNS}"})
    _, err = export.transform("--transform-dir", "other", code=3)
    assert err.startswith("error names/dns.yml holds several resources")
    assert not (export.directory / "other").exists()


def test_what_is_no_resource_any_more_is_refused_there_too(place: Place) -> None:
    """crane refuses it when the patch is applied."""
    place.plugin("a", {"Deployment": {"patches": [{"op": "remove", "path": "/kind"}]}})
    for how in ([], ["--transform-dir", "out"]):
        _, err = place.transform(*how, code=1)
        assert "a: the result is not a Kubernetes object: apiVersion and kind are expected (Deployment web)" in err


@pytest.mark.parametrize("case", TABLES["files"]["legacy"], ids=lambda case: str(case["fn"]))
def test_names_of_files(case: dict[str, str]) -> None:
    """crane's table; the output stands at its own place."""
    names: dict[str, Callable[[str], str]] = {
        "GetWhiteOutFilePath": lambda path: crane_file(path, ".wh."),
        "GetTransformPath": lambda path: crane_file(path, "transform-"),
        "GetOutputFilePath": str,
    }
    path = names[case["fn"]](relpath(case["path"], case["exportDir"]))
    assert join(case["dir"], path) == case["expect"]
