"""Work grows with the size of a package, not faster: in every shape that its resources may have.

Work is counted in calls of functions, those of libraries too: the same number in every run. Seconds are for
`make bench`.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import pytest
from benchmarks.shapes import GROWING, SHAPES, functions, growing, package

from effort import calls
from krm_merge.functions import process

MOST = 1.2
"""The exponent of growth that is allowed: 1 is in proportion, 2 four times the work for twice the size."""


def merge(text: str) -> None:
    outcome = process(text.encode())
    assert outcome.exit_code == 0, outcome.message


def exponent(inputs: list[str]) -> float:
    """By which power of the size the work grows, of inputs that double twice; what every run costs does not count."""
    # The first run imports and compiles.
    merge(inputs[0])
    work = [calls(partial(merge, text)) for text in inputs]
    first, second = (more - less for less, more in pairwise(work))
    return math.log2(second / first)


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "few-large"])
def test_work_grows_with_the_number_of_resources(name: str) -> None:
    shape = SHAPES[name]
    # Each doubling adds the same kinds: there are eight of them, and of a hundred resources the first ones change.
    smallest = 200 if shape.percent < 100 else 8
    assert exponent(["".join(package(shape, smallest * times)) for times in (1, 2, 4)]) < MOST


@pytest.mark.parametrize("kind", GROWING)
def test_work_grows_with_the_size_of_one_resource(kind: str) -> None:
    assert exponent(["".join(package(growing(kind, size), 1)) for size in (50, 100, 200)]) < MOST


@pytest.mark.parametrize("kind", GROWING)
def test_work_grows_with_the_number_of_conflicts(kind: str) -> None:
    assert exponent(["".join(package(growing(kind, size, conflict=True), 1)) for size in (50, 100, 200)]) < MOST


@pytest.mark.parametrize("identity", ["document", "smart"])
def test_work_grows_with_the_number_of_functions(identity: str) -> None:
    inputs = ["".join(functions(size)) for size in (50, 100, 200)]
    assert exponent([f"{text}  functionIdentity: {identity}\n" for text in inputs]) < MOST
