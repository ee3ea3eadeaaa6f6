"""Field paths: what is written is read again, whatever stands in it; what a rule's path covers."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krm_merge.krm import FieldPath, format_path, parse_path
from krm_merge.krm.identity import ANY, Step, covers

CHARACTERS = st.characters(exclude_categories=["Cs"])
ODD = st.sampled_from(
    ["", "a", "a.b", "a b", " a", "a ", "[", "]", '"', "'", "\\", '\\"', "=", ",", "*", "0", "a=b", "é", "\n", "a/b"]
)
TEXTS = ODD | st.text(CHARACTERS, max_size=6)
# The names of key fields are names of fields in a schema: no character of the path's own grammar.
NAMES = st.text(st.sampled_from("abcXYZ09-_./"), min_size=1, max_size=5)
KEYS = st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=3).map(tuple)
STEPS: st.SearchStrategy[Step] = st.one_of(TEXTS, st.integers(0, 99), KEYS)
PATHS = st.lists(STEPS, min_size=1, max_size=5).map(tuple)


@given(PATHS)
@example(("*",))
@example((ANY, "a"))
@example((0, 1))
@example(("a.b/c", (("name", 'x"]'), ("side", ""))))
def test_what_is_written_is_read_again(path: FieldPath) -> None:
    assert parse_path(format_path(path)) == path


READ: list[tuple[str, FieldPath]] = [
    ("spec.replicas", ("spec", "replicas")),
    ("spec.containers[name=web].image", ("spec", "containers", (("name", "web"),), "image")),
    ("ports[port=53,protocol=UDP]", ("ports", (("port", "53"), ("protocol", "UDP")))),
    ('a["b.c/d"].e', ("a", "b.c/d", "e")),
    ("a['b.c/d']", ("a", "b.c/d")),
    ('["a.b"]', ("a.b",)),
    ('["a\\"b\\\\"]', ('a"b\\',)),
    ("a[3]", ("a", 3)),
    ("a[3][4].b", ("a", 3, 4, "b")),
    ("a[*].b", ("a", ANY, "b")),
    ("a.*.b", ("a", ANY, "b")),
    ("*", (ANY,)),
    ("a.0.b", ("a", "0", "b")),
    ("a[name=x y]", ("a", (("name", "x y"),))),
    ('a[name="x]y"]', ("a", (("name", "x]y"),))),
    ('a[name="x,y=z",k=v]', ("a", (("name", "x,y=z"), ("k", "v")))),
    ("a[image=gcr.io/x:1]", ("a", (("image", "gcr.io/x:1"),))),
    ("a[name=]", ("a", (("name", ""),))),
    ("a-b.c_d/e", ("a-b", "c_d/e")),
    ("$patch", ("$patch",)),
    ("[name=a]", ((("name", "a"),),)),
    ("[0]", (0,)),
]


@pytest.mark.parametrize(("text", "path"), READ)
def test_read(text: str, path: FieldPath) -> None:
    assert parse_path(text) == path
    assert parse_path(format_path(path)) == path


WRITTEN: list[tuple[FieldPath, str]] = [
    ((), ""),
    (("spec", "replicas"), "spec.replicas"),
    (("metadata", "annotations", "a.b/c"), 'metadata.annotations["a.b/c"]'),
    (("a", 0, "b"), "a[0].b"),
    (("a", (("name", "x"),), "b"), "a[name=x].b"),
    (("a", (("name", "x y"), ("k", "a,b"))), 'a[name=x y,k="a,b"]'),
    (("a", (("image", "gcr.io/x"),)), "a[image=gcr.io/x]"),
    (("a b",), '["a b"]'),
]


@pytest.mark.parametrize(("path", "text"), WRITTEN)
def test_written(path: FieldPath, text: str) -> None:
    assert format_path(path) == text


WRONG = [
    ("a..b", 2),
    (".a", 1),
    ("a.", 2),
    ("a.[0]", 2),
    ("a b", 2),
    ("a[", 2),
    ("a[]", 2),
    ("a[name=web", 2),
    ("a]", 2),
    ("a[-1]", 2),
    ("a[1.5]", 2),
    ("a[x]", 2),
    ('a["b]', 2),
    ("a['b]", 2),
    ("a[=b]", 2),
    ("a[0]b", 5),
    ("a[b=c,]", 2),
    ("a[b=c,d]", 2),
    ("a[d,b=c]", 2),
    ('a"b"', 2),
    (" a", 1),
    ("a ", 2),
]


@pytest.mark.parametrize(("text", "column"), WRONG)
def test_what_cannot_be_read_is_named_with_its_column(text: str, column: int) -> None:
    with pytest.raises(ValueError, match=f"at column {column}$") as raised:
        parse_path(text)
    assert repr(text) in str(raised.value)


def test_an_empty_path() -> None:
    with pytest.raises(ValueError, match="empty"):
        parse_path("")


@given(st.text(st.sampled_from("ab.[]\"'=,*0\\ \n"), max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        path = parse_path(text)
    except ValueError:
        return
    assert parse_path(format_path(path)) == path


COVERS = [
    ("spec", "spec.replicas", True),
    ("spec.replicas", "spec.replicas", True),
    ("spec.replicas", "spec", False),
    ("spec", "specs", False),
    ("*", "spec.replicas", True),
    ("*.replicas", "spec.replicas", True),
    ("spec.*", "spec", False),
    ("a[*].b", "a[name=x].b.c", True),
    ("a[*].b", "a[3].b", True),
    ("a.*.b", "a[name=x].b", True),
    ("a[name=x]", "a[name=x].b", True),
    ("a[name=x]", "a[name=y].b", False),
    ("a[port=1]", "a[port=1,protocol=TCP]", True),
    ("a[protocol=TCP,port=1]", "a[port=1,protocol=TCP]", True),
    ("a[port=1,protocol=TCP]", "a[port=1]", False),
    ("a[0]", "a[0]", True),
    ("a[0]", "a[1]", False),
    ("a[0]", "a[name=x]", False),
    ("a[name=x]", "a[0]", False),
    ("a[name=x]", "a.name", False),
    ('["a.b"]', 'a["b"]', False),
]


@pytest.mark.parametrize(("rule", "path", "expected"), COVERS)
def test_covers(rule: str, path: str, expected: bool) -> None:
    assert covers(parse_path(rule), parse_path(path)) is expected


@given(PATHS, st.data())
def test_a_path_covers_itself_and_all_below_it(path: FieldPath, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(path)))
    assert covers(path[:length], path)
    assert covers((ANY,) * length, path)
    assert covers(path, path[:length]) is (length == len(path))
