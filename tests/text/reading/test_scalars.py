"""Scalars mean what Go's yaml.v3 reads, and what we write is read alike by YAML 1.1 and 1.2 readers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from effort import scaled
from krm_merge.text.reading.nodes import Scalar, Value, to_value
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.scalars import plain_is_safe, resolve, scalar_text
from text.edits import Edit, tree
from text.random_documents import TEXTS

# From yaml.v3's resolve.go; what its tests call a timestamp reaches Kubernetes as a string.
RESOLVED: list[tuple[str, object]] = [
    *((text, None) for text in ("", "~", "null", "Null", "NULL")),
    *((text, True) for text in ("true", "True", "TRUE")),
    *((text, False) for text in ("false", "False", "FALSE")),
    *((text, text) for text in ("yes", "Yes", "on", "ON", "no", "off", "y", "n", "tRUE", "nULL", "truee")),
    ("0", 0), ("-0", 0), ("+1", 1), ("685230", 685230), ("1_000", 1000), ("1__0_", 10),
    ("0644", 420), ("-0644", -420), ("0o14", 12), ("-0o14", -12), ("0x1F", 31), ("0X1f", 31),
    ("-0x_1", -1), ("0b101", 5),
    ("08", 8.0), ("0o8", "0o8"), ("0x", "0x"), ("0b2", "0b2"), ("_1", "_1"), ("1-2", "1-2"), ("1 2", "1 2"),
    ("9223372036854775807", 9223372036854775807), ("-9223372036854775808", -9223372036854775808),
    ("18446744073709551615", 18446744073709551615), ("18446744073709551616", 18446744073709551616.0),
    ("-9223372036854775809", -9223372036854775809.0), ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
    ("9" * 5000, "9" * 5000), ("1e400", "1e400"), ("1e-400", 0.0),
    ("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("+.5", 0.5), ("1e3", 1000.0), ("-2.5E+05", -250000.0), ("1_0.5", 10.5),
    (".", "."), ("+", "+"), ("-", "-"), (".e3", ".e3"), ("1e", "1e"), ("._5", "._5"), ("1.2.3", "1.2.3"),
    (".inf", float("inf")), ("+.Inf", float("inf")), ("-.INF", float("-inf")), ("inf", "inf"), (".iNf", ".iNf"),
    ("2024-01-01", "2024-01-01"), ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
    ("190:20:30", "190:20:30"), ("1:30", "1:30"),
    ("1,000", "1,000"), ("=", "="), ("\u0661", "\u0661"), ("1\u0662", "1\u0662"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), RESOLVED)
def test_plain_scalars(text: str, value: object) -> None:
    read_value = to_value(Scalar.new(text))
    assert read_value == value
    assert type(read_value) is type(value)


def test_not_a_number_equals_itself() -> None:
    assert resolve(".nan", "", None) == resolve(".NaN", "", None)
    assert to_value(tree("[.nan]")) != to_value(tree("[x]"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!!int '5'", 5),
        ("!!float 1", 1.0),
        ("!!float 1.5", 1.5),
        ("!!null ''", None),
        ("!!bool 'true'", True),
        ("!!str", ""),
        ("'1'", "1"),
        ('"true"', "true"),
        ("|\n  1", "1"),
    ],
)
def test_quotes_and_tags(text: str, value: object) -> None:
    read_value = to_value(tree(f"a: {text}"))
    assert read_value == {"a": value}
    assert type(read_value["a"]) is type(value)


def test_a_tag_that_does_not_fit_stays_with_what_it_is_of() -> None:
    assert tree("!!float x").canonical == ("float", "x")
    assert tree("!!float true").canonical == ("float", "true")


@pytest.mark.parametrize("text", ['""', "''", "|", "!!str", "&a"])
def test_a_document_that_says_that_it_is_empty_is_one(text: str) -> None:
    assert read(f"{text}\n") is not None
    assert read("# nothing\n") is None


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("'x'", "y", "'y'"),
        ("!!str 'x'", "y", '"y"'),
        ("! 'x'", "y", '"y"'),
        ("'x'", tree("!!str y"), "!!str y"),
        ("'x'", tree("! y"), "! y"),
        # In the same quotes it is as its source has it.
        ('"x"', tree('"y\\x41"'), '"y\\x41"'),
        ("x", "a\x07\nb", '"a\\u0007\\nb"'),
        ("x", "a\u2028\nb", '"a\\u2028\\nb"'),
        ("x", "a\tb\nc\n", "|\n  a\tb\n  c"),
    ],
)
def test_how_a_text_is_written_in_the_place_of_another(before: str, value: Any, after: str) -> None:
    assert Edit(f"a: {before}\n").set("a", to=value).text() == f"a: {after}\n"


def test_type_and_value_make_the_difference() -> None:
    same = [("1", "0x1"), ("1.5", "1.50"), ("true", "True"), ("null", "~"), ("'a'", "a"), ("0o17", "017")]
    different = [("1", "'1'"), ("1", "1.0"), ("true", "'true'"), ("null", "''"), ("yes", "true")]
    different.append(("!!binary YQ==", "YQ=="))
    assert all(tree(f"- {a}").canonical == tree(f"- {b}").canonical for a, b in same)
    assert all(tree(f"- {a}").canonical != tree(f"- {b}").canonical for a, b in different)
    assert tree("- !!binary YQ==").canonical == tree("- !!binary |\n  YQ\n  ==").canonical


def test_order_of_keys_makes_none() -> None:
    assert tree("{a: 1, b: 2}").canonical == tree("{b: 2, a: 1}").canonical
    assert tree("[1, 2]").canonical != tree("[2, 1]").canonical


# ---- writing -------------------------------------------------------------------------------------------------------

PLAIN = [
    "x",
    "nginx:1.25",
    "app.kubernetes.io/name",
    "a b",
    "-x",
    "x-1",
    "1Gi",
    "100m",
    "gcr.io/a/b:v1",
    "a#b",
    "-a=1",
    "0.2.0",
    "10.0.0.1",
]


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_is_not_quoted(text: str) -> None:
    assert scalar_text(text) == text


def second_opinions(document: str) -> list[Any]:
    ruamel = YAML(typ="safe", pure=True)
    return [yaml.safe_load(document), ruamel.load(document), ruamel.load(f"%YAML 1.1\n---\n{document}")]


@settings(max_examples=scaled(1000))
@given(st.text(st.sampled_from("ab01yn-+._:,#'\"[]{}&*!|>%@`?=~<()/ \t\n\r\\TZeExo😀é\x85\u2028"), max_size=8))
def test_text_stays_text_for_every_reader(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", [*TEXTS, *PLAIN])
def test_ambiguous_text_stays_text_for_every_reader(text: str) -> None:
    check_text(text)


def check_text(text: str) -> None:
    block, flow = scalar_text(text), scalar_text(text, flow=True)
    cases: list[tuple[str, Value]] = [
        (f"k: {block}\n", {"k": text}),
        (f"- {block}\n", [text]),
        (f"[{flow}, {{k: {flow}}}]\n", [text, {"k": text}]),
    ]
    for document, value in cases:
        assert to_value(tree(document)) == value
        assert second_opinions(document) == [value] * 3
    assert to_value(tree(f"{flow}: 1\n")) == {text: 1}
    assert yaml.safe_load(f"{flow}: 1\n") == {text: 1}


texts = st.text(max_size=8) | st.sampled_from(TEXTS)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=scaled(500))
@given(values)
@example({"a": "\n \n"})
@example(["  x\n", {"": [[], {}]}])
@example({"<<": None})
def test_values_are_written_and_read_again(value: Value) -> None:
    text = Edit("x:\n- 1\n").set("x", to=value).text()
    assert to_value(read(text)) == {"x": value}
    assert yaml.safe_load(text) == {"x": value}


def test_plain_in_flow_is_stricter() -> None:
    assert plain_is_safe("a?b", flow=False)
    assert not plain_is_safe("a?b", flow=True)
