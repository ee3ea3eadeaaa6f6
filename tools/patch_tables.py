"""The tables of docs/patches.md: examples of the two specifications, applied in every mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from krm_merge.patch import PatchError, SchemaShape, Shape, TypeShape, apply
from krm_merge.schema.builtin import builtin_schema

DATA = Path(__file__).resolve().parent.parent / "testdata" / "patch"
Object = dict[str, Any]
REFUSED = "refused"

# The examples by their ids in seed001.json, in the order of the specification.
ORDERS = {
    "s9-format": "the picture of the format",
    "s1-noseo-maps": "no `$setElementOrder`",
    "s2-reorder-maps": "only an order",
    "s3-serveronly-maps": "elements that the order does not name",
    "s4-notfound-maps": "the order names what is nowhere",
    "s5-env": "environment variables, new patch",
    "s5-env-old": "environment variables, old patch",
    "s6-finalizers": "finalizers, new patch",
    "s6-finalizers-old": "finalizers, old patch",
    "s7-order-mismatch-maps": "the patch contradicts the order",
    "s8-not-subset-maps": "the patch has more than the order",
}
KEYS = {
    "m1": "patch 1",
    "m2": "patch 2",
    "m3": "a key field is missing",
    "m4": "the other one is missing",
    "m5": "one is missing where an element is deleted",
    "m6": "one is missing in an order",
    "m7": "an order",
}
PORTS = [{"port": 53, "name": "tcp"}, {"port": 53, "name": "udp", "protocol": "UDP"}]
PORT_PATCHES: dict[str, Any] = {
    "change one": [{"port": 53, "protocol": "UDP", "nodePort": 30053}],
    "change the other; `TCP` is the default": [{"port": 53, "nodePort": 30053}],
    "delete one": [{"port": 53, "protocol": "UDP", "$patch": "delete"}],
    "add a third": [{"port": 53, "protocol": "SCTP", "name": "sctp"}],
}


def tables() -> dict[str, str]:
    """The tables by name, as Markdown."""
    return {"orders": _orders(), "keys": _keys(), "ports": _ports()}


def _orders() -> str:
    def row(title: str, case: Object) -> list[str]:
        (live,) = case["original"].values()
        results = [
            _apply(case, lambda value: _letters(value, live), list_order=mode) for mode in ("document", "kubernetes")
        ]
        return [title, _letters(live, live), _patch(case["patch"], live), *results]

    head = ["example", "live", "patch", "`listOrder: document`", "`listOrder: kubernetes`"]
    return _table(head, (row(title, case) for title, case in _cases("seed001", ORDERS)))


def _keys() -> str:
    def row(title: str, case: Object) -> list[str]:
        return [title, _code(case["patch"]), *(_apply(case, _plain, merge_keys=mode) for mode in ("multi", "single"))]

    head = ["example", "patch", "`mergeKeys: multi`", "`mergeKeys: single`"]
    return _table(head, (row(title, case) for title, case in _cases("seed002", KEYS)))


def _ports() -> str:
    schema = builtin_schema("", "v1", "Service")
    assert schema is not None
    shape, live = SchemaShape(schema), {"spec": {"ports": PORTS}}

    def row(title: str, ports: list[Object]) -> list[str]:
        case = {"original": live, "patch": {"spec": {"ports": ports}}}
        results = [
            _apply(case, lambda value: _plain(value["ports"]), shape, merge_keys=mode) for mode in ("multi", "single")
        ]
        return [title, _plain(ports), *results]

    head = ["example", "`spec.ports` of the patch", "`mergeKeys: multi`", "`mergeKeys: single`"]
    return _table(head, (row(title, ports) for title, ports in PORT_PATCHES.items()))


def _cases(name: str, titles: dict[str, str]) -> list[tuple[str, Object]]:
    cases = {case["id"]: case for case in json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))}
    return [(title, cases[key]) for key, title in titles.items()]


def _apply(case: Object, show: Callable[[Any], str], shape: Shape | None = None, **modes: Any) -> str:
    """What a patch makes of the one field of a document."""
    if shape is None:
        shape = TypeShape(json.loads((DATA / "schema.json").read_text(encoding="utf-8")), case["schema"])
    try:
        (result,) = apply(case["original"], case["patch"], shape, **modes).values()
    except PatchError:
        return REFUSED
    return show(result)


def _letters(items: list[Any], live: list[Any]) -> str:
    """The elements by their names, with a dash where they are not as they were."""
    return " ".join(_letter(item) + ("" if item in live or not isinstance(item, dict) else "'") for item in items)


def _letter(item: Any) -> str:
    return str(item["name"]).removeprefix("ENV") if isinstance(item, dict) else chr(item)


def _patch(patch: Object, live: list[Any]) -> str:
    parts = []
    for name, items in patch.items():
        directive = name.partition("/")[0] if name.startswith("$") else ""
        if directive:
            word = {"$setElementOrder": "order", "$deleteFromPrimitiveList": "delete"}[directive]
            parts.append(f"{word} {' '.join(map(_letter, items))}")
            continue
        gone = [item for item in items if isinstance(item, dict) and "$patch" in item]
        remaining = [item for item in items if item not in gone]
        parts += [f"delete {' '.join(map(_letter, gone))}"] if gone else []
        parts += [_letters(remaining, live)] if remaining else []
    return "; ".join(sorted(parts, key=lambda part: part.startswith(("order", "delete"))))


def _plain(items: list[Any]) -> str:
    return "<br>".join(_code(item) for item in items) or "`[]`"


def _code(value: Any) -> str:
    return f"`{_flow(value)}`"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return str(value)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---" for _ in head], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
