"""A JSON patch does the same in PatchResources and in a plugin: what RFC 6902 says, where it says something."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, Final

import jsonpatch
import pytest

from effort import SEED
from functions import streams
from functions.patch_resources import patched
from functions.streams import Value
from functions.transform_resources import plugins
from krm_merge.transform.protocol import pointer_text

FIELDS: Final = ("a", "b", "0", "-", "a/b", "~1", "[name=a]", "")
SCALARS: Final = (0, 1, 1.5, True, False, None, "x", "")
KINDS: Final = ("add", "add", "remove", "replace", "move", "copy", "test")
PATCHES: Final = 100
"""Of each run of the test; 5,000 were compared once."""


def some_value(rng: random.Random, depth: int) -> Any:
    chance = rng.random() if depth else 1.0
    if chance < 0.45:
        return {name: some_value(rng, depth - 1) for name in FIELDS if rng.random() < 0.4}
    if chance < 0.65:
        return [some_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if chance < 0.75:
        return [{"name": name, "v": rng.choice(SCALARS)} for name in ("a", "b")]
    return rng.choice(SCALARS)


def places(value: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield above, value
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*above, str(step)))


def some_operation(rng: random.Random, document: Value) -> Value:
    """An operation below `spec`, often one that the document does not allow."""
    there = list(places(document["spec"], ("spec",)))[1:] or [(("spec", "none"), None)]
    path, value = rng.choice(there)
    kind = rng.choice(KINDS)
    if rng.random() < 0.5:
        path = (*path, rng.choice((*FIELDS, "1", "01", "7")))
    operation: Value = {"op": kind, "path": pointer_text(path)}
    if kind in ("move", "copy"):
        operation["from"] = pointer_text(rng.choice(there)[0])
    elif kind != "remove":
        operation["value"] = copy.deepcopy(value) if kind == "test" and rng.random() < 0.8 else some_value(rng, 2)
    return operation


def some_case(rng: random.Random) -> tuple[Value, list[Value]]:
    """A resource, and a patch of it."""
    head: Value = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}}
    document: Value = {**head, "spec": {name: some_value(rng, 3) for name in FIELDS if rng.random() < 0.6}}
    operations: list[Value] = []
    now = copy.deepcopy(document)
    for _ in range(rng.randrange(1, 5)):
        operation = some_operation(rng, now)
        result = by_the_library(now, [operation])
        if result is not None or not operations or rng.random() < 0.1:
            operations.append(operation)
        now = now if result is None else result
    return document, operations


def by_the_library(document: Value, operations: list[Value]) -> Any:
    """The document as a library that knows RFC 6902 and nothing more leaves it; None where it refuses."""
    try:
        return jsonpatch.apply_patch(copy.deepcopy(document), copy.deepcopy(operations))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        return None


def through_both(document: Value, operations: list[Value]) -> tuple[streams.Done, streams.Done]:
    """PatchResources and TransformResources with the same patch of the same resource."""
    items = [json.dumps(document) + "\n"]
    entry = {"target": {"kind": "Thing"}, "patch": json.dumps(operations), "type": "json"}
    plugin = plugins.patches("p", *operations, onTestFailure="error")
    return streams.Done(items, patched.config_of(entry)), streams.Done(items, plugins.config_of(plugin))


def check(document: Value, operations: list[Value]) -> bool:
    """Compares both with the library; returns whether RFC 6902 defines a result."""
    expected = by_the_library(document, operations)
    patch, plugin = through_both(document, operations)
    context = json.dumps([document, operations])
    if expected is None:
        assert patch.exit_code == 1, context
        assert json.dumps(patch.items) == json.dumps([document]), context
        return False
    assert (patch.exit_code, plugin.exit_code) == (0, 0), (context, patch.output, plugin.output)
    assert json.dumps(patch.items, sort_keys=True) == json.dumps([expected], sort_keys=True), context
    assert plugin.text == patch.text, context
    return True


def test_both_do_what_rfc_6902_says() -> None:
    rng = random.Random(SEED)
    defined = [check(*some_case(rng)) for _ in range(PATCHES)]
    assert min(defined.count(True), defined.count(False)) > PATCHES // 8


MISSING: Final = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}, "spec": {"e": None}}


@pytest.mark.parametrize(
    ("operation", "spec"),
    [
        (plugins.op("add", "/spec/a/b", 1), {"e": None, "a": {"b": 1}}),
        (plugins.op("add", "/spec/a/0/b", 1), {"e": None, "a": [{"b": 1}]}),
        (plugins.op("add", "/spec/e/b", 1), {"e": {"b": 1}}),
        (plugins.op("remove", "/spec/a"), {"e": None}),
    ],
)
def test_what_plugins_may_do_beyond_it(operation: Value, spec: Value) -> None:
    """As in crane; PatchResources refuses it."""
    patch, plugin = through_both(MISSING, [operation])
    assert patch.exit_code == 1
    assert plugin.exit_code == 0
    assert [item["spec"] for item in plugin.items] == [spec]


@pytest.mark.parametrize("kind", ["replace", "test", "copy", "move"])
def test_nobody_may_read_what_is_missing(kind: str) -> None:
    more = {"from": "/spec/a"} if kind in ("copy", "move") else {}
    operation = plugins.op(kind, "/spec/b" if more else "/spec/a", 1, **more)
    assert [done.exit_code for done in through_both(MISSING, [operation])] == [1, 1]
