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
    EXTRA,
    EXTRA_TEXT,
    FILES,
    IMAGE,
    TABLES,
    WEB,
    Place,
    Value,
    replicas,
)
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Changes, PackageError, Tree
from krm_merge.transform.runner import ignored_path, new_path, transform_path, whiteout_path


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


def test_stale_files_of_an_earlier_run_go(export: Place) -> None:
    stale = ["out/.wh.web.yaml", "out/transform-claim.yaml", "lost/names/ignored-dns.yml", "out/mine.txt"]
    export.write(**dict.fromkeys(stale, "[]"))
    export.transform("--transform-dir", "out", "--ignored-patches-dir", "lost")
    assert [name for name in stale if (export.directory / name).exists()] == ["out/mine.txt"]
    # Without a conflict, ignored- goes.
    export.transform("--transform-dir", "out", "--ignored-patches-dir", "lost", "--skip-plugins", "b,c")
    assert export.files("lost") == {}


def test_one_directory_for_all_of_it(export: Place) -> None:
    export.transform("--transform-dir", "out", "--ignored-patches-dir", "out")
    assert {"ignored-web.yaml", "transform-web.yaml"} <= set(export.files("out"))


def test_a_dry_run_writes_none_of_them(export: Place) -> None:
    _, err = export.transform("--transform-dir", "out", "--dry-run")
    assert "Deployment web: " in err
    assert not (export.directory / "out").exists()


def test_new_resources_among_the_files_of_crane(place: Place) -> None:
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    place.transform("--transform-dir", "out")
    made_for = '# Added by krm-merge transform for ["names/dns.yml"]\n'
    assert place.read("out/names/new-configmap_extra.yaml") == made_for + EXTRA_TEXT
    assert set(place.files("pkg")) == set(FILES)


def test_new_resources_stay_in_the_directory_that_is_transformed(place: Place) -> None:
    """There they are resources as all others, and the plugin wants nothing more."""
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    for _ in range(2):
        place.transform("--transform-dir", "pkg")
        assert "names/new-configmap_extra.yaml" in place.files("pkg")


def test_stale_new_resources_go(place: Place) -> None:
    """What no plugin wants any more; neither what others wrote nor what was made for another package."""
    place.plugin("a", {"Service": {"newResources": [EXTRA]}})
    place.transform("--transform-dir", "out")
    mine = {
        "names/new-mine.yaml": EXTRA_TEXT,
        "names/new-other.yaml": '# Added by krm-merge transform for ["names/api.yaml"]\n' + EXTRA_TEXT,
        "names/new-broken.yaml": "# Added by krm-merge transform for nobody\n",
        "names/new-number.yaml": "# Added by krm-merge transform for 5\n",
        "names/new-binary.yaml": "\0",
    }
    place.write(**{f"out/{name}": text for name, text in mine.items()})
    (place.directory / "out/names/new-folder").mkdir()
    before = place.files("out")
    place.transform("--transform-dir", "out")
    assert place.files("out") == before
    place.transform("--transform-dir", "out", "--skip-plugins", "a")
    gone = {name: text for name, text in before.items() if name not in place.files("out")}
    assert list(gone) == ["names/new-configmap_extra.yaml"]
    assert mine.items() <= place.files("out").items()


def test_files_of_what_became_local_config_go(export: Place) -> None:
    run = ("--transform-dir", "out", "--ignored-patches-dir", "lost")
    export.transform(*run)
    export.write(**{"out/transform-Kptfile": "mine"})
    mark = "annotations: {config.kubernetes.io/local-config: 'true'}"
    export.write(**{"pkg/web.yaml": WEB.replace("uid: abc", mark)})
    export.transform(*run)
    assert "transform-web.yaml" not in export.files("out")
    assert {".wh.claim.yaml", "names/transform-api.yaml", "transform-Kptfile"} <= set(export.files("out"))
    assert export.files("lost") == {}


@pytest.mark.parametrize("folder", ["out/transform-web.yaml", "lost/ignored-web.yaml"])
def test_the_files_of_crane_are_written_together(export: Place, folder: str) -> None:
    """T10: all of them or none, wherever one cannot be written."""
    (export.directory / folder).mkdir(parents=True)
    stale = {"out/.wh.web.yaml": "", "lost/names/ignored-dns.yml": "[]"}
    export.write(**stale)
    before = {name: export.files(name) for name in ("pkg", "out", "lost")}
    run = ("--transform-dir", "out", "--ignored-patches-dir", "lost")
    _, err = export.transform(*run, code=3)
    assert err == f"error {export.directory / folder}: Is a directory; nothing was written\n"
    assert {name: export.files(name) for name in before} == before
    assert (export.directory / folder).is_dir()


@pytest.mark.parametrize("fails", ["out", "below"])
def test_both_directories_of_crane_are_written_or_none(
    export: Place, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    commit = Journal.commit

    def fail(journal: Journal, changes: Changes, before: Tree) -> None:
        if journal.package.name == fails:
            raise PackageError("the disk is full")
        commit(journal, changes, before)

    monkeypatch.setattr(Journal, "commit", fail)
    run = ("--transform-dir", "out", "--ignored-patches-dir", "lost/below")
    _, err = export.transform(*run, code=3)
    assert err == "error the disk is full\n"
    assert sorted(os.listdir(export.directory)) == ["pkg", "plugins"]


@pytest.mark.parametrize(("name", "says"), [("a\0b", "cannot be printed"), ("a" * 300, "a file name has room for 249")])
def test_names_that_are_none_write_nothing(place: Place, name: str, says: str) -> None:
    place.plugin("a", {"Service": {"newResources": [{**EXTRA, "metadata": {"name": name}}]}})
    for how in ([], ["--transform-dir", "out"]):
        _, err = place.transform(*how, code=1)
        assert says in err
        assert place.files("pkg") == FILES
        assert not (place.directory / "out").exists()


@pytest.mark.parametrize("directory", ["pkg", ".", "pkg/names/below"])
def test_files_of_crane_where_they_are_hardly_wanted(export: Place, directory: str) -> None:
    """In the package itself, around it, and in it."""
    export.transform("--transform-dir", directory, "--ignored-patches-dir", "pkg")
    assert "transform-web.yaml" in export.files(directory)
    assert export.read("pkg/web.yaml") == WEB
    assert "ignored-web.yaml" in export.files("pkg")
    assert not [name for name in os.listdir(export.directory) if name.endswith(".krm-merge")]


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
    assert {line for line in errors.splitlines() if "kpt keeps" in line} == {
        line for line in err.splitlines() if "kpt keeps" in line
    }
    meddling = [operation for operation in patch if operation["path"] == IDENTIFIER]
    lost = place.files("lost").get("ignored-web.yaml", "[]")
    assert [entry["Operation"] for entry in json.loads(lost)] == meddling
    assert bool(meddling) <= ("kpt manages this annotation" in errors)


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
        assert "a: leaves the resource without kind (Deployment web)" in err


@pytest.mark.parametrize("directory", ["pkg/web.yaml/out", "plugins/a/out"])
def test_directories_that_cannot_be(three: Place, directory: str) -> None:
    _, err = three.transform("--transform-dir", directory, code=3)
    assert err.splitlines()[-1].startswith("error ")
    assert "web.yaml" in err or "plugins/a" in err


@pytest.mark.parametrize("case", TABLES["files"]["legacy"], ids=lambda case: str(case["fn"]))
def test_names_of_files(case: dict[str, str]) -> None:
    """crane's table; the output stands at its own place."""
    names: dict[str, Callable[[str], str]] = {
        "GetWhiteOutFilePath": whiteout_path,
        "GetTransformPath": transform_path,
        "GetOutputFilePath": str,
    }
    path = names[case["fn"]](relpath(case["path"], case["exportDir"]))
    assert join(case["dir"], path) == case["expect"]


def test_names_of_our_own_files() -> None:
    assert [ignored_path("a/b.yaml"), new_path("b.yaml")] == ["a/ignored-b.yaml", "new-b.yaml"]
