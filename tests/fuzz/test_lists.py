"""A few of the ResourceLists that `make nightly` runs by the thousand."""

from __future__ import annotations

from random import Random

from effort import seeds
from fuzz.lists import hostile, lists
from krm_merge.functions import process


def test_hostile_lists_are_refused_in_a_line_or_done() -> None:
    sources = lists()
    done = [process(hostile(sources, Random(seed))) for seed in seeds(300)]
    assert {outcome.exit_code for outcome in done} == {0, 1}
    assert all(outcome.message for outcome in done if outcome.exit_code)
    assert all(outcome.output for outcome in done if not outcome.exit_code)
