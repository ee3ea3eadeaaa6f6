"""Where the children of a collection are in its text, and what belongs to each: lines, comments, blank lines."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.layout import (
    CannotEditError,
    Comments,
    block_scalar_header,
    block_scalar_indent,
    chunks,
    comments_of,
    content_end,
    follows_blank_line,
    has_nothing_above,
    indents_of,
    is_block,
    known_chunks,
    list_column,
)
from krm_merge.text.reading.nodes import Child, Collection, MappingNode, Node, Scalar, SequenceNode, value_of
from krm_merge.text.reading.reader import read


def root_of(text: str) -> Collection:
    root = read(text)
    assert isinstance(root, MappingNode | SequenceNode)
    return root


def child_at(text: str, *steps: int) -> tuple[Collection, Child]:
    """A child of the root, or of a child, and so on."""
    collection = root_of(text)
    for step in steps[:-1]:
        value = value_of(collection.children[step])
        assert isinstance(value, MappingNode | SequenceNode)
        collection = value
    return collection, collection.children[steps[-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The lines of each child: `/` between chunks, `^` before the value, `~` behind it; `@` begins behind a dash.
        ("a: 1\nb: 2\n", "a:^ 1~\n/b:^ 2~\n"),
        ("a : 1\n", "a :^ 1~\n"),
        ("a:\nb:\n", "a:^~\n/b:^~\n"),
        ("a: # c\nb: 1\n", "a:^~ # c\n/b:^ 1~\n"),
        ("# h\na: 1\n\n# d\n\n# h\nb: 2\n", "# h\na:^ 1~\n/# h\nb:^ 2~\n"),
        ("# h\n  # deep\na: 1\n  # deep\nb: 2\n", "a:^ 1~\n  # deep\n/b:^ 2~\n"),
        ("a: 'x\n  # y'\nb: 2\n", "a:^ 'x\n  # y'~\n/b:^ 2~\n"),
        ("- 1\n-\n- # c\n- 2\n", "-^ 1~\n/-^~\n/-^~ # c\n/-^ 2~\n"),
        ("- 1 # x\n# - y\n- 2\n", "-^ 1~ # x\n/# - y\n-^ 2~\n"),
        ("!!seq # - x\n- 1\n", "-^ 1~\n"),
        ("&a-b\n- 1\n", "-^ 1~\n"),
        ("a: |\n  x\n\n\nb: 1\n", "a:^ |\n  x\n~/b:^ 1~\n"),
        ("a: |+\n  x\n\n\nb: 1\n", "a:^ |+\n  x\n\n\n~/b:^ 1~\n"),
        ("a: |\n  x\n   \nb: 1\n", "a:^ |\n  x\n   \n~/b:^ 1~\n"),
        ("a: |\n  x\n  \nb: 1\n", "a:^ |\n  x\n~/b:^ 1~\n"),
        ("a: |\nb: 1\n", "a:^ |\n~/b:^ 1~\n"),
        ("a: 1", "a:^ 1~"),
        ("? a\n: 1\nb: 2\n", "None/b:^ 2~\n"),
        ("? |\n  a\n: 1\nb: 2\n", "None/b:^ 2~\n"),
        ("? |\n: 1\nb: 2\n", "None/b:^ 2~\n"),
        ("? 'a\n  b'\n: 1\nb: 2\n", "None/b:^ 2~\n"),
    ],
)
def test_the_text_of_each_child(text: str, expected: str) -> None:
    parts = []
    for chunk in known_chunks(root_of(text)):
        if chunk is None:
            parts.append("None")
            continue
        assert chunk.start <= chunk.own < chunk.own_end <= chunk.value <= chunk.value_end <= chunk.end
        assert (chunk.column, chunk.inline) == (0, False)
        value = f"{text[chunk.own_end : chunk.value]}{text[chunk.value : chunk.value_end]}"
        parts.append(f"{text[chunk.start : chunk.own_end]}^{value}~{text[chunk.value_end : chunk.end]}")
        # Where a value is missing, its place is behind the colon or the dash.
        assert chunk.value == (chunk.own_end if not value else text.index(value.lstrip(), chunk.own_end))
    assert "/".join(parts) == expected


@pytest.mark.parametrize(
    ("text", "steps", "column", "inline"),
    [
        ("- a: 1\n  b: 2\n", (0, 0), 2, True),
        ("- a: 1\n  b: 2\n", (0, 1), 2, False),
        ("- - 1\n  - 2\n", (0, 0), 2, True),
        ("- - 1\n  - 2\n", (0, 1), 2, False),
        ("a:\n    b: 1\n", (0, 0), 4, False),
        ("a:\n- 1\n", (0, 0), 0, False),
    ],
)
def test_the_column_of_a_child(text: str, steps: tuple[int, ...], column: int, inline: bool) -> None:
    collection, child = child_at(text, *steps)
    chunk = chunks(collection)[[id(each) for each in collection.children].index(id(child))]
    assert (chunk.column, chunk.inline) == (column, inline)
    # A head above the dash is that of the item.
    assert chunk.start == (chunk.own if inline else text.rindex("\n", 0, chunk.own) + 1)


@pytest.mark.parametrize("text", ["? a\n: 1\n", "? {a: 1}\n: 1\n", "{a: 1}", "[]", "a: 'x\u2028y'\n"])
def test_children_without_lines_of_their_own_have_no_place(text: str) -> None:
    with pytest.raises(CannotEditError):
        chunks(root_of(text))


def test_new_collections_have_no_place() -> None:
    for node in (MappingNode.new(False, []), SequenceNode.new(False, []), SequenceNode.new(True, [Scalar.new("a")])):
        assert not is_block(node)
        with pytest.raises(CannotEditError):
            known_chunks(node)
    with pytest.raises(CannotEditError):
        known_chunks(SequenceNode.new(False, [Scalar.new("a")]))


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("a: 1\n", 0, True),
        ("# c\n\n  # c\n\na: 1\n", 12, True),
        ("---\n--- # c\r\n\r\na: 1\n", 15, True),
        ("a: 1\nb: 2\n", 5, False),
        ("--- {a: 1}\nb: 2\n", 11, False),
        ("- a: 1\n", 2, False),
        ("%YAML 1.1\n---\na: 1\n", 14, False),
    ],
)
def test_what_only_separators_and_comments_precede(text: str, position: int, expected: bool) -> None:
    assert has_nothing_above(text, position) is expected


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        ("a: 1\n\nb: 2\n", (1,), True),
        ("a: 1\nb: 2\n", (1,), False),
        ("a: 1\n\n# c\nb: 2\n", (1,), True),
        ("a: 1\n\n# c\n# c\nb: 2\n", (1,), True),
        ("a: 1\n# c\n\nb: 2\n", (1,), False),
        ("a: 1\n# c\nb: 2\n", (1,), False),
        # A blank line further up is above another child.
        ("x: 1\n\na: 1\nb: 2\n", (2,), False),
        ("\na: 1\n", (0,), False),
        ("\n# c\na: 1\n", (0,), False),
        ("- 1\n\n- 2\n", (1,), True),
        ("- 1\n- 2\n", (1,), False),
        ("a: 1\n\nb: {c: 1}\n", (1, 0), False),
    ],
)
def test_a_child_below_a_blank_line(text: str, steps: tuple[int, ...], expected: bool) -> None:
    assert follows_blank_line(child_at(text, *steps)[1]) is expected


@pytest.mark.parametrize(
    ("text", "mapping", "sequence"),
    [
        ("a: 1\n", 2, None),
        ("a:\n  b: 1\n", 2, None),
        ("a:\n    b: 1\n", 4, None),
        ("a:\n b: 1\n", 2, None),
        ("a:\n        b: 1\n", 8, None),
        ("a:\n         b: 1\n", 2, None),
        ("a:\n- b\n", 2, 0),
        ("a:\n  - b\n", 2, 2),
        ("a:\n  - b\nc:\n- d\n", 2, 2),
        ("a:\n    b: 1\nc:\n  d: 1\n", 4, None),
        ("- a:\n    - b:\n         c: 1\n", 3, 2),
        ("a: {b: 1}\nc:\n   d: 1\n", 3, None),
        ("a: [1]\n", 2, None),
        ("? a\n: b: 1\n", 2, None),
        ("a", 2, None),
    ],
)
def test_the_indentation_of_a_document(text: str, mapping: int, sequence: int | None) -> None:
    root = read(text)
    assert root is not None
    indents = indents_of(root)
    assert (indents.mapping, indents.sequence) == (mapping, sequence)


@pytest.mark.parametrize(
    ("text", "header", "indent", "end"),
    [
        ("a: |\n  x\n", "|", 2, 9),
        ("a: |-  # c\n   x\n", "|-", 3, 16),
        ("a: >2\n    x\n", ">2", 2, 12),
        ("a: |\n\n  x\n", "|", 2, 10),
        ("a: |\nb: 1\n", "|", 0, 5),
        ("a: |\n  x\n   \n", "|", 2, 13),
        ("a: |\n  x\n  \n", "|", 2, 9),
        ("a: |\n  x\n\n", "|", 2, 9),
        ("a: |+\n  x\n\n", "|+", 2, 11),
        ("a: |\r\n  x\r\n\r\n", "|", 2, 11),
    ],
)
def test_a_block_scalar_and_where_it_ends(text: str, header: str, indent: int, end: int) -> None:
    node: Node = value_of(root_of(text).children[0])
    assert isinstance(node, Scalar)
    assert block_scalar_header(node) == header
    assert block_scalar_indent(node) == indent
    assert content_end(node) == end


@pytest.mark.parametrize(
    ("text", "steps", "head", "line"),
    [
        ("# h\n# i\na: 1 # l\n", (0,), ("# h", "# i"), "# l"),
        ("a: # l\n  b: 1 # m\n", (0,), (), "# l"),
        ("a: &x !!map # l\n  b: 1\n", (0,), (), "# l"),
        ("a: | # l\n  b # c\n", (0,), (), "# l"),
        ("- # l\n  a: 1\n", (0,), ("# l",), None),
        ("# h\n- # l\n  a: 1\n", (0,), ("# h", "# l"), None),
        ("# h\n- a: 1 # l\n", (0,), ("# h",), None),
        ("# h\n- a: 1 # l\n", (0, 0), (), "# l"),
        ("- 1 # l\n", (0,), (), "# l"),
        ("a: '# x'\n", (0,), (), None),
        ("a:\nb: 1\n", (0,), (), None),
        ("a: 1\r\n# h\r\nb: 1 # l\r\n", (1,), ("# h",), "# l"),
    ],
)
def test_the_comments_of_a_child(text: str, steps: tuple[int, ...], head: tuple[str, ...], line: str | None) -> None:
    collection, child = child_at(text, *steps)
    place = chunks(collection)[[id(each) for each in collection.children].index(id(child))]
    assert comments_of(collection, child, place) == Comments(head, line)


def test_the_column_of_dashes() -> None:
    for text, column in (
        ("a:\n- 1\n", 0),
        ("a:\n  - 1\n", 2),
        ("a:\n  # -\n   - 1\n", 3),
        ("a: !!seq # -\n  - 1\n", 2),
    ):
        value = value_of(root_of(text).children[0])
        assert isinstance(value, SequenceNode)
        assert list_column(value) == column
