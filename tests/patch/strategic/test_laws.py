"""The laws of patches (P6) in the default modes, on documents with every kind of field and on those of Kubernetes."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import scaled
from generated.objects import (
    KUBERNETES,
    SMALL,
    Data,
    Patches,
    Record,
    Records,
    Scalars,
    SpecShape,
    document,
    edit_object,
)
from krm_merge.krm.identity import format_path
from krm_merge.patch import (
    Moved,
    PatchError,
    SchemaShape,
    Shape,
    TypeShape,
    apply,
    apply_merge,
    create,
    create_merge,
    create_merge_three_way,
    create_three_way,
)
from krm_merge.patch.model import same
from krm_merge.patch.strategic.elements import by_patch_list
from krm_merge.schema.builtin import builtin_schema

RANDOMS: Final = st.randoms(use_true_random=False)
# These laws run for each type: fewer examples of each are as many altogether.
FOR_EACH_TYPE = settings(max_examples=scaled(150))
Law = Callable[[random.Random, Record, Shape], None]


def shape_of(kind: tuple[str, str, str]) -> Shape:
    schema = builtin_schema(*kind)
    assert schema is not None
    return SchemaShape(schema)


TYPES: Final = pytest.mark.parametrize(
    ("spec", "shape"),
    [(SMALL, SpecShape(SMALL)), *((spec, shape_of(kind)) for kind, spec in KUBERNETES.items())],
    ids=["small", *(kind for _, _, kind in KUBERNETES)],
)


def some_document(rng: random.Random, spec: Record) -> Data:
    result: Data = document(rng, spec, rng.choice([0.15, 0.3, 0.5, 0.8]))
    return result


def some_edit(rng: random.Random, spec: Record, value: Data) -> Data:
    result: Data = edit_object(rng, spec, value, rng.choice([0.1, 0.3, 0.6]))
    return result


def directives(value: Any) -> list[str]:
    """All directives in a document."""
    if isinstance(value, dict):
        names = [name for name in value if name.startswith("$")]
        return names + [directive for inner in value.values() for directive in directives(inner)]
    return [directive for item in value for directive in directives(item)] if isinstance(value, list) else []


# ---- two ways ----------------------------------------------------------------------------------------------------


@TYPES
@FOR_EACH_TYPE
@given(rng=RANDOMS)
def test_a_created_patch_leads_there(rng: random.Random, spec: Record, shape: Shape) -> None:
    first = some_document(rng, spec)
    second = some_edit(rng, spec, first)
    patch = create(first, second, shape)
    moved: list[Moved] = []
    result = apply(first, patch, shape, moved=moved)
    assert same(result, second)
    assert same(apply(result, patch, shape), result)
    assert not directives(result)
    assert create(first, first, shape) == {}
    assert apply(first, {}, shape) is first


@TYPES
@FOR_EACH_TYPE
@given(rng=RANDOMS, broken=st.sampled_from([0.0, 0.3]))
def test_a_second_run_changes_nothing(rng: random.Random, spec: Record, shape: Shape, broken: float) -> None:
    """What is refused the second time is refused the first time, where it was about what is new."""
    start, patch = some_document(rng, spec), Patches(rng, broken=broken).record(spec)
    try:
        result = apply(start, patch, shape)
    except PatchError:
        assert broken
        return
    again = apply(result, patch, shape)
    assert same(again, result)
    assert not directives(result)


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"$patch": "merge", "word": "x"}, {"word": "x"}),
        ({"$patch": "replace", "whole": {"$patch": "merge", "value": "x"}}, {"whole": {"value": "x"}}),
        ({"set": ["a", "b"], "$deleteFromPrimitiveList/set": ["a"]}, {"set": ["b"]}),
        ({"set": ["b", "a"], "$setElementOrder/set": ["b", "a", "c"]}, {"set": ["b", "a"]}),
        ({"whole": {"$patch": "delete"}, "word": None}, {}),
    ],
)
def test_directives_in_what_is_new(patch: Data, result: Data) -> None:
    """They do what they do in an empty map: a second run finds nothing to change."""
    starts: list[Data] = [{}, {"inner": {}}, {"inner": "x"}]
    for start in starts:
        assert apply(start, {"inner": patch}, SpecShape(SMALL)) == {"inner": result}


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"$patch": "merge", "value": "x"}, {"value": "x"}),
        ({"inner": {"$patch": "merge", "value": "x"}}, {"inner": {"value": "x"}}),
        ({"items": [{"name": "b", "$patch": "merge"}, {"name": "c", "$patch": "delete"}]}, {"items": [{"name": "b"}]}),
    ],
)
def test_directives_in_new_elements(patch: Data, result: Data) -> None:
    """As above."""
    lives: list[Data] = [{}, {"items": []}, {"items": [{"name": "a"}]}]
    for live in lives:
        assert apply(live, {"items": [{"name": "a", **patch}]}, SpecShape(SMALL)) == {
            "items": [{"name": "a", **result}]
        }


@TYPES
@FOR_EACH_TYPE
@given(rng=RANDOMS)
def test_what_nothing_changes_is_the_documents_own(rng: random.Random, spec: Record, shape: Shape) -> None:
    start, patch = some_document(rng, spec), Patches(rng).record(spec)
    before = copy.deepcopy((start, patch))
    result = apply(start, patch, shape)
    assert same(start, before[0])
    assert same(patch, before[1])
    if "'replace'" not in repr(patch):
        assert_own(start, result)
    for name, value in start.items():
        if "$retainKeys" not in patch and not any(key.split("/")[-1] == name for key in patch):
            assert result[name] is value


def assert_own(before: Data, after: Data) -> None:
    """Fields of a document that are as they were are the same objects, at every depth."""
    for name, value in after.items():
        if name in before and same(before[name], value):
            assert before[name] is value or not isinstance(value, dict | list), name
        elif isinstance(value, dict) and isinstance(before.get(name), dict):
            assert_own(before[name], value)


NONE: Final = r"no strategic merge patch leads there|have the same merge key"
DOUBLE: Final = [{"name": "a"}, {"name": "a", "value": "x"}]


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        ({"set": [1, 2, 1]}, {"set": [1, 2]}, "set"),
        ({"set": [1, 2]}, {"set": [1, 2, 1]}, "set"),
        ({}, {"inner": {"set": ["a", "a"]}}, "inner.set"),
        ({"items": DOUBLE}, {"items": DOUBLE[:1]}, "items"),
        ({"items": DOUBLE[1:]}, {"items": DOUBLE}, "items"),
        (
            {"items": [{"name": "b", "items": DOUBLE}]},
            {"items": [{"name": "b", "items": DOUBLE[:1]}]},
            "items[0].items",
        ),
    ],
)
def test_no_patch_is_created_that_leads_elsewhere(first: Data, second: Data, path: str) -> None:
    shape = SpecShape(SMALL)
    with pytest.raises(PatchError, match=NONE) as raised:
        create(first, second, shape)
    assert format_path(raised.value.path) == path
    for original, live in ((first, first), (second, first), (first, second)):
        with pytest.raises(PatchError, match=NONE) as raised:
            create_three_way(original, second, live, shape)
        assert format_path(raised.value.path) == path
    assert create(second, second, shape) == {}
    assert create(first, second, shape, list_order="kubernetes", merge_keys="single")


@pytest.mark.parametrize("value", [{"a": 1}, ["a"], [{"name": "a"}], "a", None])
@pytest.mark.parametrize("other", [{"b": 1}, ["b"], "b"])
def test_a_value_of_another_kind_is_written_as_a_whole(value: Any, other: Any) -> None:
    shape = SpecShape(SMALL)
    for name in ("inner", "items", "set", "word"):
        if type(value) is not type(other):
            assert create({name: value}, {name: other}, shape) == {name: other}


def test_of_null_a_patch_can_say_nothing() -> None:
    second: Data = {"word": None, "inner": {"word": None, "set": ["a"]}}
    patch = create({"word": "x"}, second, SpecShape(SMALL))
    assert apply({"word": "x"}, patch, SpecShape(SMALL)) == {"inner": {"set": ["a"]}}


# ---- three ways -------------------------------------------------------------------------------------------------


@TYPES
@FOR_EACH_TYPE
@given(rng=RANDOMS)
def test_three_ways(rng: random.Random, spec: Record, shape: Shape) -> None:
    original = some_document(rng, spec)
    modified, live = some_edit(rng, spec, original), some_edit(rng, spec, original)
    assert same(create_three_way(original, modified, original, shape), create(original, modified, shape))
    patch = create_three_way(original, modified, live, shape)
    result = apply(live, patch, shape)
    assert not directives(result)
    check_three_ways(spec, original, modified, live, result)
    assert same(apply(result, patch, shape), result)
    # Applied once more, as `kubectl apply` does it, nothing changes.
    assert same(apply(result, create_three_way(modified, modified, result, shape), shape), result)


def check_three_ways(spec: Record, original: Data, modified: Data, live: Data, result: Data) -> None:
    """What modified says is there; what original had and modified has not is gone; what only live has survives."""
    for name, value in modified.items():
        match spec.fields.get(name):
            case Record() as inner if isinstance(value, dict) and "replace" not in inner.strategy:
                sides = [side.get(name) for side in (original, live)]
                before, now = (side if isinstance(side, dict) else {} for side in sides)
                if "retainKeys" not in inner.strategy:
                    check_three_ways(inner, before, value, now, result[name])
            case Records(keys=keys) as listed if keys:
                check_lists(listed, original.get(name, []), value, live.get(name, []), result[name])
            case Scalars(merges=True):
                gone = [item for item in original.get(name, []) if item not in value]
                only_live = [item for item in live.get(name, []) if item not in value and item not in gone]
                assert result[name] == [*only_live, *value]
            case Record() | Records() | Scalars():
                assert same(result[name], value)
            case _ if not isinstance(value, dict):
                assert same(result[name], value)
    for name in {*original, *live} - {*modified}:
        assert (name in result) == (name not in original)
        if name in result:
            assert same(result[name], live[name])


def check_lists(
    spec: Records, original: list[Data], modified: list[Data], live: list[Data], result: list[Data]
) -> None:
    sides = [{spec.key_of(item): item for item in side} for side in (original, modified, live, result)]
    before, target, now, after = sides
    only_live = [key for key in now if key not in target and key not in before]
    assert [*after] == [*only_live, *target]
    for key, item in after.items():
        if key in only_live:
            assert same(item, now[key])
        elif "retainKeys" not in spec.item.strategy:
            check_three_ways(spec.item, before.get(key, {}), target[key], now.get(key, {}), item)


# ---- RFC 7386 ----------------------------------------------------------------------------------------------------

MERGES: Final = st.recursive(
    st.booleans() | st.integers(0, 2) | st.just(1.0) | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
OBJECTS: Final = st.dictionaries(st.sampled_from("abc"), MERGES, max_size=3)
ANY_PATCHES: Final = st.recursive(
    st.none() | MERGES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=10
)


@given(first=OBJECTS, second=OBJECTS, third=OBJECTS, patch=ANY_PATCHES)
def test_json_merge_patches(first: Data, second: Data, third: Data, patch: Any) -> None:
    before = copy.deepcopy([first, second, third, patch])
    created = create_merge(first, second)
    assert same(apply_merge(first, created), second)
    assert create_merge(first, first) == {}
    assert same(create_merge_three_way(first, second, first), created)
    result = apply_merge(first, patch)
    assert same(apply_merge(result, patch), result)
    assert same(result, rfc_7386(first, patch))
    assert apply_merge(first, {}) is first
    live: Any = apply_merge(third, create_merge_three_way(first, second, third))
    assert same(apply_merge(live, create_merge_three_way(second, second, live)), live)
    assert same([first, second, third, patch], before)


def rfc_7386(target: Any, patch: Any) -> Any:
    """The RFC's own text, section 2."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = rfc_7386(target.get(name), value)
    return target


# ---- the order (P2) ----------------------------------------------------------------------------------------------

LIST: Final = TypeShape(
    {
        "root": {
            "items": {"kind": "list", "elem": "item", "strategy": ["merge"], "mergeKey": "name"},
            "words": {"kind": "list", "elem": "string", "strategy": ["merge"]},
        },
        "item": {"value": {"kind": "string"}},
    },
    "root",
)
NO_ORDER: Final = None


@pytest.mark.parametrize(
    ("live", "order", "patch", "document", "kubernetes"),
    [
        # The examples of "Preserve Order in Strategic Merge Patch".
        ("B C A", NO_ORDER, "A' B' D", "C A' B' D", "C A' B' D"),
        ("B A", "A B", "", "A B", "A B"),
        ("C B D A E", "A B", "A' B'", "C D E A' B'", "C D A' B' E"),
        ("A B", "C A B", "A' B'", "A' B'", "A' B'"),
        ("2 5 1 3 4", "1 2 6", "-3 6", "5 4 1 2 6", "5 1 2 4 6"),
        ("s C B A t", "A B C", "A' C'", "s t A' B C'", "s A' B C' t"),
        ("a b c", NO_ORDER, "a' -b c'", "a' c'", "a' c'"),
        ("a c", NO_ORDER, "a' b c'", "a' b c'", "a' b c'"),
        # Without an order, what stands as the patch has it does not move; new ones go behind the one before them.
        ("A B C D", NO_ORDER, "B' D'", "A B' C D'", "A B' C D'"),
        ("A B C D", NO_ORDER, "B' X D'", "A B' X C D'", "A B' X C D'"),
        ("A B C D", NO_ORDER, "B' X Y", "A B' X Y C D", "A B' X Y C D"),
        ("A B C D", NO_ORDER, "X C'", "A B X C' D", "X A B C' D"),
        ("A B C D", NO_ORDER, "X", "A B C D X", "X A B C D"),
        ("A B C D", NO_ORDER, "X Y B'", "A X Y B' C D", "X Y A B' C D"),
        ("A B C D", NO_ORDER, "D' B'", "A C D' B'", "A C D' B'"),
        ("A B C D", NO_ORDER, "D' X B'", "A C D' X B'", "A C D' X B'"),
        ("A B C D", NO_ORDER, "-B X", "A C D X", "X A C D"),
        ("A B C D", NO_ORDER, "-A -B -C -D X", "X", "X"),
        ("A B", NO_ORDER, "", "A B", "A B"),
        ("", NO_ORDER, "B A", "B A", "B A"),
        # With one, what it does not name comes first.
        ("A B C D", "C A", "", "B D C A", "B C A D"),
        ("A B C D", "X D", "", "A B C D", "A B C D"),
        ("A B C", "B X", "X", "A C B X", "A B X C"),
        ("A B C", "A B C", "", "A B C", "A B C"),
        ("A B C", "C B A", "-B", "C A", "C A"),
        ("", "B A", "B A", "B A", "B A"),
    ],
)
def test_order(live: str, order: str | None, patch: str, document: str, kubernetes: str) -> None:
    start: Data = {"items": elements(live)}
    change: Data = {"items": elements(patch)}
    if order is not None:
        change["$setElementOrder/items"] = elements(order)
    moved: list[Moved] = []
    result = apply(start, change, LIST, moved=moved)
    assert text(result["items"]) == document
    as_kubectl = apply(start, change, LIST, list_order="kubernetes", merge_keys="single")
    assert text(as_kubectl["items"]) == kubernetes
    assert [type(operation) for operation in moved] == [Moved] * has_moved(live, document, order)


def has_moved(live: str, result: str, order: str | None) -> int:
    """Whether a default, and not the patch, moved what was there."""
    after = result.replace("'", "").split()
    before = [name for name in live.split() if name in after]
    if order is None:
        return int(before != [name for name in after if name in before])
    named = [name in order.split() for name in before]
    return int(True in named and False in named[named.index(True) :])


def elements(words: str) -> list[Any]:
    result = []
    for word in words.split():
        name = word.strip("-'")
        marks = {"$patch": "delete"} if word.startswith("-") else {"value": "new"} if word.endswith("'") else {}
        result.append({"name": name, **marks})
    return result


def text(items: Any) -> str:
    return " ".join(item["name"] + "'" * ("value" in item) for item in items)


@pytest.mark.parametrize(
    ("live", "order", "patch", "gone", "document", "kubernetes"),
    [
        ("b e a c d", "a b f", "f", "c", "e d a b f", "e a b f d"),
        ("b e a c d", NO_ORDER, "f", "c", "b e a d f", "f b e a d"),
        ("b e a c d", NO_ORDER, "e c", "", "b e a c d", "b e a c d"),
        ("b e a c d", NO_ORDER, "c e", "", "b a d c e", "b a c e d"),
        ("b e", NO_ORDER, "", "b e x", "", ""),
        ("b e", "e b", "", "", "e b", "e b"),
        ("", "e b", "b", "", "b", "b"),
    ],
)
def test_order_of_scalars(live: str, order: str | None, patch: str, gone: str, document: str, kubernetes: str) -> None:
    start: Data = {"words": live.split()}
    change: Data = {"words": patch.split()}
    if order is not None:
        change["$setElementOrder/words"] = order.split()
    if gone:
        change["$deleteFromPrimitiveList/words"] = gone.split()
    assert apply(start, change, LIST) == {"words": document.split()}
    assert apply(start, change, LIST, list_order="kubernetes") == {"words": kubernetes.split()}


def test_long_lists_take_linear_time() -> None:
    requests = 0

    def key(item: Any) -> str:
        nonlocal requests
        requests += 1
        return str(item)

    live: list[Any] = list(range(500))
    patch: list[Any] = [name for at in live for name in (at, f"new {at}")]
    new = [name for name in patch if name not in live]
    assert by_patch_list([*live, *new], patch, live, key, "document") == patch
    assert requests < 20 * len(live)


ITEMS: Final = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(live=ITEMS, patch=ITEMS, maps=st.booleans())
def test_nothing_moves_that_stands_in_the_patches_order(live: list[str], patch: list[str], maps: bool) -> None:
    field = "items" if maps else "words"
    wrapped: Callable[[str], Any] = (lambda name: {"name": name}) if maps else str
    moved: list[Moved] = []
    start: Data = {field: [wrapped(name) for name in live]}
    change: Data = {field: [wrapped(name) for name in patch]}
    result: Any = apply(start, change, LIST, moved=moved)[field]
    names = [item["name"] if maps else item for item in result]
    shared = [name for name in patch if name in live]
    remaining = [name for name in names if name in live]
    assert sorted(names) == sorted({*live, *patch})
    if sorted(shared, key=live.index) != shared:
        assert names == [*(name for name in live if name not in patch), *patch]
        assert bool(moved) == (remaining != live)
        return
    assert remaining == live
    assert not moved
    before = None
    for name in patch:
        if name not in live and before is not None:
            assert names[names.index(name) - 1] == before
        before = name
    new_first = [name for name in patch[: patch.index(shared[0])] if shared] if shared else []
    if new_first:
        at = names.index(shared[0])
        assert names[at - len(new_first) : at] == new_first


def test_a_new_element_comes_once_behind_all_that_have_the_key_of_its_neighbour() -> None:
    live: list[Any] = ["a1", "a2"]

    def key(item: Any) -> str:
        return str(item)[0]

    assert by_patch_list([*live, "new"], ["a1", "new"], live, key, "document") == ["a1", "a2", "new"]
