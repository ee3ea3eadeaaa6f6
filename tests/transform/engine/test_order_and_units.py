"""Mistakes of crane: order by chance, conflicts of a plugin with itself, halves of plugins, missing records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Final

import pytest

from krm_merge.transform import Patch, Response, Runner, RunOutcome
from transform.engine.plugins import Data, Says, losses, op, run, wants, words_of

# ---- the order -------------------------------------------------------------------------------------------------------

MANY: Final = [
    wants("a", "add /x/- 1", "add /x/- 2", "remove /x/0", "add /m/k {}", "add /m/k/z 1", "copy /m/n /m/o"),
    wants("b", "add /x/- 3", "replace /m/o 5", "add /m/p 1", "add /m/k/y 2"),
    wants("c", "remove /m/o", "add /m/p 1", "add /x/0 0"),
]
START: Final[Data] = {"x": ["old", "kept"], "m": {"o": 1}}


def everything() -> str:
    """All of a result as text, for several priorities."""
    results = []
    for first in ("", "a", "b", "c"):
        settlement = run(START, *MANY, first=first)
        results.append(
            [
                settlement.value,
                *(
                    [words_of(operation), operation.operation.to_value()]
                    for operation in (*settlement.operations, *settlement.patch)
                ),
                *([words_of(loss.operation), loss.winner, loss.reason, str(loss.path)] for loss in settlement.ignored),
                *([words_of(agreement.operation), agreement.other] for agreement in settlement.agreed),
            ]
        )
    return json.dumps(results)


def test_the_same_bytes_come_out_each_time() -> None:
    """In processes that hash names differently, twice in each."""
    module = "transform.engine.test_order_and_units"
    program = f"from {module} import everything; [print(everything()) for _ in range(2)]"
    outputs: set[str] = {everything()}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        lines = done.stdout.decode().splitlines()
        assert len(lines) == 2
        outputs.update(lines)
    assert len(outputs) == 1


@pytest.mark.parametrize("first", ["", "a", "b", "c"])
def test_operations_keep_their_order(first: str) -> None:
    standing = run(START, *MANY, first=first).operations
    for plugin in MANY:
        operations_of_plugin = [operation.operation for operation in standing if operation.plugin == plugin.name]
        requests = list(plugin.response.patches[0].operations)
        assert operations_of_plugin == [request for request in requests if request in operations_of_plugin]
        assert operations_of_plugin or plugin.name != (first or "a")


# ---- one plugin by itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "operations", "result"),
    [
        pytest.param(["a-drop", "b-drop", "keep"], ["remove /x/1", "remove /x/0"], ["keep"], id="items-from-the-end"),
        pytest.param(["a", "b", "c"], ["remove /x/0", "remove /x/0"], ["c"], id="the-first-item-twice"),
        pytest.param(["a"], ['add /x/- "b"', 'add /x/- "c"'], ["a", "b", "c"], id="two-at-the-end"),
        pytest.param(["a"], ['add /x/- "b"', 'add /x/- "b"'], ["a", "b", "b"], id="the-same-twice-at-the-end"),
        pytest.param(["a"], ['add /x/0 "b"', 'add /x/0 "c"'], ["c", "b", "a"], id="two-in-front"),
        pytest.param(1, ["test /x 1", "replace /x 2"], 2, id="test-and-replace"),
        pytest.param(1, ["replace /x 2", "test /x 2", "replace /x 3"], 3, id="test-what-it-wrote"),
        pytest.param(1, ["remove /x", "add /x 2"], 2, id="remove-and-add"),
        pytest.param({}, ["add /x/l {}", "add /x/l/a 1"], {"l": {"a": 1}}, id="parent-then-child"),
        pytest.param({"l": {"a": 1}}, ["remove /x/l/a", "remove /x/l"], {}, id="child-then-parent"),
        pytest.param({"a": 1}, ["move /x/b /x/a", "replace /x/b 2"], {"b": 2}, id="move-then-replace"),
        pytest.param(["a", "b"], ["move /x/1 /x/0", "remove /x/0"], ["a"], id="move-an-item-then-remove"),
        pytest.param([{"n": 1}], ["add /x/0 {}", "replace /x/1/n 2"], [{}, {"n": 2}], id="an-item-moved-on"),
    ],
)
def test_a_plugin_never_conflicts_with_itself(start: Any, operations: list[str], result: Any) -> None:
    settlement = run({"x": start}, wants("p", *operations))
    assert settlement.value == {"x": result}
    assert not settlement.ignored
    assert not settlement.agreed
    remaining = [operation.operation for operation in settlement.operations if operation.operation.kind != "test"]
    assert remaining == [operation for operation in map(op, operations) if operation.kind != "test"]


def test_two_plugins_of_one_name_are_two() -> None:
    """T11: a declared plugin never conflicts with itself; two plugins of one name may conflict."""
    settlement = run({"x": 1}, wants("p", "replace /x 2"), wants("p", "replace /x 3"), first="p")
    assert settlement.value == {"x": 2}
    assert [(words_of(loss.operation), loss.winner, loss.reason) for loss in settlement.ignored] == [
        ("p replace /x", "p", "order")
    ]


# ---- half a plugin ---------------------------------------------------------------------------------------------------

RENAMED: Final[Data] = {"metadata": {"name": "old"}, "spec": {"ref": "old", "size": 1}}
WINNER: Final = wants("a", 'replace /metadata/name "a"')


def by_a(**spec: Any) -> Data:
    return {"metadata": {"name": "a"}, "spec": {**RENAMED["spec"], **spec}}


@pytest.mark.parametrize(
    ("guard", "result", "lost"),
    [
        pytest.param([], by_a(ref="b", size=2), ["name"], id="unit"),
        pytest.param(['test /metadata/name "old"'], by_a(), ["name", "ref", "size"], id="unit-with-a-test"),
    ],
)
def test_what_a_plugin_loses_with_an_operation(guard: list[str], result: Data, lost: list[str]) -> None:
    loser = wants("b", *guard, 'replace /metadata/name "b"', 'replace /spec/ref "b"', "replace /spec/size 2")
    settlement = run(RENAMED, WINNER, loser)
    assert settlement.value == result
    assert [loss.operation.operation.path[-1] for loss in settlement.ignored] == lost
    assert {(loss.winner, loss.reason, str(loss.against)) for loss in settlement.ignored} == {
        ("a", "order", "replace /metadata/name")
    }
    # Where the loser has priority, all of it stands.
    settlement = run(RENAMED, WINNER, loser, first="b")
    assert settlement.value == {"metadata": {"name": "b"}, "spec": {"ref": "b", "size": 2}}
    assert losses(settlement) == ["a replace /metadata/name"]


def test_a_unit_is_what_builds_on_each_other() -> None:
    """A change of what the plugin moved is lost with the move; its other changes are kept."""
    start = {"a": {"n": 1}, "other": 1}
    loser = wants("b", "move /b /a", "replace /other 2", "replace /b/n 2", "copy /c /b/n")
    settlement = run(start, wants("a", "replace /a/n 9"), loser)
    assert settlement.value == {"a": {"n": 9}, "other": 2}
    assert losses(settlement) == ["b move /b from /a", "b replace /b/n", "b copy /c from /b/n"]
    assert len({loss.unit for loss in settlement.ignored}) == 1
    assert [words_of(operation) for operation in settlement.operations] == ["a replace /a/n", "b replace /other"]


def test_a_parent_made_on_the_way_is_nothing_to_build_on() -> None:
    """T4: what comes below a missing parent does not depend on the operation that created it first."""
    winner = wants("a", "replace /x 2")
    settlement = run({"x": 1}, winner, wants("b", "move /m/l/a /x", "add /m/l/b 3", "add /m/c 4"))
    assert settlement.value == {"x": 2, "m": {"l": {"b": 3}, "c": 4}}
    assert losses(settlement) == ["b move /m/l/a from /x"]


def test_elements_for_what_another_plugin_made_a_map_are_lost_to_it() -> None:
    settlement = run({"k": None}, wants("a", "add /k/a 1"), wants("b", "add /k/- 1", "add /k/- 2"))
    assert settlement.value == {"k": {"a": 1}}
    assert {(loss.winner, loss.reason) for loss in settlement.ignored} == {("a", "order")}
    assert len(settlement.ignored) == 2


def test_what_is_left_of_a_plugin_does_not_undo_the_winner() -> None:
    """The rest of a plugin that lost a part does not put back a value from its way to an agreement."""
    loser = wants("b", "replace /x 2", "move /y /x", "replace /z 2")
    settlement = run({"x": 1, "z": 1}, wants("a", "remove /x"), loser)
    assert settlement.value == {"z": 2}
    assert losses(settlement) == ["b move /y from /x"]
    assert [words_of(agreement.operation) for agreement in settlement.agreed] == ["b replace /x"]


def test_a_unit_that_agrees_in_the_end_agrees() -> None:
    """T4: none of it is ignored, none of it is said to depend on what is lost."""
    loser = wants("b", "replace /x/1/n 2", "remove /x/1", "add /y 1")
    settlement = run({"x": [{"n": 1}, {"n": 1}]}, wants("a", "remove /x/1"), loser)
    assert settlement.value == {"x": [{"n": 1}], "y": 1}
    assert not settlement.ignored


def test_a_failed_test_leaves_out_its_patch_alone() -> None:
    skipping = Patch((op("test /x 2"), op("replace /x 3")), skips=True)
    plugin = Says("p", Response((skipping, Patch((op("add /y 1"),)))))
    settlement = run({"x": 1}, plugin)
    assert settlement.value == {"x": 1, "y": 1}
    assert [(entry.plugin, str(entry.test)) for entry in settlement.skipped] == [("p", "test /x")]
    failing = Says("p", Response((Patch(skipping.operations),)))
    outcome = Runner([failing]).run({"x": 1})
    assert [(failure.plugin, failure.problem) for failure in outcome.failures] == [("p", "test /x found another value")]


# ---- nothing without a record ----------------------------------------------------------------------------------------


def test_what_falls_with_a_whiteout_is_recorded() -> None:
    white = Says("w", Response((Patch((op("add /y 1"),)),), is_whiteout=True, reason="not wanted"))
    outcome: RunOutcome = Runner([wants("a", "replace /x 2"), white], {"a": 0}).run({"x": 1})
    assert [(whiteout.plugin, whiteout.reason) for whiteout in outcome.whiteouts] == [("w", "not wanted")]
    (lost,) = outcome.settlement.ignored
    assert (words_of(lost.operation), lost.winner, lost.reason) == ("a replace /x", "w", "whiteout")
    # The resource stays as it came, whatever becomes of it.
    assert (lost.path, lost.current, lost.proposed) == (("x",), 1, 1)
    assert outcome.settlement.value == {"x": 1}
    assert not outcome.settlement.operations
    assert not outcome.settlement.patch


def test_what_is_no_loss_does_not_fall_with_a_whiteout() -> None:
    """Tests, removals of nothing, and patches whose test fails; what cannot be carried out is lost."""
    white = Says("w", Response(is_whiteout=True))
    failing = Patch((op("test /x 2"), op("replace /x 3")), skips=True)
    guarded = Says("b", Response((Patch((op("test /x 1"), op("remove /y"), op("add /z 1"))), failing)))
    impossible = wants("c", "test /x 1", "replace /none/a 1")
    holder = wants("d", "add /m {}", "add /m/n 1")
    outcome = Runner([guarded, impossible, holder, white]).run({"x": 1})
    assert losses(outcome.settlement) == ["b add /z", "c replace /none/a", "d add /m", "d add /m/n"]
    assert [entry.plugin for entry in outcome.settlement.skipped] == ["b"]
    assert not outcome.failures


@pytest.mark.parametrize("first", ["a", "b"])
def test_agreement_is_recorded(first: str) -> None:
    """T2: one is applied, the other agrees."""
    plugins = [wants("a", "replace /x 2"), wants("b", "replace /x 2")]
    settlement = run({"x": 1}, *plugins, first=first)
    other = "b" if first == "a" else "a"
    assert settlement.value == {"x": 2}
    assert [words_of(operation) for operation in settlement.operations] == [f"{first} replace /x"]
    assert [(words_of(agreement.operation), agreement.other) for agreement in settlement.agreed] == [
        (f"{other} replace /x", first)
    ]
    assert not settlement.ignored


@pytest.mark.parametrize(
    ("start", "a", "b"),
    [
        pytest.param({"x": 1}, "replace /x 2", "add /x 2", id="add-or-replace"),
        pytest.param({"x": 1}, "replace /x 2", "replace /x 2.0", id="numbers"),
        pytest.param({"x": 1}, "remove /x", "remove /x", id="remove"),
        pytest.param({}, "remove /x", "remove /x", id="remove-what-is-not-there"),
        pytest.param({"x": 1}, "replace /x 1", "replace /x 1", id="what-it-is-already"),
        pytest.param({"x": {}}, 'replace /x {"y": 1}', "add /x/y 1", id="parent-and-child"),
        pytest.param({"x": 1, "y": 2}, "replace /x 2", "copy /x /y", id="copy"),
        pytest.param({"x": [1, 2]}, "replace /x/1 3", "replace /x [1, 3]", id="item-and-list"),
    ],
)
def test_equal_outcomes_agree(start: Data, a: str, b: str) -> None:
    """However each says it."""
    for first, other in (("a", "b"), ("b", "a")):
        settlement = run(start, wants("a", a), wants("b", b), first=first)
        alone = run(start, wants(first, a if first == "a" else b))
        assert settlement.value == alone.value
        assert settlement.patch == alone.patch
        assert [agreement.operation.plugin for agreement in settlement.agreed] == [other]
        assert not settlement.ignored


@pytest.mark.parametrize(
    ("start", "operation", "result", "count"),
    [
        pytest.param({}, "add /m/l/a 1", {"m": {"l": {"a": 1}}}, 3, id="missing-parents"),
        pytest.param({"m": {"l": None}}, "add /m/l/a 1", {"m": {"l": {"a": 1}}}, 2, id="null-parent"),
        pytest.param({"m": None}, "add /m/l/a 1", {"m": {"l": {"a": 1}}}, 3, id="null-parents-parent"),
        pytest.param({}, "add /m/l/- 1", {"m": {"l": [1]}}, 3, id="missing-list"),
        pytest.param({"m": None}, "add /m/0 1", {"m": [1]}, 2, id="null-list"),
        pytest.param({}, "remove /m/l/a", {}, 0, id="missing"),
        pytest.param({"m": {"l": None}}, "remove /m/l/a", {"m": {"l": None}}, 0, id="missing-in-null"),
        pytest.param({"m": [1]}, "remove /m/1", {"m": [1]}, 0, id="missing-item"),
        pytest.param({"m": {"l": None}}, "remove /m/l", {"m": {}}, 1, id="null-itself"),
        pytest.param({"m": 1}, "add /m 1", {"m": 1}, 0, id="there-already"),
    ],
)
def test_lenient_as_crane(start: Data, operation: str, result: Data, count: int) -> None:
    """An add makes what is missing on its way, a remove of what is missing does nothing; the patch is strict."""
    settlement = run(start, wants("p", operation))
    assert settlement.value == result
    assert len(settlement.patch) == count
    assert [str(entry.operation) for entry in settlement.operations] == [str(op(operation))]


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ("replace /m/x 1", "there is no /m/x"),
        ("add /m/n/x 1", "/m/n is neither a map nor a list"),
        ("add /m/l/5 1", "/m/l has 1 elements; 5 is not a place among them"),
        ("add /m/l/x 1", "/m/l has 1 elements; x is not a place among them"),
        ("copy /m/o /m/x", "there is no /m/x"),
        ("move /m/l/0 /m/l", "move /m/l/0 from /m/l: a value cannot move into itself"),
        ("test /m/n 2", "test /m/n found another value"),
        ("test /m/n true", "test /m/n found another value"),
        ("test /m/x null", "there is no /m/x"),
        ("remove ", "the whole object cannot be removed; use a whiteout to remove a resource"),
    ],
)
def test_what_cannot_be_carried_out(operation: str, problem: str) -> None:
    """Strict otherwise; the failure names the plugin, and no change of any plugin is kept."""
    plugins = [wants("good", "add /y 1"), wants("bad", "add /z 1", operation)]
    outcome = Runner(plugins).run({"m": {"n": 1, "l": [1]}})
    assert [(failure.plugin, failure.problem) for failure in outcome.failures] == [("bad", problem)]
    assert outcome.settlement.value == {"m": {"n": 1, "l": [1]}}
    assert not outcome.settlement.operations


@pytest.mark.parametrize("operation", ["replace  5", "add  []", "copy  /m", "move  /m", "replace  null"])
def test_the_whole_object_stays_a_map(operation: str) -> None:
    plugins = [wants("good", "add /y 1"), wants("bad", operation)]
    outcome = Runner(plugins, {"bad": 0}).run({"m": 1})
    assert [failure.plugin for failure in outcome.failures] == ["bad"]
    assert outcome.settlement.value == {"m": 1}


@pytest.mark.parametrize("answer", [None, {}, [], "patches"])
def test_an_answer_that_is_none_is_a_failure(answer: Any) -> None:
    outcome = Runner([wants("good", "add /y 1"), Says("bad", answer)]).run({"m": 1})
    assert [failure.plugin for failure in outcome.failures] == ["bad"]
    assert outcome.settlement.value == {"m": 1}
