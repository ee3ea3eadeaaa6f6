"""`krm-merge patch create`, run as users run it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from cli.commands.patch.place import CRD, OBJECT, OLD, Place

NEW = (
    OLD.replace("replicas: 1 # few", "replicas: 2")
    .replace("nginx:1.25", "nginx:1.27")
    .replace('        - {name: A, value: "1"}\n', "")
    .replace("      - name: log\n        image: fluent:1.0\n", "")
    + '        - {name: C, value: "3"}\n      - name: log\n        image: fluent:2.0\n'
)
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      $setElementOrder/containers:
      - name: web
      - name: log
      containers:
      - $setElementOrder/env:
        - name: B
        - name: C
        env:
        - name: C
          value: "3"
        - name: A
          $patch: delete
        image: nginx:1.27
        name: web
      - image: fluent:2.0
        name: log
"""
NAMES = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def written(place: Place, **files: str) -> None:
    place.write(**{f"{name}.yaml": text for name, text in files.items()})


def test_create_and_apply(place: Place) -> None:
    written(place, old=OLD, new=NEW)
    out, err = place.run("create", "old.yaml", "new.yaml")
    assert (yaml.safe_load(out), err) == (yaml.safe_load(PATCH), "")
    merged, _ = place.run("apply", "old.yaml", "-", stdin=out)
    assert yaml.safe_load(merged) == yaml.safe_load(NEW)
    assert "# the server" in merged
    again, _ = place.run("apply", "-", "patch.yaml", stdin=merged)
    assert again == merged


@pytest.mark.parametrize("modes", [[], ["--merge-keys", "single", "--list-order", "kubernetes"], ["--type", "merge"]])
def test_round_trips(place: Place, modes: list[str]) -> None:
    written(place, old=OLD, new=NEW)
    patch, _ = place.run("create", "old.yaml", "new.yaml", *modes)
    merged, _ = place.run("apply", "old.yaml", "-", *modes, stdin=patch)
    assert yaml.safe_load(merged) == yaml.safe_load(NEW)


def test_nothing_to_patch(place: Place) -> None:
    written(place, old=OLD)
    assert place.run("create", "old.yaml", "old.yaml") == ("{}\n", "")
    assert place.run("create", "-", "old.yaml", stdin=OLD) == ("{}\n", "")
    assert place.run("create", "old.yaml", "-", "--type", "merge", stdin=OLD) == ("{}\n", "")
    assert place.run("apply", "old.yaml", "-", stdin="{}\n")[0] == OLD


def test_definitions_beside_the_object(place: Place) -> None:
    """A deletion in a list that merges is told by a directive; one that is left out of the patch would stay."""
    old = "apiVersion: example.com/v1\nkind: Zone\nmetadata: {name: z}\nparts: [{id: 1}, {id: 2}]\n"
    written(place, old=f"{CRD}---\n{old}", new=old.replace(", {id: 2}", ""))
    patch, _ = place.run("create", "old.yaml", "new.yaml")
    assert {"id": 2, "$patch": "delete"} in yaml.safe_load(patch)["parts"]
    out, _ = place.run("apply", "old.yaml", "-", stdin=patch)
    assert [*yaml.safe_load_all(out)][1]["parts"] == [{"id": 1}]
    written(place, old=CRD, new=CRD.replace("Zone", "Area"))
    assert yaml.safe_load(place.run("create", "old.yaml", "new.yaml")[0])["spec"] == {"names": {"kind": "Area"}}
    written(place, old=f"{old}---\n{old}")
    assert "old.yaml: one object is expected" in place.run("create", "old.yaml", "new.yaml", code=3)[1]


def objects(place: Place, old: Any, new: Any, live: Any) -> None:
    written(place, **{name: OBJECT % json.dumps(data) for name, data in (("old", old), ("new", new), ("live", live))})


@pytest.mark.parametrize("kind", ["strategic", "merge"])
def test_three_ways(place: Place, kind: str) -> None:
    """What the new object lacks and the old one had goes, what only the live one has stays, its changes go."""
    objects(place, {"a": "1", "b": "1", "c": "1"}, {"a": "2", "c": "1"}, {"a": "1", "b": "1", "c": "9", "d": "9"})
    out, _ = place.run("create", "old.yaml", "new.yaml", "--live", "live.yaml", "--type", kind)
    assert yaml.safe_load(out) == NAMES | {"data": {"a": "2", "b": None, "c": "1"}}
    merged, _ = place.run("apply", "live.yaml", "-", "--type", kind, stdin=out)
    assert yaml.safe_load(merged)["data"] == {"a": "2", "c": "1", "d": "9"}


@pytest.mark.parametrize("kind", ["strategic", "merge"])
def test_conflicts_with_the_live_object(place: Place, kind: str) -> None:
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "9"})
    arguments = ["create", "old.yaml", "new.yaml", "--live", "live.yaml", "--type", kind]
    _, err = place.run(*arguments, "--no-overwrite", code=1)
    assert err.startswith("error live.yaml: ")
    assert yaml.safe_load(place.run(*arguments, "--overwrite")[0]) == NAMES | {"data": {"a": "2"}}
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "1", "b": "9"})
    assert yaml.safe_load(place.run(*arguments, "--no-overwrite")[0]) == NAMES | {"data": {"a": "2"}}


@pytest.mark.parametrize("kind", ["strategic", "merge"])
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("apiVersion: v1", "apiVersion: v2", "apiVersion is v1, in new.yaml it is v2"),
        ("kind: ConfigMap", "kind: Secret", "kind is ConfigMap, in new.yaml it is Secret"),
        ("name: ", "label: ", "in new.yaml it is missing"),
        ("name: ", "name: an", "metadata.name is "),
    ],
)
def test_the_live_object_is_another_one(place: Place, kind: str, old: str, new: str, says: str) -> None:
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "1"})
    changed = (OBJECT % '{"a": "2"}').replace(old, new)
    assert changed != OBJECT % '{"a": "2"}'
    written(place, new=changed)
    _, err = place.run("create", "old.yaml", "new.yaml", "--live", "live.yaml", "--type", kind, code=3)
    assert err.startswith("error live.yaml: ")
    assert says in err
    # Without a live object it is a patch that makes another object of this one.
    place.run("create", "old.yaml", "new.yaml", "--type", kind)


def test_a_patch_that_does_not_lead_there_names_file_and_path(place: Place) -> None:
    written(place, old=OLD, new=NEW.replace("- name: log\n", "- name: web\n"))
    _, err = place.run("create", "old.yaml", "new.yaml", code=1)
    assert err.startswith("error new.yaml: spec.template.spec.containers: elements have the same merge key web: ")
    assert yaml.safe_load(place.run("create", "old.yaml", "new.yaml", "--type", "merge")[0])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "not valid YAML"),
        ("- a", "one object is expected"),
        ("", "one object is expected"),
        ("a: 1\n---\nb: 1\n", ""),
    ],
)
@pytest.mark.parametrize("name", ["old", "new", "live"])
def test_objects_that_are_none(place: Place, text: str, says: str, name: str) -> None:
    objects(place, {"a": "1"}, {"a": "2"}, {"a": "1"})
    written(place, **{name: text})
    _, err = place.run("create", "old.yaml", "new.yaml", "--live", "live.yaml", code=3)
    assert err.startswith(f"error {name}.yaml: ")
    assert says in err


def test_a_missing_merge_key_names_file_and_path(place: Place) -> None:
    written(place, old=OLD, new=NEW.replace("- name: log\n", "- title: log\n"))
    _, err = place.run("create", "old.yaml", "new.yaml", code=1)
    assert err.startswith("error new.yaml: spec.template.spec.containers: ")
    assert "does not contain declared merge key: name" in err
