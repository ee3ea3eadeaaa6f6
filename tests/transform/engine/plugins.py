"""Plugins that want the same of every resource, and what comes of them.

An operation is a text: its kind and path, then a value in JSON or where it comes from: `add /x/- 1`, `move /b /a`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonpatch

from krm_merge.transform import Operation, Options, Patch, PluginOperation, Response, Runner, Settlement

Data = dict[str, Any]
Keys = Mapping[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Says:
    """A plugin that wants the same of every resource."""

    name: str
    response: Response

    def run(self, resource: Data, options: Options) -> Response:
        return self.response


def op(text: str) -> Operation:
    """An operation: its kind and path, then a value in JSON, or where it comes from."""
    kind, path, *rest = text.split(" ", 2)
    value: Data = {"op": kind, "path": path}
    if rest:
        value["from" if kind in ("move", "copy") else "value"] = (
            rest[0] if kind in ("move", "copy") else json.loads(*rest)
        )
    return Operation.read(value)


def wants(name: str, *texts: str) -> Says:
    return Says(name, Response((Patch(tuple(map(op, texts))),)))


def run(
    start: Data,
    *plugins: Says,
    first: str = "",
    keys: Keys | None = None,
) -> Settlement:
    """The outcome of plugins; the one named first has priority, the others by their order.

    Whatever is tested: the object stays as it is, and the patch that is given leads to the value that is given.
    """
    before = copy.deepcopy(start)
    priorities = {first: 0} if first else {}
    outcome = Runner(plugins, priorities).run(start, lambda path: (keys or {}).get(path, ()))
    assert not outcome.failures
    assert start == before
    settlement = outcome.settlement
    patch = json.dumps([operation.operation.to_value() for operation in settlement.patch])
    assert jsonpatch.apply_patch(start, patch) == settlement.value
    return settlement


def words_of(operation: PluginOperation) -> str:
    return f"{operation.plugin} {operation.operation}"


def losses(settlement: Settlement) -> list[str]:
    return [words_of(loss.operation) for loss in settlement.ignored]
