"""A document with the values and the order of another one, and its own comments."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from effort import SEED, scaled, seeds
from krm_merge.text.editing.change import THRESHOLD, aligned, best_pairs, text_likeness
from krm_merge.text.reading.layout import CannotEditError, Comments
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read
from text.random_documents import names_of, random_document


def mapping(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def test_it_means_the_other_document_with_comments_of_its_own() -> None:
    tried = 0
    for seed in seeds(600):
        random = Random(seed)
        documents = [random_document(random) for _ in range(2)]
        texts = [document[0] for document in documents if document is not None and isinstance(document[1], MappingNode)]
        # What an alias stands for is written out.
        if len(texts) < 2 or "*" in texts[1]:
            continue
        base, target = mapping(texts[0]), mapping(texts[1])
        try:
            out = aligned(base, target)
        except CannotEditError:
            continue
        tried += 1
        root = mapping(out)
        assert root.canonical == target.canonical, seed
        assert [e.key.canonical for e in root.entries] == [e.key.canonical for e in target.entries], seed
        # What looks like a comment may be part of a value.
        assert names_of(out) <= names_of(texts[0]) | names_of(str(target.canonical)), seed
        assert aligned(root, target) == out, seed
    assert tried > scaled(600) / 6


def test_with_its_own_values_it_is_its_own_text() -> None:
    for seed in seeds(300):
        document = random_document(Random(seed))
        if document is None or not isinstance(document[1], MappingNode):
            continue
        try:
            assert aligned(mapping(document[0]), mapping(document[0])) == document[0], seed
        except CannotEditError:
            continue


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        pytest.param("# h\na: 1 # l\n", "a: 2 # other\n", "# h\na: 2 # l\n", id="another value"),
        pytest.param("a: 1 # a\nb: 1 # b\n", "b: 1\na: 1\n", "b: 1 # b\na: 1 # a\n", id="another order"),
        pytest.param("a: 1 # a\nb: 1 # b\n", "b: 1\n", "b: 1 # b\n", id="less"),
        pytest.param("a: 1 # a\n", "a: 1\n# n\nn:\n# m\n- x # x\n", "a: 1 # a\nn:\n- x\n", id="more, without comments"),
        pytest.param(
            "l:\n- a # a\n- b # b\n", "l: [b, c, a]\n", "l:\n- b # b\n- c\n- a # a\n", id="elements that are equal"
        ),
        pytest.param(
            "l:\n# x\n- name: x\n  v: 1 # x\n- name: y\n  v: 1 # y\n",
            "l:\n- name: y\n  v: 2\n- name: x\n  v: 3\n",
            "l:\n- name: y\n  v: 2 # y\n# x\n- name: x\n  v: 3 # x\n",
            id="elements of one name",
        ),
        pytest.param(
            "l:\n- a: 1\n  b: 1 # x\n- a: 2\n  b: 2 # y\n",
            "l: [{c: 9}, {a: 1, b: 3}, {a: 2, b: 5}]\n",
            "l:\n- {c: 9}\n- a: 1\n  b: 3 # x\n- a: 2\n  b: 5 # y\n",
            id="elements without names that are alike",
        ),
        pytest.param(
            "l:\n- name: web-one # x\n  v: text-one # y\n",
            "l: [{name: web-two, v: text-two}]\n",
            "l:\n- {name: web-two, v: text-two}\n",
            id="elements of other names that have nothing in common",
        ),
        pytest.param("a:\n  b: 1 # b\n# end\n", "a:\n  b: 2\n  c: 3\n", "a:\n  b: 2 # b\n  c: 3\n# end\n", id="inside"),
        pytest.param("a: &x 1\nb: *x # b\n", "a: 1\nb: 2\n", "a: &x 1\nb: 2 # b\n", id="in the place of an alias"),
        pytest.param("a: 1\nb: 2 # b\n", "a: &x 1\nb: *x\n", "a: 1\nb: 1 # b\n", id="what an alias means"),
        pytest.param("a: {b: 1} # a\n", "a:\n  b: 2\n", "a: {b: 2} # a\n", id="flow style stays"),
        pytest.param("a: {} # a\n", "a:\n  b: 2\n", "a: # a\n  b: 2\n", id="style of what was empty"),
        pytest.param("a: [] # a\n", "a:\n- 2\n", "a: # a\n- 2\n", id="style of a list that was empty"),
        pytest.param("a:\n- [] # a\n- b\n", "a: [[2], b]\n", "a:\n- [2] # a\n- b\n", id="style of an empty element"),
        pytest.param(
            "a: # a\n\n  # b\n\n  b: 1\nc:\n\n# d\n\n- d\n", "a: {}\nc: []\n", "a: {} # a\nc: []\n", id="nothing inside"
        ),
        pytest.param(
            "# head\n\na: 1\n\n# over b\nb: 1\nc: 1\n",
            "b: 1\nc: 1\na: 1\n",
            "# head\n\n# over b\nb: 1\nc: 1\na: 1\n",
            id="as few fields move as possible",
        ),
        pytest.param(
            "l:\n- a: text-one # x\n- b # b\n",
            "l: [d, {a: text-two}]\n",
            "l:\n- d # b\n- a: text-two # x\n",
            id="elements of two kinds",
        ),
        pytest.param("l:\n# x\n- a: 1\n", "l: [b]\n", "l:\n# x\n- b\n", id="a text in the place of a mapping"),
        pytest.param("l:\n# x\n- b\n", "l:\n- a: 1\n", "l:\n# x\n- a: 1\n", id="a mapping in the place of a text"),
        pytest.param(
            "l:\n- a: text-one # x\n",
            "l: [{z: 1}, {a: text-two}]\n",
            "l:\n- {z: 1}\n- a: text-two # x\n",
            id="elements of one field that are alike",
        ),
        pytest.param(
            "l:\n# x\n- name: x\n  v: 1\n", "l: [{w: 2}]\n", "l:\n# x\n- w: 2\n", id="an element that lost its name"
        ),
        pytest.param("l:\n# x\n- w: 2\n", "l: [{name: x}]\n", "l:\n# x\n- name: x\n", id="an element that got a name"),
        pytest.param(
            "l:\n- kind: A # x\n  metadata: {name: x}\n- kind: A # y\n  metadata: {name: y}\n"
            "- kind: B # z\n  metadata: {}\n",
            "l: [{kind: B, metadata: {a: 1}}, {kind: A, metadata: {name: y, a: 1}}, "
            "{kind: A, metadata: {name: x, a: 1}}]\n",
            "l:\n- kind: B # z\n  metadata: {a: 1}\n- kind: A # y\n  metadata: {name: y, a: 1}\n"
            "- kind: A # x\n  metadata: {name: x, a: 1}\n",
            id="objects of one kind and other names",
        ),
    ],
)
def test_example(base: str, other: str, expected: str) -> None:
    assert aligned(mapping(base), mapping(other)) == expected


@pytest.mark.parametrize(("elements", "first"), [(100, "- text-1-new\n"), (101, "- text-1-new # first\n")])
def test_likeness_counts_where_few_elements_are_compared(elements: int, first: str) -> None:
    base = "l:\n- z # first\n" + "".join(f"- text-{at}-old\n" for at in range(1, elements))
    other = "l:\n" + "".join(f"- text-{at}-new\n" for at in range(1, elements)) + "- other\n"
    last = "- other # first\n" if elements == 100 else "- other\n"
    expected = other.replace("- text-1-new\n", first).replace("- other\n", last)
    assert aligned(mapping(base), mapping(other)) == expected


def test_comments_that_go() -> None:
    root = mapping("# h\na: 1 # l\nb: 1 # b\n")
    assert (
        aligned(root, mapping("a: 2\nb: 1\n"), [(root.entries[0], Comments(("# h",), None))]) == "# h\na: 2\nb: 1 # b\n"
    )


def test_what_cannot_be_written() -> None:
    with pytest.raises(CannotEditError):
        aligned(mapping("x: &x {a: 1}\ny: {<<: *x}\n"), mapping("x: {a: 1}\ny: {a: 2}\n"))


@pytest.mark.parametrize(
    ("first", "second", "likeness"),
    [
        ("same", "same", 1.0),
        ("", "text", 0.0),
        ("head one", "head 2", 5 / 8),
        ("1 tail", "two tail", 5 / 8),
        ("abc-1-xyz", "abc-22-xyz", 8 / 10),
        # What both ends have in common counts once.
        ("aaa", "aaaaa", 3 / 5),
    ],
)
def test_texts_are_alike_by_what_they_begin_and_end_with(first: str, second: str, likeness: float) -> None:
    assert text_likeness(first, second) == text_likeness(second, first) == likeness


def best_sum(scores: list[list[float]], row: int = 0, column: int = 0) -> float:
    """The greatest sum of scores of pairs in order, by trying all of them."""
    if row == len(scores) or column == len(scores[0]):
        return 0.0
    pair = scores[row][column] + best_sum(scores, row + 1, column + 1) if scores[row][column] >= THRESHOLD else 0.0
    return max(pair, best_sum(scores, row + 1, column), best_sum(scores, row, column + 1))


def test_pairs_have_the_greatest_sum_of_likeness() -> None:
    random = Random(SEED)
    for _ in range(scaled(200)):
        rows, columns = random.randint(1, 4), random.randint(1, 4)
        # Eighths have exact sums.
        scores = [[random.randint(0, 8) / 8 for _ in range(columns)] for _ in range(rows)]
        pairs = best_pairs(scores)
        assert all(score >= THRESHOLD for score in (scores[row][column] for row, column in pairs))
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
        assert sum(scores[row][column] for row, column in pairs) == best_sum(scores)
    assert best_pairs([]) == []
