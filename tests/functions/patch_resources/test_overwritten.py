"""P4: two patches that set one field differently; the loser and the winner are named in the words that plugins have."""

from __future__ import annotations

from functions.patch_resources.patched import DEPLOYMENT, NAMED_PATCH, apply_patches
from functions.streams import Value

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: old}\n"

IMAGE = "spec: {template: {spec: {containers: [{name: web, image: %s}]}}}"


def metadata(fields: str) -> str:
    return NAMED_PATCH.replace("name: web", f"name: web, {fields}")


def json_patch(text: str) -> Value:
    return {"target": {"kind": "Deployment"}, "patch": text}


def overwritten(*patches: Value | str) -> list[tuple[str, str, str, str]]:
    done = apply_patches([DEPLOYMENT], *patches)
    tags = [(result["field"]["path"], result["tags"]) for result in done.events("ignored")]
    return [(path, tag["patch"], tag["winner"], tag.get("value", "")) for path, tag in tags]


def test_the_last_patch_wins_and_both_are_named() -> None:
    field = "spec.template.spec.containers[name=web].image"
    done = apply_patches([DEPLOYMENT], NAMED_PATCH + IMAGE % "a", NAMED_PATCH + IMAGE % "b")
    (result,) = done.events("ignored")
    assert result["message"] == f"Deployment shop/web: patches[0]'s {field} is ignored: patches[1] overwrites it"
    assert result["severity"] == "warning"
    assert result["field"] == {"path": field, "currentValue": "nginx:1.25", "proposedValue": "b"}
    expected = {"rule": "P4", "event": "ignored", "patch": "patches[0]", "winner": "patches[1]"}
    assert result["tags"] == expected | {"reason": "overwritten", "value": "a"}


def test_patches_of_any_type() -> None:
    replicas = NAMED_PATCH + "spec: {replicas: 3}"
    five = json_patch("- {op: replace, path: /spec/replicas, value: 5}")
    merge: Value = {"patch": NAMED_PATCH + "spec: {replicas: 7}", "type": "merge"}
    assert overwritten(replicas, five, merge) == [
        ("spec.replicas", "patches[0]", "patches[2]", "3"),
        ("spec.replicas", "patches[1]", "patches[2]", "5"),
    ]
    removed = NAMED_PATCH + "spec: {replicas: null}"
    assert overwritten(replicas, removed) == [("spec.replicas", "patches[0]", "patches[1]", "3")]
    assert overwritten(removed, replicas) == [("spec.replicas", "patches[0]", "patches[1]", "")]


def test_what_is_no_conflict() -> None:
    """Equal values, other fields, a map that is created for others, lists that both add to, and another order."""
    same = NAMED_PATCH + "spec: {replicas: 3}"
    assert overwritten(same, same, metadata("labels: {a: b}")) == []
    label = json_patch(
        "- {op: add, path: /metadata/labels, value: {}}\n- {op: add, path: /metadata/labels/a, value: x}"
    )
    assert overwritten(json_patch("- {op: add, path: /metadata/labels, value: {}}"), metadata("labels: {b: y}")) == []
    assert overwritten(label, metadata("labels: {b: y}")) == [("metadata.labels.b", "patches[0]", "patches[1]", "")]
    adds = json_patch("- {op: add, path: /spec/template/spec/containers/-, value: {name: x, image: y}}")
    assert overwritten(adds, adds) == []
    assert overwritten(metadata("finalizers: [a, b]"), metadata("finalizers: [b, a]")) == []


def test_of_a_secret_no_values_are_shown() -> None:
    named = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: %s}\n"
    done = apply_patches([SECRET], named % "first", named % "second")
    assert len(done.events("ignored")) == 1
    assert "first" not in done.message + str(done.events("ignored"))
