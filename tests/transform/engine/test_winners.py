"""T5: what is reported of an ignored change is true of the result, in random runs by paths and by effects."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from krm_merge.transform import Detect, Operation, Patch, PluginOperation, Response, Runner
from krm_merge.transform.engine.settle import Ignored, Settlement
from transform.engine.plugins import Says

NAMES = ("p", "q", "r")
MESSAGES = int(os.environ.get("MESSAGES", "300"))


def places(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*above, str(step))
        yield from places(inner, (*above, str(step)))


def some_object(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    def value(depth: int) -> Any:
        kind = rng.randrange(4) if depth else 0
        if kind == 1:
            return [value(depth - 1) for _ in range(rng.randrange(3))]
        return {name: value(depth - 1) for name in "abc" if rng.random() < 0.6} if kind > 1 else 0

    return {name: value(depth) for name in "ab"}


def some_operation(rng: random.Random, start: Any, marker: str) -> Operation:
    there = list(places(start))
    place = rng.choice(there)
    kind = rng.choice(("add", "replace", "replace", "remove", "move", "copy"))
    value = rng.choice(({"a": marker}, [marker], marker, marker))
    if kind == "add" and rng.random() < 0.5:
        place = (*place[:-1], rng.choice("abc0-"))
    source = rng.choice(there) if kind in ("move", "copy") else ()
    return Operation(kind, place, source, value if kind in ("add", "replace") else None)  # type: ignore[arg-type]


def markers(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(markers, inside))


def at(value: Any, path: tuple[str, ...]) -> Any:
    """The value at a path of field names; None where there is none, or where it leads into a list."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def runs(detect: Detect) -> Iterator[tuple[Any, list[Says], dict[str, int], Settlement]]:
    """Runs in which every value that a plugin writes is its own: `p3` is the third operation of the plugin p."""
    for seed in itertools.count():
        rng = random.Random(seed)
        start = some_object(rng)
        plugins = [
            Says(
                name,
                Response((Patch(tuple(some_operation(rng, start, f"{name}{n}") for n in range(rng.randint(1, 4)))),)),
            )
            for name in NAMES
        ]
        priorities = {rng.choice(NAMES): 0} if rng.random() < 0.5 else {}
        outcome = Runner(plugins, priorities, detect=detect).run(start, lambda path: ())
        if not outcome.failures:
            yield start, plugins, priorities, outcome.settlement


@pytest.mark.parametrize("detect", ["effect", "path"])
def test_what_is_reported_is_true(detect: Detect) -> None:
    messages = (
        (ignored, priorities, settlement)
        for _, _, priorities, settlement in runs(detect)
        for ignored in settlement.ignored
    )
    for ignored, priorities, settlement in itertools.islice(messages, MESSAGES):
        assert_true(ignored, priorities, settlement, detect)


def assert_true(ignored: Ignored, priorities: dict[str, int], settlement: Settlement, detect: Detect) -> None:
    loser, operation, result = ignored.operation.plugin, ignored.operation.operation, settlement.value
    about = f"{loser}'s {operation} of {operation.value}, {ignored.winner} {ignored.reason} {ignored.against}: {result}"
    assert ignored.winner != loser, about
    # The change is not in the result.
    if detect == "path":
        assert not markers(operation.value) & markers(result), about
    # The reason holds.
    winner_first = NAMES.index(ignored.winner) < NAMES.index(loser)
    if ignored.reason == "priority":
        assert ignored.winner in priorities, about
    elif ignored.reason == "order":
        assert winner_first, about
        assert loser not in priorities, about
    # The value there is the winner's, or one that the winner moved there.
    here = markers(at(result, operation.path))
    if detect == "path" and here and ignored.against is not None and ignored.against.kind not in ("move", "copy"):
        value = ignored.against.value
        # Others may have written inside of it.
        assert {marker[0] for marker in here} & {ignored.winner} or isinstance(value, dict | list), about
    if ignored.against is not None and ignored.against.kind in ("move", "remove"):
        return  # It took the value away, even if others wrote where it did so.
    done = (*settlement.operations, *(agreement.operation for agreement in settlement.agreed))
    assert PluginOperation(ignored.winner, ignored.against) in done, about  # type: ignore[arg-type]
