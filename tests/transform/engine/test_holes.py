"""What went wrong in crane: order by chance, conflicts unseen, conflicts of a plugin with itself, halves of plugins."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch
import pytest

from krm_merge.transform import (
    Detect,
    Keep,
    Operation,
    Options,
    Patch,
    PluginOperation,
    Response,
    Runner,
    RunOutcome,
    Settlement,
)

Data = dict[str, Any]
Keys = Mapping[tuple[str, ...], tuple[str, ...]]
DETECTS: Final = pytest.mark.parametrize("detect", ["effect", "path"])


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
    keep: Keep = "unit",
    detect: Detect = "effect",
    keys: Keys | None = None,
) -> Settlement:
    """What comes of plugins; the one named first has priority, the others by their order.

    Whatever is tested: the object stays as it is, and the patch that is given leads to the value that is given.
    """
    before = copy.deepcopy(start)
    priorities = {first: 0} if first else {}
    outcome = Runner(plugins, priorities, detect=detect, keep=keep).run(start, lambda path: (keys or {}).get(path, ()))
    assert not outcome.failures
    assert start == before
    settlement = outcome.settlement
    patch = json.dumps([one.operation.to_value() for one in settlement.patch])
    assert jsonpatch.apply_patch(start, patch) == settlement.value
    return settlement


def named(operation: PluginOperation) -> str:
    return f"{operation.plugin} {operation.operation}"


def ignored(settlement: Settlement) -> list[str]:
    return [named(one.operation) for one in settlement.ignored]


# ---- 1. the order ------------------------------------------------------------------------------------------------

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
        for detect in ("effect", "path"):
            assert detect == "effect" or detect == "path"
            settlement = run(START, *MANY, first=first, detect=detect)
            results.append(
                [
                    settlement.value,
                    *([named(one), one.operation.to_value()] for one in (*settlement.operations, *settlement.patch)),
                    *([named(one.operation), one.winner, one.reason, str(one.path)] for one in settlement.ignored),
                    *([named(one.operation), one.other] for one in settlement.agreed),
                ]
            )
    return json.dumps(results)


def test_the_same_bytes_come_out_each_time() -> None:
    """Twenty runs, in processes that hash names differently."""
    program = "import sys; from transform.test_holes import everything; [print(everything()) for _ in range(5)]"
    found: set[str] = {everything()}
    for seed in ("0", "1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        lines = done.stdout.decode().splitlines()
        assert len(lines) == 5
        found.update(lines)
    assert len(found) == 1


@DETECTS
@pytest.mark.parametrize("first", ["", "a", "b", "c"])
def test_operations_keep_their_order(detect: Detect, first: str) -> None:
    standing = run(START, *MANY, first=first, detect=detect).operations
    for plugin in MANY:
        own = [one.operation for one in standing if one.plugin == plugin.name]
        asked = list(plugin.response.patches[0].operations)
        assert own == [one for one in asked if one in own]
        assert own or plugin.name != (first or "a")


# ---- 2., 3., 7. one plugin by itself -----------------------------------------------------------------------------


@DETECTS
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
def test_a_plugin_never_conflicts_with_itself(detect: Detect, start: Any, operations: list[str], result: Any) -> None:
    settlement = run({"x": start}, wants("p", *operations), detect=detect)
    assert settlement.value == {"x": result}
    assert not settlement.ignored
    assert not settlement.agreed
    kept = [one.operation for one in settlement.operations if one.operation.kind != "test"]
    assert kept == [one for one in map(op, operations) if one.kind != "test"]


def test_two_plugins_of_one_name_are_two() -> None:
    """T11: that a plugin never conflicts with itself goes by declaration, not by name."""
    settlement = run({"x": 1}, wants("p", "replace /x 2"), wants("p", "replace /x 3"), first="p")
    assert settlement.value == {"x": 2}
    assert [(named(one.operation), one.winner, one.reason) for one in settlement.ignored] == [
        ("p replace /x", "p", "order")
    ]


SAME: Final = "the same"
"""Whoever comes first."""


# ---- 4., 5. conflicts that texts of paths do not show --------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "a", "b", "a_first", "b_first"),
    [
        pytest.param(
            {"m": {"n": {"old": 1}}},
            ["remove /m/n"],
            ["add /m/n/x 1"],
            {"m": {}},
            {"m": {"n": {"old": 1, "x": 1}}},
            id="parent-removed",
        ),
        pytest.param(
            {"m": {"n": {"x": 0}}},
            ['replace /m/n {"y": 1}'],
            ["replace /m/n/x 1"],
            {"m": {"n": {"y": 1}}},
            {"m": {"n": {"x": 1}}},
            id="parent-replaced",
        ),
        pytest.param(
            {"m": {}},
            ["add /m/n {}"],
            ["add /m/n/x 1"],
            {"m": {"n": {}}},
            {"m": {"n": {"x": 1}}},
            id="parent-made",
        ),
        pytest.param({"m": {"n": 1}}, ["remove /m/n"], ["replace /m/n 2"], {"m": {}}, {"m": {"n": 2}}, id="removed"),
        pytest.param(
            {"m": {"n": 1}}, ["replace /m/n 1"], ["replace /m/n 2"], {"m": {"n": 1}}, {"m": {"n": 2}}, id="no-op"
        ),
        pytest.param({"m": {}}, ["remove /m/n"], ["add /m/n 2"], {"m": {}}, {"m": {"n": 2}}, id="no-op-remove"),
        pytest.param({"a": 1}, ["replace /a 2"], ["move /b /a"], {"a": 2}, {"b": 1}, id="source-moved"),
        pytest.param({"a": 1}, ["replace /a 2"], ["copy /b /a"], {"a": 2}, {"a": 1, "b": 1}, id="source-copied"),
        pytest.param(
            {"a": {"n": 1}},
            ["replace /a/n 2"],
            ["copy /b /a"],
            {"a": {"n": 2}},
            {"a": {"n": 1}, "b": {"n": 1}},
            id="under-source",
        ),
        pytest.param({"a": 1}, ["move /b /a"], ["move /c /a"], {"b": 1}, {"c": 1}, id="moved-twice"),
        pytest.param(
            {"a": 1, "b": 0},
            ["replace /a 2"],
            ["test /a 1", "replace /b 1"],
            {"a": 2, "b": 0},
            {"a": 1, "b": 1},
            id="tested",
        ),
        pytest.param({"x": [1, 2]}, ["replace /x [5]"], ["remove /x/0"], {"x": [5]}, {"x": [2]}, id="list-replaced"),
        pytest.param({"x": [1, 2]}, ["replace /x/0 5"], ["remove /x/0"], {"x": [5, 2]}, {"x": [2]}, id="item"),
        pytest.param(
            {"m": {"a/b": 1}}, ["replace /m/a~1b 2"], ["remove /m/a~1b"], {"m": {"a/b": 2}}, {"m": {}}, id="escaped"
        ),
        pytest.param(
            {"x": [{"name": "web", "i": 1}, {"name": "log", "i": 1}]},
            ["replace /x/1/i 2"],
            ["replace /x/[name=log]/i 3"],
            {"x": [{"name": "web", "i": 1}, {"name": "log", "i": 2}]},
            {"x": [{"name": "web", "i": 1}, {"name": "log", "i": 3}]},
            id="two-spellings-of-an-item",
        ),
    ],
)
def test_conflicts_are_seen_both_ways(start: Data, a: list[str], b: list[str], a_first: Data, b_first: Data) -> None:
    """T3: priority decides, not the order of declaration, and all of the loser is recorded."""
    both = [wants("a", *a), wants("b", *b)]
    for plugins in (both, both[::-1]):
        for first, loser, wanted in (("a", "b", a_first), ("b", "a", b_first)):
            settlement = run(start, *plugins, first=first)
            assert settlement.value == wanted
            texts = b if loser == "b" else a
            assert ignored(settlement) == [f"{loser} {op(text)}" for text in texts if not text.startswith("test")]
            assert {(one.winner, one.reason) for one in settlement.ignored} == {(first, "priority")}
            assert {one.plugin for one in settlement.operations} == {first}
    # Without priorities the earlier declared wins.
    settlement = run(start, *both)
    assert settlement.value == a_first
    assert {(one.winner, one.reason) for one in settlement.ignored} == {("a", "order")}


@pytest.mark.parametrize(
    ("start", "a", "b", "result", "b_first"),
    [
        pytest.param([1, 2, 3], ["remove /x/0"], ["replace /x/2 5"], [2, 5], SAME, id="index-shifted"),
        pytest.param([1, 2, 3], ["remove /x/0"], ["remove /x/1"], [3], SAME, id="both-remove"),
        pytest.param([1, 2, 3], ["remove /x/2", "remove /x/0"], ["add /x/1 9"], [9, 2], SAME, id="an-item-between"),
        pytest.param([1, 2], ["add /x/0 0"], ["remove /x/1"], [0, 1], SAME, id="in-front-and-gone"),
        pytest.param([1], ["add /x/- 2"], ["add /x/- 3"], [1, 2, 3], [1, 3, 2], id="two-at-the-end"),
        pytest.param(
            {}, ["add /x/k/a 1"], ["add /x/k/b 2"], {"k": {"a": 1, "b": 2}}, SAME, id="missing-parent-of-both"
        ),
        pytest.param(
            {"k": None}, ["add /x/k/a 1"], ["add /x/k/b 2"], {"k": {"a": 1, "b": 2}}, SAME, id="null-parent-of-both"
        ),
        pytest.param({}, ["add /x/k/- 1"], ["add /x/k/- 2"], {"k": [1, 2]}, {"k": [2, 1]}, id="missing-list-of-both"),
        pytest.param(
            {"a": 1}, ["copy /x/b /x/a"], ["copy /x/c /x/a"], {"a": 1, "b": 1, "c": 1}, SAME, id="copied-twice"
        ),
        pytest.param(
            {"a": 1},
            ["test /x/a 1", "add /x/b 1"],
            ["test /x/a 1", "add /x/c 1"],
            {"a": 1, "b": 1, "c": 1},
            SAME,
            id="tested-twice",
        ),
        pytest.param(
            {},
            ['add /x/a~1b "one"'],
            ['add /x/a/b "two"'],
            {"a/b": "one", "a": {"b": "two"}},
            SAME,
            id="slash-in-a-name-and-a-map",
        ),
        pytest.param(
            {}, ['add /x/a~01 "one"'], ['add /x/a~1 "two"'], {"a~1": "one", "a/": "two"}, SAME, id="tilde-and-slash"
        ),
        pytest.param(
            [{"name": "web"}, {"name": "log"}],
            ["remove /x/0"],
            ['add /x/[name=log]/image "i"'],
            [{"name": "log", "image": "i"}],
            SAME,
            id="named",
        ),
    ],
)
def test_what_does_not_conflict_stands_side_by_side(
    start: Any, a: list[str], b: list[str], result: Any, b_first: Any
) -> None:
    """Elements are followed by identity: the index of each plugin is that of its own copy."""
    for first in ("", "a", "b"):
        settlement = run({"x": start}, wants("a", *a), wants("b", *b), first=first)
        assert settlement.value == {"x": b_first if first == "b" and b_first != SAME else result}
        assert not settlement.ignored
        assert not settlement.agreed


def test_an_item_that_shifted_in_one_plugin() -> None:
    shifting, other = wants("a", "remove /x/0", "replace /x/0 5"), wants("b", "replace /x/1 6")
    settlement = run({"x": [1, 2, 3]}, shifting, other)
    assert (settlement.value, ignored(settlement)) == ({"x": [5, 3]}, ["b replace /x/1"])
    settlement = run({"x": [1, 2, 3]}, shifting, other, first="b")
    assert (settlement.value, ignored(settlement)) == ({"x": [6, 3]}, ["a replace /x/0"])


KEYS: Final[Keys] = {("spec", "containers"): ("name",)}
WEB: Final = {"name": "web", "image": "web:1"}


def added(name: str, image: str) -> str:
    return f"add /spec/containers/- {json.dumps({'name': name, 'image': image})}"


@pytest.mark.parametrize(
    ("other", "keys", "images", "lost", "agreed"),
    [
        pytest.param(added("log", "log:2"), KEYS, ["web:1", "log:1"], ["b add /spec/containers/-"], [], id="same-key"),
        pytest.param(added("log", "log:1"), KEYS, ["web:1", "log:1"], [], ["b add /spec/containers/-"], id="equal"),
        pytest.param(
            added("log", "log:1"), {}, ["web:1", "log:1"], [], ["b add /spec/containers/-"], id="equal-no-key"
        ),
        pytest.param(added("log", "log:2"), {}, ["web:1", "log:1", "log:2"], [], [], id="no-key"),
        pytest.param(added("db", "db:1"), KEYS, ["web:1", "log:1", "db:1"], [], [], id="another-key"),
    ],
)
def test_added_elements_are_known_by_their_keys(
    other: str, keys: Any, images: list[str], lost: list[str], agreed: list[str]
) -> None:
    start = {"spec": {"containers": [WEB]}}
    settlement = run(start, wants("a", added("log", "log:1")), wants("b", other), keys=keys)
    found: Any = settlement.value["spec"]
    assert [container["image"] for container in found["containers"]] == images
    assert ignored(settlement) == lost
    assert [named(one.operation) for one in settlement.agreed] == agreed


@pytest.mark.parametrize(
    ("start", "operations"),
    [
        pytest.param(1, ["test /x 1", "replace /x 2"], id="test-and-replace"),
        pytest.param({"a": 1}, ["move /x/b /x/a"], id="move"),
        pytest.param({}, ["copy /x/b /x"], id="copy-into-itself"),
        pytest.param({"a": 1}, ["remove /x/a", "add /x/a 2"], id="remove-and-add"),
        pytest.param({"a": {"b": 1}}, ["replace /x/a/b 2", "remove /x/a"], id="change-and-remove"),
        pytest.param([{"n": 1}], ["add /x/0/m 1", "replace /x []"], id="change-and-replace"),
        pytest.param([1, 2], ["remove /x/0", "remove /x/0"], id="items"),
        pytest.param([1], ["add /x/- 2", "add /x/- 2"], id="the-same-twice-at-the-end"),
    ],
)
def test_plugins_with_the_same_operations_agree(start: Any, operations: list[str]) -> None:
    """T2: on all of them, whatever they move, test or change twice."""
    alone = run({"x": start}, wants("a", *operations))
    settlement = run({"x": start}, wants("a", *operations), wants("b", *operations))
    assert (settlement.value, settlement.operations, settlement.patch) == (alone.value, alone.operations, alone.patch)
    changes = [op(text) for text in operations if not text.startswith("test")]
    assert [(one.operation.operation, one.other) for one in settlement.agreed] == [(one, "a") for one in changes]
    assert not settlement.ignored


def test_what_a_plugin_undoes_itself_leaves_no_trace() -> None:
    """Neither by the parents that it made on its way."""
    undone = wants("b", "add /x/n 1", "remove /x/n")
    settlement = run({}, wants("a", "remove /x"), undone)
    assert settlement.value == {}
    assert not settlement.patch
    assert run({}, wants("a", "remove /x"), undone, first="b").value in ({}, {"x": {}})


def test_what_is_ignored_has_its_field_by_keys() -> None:
    """T5: the path names the element, with what was there and what stands there now."""
    start: Data = {"spec": {"containers": [WEB, {"name": "log", "image": "log:1"}]}}
    image = "/spec/containers/[name=log]/image"
    settlement = run(
        start,
        wants("a", "remove /spec/containers/0", 'replace /spec/containers/0/image "log:2"'),
        wants("b", f'replace {image} "log:3"'),
        keys=KEYS,
    )
    (lost,) = settlement.ignored
    assert lost.path == ("spec", "containers", (("name", "log"),), "image")
    assert (lost.current, lost.proposed, lost.winner, lost.reason) == ("log:1", "log:2", "a", "order")
    assert str(lost.against) == "replace /spec/containers/0/image"


LOG_INFO: Final[Data] = {"env": [{"name": "LOG", "value": "info"}]}
LOG_DEBUG: Final = 'add /env/- {"name": "LOG", "value": "debug"}'


@pytest.mark.parametrize(
    ("other", "result"),
    [
        pytest.param("remove /env/[name=LOG]", [], id="removed"),
        pytest.param('replace /env/[name=LOG]/value "error"', [{"name": "LOG", "value": "error"}], id="changed"),
    ],
)
def test_an_element_that_is_added_again_is_the_one_that_is_there(other: str, result: list[Data]) -> None:
    """T3: by its key. Else who has priority would change it, and the other one would put it back."""
    again, other_plugin = wants("again", LOG_DEBUG), wants("other", other)
    settlement = run(LOG_INFO, again, other_plugin, first="other", keys={("env",): ("name",)})
    assert (settlement.value, ignored(settlement)) == ({"env": result}, ["again add /env/-"])
    settlement = run(LOG_INFO, again, other_plugin, first="again", keys={("env",): ("name",)})
    assert [one.operation.plugin for one in settlement.ignored] == ["other"]


def test_a_plugin_may_put_an_element_in_the_place_of_another() -> None:
    settlement = run(LOG_INFO, wants("a", "remove /env/0", LOG_DEBUG), keys={("env",): ("name",)})
    assert settlement.value == {"env": [{"name": "LOG", "value": "debug"}]}


@pytest.mark.parametrize(
    ("start", "operations"),
    [
        pytest.param("--set a=1 --set b=2 run", [*["move /x/4 /x/0"] * 4, "move /x/4 /x/1"], id="moves"),
        pytest.param("", [*['add /x/- "-v"'] * 3, "remove /x/0", 'add /x/0 "-v"'], id="additions"),
        pytest.param("-v -v", ["copy /x/- /x/0", "remove /x/2", "copy /x/0 /x/1"], id="copies"),
        pytest.param("a b", ["move /y /x/0", "move /x/- /y", 'add /x/- "a"'], id="there-and-back"),
    ],
)
def test_elements_that_are_alike_are_not_mixed_up(start: str, operations: list[str]) -> None:
    before: Data = {"x": start.split()}
    values = [op(text).to_value() for text in operations]
    assert run(before, wants("a", *operations)).value == jsonpatch.apply_patch(before, values)


@pytest.mark.parametrize("first", ["", "a", "b"])
@pytest.mark.parametrize(
    ("start", "a", "b", "result", "b_first"),
    [
        pytest.param(
            {"x": ["--set", "a", "--set", "b"]},
            "move /x/- /x/0",
            "move /x/0 /x/2",
            {"x": ["a", "--set", "b", "--set"]},
            {"x": ["--set", "--set", "a", "b"]},
            id="in-a-list",
        ),
        pytest.param(
            {"x": [], "m": 1, "n": 1},
            "move /x/- /m",
            "move /x/- /n",
            {"x": [1], "n": 1},
            {"x": [1], "m": 1},
            id="into-a-list",
        ),
    ],
)
def test_elements_that_are_alike_and_move_are_not_taken_for_one(
    start: Data, a: str, b: str, result: Data, b_first: Data, first: str
) -> None:
    """Both would be gone from where they were, and one stand where they went."""
    settlement = run(start, wants("a", a), wants("b", b), first=first)
    assert settlement.value == (b_first if first == "b" else result)
    assert len(settlement.ignored) == 1


def test_an_element_that_moves_is_the_one_that_another_adds() -> None:
    settlement = run({"x": [], "m": 1}, wants("a", "move /x/- /m"), wants("b", "add /x/- 1"))
    assert (settlement.value, len(settlement.agreed)) == ({"x": [1]}, 1)


def test_a_move_beside_a_change_to_what_is_there_already() -> None:
    """Its place is a wish, too."""
    changes, moves = wants("a", 'add /x/1/image "b"'), wants("b", "move /x/0 /x/1")
    start = {"x": [{"image": "a"}, {"image": "b"}]}
    assert ignored(run(start, changes, moves)) == ["b move /x/0 from /x/1"]
    assert run(start, changes, moves, first="b").value == {"x": [{"image": "b"}, {"image": "a"}]}


def test_what_is_added_in_front_stays_there_when_another_moves() -> None:
    settlement = run({"x": ["a", "b", "c"]}, wants("a", "move /x/2 /x/0"), wants("b", 'add /x/0 "n"'))
    assert settlement.value == {"x": ["n", "b", "c", "a"]}


ROOM: Final = ("add /metadata/annotations {}", "add /metadata/annotations/")


@DETECTS
def test_two_plugins_make_the_same_room(detect: Detect) -> None:
    """Plain RFC 6902 has no other way to set a first annotation. It says nothing of what else may be there."""
    low, high = (wants(name, ROOM[0], f'{ROOM[1]}{name} "1"') for name in ("low", "high"))
    for first in ("", "low", "high"):
        settlement = run({"metadata": {}}, low, high, first=first, detect=detect)
        assert settlement.value == {"metadata": {"annotations": {"low": "1", "high": "1"}}}
        assert not settlement.ignored
        (agreed,) = settlement.agreed
        assert (agreed.operation.plugin, agreed.other) == (("high", "low") if first != "high" else ("low", "high"))


def test_an_empty_map_that_stays_empty_is_a_wish() -> None:
    empty, full = wants("empty", ROOM[0]), wants("full", ROOM[0], f"{ROOM[1]}x 1")
    settlement = run({"metadata": {}}, empty, full)
    assert settlement.value == {"metadata": {"annotations": {}}}
    assert ignored(settlement) == ["full add /metadata/annotations", f"full {ROOM[1]}x"]


@DETECTS
@pytest.mark.parametrize(
    ("operations", "result"),
    [
        pytest.param(["add /x/tmp 1", "add /x {}", "add /x/app 2"], {"x": {"app": 2}}, id="own-map"),
        pytest.param(["add /x/a 1", "add /x []", "add /x/- 2"], {"x": [2]}, id="own-map-for-a-list"),
        pytest.param(["copy /x /m", "add /x {}", "add /x/k 2"], {"m": {"n": 1}, "x": {"k": 2}}, id="copied"),
    ],
)
def test_a_plugin_may_empty_what_it_made(operations: list[str], result: Data, detect: Detect) -> None:
    start: Data = {"m": {"n": 1}} if "m" in result else {}
    assert run(start, wants("a", *operations), detect=detect).value == result


@pytest.mark.parametrize("keep", ["unit", "operation", "plugin"])
def test_what_is_to_be_gone_is_not_made_room_for(keep: Keep) -> None:
    settlement = run({"m": {}}, wants("a", "remove /m/x"), wants("b", "add /m/x {}", "add /m/x/k 1"), keep=keep)
    assert settlement.value == {"m": {}}
    assert ignored(settlement) == ["b add /m/x", "b add /m/x/k"]


def test_who_makes_room_falls_with_what_comes_into_it() -> None:
    settlement = run({}, wants("a", "add /x/k 1"), wants("b", "add /x {}", "add /x/k 2", "add /x/l 3"))
    assert settlement.value == {"x": {"k": 1}}
    assert ignored(settlement) == ["b add /x", "b add /x/k", "b add /x/l"]


@pytest.mark.parametrize("first", ["", "a", "b"])
def test_a_list_and_a_map_in_one_place(first: str) -> None:
    """What is missing on the way to a field is made as a map or as a list, and cannot be both."""
    guarded = wants("a", "test /n 1", "add /x/y/k 1", "add /z 1")
    settlement = run({"n": 1}, guarded, wants("b", "add /x/y/- 1"), first=first)
    if first == "b":
        assert settlement.value == {"n": 1, "x": {"y": [1]}}
        assert ignored(settlement) == ["a add /x/y/k", "a add /z"]
        assert {(one.winner, one.reason) for one in settlement.ignored} == {("b", "priority")}
    else:
        assert settlement.value == {"n": 1, "x": {"y": {"k": 1}}, "z": 1}
        assert ignored(settlement) == ["b add /x/y/-"]


# ---- by the text of the paths ------------------------------------------------------------------------------------


def test_by_path_who_agreed_with_a_loser_loses_with_it() -> None:
    plugins = (wants(name, f"add /x {value}") for name, value in (("a", 1), ("b", 1), ("c", 2)))
    settlement = run({}, *plugins, first="c", detect="path")
    assert settlement.value == {"x": 2}
    assert [(named(one.operation), one.winner) for one in settlement.ignored] == [("a add /x", "c"), ("b add /x", "c")]
    assert not settlement.agreed


def test_by_path_what_is_written_over_is_told() -> None:
    """T5: no path is the same here, so nothing is a conflict for crane; still one change is gone."""
    below, above = wants("below", 'replace /x/k "mine"', "add /y 1"), wants("above", 'replace /x {"k": "other"}')
    settlement = run({"x": {"k": "old"}}, below, above, detect="path")
    assert settlement.value == {"x": {"k": "other"}, "y": 1}
    assert [(named(one.operation), one.winner, one.reason) for one in settlement.ignored] == [
        ("below replace /x/k", "above", "order")
    ]
    assert [named(one) for one in settlement.operations] == ["below add /y", "above replace /x"]
    # The other way round both stand.
    settlement = run({"x": {"k": "old"}}, above, below, detect="path")
    assert (settlement.value, ignored(settlement)) == ({"x": {"k": "mine"}, "y": 1}, [])


# ---- 6. half a plugin --------------------------------------------------------------------------------------------

RENAMED: Final[Data] = {"metadata": {"name": "old"}, "spec": {"ref": "old", "size": 1}}
WINNER: Final = wants("a", 'replace /metadata/name "a"')


def by_a(**spec: Any) -> Data:
    return {"metadata": {"name": "a"}, "spec": {**RENAMED["spec"], **spec}}


@pytest.mark.parametrize(
    ("keep", "guard", "result", "lost"),
    [
        pytest.param("unit", [], by_a(ref="b", size=2), ["name"], id="unit"),
        pytest.param("unit", ['test /metadata/name "old"'], by_a(), ["name", "ref", "size"], id="unit-with-a-test"),
        pytest.param("operation", [], by_a(ref="b", size=2), ["name"], id="operation"),
        pytest.param("plugin", [], by_a(), ["name", "ref", "size"], id="plugin"),
    ],
)
def test_what_a_plugin_loses_with_an_operation(keep: Keep, guard: list[str], result: Data, lost: list[str]) -> None:
    loser = wants("b", *guard, 'replace /metadata/name "b"', 'replace /spec/ref "b"', "replace /spec/size 2")
    settlement = run(RENAMED, WINNER, loser, keep=keep)
    assert settlement.value == result
    assert [one.operation.operation.path[-1] for one in settlement.ignored] == lost
    assert {(one.winner, one.reason, str(one.against)) for one in settlement.ignored} == {
        ("a", "order", "replace /metadata/name")
    }
    # Where the loser has priority, all of it stands.
    settlement = run(RENAMED, WINNER, loser, keep=keep, first="b")
    assert settlement.value == {"metadata": {"name": "b"}, "spec": {"ref": "b", "size": 2}}
    assert ignored(settlement) == ["a replace /metadata/name"]


def test_a_unit_is_what_builds_on_each_other() -> None:
    """What one plugin moves and then changes falls with the move, what has nothing to do with it stands."""
    start = {"a": {"n": 1}, "other": 1}
    loser = wants("b", "move /b /a", "replace /other 2", "replace /b/n 2", "copy /c /b/n")
    settlement = run(start, wants("a", "replace /a/n 9"), loser)
    assert settlement.value == {"a": {"n": 9}, "other": 2}
    assert ignored(settlement) == ["b move /b from /a", "b replace /b/n", "b copy /c from /b/n"]
    assert len({one.unit for one in settlement.ignored}) == 1
    assert [named(one) for one in settlement.operations] == ["a replace /a/n", "b replace /other"]


def test_an_operation_falls_with_what_it_builds_on() -> None:
    """Where operations are lost one by one, that which has nothing left to stand on goes too, and says so."""
    start = {"a": {"n": 1}, "other": 1}
    loser = wants("b", "move /b /a", "replace /other 2", "replace /b/n 2")
    settlement = run(start, wants("a", "replace /a/n 9"), loser, keep="operation")
    assert settlement.value == {"a": {"n": 9}, "other": 2}
    assert [(named(one.operation), one.winner, one.reason) for one in settlement.ignored] == [
        ("b move /b from /a", "a", "order"),
        ("b replace /b/n", "b", "dependency"),
    ]


@pytest.mark.parametrize("keep", ["unit", "operation", "plugin"])
def test_what_is_left_of_a_plugin_does_not_undo_the_winner(keep: Keep) -> None:
    """What it wrote on its way to an agreement is not what it is left with when the rest of that way is lost."""
    loser = wants("b", "replace /x 2", "move /y /x", "replace /z 2")
    settlement = run({"x": 1, "z": 1}, wants("a", "remove /x"), loser, keep=keep)
    assert settlement.value == ({"z": 1} if keep == "plugin" else {"z": 2})
    assert ignored(settlement)[:2] == ["b replace /x", "b move /y from /x"]


@pytest.mark.parametrize("keep", ["unit", "plugin"])
def test_a_unit_that_agrees_in_the_end_agrees(keep: Keep) -> None:
    """T4: none of it is ignored, none of it is said to depend on what is lost."""
    loser = wants("b", "replace /x/1/n 2", "remove /x/1", "add /y 1")
    settlement = run({"x": [{"n": 1}, {"n": 1}]}, wants("a", "remove /x/1"), loser, keep=keep)
    assert settlement.value == {"x": [{"n": 1}], "y": 1}
    assert not settlement.ignored


def test_a_failed_test_leaves_out_its_patch_alone() -> None:
    skipping = Patch((op("test /x 2"), op("replace /x 3")), skips=True)
    plugin = Says("p", Response((skipping, Patch((op("add /y 1"),)))))
    settlement = run({"x": 1}, plugin)
    assert settlement.value == {"x": 1, "y": 1}
    assert [(one.plugin, str(one.test)) for one in settlement.skipped] == [("p", "test /x")]
    failing = Says("p", Response((Patch(skipping.operations),)))
    outcome = Runner([failing]).run({"x": 1})
    assert [(one.plugin, one.problem) for one in outcome.failures] == [("p", "test /x found another value")]


# ---- 8. nothing without a record -----------------------------------------------------------------------------------


@DETECTS
def test_what_falls_with_a_whiteout_is_recorded(detect: Detect) -> None:
    white = Says("w", Response((Patch((op("add /y 1"),)),), is_whiteout=True, reason="not wanted"))
    outcome: RunOutcome = Runner([wants("a", "replace /x 2"), white], {"a": 0}, detect=detect).run({"x": 1})
    assert [(one.plugin, one.reason) for one in outcome.whiteouts] == [("w", "not wanted")]
    (lost,) = outcome.settlement.ignored
    assert (named(lost.operation), lost.winner, lost.reason) == ("a replace /x", "w", "whiteout")
    # The resource stays as it came, whatever becomes of it.
    assert (lost.path, lost.current, lost.proposed) == (("x",), 1, 1)
    assert outcome.settlement.value == {"x": 1}
    assert not outcome.settlement.operations
    assert not outcome.settlement.patch


@DETECTS
def test_what_is_no_loss_does_not_fall_with_a_whiteout(detect: Detect) -> None:
    """Tests, removals of nothing, and patches whose test fails; what cannot be carried out is lost."""
    white = Says("w", Response(is_whiteout=True))
    failing = Patch((op("test /x 2"), op("replace /x 3")), skips=True)
    guarded = Says("b", Response((Patch((op("test /x 1"), op("remove /y"), op("add /z 1"))), failing)))
    impossible = wants("c", "test /x 1", "replace /none/a 1")
    holder = wants("d", "add /m {}", "add /m/n 1")
    outcome = Runner([guarded, impossible, holder, white], detect=detect).run({"x": 1})
    assert ignored(outcome.settlement) == ["b add /z", "c replace /none/a", "d add /m", "d add /m/n"]
    assert [one.plugin for one in outcome.settlement.skipped] == ["b"]
    assert not outcome.failures


@DETECTS
@pytest.mark.parametrize("first", ["a", "b"])
def test_agreement_is_recorded(detect: Detect, first: str) -> None:
    """T2: one stands, the other agrees."""
    plugins = [wants("a", "replace /x 2"), wants("b", "replace /x 2")]
    settlement = run({"x": 1}, *plugins, first=first, detect=detect)
    other = "b" if first == "a" else "a"
    assert settlement.value == {"x": 2}
    assert [named(one) for one in settlement.operations] == [f"{first} replace /x"]
    assert [(named(one.operation), one.other) for one in settlement.agreed] == [(f"{other} replace /x", first)]
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
        assert [one.operation.plugin for one in settlement.agreed] == [other]
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
    assert [str(one.operation) for one in settlement.operations] == [str(op(operation))]


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ("replace /m/x 1", "there is no /m/x"),
        ("add /m/n/x 1", "/m/n is neither a map nor a list"),
        ("add /m/l/5 1", "/m/l has 1 elements; 5 is no place among them"),
        ("add /m/l/x 1", "/m/l has 1 elements; x is no place among them"),
        ("copy /m/o /m/x", "there is no /m/x"),
        ("move /m/l/0 /m/l", "move /m/l/0 from /m/l: a value cannot move into itself"),
        ("test /m/n 2", "test /m/n found another value"),
        ("test /m/n true", "test /m/n found another value"),
        ("test /m/x null", "there is no /m/x"),
        ("remove ", "the whole object cannot be removed; a whiteout takes a resource away"),
    ],
)
@DETECTS
def test_what_cannot_be_carried_out(operation: str, problem: str, detect: Detect) -> None:
    """Strict otherwise; the failure names the plugin, nothing of any plugin stands."""
    plugins = [wants("good", "add /y 1"), wants("bad", "add /z 1", operation)]
    outcome = Runner(plugins, detect=detect).run({"m": {"n": 1, "l": [1]}})
    assert [(one.plugin, one.problem) for one in outcome.failures] == [("bad", problem)]
    assert outcome.settlement.value == {"m": {"n": 1, "l": [1]}}
    assert not outcome.settlement.operations


@DETECTS
@pytest.mark.parametrize("operation", ["replace  5", "add  []", "copy  /m", "move  /m", "replace  null"])
def test_the_whole_object_stays_a_map(detect: Detect, operation: str) -> None:
    plugins = [wants("good", "add /y 1"), wants("bad", operation)]
    outcome = Runner(plugins, {"bad": 0}, detect=detect).run({"m": 1})
    assert [one.plugin for one in outcome.failures] == ["bad"]
    assert outcome.settlement.value == {"m": 1}


@pytest.mark.parametrize("answer", [None, {}, [], "patches"])
def test_an_answer_that_is_none_is_a_failure(answer: Any) -> None:
    outcome = Runner([wants("good", "add /y 1"), Says("bad", answer)]).run({"m": 1})
    assert [one.plugin for one in outcome.failures] == ["bad"]
    assert outcome.settlement.value == {"m": 1}
