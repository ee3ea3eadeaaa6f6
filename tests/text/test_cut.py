"""The cut of a ResourceList into slices: the same ones as by libyaml's tokens, whatever the items hold."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from krm.resource_lists import HEAD, TRAPS, UNUSUAL, Generated, one_document, resource_list, slices_by_marks
from krm_merge.text.cut import Slice, cut_items
from krm_merge.text.reading.nodes import TextError

SEEDS = st.integers(0, 2**48)


def list_of(items: str, tail: str = "") -> bytes:
    return f"{HEAD}items:\n{items}{tail}".encode()


def slices(data: bytes) -> list[bytes]:
    return [part.data for part in cut_items(data).items or []]


def without_tail(parts: list[bytes] | None) -> list[bytes] | None:
    """Without comments and blank lines behind the last item: to which neighbour those belong is no matter of YAML."""
    return parts and [*parts[:-1], re.sub(rb"(?:\n[ \t\r]*(?:#[^\n]*)?)*\Z", b"", parts[-1])]


@given(SEEDS)
def test_slices_are_those_of_libyaml(seed: int) -> None:
    generated = resource_list(Random(seed))
    if (parts := generated.cut) is None:
        return
    expected = slices_by_marks(generated.body)
    assert without_tail([part.data for part in parts.items or []] or None) == without_tail(expected)
    assert [name for name in parts.fields if name in generated.fields] == list(generated.fields)


@given(SEEDS)
def test_a_proved_slice_has_every_value_on_its_line(seed: int) -> None:
    generated = resource_list(Random(seed))
    parts = generated.cut
    for part in parts.items or [] if parts is not None else []:
        if not part.proved:
            continue
        text = re.sub(r"\A( *)-", r"\1 ", part.data.decode())
        for token in yaml.scan(text, Loader=yaml.CLoader):
            if isinstance(token, yaml.ScalarToken) and token.style in ("'", '"'):
                assert token.start_mark.line == token.end_mark.line


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("column", [0, 2, 4])
def test_a_trap_does_not_end_an_item(trap: str, column: int) -> None:
    pad, inner = " " * column, " " * (column + 2)
    lines = f"{inner}name: n\n{inner}{trap}".replace("\n=", f"\n{inner}").replace("\n_", f"\n{pad}")
    lines = lines.replace(f"{inner}_", pad)
    first = f"{pad}-{lines[column + 1 :]}\n"
    last = f"{pad}- name: o\n"
    data = list_of(first + last, "extra: 1\n")
    assert one_document(data.decode()) is not None
    parts = Generated(data, data, ()).cut
    # Only a value that goes on at the column of the list is in doubt.
    assert parts is not None or re.search(rf"\n{pad}\S", first)
    if parts is not None:
        assert [part.data for part in parts.items or []] == [first.encode(), last.encode()]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "---\n", "# head\n", "\ufeff# head\n---\n", "--- # head\n"])
def test_what_stands_above_the_list(start: str, newline: str) -> None:
    text = f"{start}{HEAD}items:\n- a: 1\n- b: 2\nfunctionConfig: {{}}\n".replace("\n", newline)
    parts = cut_items(text.encode())
    assert [part.data for part in parts.items or []] == [f"- a: 1{newline}".encode(), f"- b: 2{newline}".encode()]
    assert parts.before == start.removeprefix("\ufeff").replace("\n", newline).encode()
    assert list(parts.fields) == ["apiVersion", "kind", "items", "functionConfig"]
    assert parts.newline == newline.encode()


@pytest.mark.parametrize("value", [" []", "", " null", " ~", " [ ]", " [] # none", " Null", " !!seq []"])
@pytest.mark.parametrize("tail", ["", "extra: 1\n"])
def test_no_items(value: str, tail: str) -> None:
    parts = cut_items(f"{HEAD}items:{value}\n{tail}".encode())
    # Items that come are written at column 0.
    assert (parts.items, parts.dash) == ([], 0)


def test_without_the_field_items_there_is_no_list_of_them() -> None:
    for text in (HEAD, "{kind: X}\n"):
        parts = cut_items(text.encode())
        assert (parts.items, parts.dash) == (None, 0)


@pytest.mark.parametrize("value", [" {}", " a", "\n  a: 1", " 1", " 'x'", " |\n  - a"])
def test_items_that_are_no_list_are_refused(value: str) -> None:
    with pytest.raises(TextError, match="items is not a list"):
        cut_items(f"{HEAD}items:{value}\n".encode())


@pytest.mark.parametrize("items", ["{}", '"a"', "1"])
def test_items_of_json_that_are_no_list_are_refused(items: str) -> None:
    with pytest.raises(TextError, match="items is not a list"):
        cut_items(f'{{"kind": "X", "items": {items}}}'.encode())


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"", "empty"), (b"# nothing\n", "empty"), (b"- a\n", "not a mapping"), (b"a\n", "not a mapping")],
)
def test_what_is_no_list_of_items_is_named(data: bytes, problem: str) -> None:
    with pytest.raises(TextError, match=f"^{problem}$"):
        cut_items(data)


SECOND = {
    "after a list": list_of("- a: 1\n---\nx: 1\n"),
    "after an indented list": list_of("  - a: 1\n---\nx: 1\n"),
    "after another field": list_of("- a: 1\n", "extra:\n  x: 1\n---\nx: 1\n"),
    "after the end of a document": list_of("- a: 1\n...\n---\nx: 1\n"),
    "behind the mark": list_of("- a: 1\n--- {x: 1}\n"),
}


@pytest.mark.parametrize("data", SECOND.values(), ids=SECOND)
def test_a_second_document_is_refused(data: bytes) -> None:
    with pytest.raises(TextError, match="2 documents"):
        cut_items(data)


@pytest.mark.parametrize("end", ["# end\n", "\n\n"])
def test_what_follows_the_last_item_is_part_of_it(end: str) -> None:
    parts = cut_items(list_of("- a: 1\n- b: 2\n", end))
    first, last = (part.data for part in parts.items or [])
    assert first == b"- a: 1\n"
    assert last == b"- b: 2\n" + end.encode()
    assert (parts.items_head, parts.dash) == (b"items:\n", 0)


UNUSUAL_LISTS = {
    "a directive": b"%YAML 1.1\n---\n" + list_of("- a: 1 # c\n"),
    "the end of a document": list_of("# c\n  - a: 1\n", "...\n"),
    "a comment where no items are": list_of("  # none\n"),
    "items between brackets, with comments": f"{HEAD}items: [{{a: 1}}, # one\n {{b: 2}}]\n".encode(),
}


@pytest.mark.parametrize("data", UNUSUAL_LISTS.values(), ids=UNUSUAL_LISTS)
def test_what_could_lose_comments_is_refused(data: bytes) -> None:
    with pytest.raises(TextError, match=f"{UNUSUAL}; write it as kpt does, or as JSON"):
        cut_items(data)


NOT_YAML = {
    "an open quote": list_of("- a: 'open\n- b: 1\n"),
    "an open bracket": list_of("- a: [open\n- b: 1\n"),
    "a quote that a field of one line leaves open": list_of("- a: 1\n", "extra: 'open\n"),
    "a bracket that a field of one line leaves open": list_of("- a: 1\n", "extra: [open\nmore: 1\n"),
    "a tab behind a dash": list_of("- a: 1\n-\tb: 1\n"),
    "a document mark in a quoted text": list_of('- a: "x\n---\n  y"\n- b: 1\n'),
    "no UTF-8 where libyaml has to look": list_of("- a: 1\n...\n").replace(b"1", b"\xff"),
    "a complex key at the top": list_of("- a: 1\n", "? x\n: y\n"),
    "a field that stands twice": list_of("- a: 1\n", "kind: ResourceList\n"),
    "a field below a text": list_of("- a: 1\n", "extra: x\n  y: z\n"),
    "a list": b"- a\n",
    "a word": b"a\n",
    "nothing but a comment": b"# x\n",
    "a line break that only YAML 1.1 knows where libyaml has to look": list_of("- a: x\u2028  y\n...\n"),
}


@pytest.mark.parametrize("data", NOT_YAML.values(), ids=NOT_YAML)
def test_what_cannot_be_cut_is_refused(data: bytes) -> None:
    with pytest.raises(TextError):
        cut_items(data)


@pytest.mark.parametrize(("before", "line"), [("", 5), ("\n", 6), ("# \u00e9\n", 6)])
def test_a_byte_that_is_not_utf_8_is_found_by_its_line(before: str, line: int) -> None:
    data = before.encode() + list_of("- a: b\n- c: x\n...\n").replace(b"x", b"\xff")
    with pytest.raises(TextError, match=f"line {line}, column 1: not UTF-8; save the file as UTF-8"):
        cut_items(data)


@pytest.mark.parametrize("gap", ["# about b\n", "\n# about b\n\n", "  # deeper\n", "# - no item\n", "# 'open [\n"])
def test_what_stands_between_items_goes_with_the_one_above(gap: str) -> None:
    assert slices(list_of(f"- a: 1\n{gap}- b: 2\n")) == [f"- a: 1\n{gap}".encode(), b"- b: 2\n"]


OBJECT = {"kind": "X", "items": [{"a": "x\n- y", "b": [1, "2"]}, {"c": {}}], "functionConfig": {"d": 1}}
FLOW = {
    "compact JSON": json.dumps(OBJECT, separators=(",", ":")),
    "pretty JSON": json.dumps(OBJECT, indent=2),
    "JSON indented with tabs": json.dumps(OBJECT, indent="\t"),
    "a list between brackets": 'items: [{a: "x\\n- y", b: [1, "2"]}, {c: {}}]\nkind: X\nfunctionConfig: {d: 1}\n',
}


@pytest.mark.parametrize("text", FLOW.values(), ids=FLOW)
def test_items_between_brackets_become_items_of_a_block(text: str) -> None:
    parts = cut_items(text.encode())
    assert [yaml.safe_load(part.data) for part in parts.items or []] == [[{"a": "x\n- y", "b": [1, "2"]}], [{"c": {}}]]
    assert parts.dash == 0
    assert yaml.safe_load(parts.fields["functionConfig"]) == {"functionConfig": {"d": 1}}


def test_a_number_sign_in_json_is_no_comment() -> None:
    parts = cut_items(json.dumps({"kind": "X", "items": [{"a": "b # c"}], "functionConfig": {"d": "# e"}}).encode())
    assert [yaml.safe_load(part.data) for part in parts.items or []] == [[{"a": "b # c"}]]
    assert yaml.safe_load(parts.fields["functionConfig"]) == {"functionConfig": {"d": "# e"}}


def test_plain_items_are_proved_and_others_are_not() -> None:
    parts = cut_items(list_of("- a: 'x'\n  b: [1, {c: d}]\n- a: 'x\n    y'\n- a: &b 1\n"))
    assert parts.items == [
        Slice(b"- a: 'x'\n  b: [1, {c: d}]\n", True),
        Slice(b"- a: 'x\n    y'\n", False),
        Slice(b"- a: &b 1\n", False),
    ]
