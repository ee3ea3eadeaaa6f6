"""Keys of custom resources, a second run, and what is no resource any more (T3, T6, T8)."""

from __future__ import annotations

import pytest

from cli.commands.patch.place import CRD
from functions.streams import DEPLOYMENT, OTHER, SERVICE, Value
from functions.transform_resources.plugins import (
    BUILTIN,
    Done,
    Points,
    config_of,
    op,
    patches,
    refuse,
    sets,
    transform,
)
from krm_merge.transform import Response

# ---- lists of custom resources ---------------------------------------------------------------------------------------

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
