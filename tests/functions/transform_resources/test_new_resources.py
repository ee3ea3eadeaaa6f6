"""New resources of plugins, keys of custom resources, a second run, and what is no resource any more (T7, T8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from functions.streams import DEPLOYMENT, HEAD, INDEX, OTHER, PATH, SERVICE, Value, as_item, many
from functions.transform_resources.plugins import (
    BUILTIN,
    LOCAL_CONFIG,
    Done,
    Points,
    adds,
    config_of,
    op,
    patches,
    refuse,
    resource,
    sets,
    transform,
)
from krm_merge.krm import program
from krm_merge.transform import Response

# ---- new resources (T7) ----------------------------------------------------------------------------------------------


def test_a_new_resource_stands_beside_its_source(points: Points) -> None:
    done = transform([DEPLOYMENT, OTHER], adds(points, "a", resource(data={"x": "1"})))
    assert done.text.startswith(done.before)
    annotations = done.items[2]["metadata"]["annotations"]
    assert done.items[2] == resource(data={"x": "1"}) | {"metadata": {"name": "extra", "annotations": annotations}}
    assert annotations[PATH] == "apps/configmap_extra.yaml"
    assert annotations[INDEX] == "0"
    (result,) = done.events("created")
    assert result["severity"] == "info"
    assert result["message"] == "ConfigMap extra: added by a for Deployment shop/web"
    assert result["tags"] == {"rule": "T7", "event": "created", "plugin": "a"}
    assert result["file"] == {"path": "apps/configmap_extra.yaml"}
    assert result["resourceRef"] == {"apiVersion": "v1", "kind": "ConfigMap", "name": "extra"}
    # T8: it is there now.
    text = done.text.removeprefix(HEAD).removeprefix(as_item(DEPLOYMENT) + as_item(OTHER))
    added = "".join(line.removeprefix("  ") for line in (" " + text[1:]).splitlines(keepends=True))
    again = transform([DEPLOYMENT, OTHER, added], adds(points, "a", resource(data={"x": "1"})))
    assert again.text == again.before


NAMES = [
    # what is added, its file
    (resource(), "apps/configmap_extra.yaml"),
    (resource("a:b/../c"), "apps/configmap_a_b_.._c.yaml"),
    (resource(kind="../../Evil"), "apps/evil_extra.yaml"),
    ({**resource(), "metadata": {"name": "extra", "namespace": "other"}}, "apps/configmap_extra.yaml"),
    ({**resource(), "metadata": {"name": "extra", "annotations": {PATH: "../evil.yaml"}}}, "apps/configmap_extra.yaml"),
]


@pytest.mark.parametrize(("new", "path"), NAMES)
def test_files_of_new_resources(points: Points, new: Value, path: str) -> None:
    done = transform([DEPLOYMENT], adds(points, "a", new))
    annotations = done.items[1]["metadata"]["annotations"]
    assert (annotations[PATH], annotations[INDEX]) == (path, "0")


def test_new_resources_take_free_places(points: Points) -> None:
    there = OTHER.replace("other.yaml", "apps/configmap_extra.yaml")
    new = [{**resource(), "metadata": {"name": "extra", "namespace": namespace}} for namespace in ("x", "y")]
    done = transform([DEPLOYMENT, there], adds(points, "a", *new))
    places = [item["metadata"]["annotations"] for item in done.items[2:]]
    assert [(place[PATH], place[INDEX]) for place in places] == [
        ("apps/configmap_extra.yaml", "1"),
        ("apps/configmap_extra.yaml", "2"),
    ]


def test_new_resources_in_a_subpackage_of_a_render(points: Points) -> None:
    """Items of a subpackage may have the same path; places are relative to the root."""
    package = f"    internal.config.kubernetes.io/package-path: /pkg{{}}\n    {PATH}"
    root, sub = (OTHER.replace(f"    {PATH}", package.format(folder)) for folder in ("", "/sub"))
    sub = sub.replace("name: other", "name: below")
    done = transform([root, sub], points.add("a", lambda r, _: {"newResources": [resource(r["metadata"]["name"] * 2)]}))
    places = [item["metadata"]["annotations"][PATH] for item in done.items[2:]]
    assert places == ["configmap_otherother.yaml", "sub/configmap_belowbelow.yaml"]


def test_a_new_resource_that_would_change_at_the_next_run(points: Points) -> None:
    """T8: plugins see it only in the next run, so it is reported in this one."""
    label = points.add("label", lambda r, _: {"patches": [op("add", "/metadata/labels/team", "a")]})
    done = transform([DEPLOYMENT], adds(points, "a", resource()), label)
    (result,) = done.events("not-idempotent")
    assert result["message"].startswith("ConfigMap extra: at the next run, label would change /metadata/labels")
    assert result["severity"] == "warning"


def test_an_existing_item_stands(points: Points) -> None:
    done = transform([DEPLOYMENT, OTHER], adds(points, "a", resource("other", data={"a": "b"})))
    assert done.text == done.before
    assert done.events("created") == done.events("ignored") == []
    done = transform([DEPLOYMENT, OTHER], adds(points, "b", resource("other", data={"a": "c"})))
    assert done.text == done.before
    (result,) = done.events("ignored")
    assert result["severity"] == "info"
    message = "ConfigMap other: b proposes contents that differ from the package's; the package's are kept"
    assert result["message"] == message
    assert result["tags"] == {"rule": "T7", "event": "ignored", "plugin": "b", "reason": "exists"}


def test_plugins_that_add_the_same_agree(points: Points) -> None:
    plugins = [adds(points, name, resource(data={"x": 1.0 if name == "b" else 1})) for name in "ab"]
    done = transform([DEPLOYMENT], *plugins)
    assert len(done.items) == 2
    assert [result["tags"]["plugin"] for result in done.events("created")] == ["a"]
    assert done.events("ignored") == []


def test_many_sources_of_one_new_resource(points: Points) -> None:
    items = [OTHER.replace("name: other", f"name: o{n}") for n in range(3)]
    done = transform(items, adds(points, "a", resource(), when="ConfigMap"))
    assert len(done.items) == 4
    assert len(done.events("created")) == 1


@pytest.mark.parametrize(("priorities", "winner"), [([], "a"), (["b"], "b"), (["c", "b"], "c")])
def test_plugins_that_add_it_otherwise(points: Points, priorities: list[str], winner: str) -> None:
    """T7: the priorities decide."""
    plugins = [adds(points, name, resource(data={"of": name})) for name in "abc"]
    done = transform([DEPLOYMENT], *plugins, priorities=priorities)
    assert [item["data"]["of"] for item in done.items[1:]] == [winner]
    assert {result["tags"]["plugin"] for result in done.events("ignored")} == set("abc") - {winner}
    for result in done.events("ignored"):
        assert (result["severity"], result["tags"]["winner"]) == ("warning", winner)
        assert result["resourceRef"]["name"] == "extra"
    done = Done([DEPLOYMENT], config_of(*plugins, priorities=priorities, conflicts={"severity": "error"}))
    assert done.exit_code == 1


@pytest.mark.parametrize("priorities", [[], ["same"]])
def test_plugins_of_one_name_that_add_it_otherwise(points: Points, priorities: list[str]) -> None:
    """T11: the earlier declared wins, whichever resource comes first."""
    first = adds(points, "first", resource(data={"of": "first"}), when="Service") | {"name": "same"}
    second = adds(points, "second", resource(data={"of": "second"})) | {"name": "same"}
    done = transform([DEPLOYMENT, SERVICE], first, second, priorities=priorities)
    assert [item["data"]["of"] for item in done.items[2:]] == ["first"]
    assert [result["tags"]["winner"] for result in done.events("ignored")] == ["same"]


def test_nothing_is_added_where_anything_is_refused(points: Points) -> None:
    done = Done([DEPLOYMENT], config_of(adds(points, "a", resource()), patches("b", op("replace", "/none", 1))))
    assert done.exit_code == 1
    assert done.events("created") == []


def test_what_a_whiteout_leaves_behind(points: Points) -> None:
    """A plugin may put something else in the place of what it whites out."""
    plugin = points.add("a", Response(is_whiteout=True, new_resources=(resource(kind="Widget"),)))
    done = transform([OTHER], plugin, whiteout={"action": "drop"})
    assert [item["kind"] for item in done.items] == ["Widget"]


@pytest.mark.parametrize("action", ["drop", "annotate"])
@pytest.mark.usefixtures("three_processors")
def test_a_whiteout_makes_room_for_what_replaces_it(
    monkeypatch: pytest.MonkeyPatch, points: Points, action: str
) -> None:
    """The new resource may have the names of the old one; other existing resources are kept."""
    monkeypatch.setattr(program, "WORTH_IT", 2)
    new = (resource("old", data={"n": "1"}), resource("other", data={"n": "1"}))
    answer = Response(is_whiteout=True, new_resources=new)
    plugin = points.add("a", lambda resource, _: answer if resource["metadata"]["name"] == "old" else Response())
    old = OTHER.replace("name: other", "name: old")
    items = [old, *many(6, DEPLOYMENT, SERVICE), OTHER]
    done = transform(items, plugin, whiteout={"action": action})
    same_name = [item for item in done.items if item["metadata"]["name"] == "old"]
    assert [item["data"] for item in same_name][-1] == {"n": "1"}
    assert len(same_name) == (2 if action == "annotate" else 1)
    assert LOCAL_CONFIG not in same_name[-1]["metadata"]["annotations"]
    assert [result["resourceRef"]["name"] for result in done.events("created")] == ["old"]
    assert [result["resourceRef"]["name"] for result in done.events("ignored")] == ["other"]


@pytest.mark.parametrize("missing", ["apiVersion", "kind", "metadata"])
def test_new_resources_that_are_none(points: Points, missing: str) -> None:
    new = resource()
    del new[missing]
    (error,) = refuse([DEPLOYMENT], adds(points, "a", new))
    field_ = "name" if missing == "metadata" else missing
    assert error == f"a: a new resource of the response is missing {field_} (Deployment shop/web)"


NO_NAMES = [
    # a change of a new resource, what is said of it
    ({"metadata": {"name": "a\0b"}}, "name of a new resource of the response is 'a\\x00b'; leave out what cannot be"),
    ({"metadata": {"name": "a\nb"}}, "name of a new resource of the response is 'a\\nb'; leave out what cannot be"),
    ({"kind": "A\0"}, "kind of a new resource of the response is 'A\\x00'; leave out what cannot be printed"),
    ({"metadata": {"name": "a" * 400}}, "kind and name of a new resource of the response have 409 bytes; a file name"),
    ({"metadata": {"name": "ä" * 121}}, "kind and name of a new resource of the response have 251 bytes; a file name"),
]


@pytest.mark.parametrize(("change", "says"), NO_NAMES)
def test_new_resources_that_no_file_can_be_named_after(points: Points, change: Value, says: str) -> None:
    (error,) = refuse([DEPLOYMENT], adds(points, "a", {**resource(), **change}))
    assert error.startswith(f"a: {says}")


def test_the_longest_name_of_a_new_resource(points: Points, tmp_path: Path) -> None:
    done = transform([DEPLOYMENT], adds(points, "a", resource("a" * 240)))
    (tmp_path / Path(done.items[1]["metadata"]["annotations"][PATH]).name).touch()


UNREADABLE = [
    {"metadata": {"name": "extra", "annotations": ["a"]}},
    {"metadata": {"name": "extra", "annotations": "a"}},
    {"metadata": {"name": ""}},
    {"metadata": ["extra"]},
    {"kind": 5},
]


@pytest.mark.parametrize("change", UNREADABLE)
@pytest.mark.parametrize("read", [True, False])
def test_new_resources_that_cannot_be_read(points: Points, change: Value, read: bool) -> None:
    """Answers of plugins are checked in every form; the error names the plugin."""
    new = {**resource(), **change}
    plugin = points.add("a", lambda *_: {"newResources": [new]} if read else Response(new_resources=(new,)))
    (error,) = refuse([DEPLOYMENT], plugin)
    assert error.startswith("a: ")


# ---- lists of custom resources ---------------------------------------------------------------------------------------

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: zones.example.com}
spec:
  group: example.com
  names: {kind: Zone}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object}}
"""
ZONE = """\
apiVersion: example.com/v1
kind: Zone
metadata: {name: z}
parts:
- id: 1 # one
  x: 1
- id: 2 # two
  x: 2
"""
ZONE_KEYS = {"apiVersion": "example.com/v1", "kind": "Zone", "path": "parts", "keys": ["id"]}


@pytest.mark.parametrize(("items", "fields"), [([ZONE, CRD], {}), ([ZONE], {"listKeys": [ZONE_KEYS]})])
def test_lists_with_keys(items: list[str], fields: Value) -> None:
    """T3: elements are followed by identity, by the package's definitions or the user's keys."""
    zone = {"kind": "Zone"}
    plugins = [
        patches("a", op("remove", "/parts/0"), target=zone),
        patches("b", op("replace", "/parts/1/x", 9), target=zone),
        patches("c", op("replace", "/parts/1/x", 8), target=zone),
    ]
    done = Done(items, config_of(*plugins, **fields))
    assert done.items[0]["parts"] == [{"id": 2, "x": 9}]
    assert "- id: 2 # two\n" in done.text
    (result,) = done.events("ignored")
    assert result["field"]["path"] == "parts[id=2].x"


# ---- a second run (T8) -----------------------------------------------------------------------------------------------


def test_a_second_run_that_goes_on() -> None:
    done = transform(
        [SERVICE],
        sets("b", "x", "/spec/ports/0/name", "Service"),
        patches("a", op("add", "/spec/ports/-", {"port": 80})),
    )
    (result,) = done.events("not-idempotent")
    assert result["severity"] == "warning"
    assert result["message"] == (
        "Service dns: run again on its own result, a would change /spec/ports/3 again; "
        "in a pipeline it runs at every render"
    )
    assert result["tags"] == {"rule": "T8", "event": "not-idempotent", "plugin": "a"}
    assert result["file"] == {"path": "dns.yaml", "index": 2}


IDEMPOTENT = [
    op("replace", "/spec/ports/0/port", 54),
    op("add", "/spec/type", "ClusterIP"),
    op("add", "/spec/ports", []),
    op("remove", "/spec/type"),
    op("copy", "/spec/type", **{"from": "/spec/ports/0/name"}),
]


@pytest.mark.parametrize("operation", IDEMPOTENT)
def test_a_second_run_that_changes_nothing(operation: Value) -> None:
    assert transform([SERVICE], patches("a", operation)).events("not-idempotent") == []


def test_the_builtin_plugin_runs_again() -> None:
    item = DEPLOYMENT.replace("  labels:", "  uid: u\n  labels:")
    done = transform([item, SERVICE, OTHER], BUILTIN, options={"add-annotations": "a=b"})
    assert [item["metadata"]["annotations"]["a"] for item in done.items] == ["b", "b", "b"]
    assert done.events("not-idempotent") == []


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (Response(is_whiteout=True), "a would white it out"),
        ({"version": "v9"}, "a fails: the response has version v9; v1 is expected"),
    ],
)
def test_a_second_run_that_does_something_else(points: Points, second: Response | Value, says: str) -> None:
    first = {"patches": [op("replace", "/data/a", "c")]}
    plugin = points.add("a", lambda resource, _: first if resource["data"]["a"] == "b" else second)
    done = transform([OTHER], plugin)
    (warning,) = done.messages("warning")
    assert warning.startswith(f"ConfigMap other: run again on its own result, {says}")


# ---- what is no resource any more ------------------------------------------------------------------------------------

NO_OBJECT = "the result is not a Kubernetes object: apiVersion and kind are expected"
FLAWS = [
    (op("remove", "/kind"), NO_OBJECT),
    (op("replace", "/kind", ""), NO_OBJECT),
    (op("replace", "/kind", 5), NO_OBJECT),
    (op("remove", "/apiVersion"), NO_OBJECT),
    (op("replace", "/apiVersion", None), NO_OBJECT),
    (op("remove", "/metadata"), "the result has no name"),
    (op("replace", "/metadata", "text"), "the result has no mapping in metadata"),
    (op("replace", "", {}), NO_OBJECT),
    (op("replace", "/metadata/annotations", ["a"]), "the result has no mapping in metadata.annotations"),
]


@pytest.mark.parametrize(("flaw", "says"), FLAWS)
def test_what_leaves_no_resource_is_refused(flaw: Value, says: str) -> None:
    done = Done([DEPLOYMENT, OTHER], config_of(patches("a", flaw, target={"kind": "Deployment"}), sets("b", 5)))
    assert done.exit_code == 1
    (error,) = [result for result in done.results if result["severity"] == "error"]
    assert error["message"].startswith("a")
    assert error["message"].endswith(f": {says} (Deployment shop/web)")
    assert error["tags"]["rule"] == "T6"
    assert error["tags"]["event"] == "plugin-error"


@pytest.mark.parametrize("flaw", [op("remove", "/metadata/name"), op("replace", "/metadata/name", "")])
def test_the_name_cannot_be_removed(flaw: Value) -> None:
    """kpt takes no resource without one."""
    (error,) = refuse([DEPLOYMENT], patches("a", flaw))
    assert error.startswith("a: ")
    assert "name" in error
    assert error.endswith(" (Deployment shop/web)")
