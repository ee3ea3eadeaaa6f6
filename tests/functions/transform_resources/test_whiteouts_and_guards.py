"""Whiteouts, ignored changes and what is reported of them, Secrets, and guards (T4, T5)."""

from __future__ import annotations

import json

import pytest
import yaml

from functions.streams import DEPLOYMENT, HEAD, OTHER, SERVICE, Value, as_item
from functions.transform_resources.plugins import (
    BARE,
    BUILTIN,
    CLAIM,
    LOCAL_CONFIG,
    SECRET,
    Done,
    Points,
    Programs,
    config_of,
    op,
    patches,
    refuse,
    sets,
    transform,
    without_ids,
)
from krm_merge.transform import Operation, Response

# ---- whiteouts (T5) --------------------------------------------------------------------------------------------------


def test_a_whiteout_marks_by_default() -> None:
    """Nothing is deleted, and a second run leaves it as it is."""
    done = transform([CLAIM, OTHER], BUILTIN)
    marked = without_ids(CLAIM) + f'    {LOCAL_CONFIG}: "true"\n'
    assert done.text == HEAD + as_item(marked) + as_item(OTHER)
    (result,) = done.events("whiteout")
    assert result["severity"] == "info"
    assert result["message"].startswith("PersistentVolumeClaim data: KubernetesPlugin whites it out (")
    assert result["message"].endswith("; it is marked local-config and will not be applied")
    assert result["tags"] == {**result["tags"], "rule": "T5", "event": "whiteout", "plugin": "KubernetesPlugin"}
    assert result["tags"]["reason"]
    assert result["file"] == {"path": "data.yaml"}
    assert result["resourceRef"] == {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data"}
    again = transform([marked, OTHER], BUILTIN)
    assert again.text == again.before
    assert again.events("whiteout") == []


@pytest.mark.parametrize(
    ("metadata", "metadata_after"),
    [
        ("{name: x}", f'{{name: x, annotations: {{{LOCAL_CONFIG}: "true"}}}}'),
        (
            f'{{name: x, annotations: {{{LOCAL_CONFIG}: "false", a: b}}}}',
            f'{{name: x, annotations: {{{LOCAL_CONFIG}: "true", a: b}}}}',
        ),
    ],
)
def test_marks_where_there_was_none(points: Points, metadata: str, metadata_after: str) -> None:
    item = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n"
    done = transform([item], points.add("a", Response(is_whiteout=True)))
    assert done.items[0]["metadata"] == yaml.safe_load(metadata_after)


def test_a_whiteout_may_drop() -> None:
    done = transform([DEPLOYMENT, CLAIM, OTHER], BUILTIN, whiteout={"action": "drop"})
    assert done.text == HEAD + as_item(DEPLOYMENT) + as_item(OTHER)
    (result,) = done.events("whiteout")
    assert result["message"].endswith("; it is removed from the package")
    assert (result["severity"], result["file"]) == ("info", {"path": "data.yaml"})


def test_all_items_may_be_dropped(points: Points) -> None:
    whiteout = points.add("a", Response(is_whiteout=True))
    assert transform([BARE, OTHER], whiteout, whiteout={"action": "drop"}).items == []


@pytest.mark.parametrize("priorities", [[], ["a"], ["b"]])
def test_any_whiteout_wins(points: Points, priorities: list[str]) -> None:
    """T5: whatever the priorities are; the changes that others proposed are reported."""
    whiteout = points.add("b", Response(is_whiteout=True, reason="old"))
    third = points.add("c", {"isWhiteOut": True, "patches": [op("remove", "/spec")]})
    done = transform([DEPLOYMENT], sets("a", 5), whiteout, third, priorities=priorities)
    assert done.items[0]["spec"]["replicas"] == 1
    assert done.items[0]["metadata"]["annotations"][LOCAL_CONFIG] == "true"
    assert [result["tags"]["plugin"] for result in done.events("whiteout")] == ["b", "c"]
    assert [result["tags"]["reason"] for result in done.events("whiteout")] == ["old", ""]
    # Who wants it gone loses nothing.
    assert done.losses() == [("a", "b", "whiteout")]
    (lost,) = done.events("ignored")
    assert lost["field"] == {"path": "spec.replicas", "currentValue": "1", "proposedValue": "1"}
    assert lost["tags"]["value"] == "5"
    assert lost["message"] == "Deployment shop/web: a's replace /spec/replicas is ignored: b whites the resource out"


# ---- what is told of a change that is ignored (T5) -------------------------------------------------------------------

IMAGE = "/spec/template/spec/containers/1/image"


@pytest.mark.parametrize("severity", ["info", "warning"])
def test_an_ignored_change(severity: str) -> None:
    plugins = [
        patches("weak", op("add", "/spec/paused", True), op("replace", IMAGE, 'say "hi"')),
        sets("strong", "nginx:9", IMAGE),
    ]
    done = transform([DEPLOYMENT], *plugins, priorities=["strong"], conflicts={"severity": severity})
    (result,) = done.events("ignored")
    assert result == {
        "severity": severity,
        "message": f"Deployment shop/web: weak's replace {IMAGE} is ignored: strong has priority (replace {IMAGE})",
        "resourceRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop"},
        "file": {"path": "apps/web.yaml"},
        "field": {
            "path": "spec.template.spec.containers[name=web].image",
            "currentValue": "nginx:1.25",
            "proposedValue": "nginx:9",
        },
        "tags": {
            "rule": "T5",
            "event": "ignored",
            "plugin": "weak",
            "winner": "strong",
            "reason": "priority",
            "op": "replace",
            "pointer": IMAGE,
            "value": '"say \\"hi\\""',
            "unit": "2",
        },
    }
    assert done.items[0]["spec"]["paused"] is True


def test_a_conflict_may_be_an_error() -> None:
    """All of them are reported, and no byte changes."""
    plugins = [sets("a", 5), sets("b", 6), sets("a", "x", "/spec/type", "Service"), sets("c", "y", "/spec/type", ".*")]
    done = Done([DEPLOYMENT, SERVICE], config_of(*plugins[:2], conflicts={"severity": "error"}))
    assert done.exit_code == 1
    assert len(done.messages("error")) == 1
    service = [patches(name, op("add", "/spec/type", name), target={"kind": "Service"}) for name in "de"]
    done = Done([DEPLOYMENT, SERVICE, OTHER], config_of(*plugins[:2], *service, conflicts={"severity": "error"}))
    assert done.exit_code == 1
    assert [result["severity"] for result in done.events("ignored")] == ["error", "error"]
    assert "(and 1 more)" in done.message
    assert done.events("ignored")[1]["file"] == {"path": "dns.yaml", "index": 2}


FIELDS = [
    # what the loser wants, what the winner does, the field and its values before and after
    (op("remove", "/spec/replicas"), op("replace", "/spec/replicas", 7), "spec.replicas", "1", "7"),
    (op("replace", "/spec/replicas", 7), op("remove", "/spec/replicas"), "spec.replicas", "1", None),
    (op("add", "/spec/paused", True), op("add", "/spec/paused", False), "spec.paused", None, "false"),
    (
        op("replace", "/metadata/labels", {"a": "b"}),
        op("add", "/metadata/labels/app", "x"),
        "metadata.labels",
        '{"app":"web","tier":"front"}',
        '{"app":"x","tier":"front"}',
    ),
    (
        op("add", "/metadata/annotations/a.b~1c", "1"),
        op("add", "/metadata/annotations/a.b~1c", "ü"),
        'metadata.annotations["a.b/c"]',
        None,
        "ü",
    ),
    (
        op("replace", "/spec/template/spec/containers/[name=web]/args/1", "-c"),
        op("replace", "/spec/template/spec/containers/[name=web]/args", ["-d"]),
        "spec.template.spec.containers[name=web].args[1]",
        "-b",
        None,
    ),
]


@pytest.mark.parametrize(("weak", "strong", "path", "current", "proposed"), FIELDS)
def test_fields(weak: Value, strong: Value, path: str, current: str | None, proposed: str | None) -> None:
    done = transform([DEPLOYMENT], patches("s", strong), patches("w", weak))
    (result,) = done.events("ignored")
    values = {"path": path, "currentValue": current, "proposedValue": proposed}
    assert result["field"] == {name: text for name, text in values.items() if text is not None}
    assert (result["tags"]["op"], result["tags"]["pointer"]) == (weak["op"], weak["path"])
    value = json.dumps(weak["value"], separators=(",", ":")) if "value" in weak else None
    assert result["tags"].get("value") == value


# ---- Secrets ---------------------------------------------------------------------------------------------------------

WISHES = [
    op("replace", "/data/password", "aGlkZGVu"),
    op("add", "/data/password", {"a": "aGlkZGVu"}),
    op("replace", "/data", {"password": "aGlkZGVu"}),
    op("replace", "/data/list/0", "aGlkZGVu"),
    op("test", "/data/password", "aGlkZGVu"),
    op("remove", "/data/password/c2Vj"),
]


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("severity", ["warning", "error"])
@pytest.mark.parametrize("whiteout", [False, True])
def test_values_of_secrets_are_not_told(points: Points, wish: Value, severity: str, whiteout: bool) -> None:
    """T5: neither the old value, nor the new one, nor the proposed one."""
    strong = [op("replace", "/data/password", "c3Ryb25n"), op("replace", "/data/list/0", "c3Ryb25n")]
    plugins = [
        points.add("s", {"patches": strong, "isWhiteOut": whiteout}),
        points.add("w", {"patches": [wish]}),
    ]
    done = Done([SECRET], config_of(*plugins, conflicts={"severity": severity}))
    assert "aGlkZGVu" not in done.output
    assert "c2VjcmV0" not in done.told + done.message
    assert "c3Ryb25n" not in done.told + done.message
    for result in done.events("ignored"):
        assert result["tags"].get("value", "(redacted)") == "(redacted)"
        values = {text for name, text in result.get("field", {}).items() if name != "path"}
        assert values <= {"(redacted)"}


def test_values_of_secret_variables_are_not_told() -> None:
    resource = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"priority": 1, "containers": [{"name": "c", "env": [{"name": "DB_PASSWORD", "value": "c2VjcmV0"}]}]},
    }
    path = "/spec/containers/0/env/0/value"
    plugins = [
        patches(name, op("replace", path, secret), op("replace", "/spec/priority", number))
        for name, secret, number in (("s", "c3Ryb25n", 2), ("w", "aGlkZGVu", 3))
    ]
    done = transform([yaml.safe_dump(resource)], *plugins)
    hidden, plain = done.events("ignored")
    assert hidden["tags"]["value"] == "(redacted)"
    assert plain["tags"]["value"] == "3"
    assert not any(text in str(done.results) for text in ("c2VjcmV0", "c3Ryb25n", "aGlkZGVu"))


def test_changes_of_secrets_are_not_told(points: Points) -> None:
    """T8: nor where a second run would go on."""
    counter = iter(range(100, 200))

    def counts(resource: Value, options: dict[str, str]) -> Value:
        return {"patches": [op("add", "/data/n", f"bnVtYmVy{next(counter)}")]}

    done = transform([SECRET], points.add("a", counts))
    assert done.events("not-idempotent")
    assert "bnVtYmVy" not in done.told
    assert "c2VjcmV0" not in done.told


# ---- guards (T4) -----------------------------------------------------------------------------------------------------


def test_a_guard_that_does_not_hold_leaves_the_patch_out() -> None:
    guarded = [op("test", "/spec/replicas", 2), op("replace", "/spec/replicas", 3)]
    done = transform([DEPLOYMENT], patches("a", *guarded))
    assert done.text == done.before
    (result,) = done.events("test-skipped")
    assert result["severity"] == "info"
    assert result["message"] == "Deployment shop/web: a patch of a is skipped: test /spec/replicas found another value"
    assert result["tags"] == {"rule": "T4", "event": "test-skipped", "plugin": "a"}
    assert result["field"] == {"path": "spec.replicas"}
    assert done.events("idle") == []


def test_a_guard_that_holds() -> None:
    guarded = [op("test", "/spec/replicas", 1), op("replace", "/spec/replicas", 3)]
    done = transform([DEPLOYMENT], patches("a", *guarded, onTestFailure="error", target={"kind": "Deployment"}))
    assert done.items[0]["spec"]["replicas"] == 3


@pytest.mark.parametrize("path", ["/spec/paused", "/spec/strategy/type", "/spec/template/spec/containers/7/name"])
def test_a_guard_of_what_is_not_there_does_not_hold(path: str) -> None:
    """RFC 6902, 4.6: the target of a test must exist."""
    guarded = [op("test", path, "x"), op("replace", "/spec/replicas", 3)]
    done = transform([DEPLOYMENT], patches("a", *guarded))
    assert done.text == done.before
    assert len(done.events("test-skipped")) == 1
    assert refuse([DEPLOYMENT], patches("a", *guarded, onTestFailure="error"))


@pytest.mark.parametrize("kind", ["program", "dict", "Response"])
def test_a_guard_of_a_plugin_with_code(programs: Programs, points: Points, kind: str) -> None:
    """As with patches: one resource that is different is no failure, and a second run finds nothing to do."""
    guarded = [op("test", "/spec/replicas", 1), op("replace", "/spec/replicas", 3)]
    answer = {"patches": guarded}
    if kind == "program":
        plugin = programs.add("a", f"echo '{json.dumps(answer)}'")
    else:
        plugin = points.add("a", answer if kind == "dict" else Response.of(*map(Operation.read, guarded)))
    done = transform([DEPLOYMENT, SERVICE], plugin)
    assert done.items[0]["spec"]["replicas"] == 3
    (result,) = done.events("test-skipped")
    assert result["message"] == "Service dns: a patch of a is skipped: test /spec/replicas found another value"
    assert done.events("not-idempotent") == []


def test_a_guard_may_be_an_error() -> None:
    guarded = [op("test", "/spec/replicas", 2), op("replace", "/spec/replicas", 3)]
    second = DEPLOYMENT.replace("name: web\n  namespace", "name: api\n  namespace")
    done = Done([DEPLOYMENT, second], config_of(patches("a", *guarded, onTestFailure="error")))
    assert done.exit_code == 1
    assert done.messages("error") == [
        "a: test /spec/replicas found another value (Deployment shop/web, Deployment shop/api)"
    ]
