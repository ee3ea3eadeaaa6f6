"""Whatever comes in, reading ends soon, with a tree or with a TextError that names the place."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import calls, scaled
from krm_merge.errors import KrmMergeError
from krm_merge.limits import ALIASED_NODES
from krm_merge.text.reading.nodes import Alias, MappingNode, TextError, to_value
from krm_merge.text.reading.reader import MAX_DEPTH, check, read, read_all

FEW: Final = 20_000
"""Calls of functions: what is refused is refused before most of it is read."""


def check_refusal(text: str, problem: str) -> None:
    with pytest.raises(TextError, match=problem):
        read(text)


@pytest.mark.parametrize(
    ("text", "problem", "line", "column"),
    [
        ("a: 1\nb: 2\n'a': 3\n", "the key a appears twice", 3, 1),
        ("x: {b: 1, 0x1: 2, 1: 3}\n", "the key 1 appears twice", 1, 19),
        ("x:\n- [a]: 1\n  [a]: 2\n", "the key of a mapping appears twice", 3, 3),
        ("a: *x\n", "the alias \\*x has no anchor before it", 1, 4),
        ("a: &x 1\n---\nb: *x\n", "the alias \\*x has no anchor before it", 3, 4),
        ("a: &x\n  b: *x\n", "the alias \\*x is inside its own anchor", 2, 6),
        ("a: &x [&y {<<: *x}]\n", "the alias \\*x is inside its own anchor", 1, 16),
        ("a: !!python/object:os.system x\n", "the tag tag:yaml.org,2002:python/object:os.system", 1, 4),
        ("a: 1\nb: !custom {}\n", "the tag !custom is not a plain YAML type", 2, 4),
        ("a: !!set {}\n", "the tag tag:yaml.org,2002:set", 1, 4),
        ("a: 1\nb: x\x00y\n", "not valid YAML: control characters are not allowed", 2, 5),
        ("é: 1\nbé: \x07\n", "not valid YAML: control characters are not allowed", 2, 5),
        ("a: 1\nb: \ud800\n", "not valid YAML: a lone surrogate", 2, 4),
        ("a: 1\n b: 2\n", "not valid YAML: mapping values are not allowed", 2, 3),
        ("a: [1, 2\n", "not valid YAML", 2, 1),
        ("a: 'x\n", "not valid YAML: found unexpected end of stream", 2, 1),
        ("a:\n\tb: 1\n", "not valid YAML: found character that cannot start any token", 2, 1),
        ("a: 1\n}\n", "not valid YAML", 2, 1),
        ("%YAML 2.0\n---\na: 1\n", "not valid YAML: found incompatible YAML document", 1, 1),
    ],
)
def test_errors_name_the_place(text: str, problem: str, line: int, column: int) -> None:
    with pytest.raises(TextError, match=problem) as caught:
        list(read_all(text))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")


def test_several_documents() -> None:
    assert [to_value(node) for node in read_all("a\n---\n---\n# c\n--- b\n...\n")] == ["a", "b"]
    with pytest.raises(TextError, match="holds 2 documents where one is expected"):
        read("a\n---\nb\n")
    assert read("# nothing\n") is None
    assert read("") is None


@pytest.mark.parametrize("unit", ["[", "{a: ", "[\n", "- ", "? ", "{? ", '["x", '])
def test_deep_nesting_on_one_line(unit: str) -> None:
    assert calls(partial(check_refusal, unit * 10_000, f"nested deeper than {MAX_DEPTH} levels")) < FEW


def test_deep_nesting_in_blocks() -> None:
    text = "".join(f"{' ' * level}a:\n" for level in range(10_000))
    assert calls(partial(check_refusal, text, "nested deeper")) < FEW


def test_the_deepest_that_is_read() -> None:
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert read(deepest) is not None
    assert len(list(read_all(f"{deepest}\n---\n{deepest}\n"))) == 2
    with pytest.raises(TextError, match="nested deeper"):
        read("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    # With a level around it, one less.
    assert len(list(read_all(deepest[1:-1], 1))) == 1
    with pytest.raises(TextError, match="nested deeper"):
        list(read_all(deepest, 1))


def test_aliases_do_not_get_around_the_limit_of_depth() -> None:
    nest = "[" * 50, "]" * 50
    text = "- &a0 x\n" + "".join(f"- &a{i + 1} {nest[0]}*a{i}{nest[1]}\n" for i in range(4))
    with pytest.raises(TextError, match="with its aliases written out") as caught:
        read(text)
    assert caught.value.line == 4


def test_alias_bomb() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 60)]
    assert calls(partial(check_refusal, "\n".join(lines), f"expand to more than {ALIASED_NODES.default} nodes")) < FEW


def test_merge_key_bomb() -> None:
    lines = ["a0: &a0 {k0: 1}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}], k{i}: 1}}" for i in range(1, 40)]
    assert calls(partial(check_refusal, "\n".join(lines), "aliases expand to more")) < FEW


def test_wide_documents_are_quick() -> None:
    """Ten times the length is ten times the work, and not a hundred times."""

    def work(count: int) -> int:
        return calls(partial(read, "[" + "1, " * count + "1]"))

    assert work(20_000) < 12 * work(2_000)


def read_or_refuse(text: str) -> None:
    try:
        roots = list(read_all(text))
    except TextError:
        return
    for root in roots:
        to_value(root)
        hash(root.canonical)


@settings(max_examples=scaled(1000))
@given(st.text(st.sampled_from("ab1 :-\n\n  \t#'\"[]{},&*!|>?%@<~\\\r\x85\u2028\x00\ufeff\ud800é"), max_size=60))
@example("<<: [1, *a]")
@example("&a <<: {<<: {}}")
@example("!!int x")
@example("? !!float 1\n: !!binary ' '")
def test_soup_of_indicators(text: str) -> None:
    read_or_refuse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("data:\n  " + "? " * 60 + "x\n", "nested deeper than 4 levels"),
        ("{? " * 60 + "x" + "}" * 60, "nested deeper than 4 levels"),
        ("? [[[[a]]]]\n: 1\n", "nested deeper than 4 levels"),
        ("? [" + "a, " * 63 + "a]\n: 1\n", "of more than 64 nodes"),
        (f"? [{'a' * 9_999}]\n: 1\n", "longer than 10000 characters"),
        ("a: &x b\n? [*x]\n: 1\n", "with an alias inside"),
        ("a: &x [b]\n*x : 1\n", "with an alias inside"),
    ],
)
def test_keys_that_are_no_texts_are_small(text: str, problem: str) -> None:
    """As text, each level would double the backslashes of the one below."""
    with pytest.raises(TextError, match=f"a key that is a list or a mapping {problem}; make it a string"):
        read(text)


def test_small_keys_that_are_no_texts_are_read() -> None:
    assert to_value(read("? [a, {b: c}]\n: 1\na: &x b\n*x : 2\n")) == {"[a, {b: c}]": 1, "a": "b", "b": 2}
    assert to_value(read("? [true, 1.5, X]\n: 1\n")) == {"[true, 1.5, X]": 1}
    assert to_value(read("? [[[a]]]\n: 1\n")) == {"[[[a]]]": 1}
    assert to_value(read(f"? [{'a' * 9_998}]\n: 1\n")) == {f"[{'a' * 9_998}]": 1}
    far_below = f"a: {'b' * 10_000}\n"
    assert to_value(read(far_below + "? [c]\n: 1\n")) == {"a": "b" * 10_000, "[c]": 1}
    assert to_value(read("? [" + ", ".join("a" * 63) + "]\n: 1\n")) == {"[" + ", ".join("a" * 63) + "]": 1}


@pytest.mark.parametrize("value", ["[]", "{}", "[1]", "{a: 1}"])
def test_the_limit_of_depth_is_one_for_aliases_of_all_small_collections(value: str) -> None:
    def nested(levels: int) -> str:
        return f"a: &x {value}\nb: {'[' * levels}*x{']' * levels}\n"

    assert read(nested(MAX_DEPTH - 3)) is not None
    with pytest.raises(TextError, match="with its aliases written out"):
        read(nested(MAX_DEPTH - 2))


def test_the_limit_of_aliases_can_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x [1, 2, 3]\nb: [" + ", ".join(["*x"] * 5) + "]\n"
    monkeypatch.setenv(ALIASED_NODES.variable, "19")
    with pytest.raises(
        TextError, match=f"more than 19 nodes; write the values out, or raise the limit with {ALIASED_NODES.variable}"
    ):
        read(text)
    monkeypatch.setenv(ALIASED_NODES.variable, "20")
    assert to_value(read(text)) == {"a": [1, 2, 3], "b": [[1, 2, 3]] * 5}
    assert to_value(read("a: &x 1\nb: [" + ", ".join(["*x"] * 20) + "]\n")) == {"a": 1, "b": [1] * 20}
    monkeypatch.setenv(ALIASED_NODES.variable, "many")
    with pytest.raises(
        KrmMergeError, match="KRM_MERGE_MAX_ALIASED_NODES is 'many' in the environment; give a whole number"
    ):
        read(text)


@pytest.mark.parametrize("sibling", ["- []\n", "- {}\n", "- {a: [[]]}\n"])
def test_siblings_that_are_closed_leave_the_limit_of_depth_as_it_is(sibling: str) -> None:
    limit = 20
    siblings = sibling * 2_000
    check(siblings + "- " + "[" * (limit - 1) + "]" * (limit - 1), limit)
    with pytest.raises(TextError, match=f"nested deeper than {limit} levels") as caught:
        check(siblings + "- " + "[" * limit + "]" * limit, limit)
    assert caught.value.line == 2_001


def test_a_chain_of_merge_keys_copies_no_chains() -> None:
    """Were each alias a copy, the copies along a chain would grow with its cube."""
    lines = ["x0: &x0 {k0: 0}"] + [f"x{i}: &x{i} {{<<: *x{i - 1}, k{i}: {i}}}" for i in range(1, 120)]
    root = read("\n".join(lines))
    assert isinstance(root, MappingNode)
    last = root.entries[-1].value
    assert to_value(last) == {f"k{i}": i for i in range(120)}
    assert isinstance(last, MappingNode)
    merge = last.entries[0].value
    assert isinstance(merge, Alias)
    assert merge.unread
