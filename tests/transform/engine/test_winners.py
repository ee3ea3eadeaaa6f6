"""T5: what is reported of each operation is true of the result, in random runs. The objects have no lists."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch
import pytest

from effort import scaled
from krm_merge.transform import Ignored, Operation, Patch, Response, Runner, Settlement
from krm_merge.transform.protocol import Pointer
from transform.engine.plugins import Says, losses, run, wants, words_of

NAMES: Final = ("p", "q", "r")
PAIRS: Final = scaled(4000)
MISSING: Final = "nothing is here"


def places(value: Any, above: Pointer = ()) -> Iterator[Pointer]:
    for step, inner in value.items() if isinstance(value, dict) else ():
        yield (*above, step)
        yield from places(inner, (*above, step))


def some_object(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    def value(depth: int) -> Any:
        return {name: value(depth - 1) for name in "abc" if rng.random() < 0.6} if depth and rng.random() < 0.6 else 0

    return {name: value(depth) for name in "ab"}


def some_operation(rng: random.Random, start: Any, marker: str) -> Operation:
    there = list(places(start))
    place = rng.choice(there)
    kind = rng.choice(("add", "replace", "replace", "remove", "remove", "move", "copy", "test"))
    value = 0 if kind == "test" else rng.choice(({"a": marker}, marker, marker, "shared", {}))
    if kind == "add" and rng.random() < 0.7:
        place = (*place[: rng.randrange(len(place) + 1)], rng.choice("abc"))
    source = rng.choice(there) if kind in ("move", "copy") else ()
    return Operation(kind, place, source, value if kind in ("add", "replace", "test") else None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Life:
    """A run of plugins, and what the object would be with each of them alone, by its place in the declaration."""

    plugins: list[Says]
    priorities: dict[str, int]
    settlement: Settlement
    alone: dict[str, Any]
    start: Any


def lives() -> Iterator[Life]:
    for seed in itertools.count():
        rng = random.Random(seed)
        start = some_object(rng)
        plugins = [
            Says(
                name,
                Response((Patch(tuple(some_operation(rng, start, f"{name}{n}") for n in range(rng.randint(1, 4)))),)),
            )
            for name in NAMES[: rng.randint(2, 3)]
        ]
        priorities = {rng.choice(plugins).name: 0} if rng.random() < 0.5 else {}
        outcomes = [Runner([plugin]).run(start) for plugin in plugins]
        if not any(outcome.failures for outcome in outcomes):
            settlement = Runner(plugins, priorities).run(start).settlement
            alone = {plugin.name: outcome.settlement.value for plugin, outcome in zip(plugins, outcomes, strict=True)}
            yield Life(plugins, priorities, settlement, alone, start)


def at(value: Any, path: Pointer) -> Any:
    for step in path:
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
    return value


def touched(operation: Operation) -> list[Pointer]:
    return [operation.path, operation.source] if operation.kind in ("move", "copy") else [operation.path]


def is_in_effect(operation: Operation, wanted: Any, result: Any) -> bool:
    """Whether the result has what the plugin wanted where the operation writes."""
    places = touched(operation) if operation.kind == "move" else [operation.path]
    return all(at(wanted, place) == at(result, place) for place in places)


def rank(life: Life, plugin: str) -> tuple[int, int]:
    return (0 if plugin in life.priorities else 1, NAMES.index(plugin))


def assert_true(life: Life, ignored: Ignored) -> None:
    loser, operation, result = ignored.operation.plugin, ignored.operation.operation, life.settlement.value
    winner, against = ignored.winner, ignored.against
    about = f"{loser}'s {operation} of {operation.value}, {winner} {ignored.reason} {against}: {life.start} {result}"
    # The change is not in the result, not even by other means: it is lost.
    assert not is_in_effect(operation, life.alone[loser], result), about
    # The winner is stronger, for the reason that is given, and what it did, or relied on, is in the result.
    assert against is not None
    assert rank(life, winner) < rank(life, loser), about
    assert ignored.reason == ("priority" if winner in life.priorities else "order"), about
    assert against in [change for plugin in life.plugins if plugin.name == winner for change in operations_of(plugin)]
    if against.kind != "test":
        assert is_in_effect(against, life.alone[winner], result), about
    # The two conflict, or what belongs together with the loser conflicts.
    (plugin,) = (plugin for plugin in life.plugins if plugin.name == loser)
    paths = [path for change in operations_of(plugin) for path in touched(change)]
    assert any(path[: len(other)] == other[: len(path)] for path in paths for other in touched(against)), about


def operations_of(plugin: Says) -> list[Operation]:
    return [operation for patch in plugin.response.patches for operation in patch.operations]


def test_what_is_reported_is_true() -> None:
    ignored, agreed = 0, 0
    for life in itertools.islice(lives(), PAIRS):
        settlement = life.settlement
        for loss in settlement.ignored:
            assert_true(life, loss)
        for agreement in settlement.agreed:
            operation = agreement.operation
            assert agreement.other != operation.plugin
            assert (
                is_in_effect(operation.operation, life.alone[operation.plugin], settlement.value)
                or not (
                    # A parent that each creates for what it puts there.
                    isinstance(operation.operation.value, dict) and operation.operation.value == {}
                )
                or isinstance(at(settlement.value, operation.operation.path), dict)
            )
        patch = [done.operation.to_value() for done in settlement.patch]
        assert jsonpatch.apply_patch(life.start, patch) == settlement.value
        ignored, agreed = ignored + len(settlement.ignored), agreed + len(settlement.agreed)
    assert ignored > PAIRS / 4
    assert agreed > PAIRS / 20


@pytest.mark.parametrize("first", ["", "weak", "strong"])
def test_a_removal_that_took_effect_is_not_ignored(first: str) -> None:
    """Also where it belongs to what another plugin won."""
    both = wants("strong", "replace /y 3", "remove /x"), wants("weak", "test /y 1", "remove /x", "replace /y 2")
    settlement = run({"x": {"k": 1}, "y": 1}, *both, first=first)
    assert settlement.value == {"y": 2 if first == "weak" else 3}
    loser = "strong" if first == "weak" else "weak"
    assert losses(settlement) == [f"{loser} replace /y"]
    assert [words_of(agreement.operation) for agreement in settlement.agreed] == [f"{loser} remove /x"]
