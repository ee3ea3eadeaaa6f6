"""The ResourceList: unchanged input leaves byte for byte, and so do the items that nobody edited."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from krm.resource_lists import HEAD, resource_list
from krm_merge.krm import InputError, Resource, ResourceList
from krm_merge.text.reading.nodes import to_value
from krm_merge.text.reading.reader import read

SEEDS = st.integers(0, 2**48)
NEW = Resource.from_document


def read_list(items: str, tail: str = "") -> ResourceList:
    return ResourceList.parse(f"{HEAD}items:\n{items}{tail}".encode())


def values(data: bytes) -> Any:
    return to_value(read(data.decode()))


@given(SEEDS, st.booleans())
def test_without_a_change_the_bytes_are_the_same(seed: int, as_it_came: bool) -> None:
    generated = resource_list(Random(seed))
    if generated.cut is None or "results" in generated.fields:
        return
    parsed = ResourceList.parse(generated.data)
    if parsed.items:
        assert parsed.serialize(as_it_came=as_it_came) == generated.body
    else:
        assert values(parsed.serialize())["items"] == []


@given(SEEDS)
@example(115_269_081_489)
def test_results_of_the_input_go(seed: int) -> None:
    generated = resource_list(Random(seed))
    if generated.cut is None or "results" not in generated.fields:
        return
    parsed = ResourceList.parse(generated.data)
    before = values(generated.data)
    del before["results"]
    before["items"] = before["items"] or []
    assert values(parsed.serialize()) == before
    parsed.results.info("new")
    assert values(parsed.serialize()) == before | {"results": [{"message": "new", "severity": "info"}]}


@given(SEEDS)
def test_results_do_not_change_the_rest(seed: int) -> None:
    generated = resource_list(Random(seed))
    if generated.cut is None or "results" in generated.fields:
        return
    if not generated.body.endswith(b"\n"):
        return  # a block scalar at the end gains the newline that the text lacks
    parsed = ResourceList.parse(generated.data)
    before = parsed.serialize()
    parsed.results.warning("new")
    assert parsed.serialize().startswith(before)


@given(SEEDS, st.data())
def test_order_and_bytes_of_items_are_kept(seed: int, data: st.DataObject) -> None:
    generated = resource_list(Random(seed))
    if generated.cut is None:
        return
    parsed = ResourceList.parse(generated.data)
    if not parsed.items:
        return
    before = values(generated.data)["items"]
    order = data.draw(st.permutations(range(len(before))))
    chosen = order[: data.draw(st.integers(0, len(order)))]
    all_items = list(parsed.items)
    parsed.items[:] = [all_items[at] for at in chosen]
    output = parsed.serialize()
    assert all(all_items[at].slice.data.rstrip(b"\r\n") in output for at in chosen)
    if generated.body.endswith(b"\n"):
        try:
            assert values(output)["items"] == [before[at] for at in chosen]
        except ValueError:
            assert b"*a" in output  # an anchor and its alias in two items


@pytest.mark.parametrize("dash", [0, 2, 4])
@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb:\n- c\n",
        "---\na: 1\n",
        "\ufeffa: 1",
        "a: |\n  x\n    \n   y\n  \n  z\n",
        "a: |+\n  x\n\n\nb: 1\n",
        "a: 'x\n\n  y'\nb: [1,\n2]\n",
        "# head\na: 1 # line\n",
        "\n# head\n\na: 1\n",
        "{a: 1}\n",
        '{"a": {"b": [1]}}',
        "a: 1\r\nb: |\r\n  x\r\n",
        "a: |2\n    x\n",
    ],
)
def test_added_resources(text: str, dash: int) -> None:
    parsed = read_list(f"{' ' * dash}- a: 0\n", "extra: 1\n")
    parsed.items.insert(0, NEW(text))
    parsed.items.append(NEW(text))
    expected = yaml.safe_load(text.removeprefix("\ufeff"))
    assert values(parsed.serialize()) == {
        **yaml.safe_load(HEAD),
        "items": [expected, {"a": 0}, expected],
        "extra": 1,
    }
    assert NEW(text).value == expected


def test_added_resources_take_edits_and_stand_at_the_column_of_the_list() -> None:
    parsed = read_list("  - a: 0\n")
    added = NEW("kind: New\n")
    added.set("metadata.name", "x")
    parsed.items.append(added)
    assert parsed.serialize().endswith(b"items:\n  - a: 0\n  - kind: New\n    metadata:\n      name: x\n")


def test_a_resource_of_another_list_moves_to_the_column_of_this_one() -> None:
    parsed, other = read_list("- a: 0\n"), read_list("    - a: 1\n      b:\n      - |\n        x\n")
    parsed.items += other.items
    assert parsed.serialize().endswith(b"items:\n- a: 0\n- a: 1\n  b:\n  - |\n    x\n")


def test_an_item_behind_one_that_ends_without_a_newline_begins_its_own_line() -> None:
    parsed = read_list("- {apiVersion: v1, kind: A, metadata: {name: a}}")
    parsed.items.append(NEW("apiVersion: v1\nkind: B\nmetadata: {name: b}\n"))
    assert [item["kind"] for item in values(parsed.serialize())["items"]] == ["A", "B"]


def test_all_items_removed() -> None:
    parsed = read_list("  - a: 0\n  - b: 0\n", "extra: 1\n")
    parsed.items.clear()
    assert parsed.serialize() == f"{HEAD}items: []\nextra: 1\n".encode()
    assert b"- b: 0" in parsed.serialize(as_it_came=True)


@pytest.mark.parametrize("empty", ["items: []\n", "items:\n", "items: null\n"])
def test_items_added_to_an_empty_list(empty: str) -> None:
    parsed = ResourceList.parse(f"{HEAD}{empty}extra: 1\n".encode())
    parsed.items.append(NEW("a: 1"))
    assert parsed.serialize() == f"{HEAD}items:\n- a: 1\nextra: 1\n".encode()
    assert values(parsed.serialize(as_it_came=True))["items"] == []


@pytest.mark.parametrize("data", [b"", b" \n", b"\r\n\t"])
def test_nothing_is_an_empty_list(data: bytes) -> None:
    assert values(ResourceList.parse(data).serialize()) == {**yaml.safe_load(HEAD), "items": []}


def test_new_text_takes_the_newlines_of_the_list() -> None:
    parsed = ResourceList.parse(f"{HEAD}items:\n- a: 0\n".replace("\n", "\r\n").encode())
    parsed.items[0].set("b", 1)
    parsed.results.info("x")
    assert parsed.serialize().count(b"\n") == parsed.serialize().count(b"\r\n")


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_versions(version: str) -> None:
    data = f"apiVersion: config.kubernetes.io/{version}\nkind: ResourceList\nitems: []\n".encode()
    assert ResourceList.parse(data).serialize() == data


WRONG = {
    "no kind": (b"apiVersion: config.kubernetes.io/v1\nitems: []\n", "kind is missing"),
    "kind List": (b"apiVersion: v1\nkind: List\nitems: []\n", "kind is List"),
    "kind a mapping": (b"apiVersion: v1\nkind: {}\nitems: []\n", "kind is missing"),
    "no apiVersion": (b"kind: ResourceList\nitems: []\n", "apiVersion is missing"),
    "no items": (HEAD.encode(), "no field items"),
    "UTF-16": (HEAD.encode("utf-16"), "not UTF-8"),
    "kind not UTF-8": (b"apiVersion: v1\nkind: '\xff'\nitems: []\n", "kind: not UTF-8"),
    "not YAML": (b"a: [\n", "line 2"),
    "a tag": (b"apiVersion: v1\nkind: !x y\nitems: []\n", "tag"),
}


@pytest.mark.parametrize(("data", "problem"), WRONG.values(), ids=WRONG)
def test_what_is_no_resource_list_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        ResourceList.parse(data)
    assert str(raised.value).startswith("stdin: ")


def test_function_config() -> None:
    assert read_list("- a: 1\n").function_config is None
    assert read_list("- a: 1\n").config is None
    assert read_list("- a: 1\n", "functionConfig: null\n").function_config is None
    parsed = read_list("- a: 1\n", "functionConfig:\n  kind: X\n")
    assert to_value(parsed.function_config) == parsed.config == {"kind": "X"}
    assert parsed.function_config is parsed.function_config


@pytest.mark.parametrize("value", ["x", "[]", "1", "\n- a"])
def test_a_function_config_that_is_no_mapping_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="functionConfig is not a mapping"):
        read_list("- a: 1\n", f"functionConfig: {value}\n").function_config  # noqa: B018


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def test_results_in_order_and_by_severity() -> None:
    results = read_list("- a: 1\n").results
    results.info("a")
    results.error("b", path="x")
    results.warning("c", file="f")
    assert [(result.severity, result.message) for result in results] == [
        ("info", "a"),
        ("error", "b"),
        ("warning", "c"),
    ]
    assert [result.message for result in results.errors] == ["b"]
    assert len(results) == 3
