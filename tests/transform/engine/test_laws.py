"""The laws of priorities (T1 to T4), on objects and operations by chance."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.limits import Copies
from krm_merge.text.reading.nodes import same
from krm_merge.transform import Operation, Options, Patch, PluginOperation, Response, Runner, Settlement
from krm_merge.transform.engine.locations import Location, Tracked, carry_out, overlap
from krm_merge.transform.protocol import OperationError, pointer_text, read_pointer

Data = dict[str, Any]
RANDOMS: Final = st.randoms(use_true_random=False)
NAMES: Final = "abc"
FIELDS: Final = "klmn"


# ---- objects and operations --------------------------------------------------------------------------------------


def some_value(rng: random.Random, depth: int) -> Any:
    chance = rng.random() if depth else 1.0
    if chance < 0.35:
        return {name: some_value(rng, depth - 1) for name in NAMES if rng.random() < 0.5}
    if chance < 0.45:
        return [some_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if chance < 0.55:
        return [rng.choice("xy") for _ in range(rng.randrange(6))]
    if chance < 0.7:
        return [some_element(rng, name) for name in NAMES if rng.random() < 0.7]
    return rng.choice([0, 1, 2, "x", "y", True, None])


def some_element(rng: random.Random, name: str) -> Data:
    return {"name": name, "v": rng.choice([0, 1, 2])}


def some_object(rng: random.Random) -> Data:
    return {field: some_value(rng, 3) for field in FIELDS if rng.random() < 0.8}


def pointers(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All that can be named in a value, itself left out."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        path = (*above, str(step))
        yield path, inner
        yield from pointers(inner, path)


ALL_KINDS: Final = ("add", "add", "remove", "replace", "replace", "move", "copy", "test")
CHANGES: Final = ("add", "remove", "replace")


def some_operation(rng: random.Random, value: Data, fields: str, kinds: Sequence[str]) -> Data | None:
    """An operation on a value, as a rule one that can be carried out; only in these of its fields."""
    there = [(path, inner) for path, inner in pointers(value) if path[0] in fields]
    places: list[tuple[str, ...]] = [(field,) for field in fields]
    places += [path for path, _ in there]
    places += [(*path, name) for path, inner in there if isinstance(inner, dict) for name in (*NAMES, "v")]
    places += [(*path, end) for path, inner in there if isinstance(inner, list) for end in ("-", str(len(inner)))]
    place = pointer_text(rng.choice(places))
    kind = rng.choice(kinds)
    new = some_element(rng, rng.choice(NAMES)) if rng.random() < 0.2 else some_value(rng, 1)
    if kind == "add":
        return {"op": kind, "path": place, "value": new}
    if not there:
        return None
    path, inner = rng.choice(there)
    match kind:
        case "move" | "copy":
            return {"op": kind, "path": place, "from": pointer_text(path)}
        case "remove":
            return {"op": kind, "path": pointer_text(path)}
    return {"op": kind, "path": pointer_text(path), "value": copy.deepcopy(inner) if kind == "test" else new}


def some_operations(rng: random.Random, start: Data, fields: str, kinds: Sequence[str]) -> list[Data]:
    """Operations that can be carried out one after the other, by RFC 6902 alone."""
    done: list[Data] = []
    value = copy.deepcopy(start)
    for _ in range(rng.randrange(1, rng.choice([6, 9]))):
        operation = some_operation(rng, value, fields, kinds)
        if operation is not None:
            try:
                value = jsonpatch.apply_patch(value, [operation])
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
                continue
            done.append(operation)
    return done


def some_loose_operations(rng: random.Random, start: Data) -> list[Data]:
    """Operations as crane carries them out: an add makes what is missing on its way, or another one did before."""
    done: list[Data] = []
    tracked = Tracked(start, keys_of)
    for _ in range(rng.randrange(1, 7)):
        if rng.random() < 0.5:
            place = [rng.choice(FIELDS), *(rng.choice([*NAMES, "-", "0"]) for _ in range(rng.randrange(3)))]
            value = rng.choice([{}, [], "x", "y", some_element(rng, rng.choice(NAMES))])
            operation: Data | None = {"op": "add", "path": pointer_text(tuple(place)), "value": value}
        else:
            operation = some_operation(rng, cast(Data, tracked.value), FIELDS, ALL_KINDS)
        if operation is not None:
            try:
                carry_out(tracked, Operation.read(operation), Copies())
            except OperationError:
                continue
            done.append(operation)
    return done


@dataclass(frozen=True)
class Says:
    """A plugin that wants the same of every resource."""

    name: str
    operations: list[Data]
    patches: tuple[Patch, ...]

    def run(self, resource: Data, options: Options) -> Response:
        return Response(self.patches)


def some_plugin(
    rng: random.Random, name: str, start: Data, fields: str = FIELDS, kinds: Sequence[str] = ALL_KINDS
) -> Says:
    return in_patches(rng, name, some_operations(rng, start, fields, kinds))


def in_patches(rng: random.Random, name: str, operations: list[Data]) -> Says:
    """Its operations are in one patch or in several."""
    ends = [at for at in range(1, len(operations)) if rng.random() < 0.3]
    parts = [operations[a:b] for a, b in itertools.pairwise([0, *ends, len(operations)])]
    return Says(name, operations, tuple(Patch(tuple(map(Operation.read, part))) for part in parts))


def some_plugins(rng: random.Random, start: Data) -> list[Says]:
    loose = rng.random() < 0.5
    return [
        in_patches(rng, name, some_loose_operations(rng, start)) if loose else some_plugin(rng, name, start)
        for name in "pqr"[: rng.randrange(1, 4)]
    ]


def keys_of(path: tuple[str, ...]) -> tuple[str, ...]:
    """Half of the fields hold lists whose elements have keys."""
    return ("name",) if path[:1] in (("k",), ("l",)) else ()


def run(
    start: Data,
    plugins: Sequence[Says],
    priorities: Mapping[str, int] | None = None,
) -> Settlement:
    outcome = Runner(plugins, priorities or {}).run(start, keys_of)
    assert not outcome.failures
    return outcome.settlement


def in_json(plugin: str, operation: Data) -> tuple[str, str]:
    return plugin, json.dumps(operation, sort_keys=True)


def record(operation: PluginOperation) -> tuple[str, str]:
    return in_json(operation.plugin, operation.operation.to_value())


def losses(settlement: Settlement) -> list[tuple[str, str]]:
    return [record(loss.operation) for loss in settlement.ignored]


def apply(start: Data, operations: Sequence[Data]) -> Any:
    """By a library that knows RFC 6902 and nothing more; it changes what it is given in place."""
    return jsonpatch.apply_patch(unshare(start), unshare(operations))


def unshare(value: Any) -> Any:
    """The same, with no part in two places."""
    return json.loads(json.dumps(value))


# ---- the laws ----------------------------------------------------------------------------------------------------


@given(rng=RANDOMS)
def test_one_plugin_alone_is_plain_rfc_6902(rng: random.Random) -> None:
    start = some_object(rng)
    plugin = some_plugin(rng, "p", start)
    settlement = run(start, [plugin])
    assert same(settlement.value, apply(start, plugin.operations))
    assert not settlement.ignored
    assert not settlement.agreed


@given(rng=RANDOMS)
def test_the_patch_leads_to_the_value(rng: random.Random) -> None:
    """By plain RFC 6902, and none of its operations does nothing."""
    start = some_object(rng)
    settlement = run(start, some_plugins(rng, start))
    patch = [entry.operation.to_value() for entry in settlement.patch]
    assert same(apply(start, patch), settlement.value)
    value = start
    for operation in patch:
        before, value = value, apply(value, [operation])
        assert not same(before, value)


@given(rng=RANDOMS)
def test_what_is_given_is_not_changed(rng: random.Random) -> None:
    start = some_object(rng)
    plugins = some_plugins(rng, start)
    before = copy.deepcopy((start, plugins))
    first = run(start, plugins)
    remaining = copy.deepcopy(first)
    assert same(start, before[0])
    assert plugins == before[1]
    # Nor is a result changed by another run that starts with it.
    run(first.value, [some_plugin(rng, "s", unshare(first.value))])
    assert first == remaining
    assert run(start, plugins) == remaining


@given(rng=RANDOMS)
def test_priorities_decide_and_not_the_declaration(rng: random.Random) -> None:
    start = some_object(rng)
    plugins = some_plugins(rng, start)
    numbers = rng.sample(range(10), len(plugins))
    priorities = {plugin.name: number for plugin, number in zip(plugins, numbers, strict=True)}
    settlement = run(start, plugins, priorities)
    for other in itertools.permutations(plugins):
        assert run(start, other, priorities) == settlement
    # Unlisted, plugins stand in the order of their declaration, and listed ones before unlisted ones.
    ordered = sorted(plugins, key=lambda plugin: priorities[plugin.name])
    assert same(run(start, ordered).value, settlement.value)
    assert same(run(start, plugins, {ordered[0].name: 0}).value, strongest_first(start, ordered[0], plugins))


def strongest_first(start: Data, strongest: Says, plugins: Sequence[Says]) -> Any:
    return run(start, [strongest, *(plugin for plugin in plugins if plugin is not strongest)]).value


@given(rng=RANDOMS)
def test_all_of_the_winner_stands(rng: random.Random) -> None:
    """T2, T3: in its order, and with its values wherever it wrote."""
    start = some_object(rng)
    plugins = some_plugins(rng, start)
    winner = rng.choice(plugins)
    settlement = run(start, plugins, {winner.name: 0})
    standing = [record(entry) for entry in settlement.operations if entry.plugin == winner.name]
    assert standing == [in_json(winner.name, operation) for operation in winner.operations if operation["op"] != "test"]
    winning = Tracked(start, keys_of)
    writes = [
        location
        for operation in winner.operations
        for location in carry_out(winning, Operation.read(operation), Copies()).writes
    ]
    merged = winning.copy()
    for entry in settlement.patch:
        if entry.plugin != winner.name:
            carry_out(merged, entry.operation, Copies())
    assert same(cast(Any, merged.value), settlement.value)
    for location in writes:
        mine, theirs = winning.at(location), merged.at(location)
        assert mine is theirs or same(cast(Any, mine), cast(Any, theirs)), location


@given(rng=RANDOMS)
def test_who_stands_beside_another_does_so_both_ways(rng: random.Random) -> None:
    """Where nothing of the weaker is ignored, nothing is when priorities are the other way round.

    That goes for those that read nothing and write nothing above what the other writes: what a weaker one wants below
    may be as the stronger has it already, but a stronger one's wishes below are no more than a part of the weaker's.
    """
    start = some_object(rng)
    p, q = (some_plugin(rng, name, start, kinds=CHANGES) for name in "pq")
    if any(
        location != other and overlap(location, other) for location in writes(start, p) for other in writes(start, q)
    ):
        return
    one_way, other_way = run(start, [p, q], {"p": 0, "q": 1}), run(start, [p, q], {"q": 0, "p": 1})
    assert {loss.operation.plugin for loss in one_way.ignored} <= {"q"}
    assert {loss.operation.plugin for loss in other_way.ignored} <= {"p"}
    assert bool(one_way.ignored) == bool(other_way.ignored)


def writes(start: Data, plugin: Says) -> list[Location]:
    document = Tracked(start, keys_of)
    return [
        place
        for operation in plugin.operations
        for place in carry_out(document, Operation.read(operation), Copies()).writes
    ]


@given(rng=RANDOMS)
def test_a_unit_is_kept_or_lost_whole(rng: random.Random) -> None:
    """T4: no operation of a patch with a test is applied if another one of the patch is ignored."""
    start = some_object(rng)
    plugins = some_plugins(rng, start)
    settlement = run(start, plugins)
    ignored = Counter(losses(settlement))
    for plugin in plugins:
        for patch in plugin.patches:
            mine = Counter(
                record(PluginOperation(plugin.name, operation))
                for operation in patch.operations
                if operation.kind != "test"
            )
            others = (
                Counter(in_json(plugin.name, operation) for operation in plugin.operations if operation["op"] != "test")
                - mine
            )
            if patch.is_guarded and not mine.keys() & others.keys():
                assert not mine & ignored or mine <= ignored


@given(rng=RANDOMS)
def test_plugins_of_other_fields_do_not_meet(rng: random.Random) -> None:
    start = some_object(rng)
    parts = rng.choice([["kl", "mn"], ["k", "lmn"], ["k", "l", "mn"]])
    plugins = [some_plugin(rng, name, start, part) for name, part in zip("pqr", parts, strict=False)]
    expected = {
        field: value
        for plugin, part in zip(plugins, parts, strict=True)
        for field, value in apply(start, plugin.operations).items()
        if field in part
    }
    for order in itertools.permutations(plugins):
        settlement = run(start, order)
        assert same(settlement.value, expected)
        assert not settlement.ignored
        assert not settlement.agreed


@given(rng=RANDOMS)
def test_every_operation_is_recorded_once(rng: random.Random) -> None:
    """It is applied, agrees or is ignored. A test counts as none of these: it changes nothing."""
    start = some_object(rng)
    plugins = some_plugins(rng, start)
    outcome = Runner(plugins, {"q": 0}).run(start, keys_of)
    settlement = outcome.settlement
    assert not outcome.failures
    counts = Counter(record(operation) for operation in settlement.operations)
    counts.update(record(agreement.operation) for agreement in settlement.agreed)
    counts.update(losses(settlement))
    requests = [(plugin.name, operation) for plugin in plugins for operation in plugin.operations]
    assert counts == Counter(in_json(name, operation) for name, operation in requests if operation["op"] != "test")


@given(rng=RANDOMS)
def test_a_plugin_that_wants_the_same_agrees(rng: random.Random) -> None:
    """T2: an equal change of two plugins is applied once."""
    start = some_object(rng)
    first = some_plugin(rng, "p", start)
    second = Says("q", first.operations, first.patches)
    alone, settlement = run(start, [first]), run(start, [first, second])
    assert same(settlement.value, alone.value)
    assert (settlement.operations, settlement.patch) == (alone.operations, alone.patch)
    assert not settlement.ignored
    assert {agreement.other for agreement in settlement.agreed} <= {"p"}


def test_pointers_are_read_as_they_are_written() -> None:
    for text in ("", "/", "/a~1b/~0/~01", "/-/0"):
        assert pointer_text(read_pointer(text)) == text
