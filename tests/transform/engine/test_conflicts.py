"""Conflicts that crane does not see, as the texts of paths do not show them."""

from __future__ import annotations

import json
from typing import Any, Final

import jsonpatch
import pytest

from krm_merge.transform import Runner
from transform.engine.plugins import Data, Keys, losses, op, run, wants, words_of

# ---- one plugin by itself --------------------------------------------------------------------------------------------

SAME: Final = "the same"
"""Whoever comes first."""


# ---- conflicts that texts of paths do not show -----------------------------------------------------------------------


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
        for first, loser, expected in (("a", "b", a_first), ("b", "a", b_first)):
            settlement = run(start, *plugins, first=first)
            assert settlement.value == expected
            texts = b if loser == "b" else a
            assert losses(settlement) == [f"{loser} {op(text)}" for text in texts if not text.startswith("test")]
            assert {(loss.winner, loss.reason) for loss in settlement.ignored} == {(first, "priority")}
            assert {operation.plugin for operation in settlement.operations} == {first}
    # Without priorities the earlier declared wins.
    settlement = run(start, *both)
    assert settlement.value == a_first
    assert {(loss.winner, loss.reason) for loss in settlement.ignored} == {("a", "order")}


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
    assert (settlement.value, losses(settlement)) == ({"x": [5, 3]}, ["b replace /x/1"])
    settlement = run({"x": [1, 2, 3]}, shifting, other, first="b")
    assert (settlement.value, losses(settlement)) == ({"x": [6, 3]}, ["a replace /x/0"])


KEYS: Final[Keys] = {("spec", "containers"): ("name",)}
WEB: Final = {"name": "web", "image": "web:1"}


def addition(name: str, image: str) -> str:
    return f"add /spec/containers/- {json.dumps({'name': name, 'image': image})}"


@pytest.mark.parametrize(
    ("other", "keys", "images", "lost", "agreed"),
    [
        pytest.param(
            addition("log", "log:2"), KEYS, ["web:1", "log:1"], ["b add /spec/containers/-"], [], id="same-key"
        ),
        pytest.param(addition("log", "log:1"), KEYS, ["web:1", "log:1"], [], ["b add /spec/containers/-"], id="equal"),
        pytest.param(
            addition("log", "log:1"), {}, ["web:1", "log:1"], [], ["b add /spec/containers/-"], id="equal-no-key"
        ),
        pytest.param(addition("log", "log:2"), {}, ["web:1", "log:1", "log:2"], [], [], id="no-key"),
        pytest.param(addition("db", "db:1"), KEYS, ["web:1", "log:1", "db:1"], [], [], id="another-key"),
    ],
)
def test_added_elements_are_known_by_their_keys(
    other: str, keys: Any, images: list[str], lost: list[str], agreed: list[str]
) -> None:
    start = {"spec": {"containers": [WEB]}}
    settlement = run(start, wants("a", addition("log", "log:1")), wants("b", other), keys=keys)
    spec: Any = settlement.value["spec"]
    assert [container["image"] for container in spec["containers"]] == images
    assert losses(settlement) == lost
    assert [words_of(agreement.operation) for agreement in settlement.agreed] == agreed


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
    assert [(change.operation.operation, change.other) for change in settlement.agreed] == [
        (change, "a") for change in changes
    ]
    assert not settlement.ignored


def test_what_a_plugin_undoes_itself_leaves_no_trace() -> None:
    """Neither by the parents that it made on its way."""
    undone = wants("b", "add /x/n 1", "remove /x/n")
    settlement = run({}, wants("a", "remove /x"), undone)
    assert settlement.value == {}
    assert not settlement.patch
    assert run({}, wants("a", "remove /x"), undone, first="b").value in ({}, {"x": {}})


def test_what_is_ignored_has_its_field_by_keys() -> None:
    """T5: the path names the element, with its old value and its new one."""
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
    assert (settlement.value, losses(settlement)) == ({"env": result}, ["again add /env/-"])
    settlement = run(LOG_INFO, again, other_plugin, first="again", keys={("env",): ("name",)})
    assert [loss.operation.plugin for loss in settlement.ignored] == ["other"]


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
    assert losses(run(start, changes, moves)) == ["b move /x/0 from /x/1"]
    assert run(start, changes, moves, first="b").value == {"x": [{"image": "b"}, {"image": "a"}]}


def test_what_is_added_in_front_stays_there_when_another_moves() -> None:
    settlement = run({"x": ["a", "b", "c"]}, wants("a", "move /x/2 /x/0"), wants("b", 'add /x/0 "n"'))
    assert settlement.value == {"x": ["n", "b", "c", "a"]}


ROOM: Final = ("add /metadata/annotations {}", "add /metadata/annotations/")


def test_two_plugins_make_the_same_room() -> None:
    """Plain RFC 6902 has no other way to set a first annotation. It says nothing of what else may be there."""
    low, high = (wants(name, ROOM[0], f'{ROOM[1]}{name} "1"') for name in ("low", "high"))
    for first in ("", "low", "high"):
        settlement = run({"metadata": {}}, low, high, first=first)
        assert settlement.value == {"metadata": {"annotations": {"low": "1", "high": "1"}}}
        assert not settlement.ignored
        (agreed,) = settlement.agreed
        assert (agreed.operation.plugin, agreed.other) == (("high", "low") if first != "high" else ("low", "high"))


def test_an_empty_map_that_stays_empty_is_a_wish() -> None:
    empty, full = wants("empty", ROOM[0]), wants("full", ROOM[0], f"{ROOM[1]}x 1")
    settlement = run({"metadata": {}}, empty, full)
    assert settlement.value == {"metadata": {"annotations": {}}}
    assert losses(settlement) == [f"full {ROOM[1]}x"]


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        pytest.param(["add /x/tmp 1", "add /x {}", "add /x/app 2"], {"x": {"app": 2}}, id="own-map"),
        pytest.param(["add /x/a 1", "add /x []", "add /x/- 2"], {"x": [2]}, id="own-map-for-a-list"),
        pytest.param(["copy /x /m", "add /x {}", "add /x/k 2"], {"m": {"n": 1}, "x": {"k": 2}}, id="copied"),
    ],
)
def test_a_plugin_may_empty_what_it_made(operations: list[str], result: Data) -> None:
    start: Data = {"m": {"n": 1}} if "m" in result else {}
    assert run(start, wants("a", *operations)).value == result


def test_what_is_to_be_gone_is_not_made_room_for() -> None:
    settlement = run({"m": {}}, wants("a", "remove /m/x"), wants("b", "add /m/x {}", "add /m/x/k 1"))
    assert settlement.value == {"m": {}}
    assert losses(settlement) == ["b add /m/x", "b add /m/x/k"]


def test_room_that_another_plugin_made_is_no_loss() -> None:
    settlement = run({}, wants("a", "add /x/k 1"), wants("b", "add /x {}", "add /x/k 2", "add /x/l 3"))
    assert settlement.value == {"x": {"k": 1}}
    assert losses(settlement) == ["b add /x/k", "b add /x/l"]


@pytest.mark.parametrize("first", ["", "a", "b"])
def test_a_list_and_a_map_in_one_place(first: str) -> None:
    """A missing parent of a field is created as a map or as a list; it cannot be both."""
    guarded = wants("a", "test /n 1", "add /x/y/k 1", "add /z 1")
    settlement = run({"n": 1}, guarded, wants("b", "add /x/y/- 1"), first=first)
    if first == "b":
        assert settlement.value == {"n": 1, "x": {"y": [1]}}
        assert losses(settlement) == ["a add /x/y/k", "a add /z"]
        assert {(loss.winner, loss.reason) for loss in settlement.ignored} == {("b", "priority")}
    else:
        assert settlement.value == {"n": 1, "x": {"y": {"k": 1}}, "z": 1}
        assert losses(settlement) == ["b add /x/y/-"]


def test_an_element_on_the_way_is_created() -> None:
    """As in crane; two plugins may write inside of the element at one place, and each `-` is an element of its own."""
    image, name = wants("a", "add /spec/containers/0/image 1"), wants("b", "add /spec/containers/0/name 2")
    for first in ("", "a", "b"):
        settlement = run({"spec": {}}, image, name, first=first)
        assert (settlement.value, losses(settlement)) == ({"spec": {"containers": [{"image": 1, "name": 2}]}}, [])
    settlement = run({"l": [{"n": 0}]}, wants("a", "add /l/1/x/0 1", "add /l/-/y 2", "add /l/-/0/0 3"))
    assert settlement.value == {"l": [{"n": 0}, {"x": [1]}, {"y": 2}, [[3]]]}
    settlement = run({"l": [0]}, wants("a", "add /l/1/x 1", "remove /l/0", "add /l/1/x 2"))
    assert settlement.value == {"l": [{"x": 1}, {"x": 2}]}
    for operation, missing in (
        ("add /l/2/x 1", "/l/2"),
        ("add /l/[n=1]/x 1", "/l/[n=1]"),
        ("add /l/0/n/x 1", "/l/0/n"),
    ):
        outcome = Runner((wants("a", operation),), {}).run({"l": [{"n": 0}]}, lambda path: ())
        assert missing in str(outcome.failures)


def test_a_value_that_moves_often_is_not_copied_each_time() -> None:
    """The patch has it as often as it moves: small input would take much memory."""
    plugin = wants("p", *(["move /b /a", "move /a /b"] * 5))
    values = [operation.operation.value for operation in run({"a": {"x": 1}}, plugin).patch]
    assert len({id(value) for value in values if value is not None}) == 1
