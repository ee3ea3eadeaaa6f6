"""C14: random lives of Components come to rest, and the laws of docs/components.md hold then."""

from __future__ import annotations

import pytest

from components.plan.planner.life import live
from effort import SEED

LIVES = 150 if SEED else 60
PORTION = 30


@pytest.mark.parametrize("first", range(SEED, SEED + LIVES, PORTION))
def test_lives_come_to_rest(first: int) -> None:
    """C12, C14: no pull request is opened twice for the same digests, and none keeps another digest than it should."""
    broken = {seed: problems for seed in range(first, first + PORTION) if (problems := live(seed)[1])}
    assert broken == {}
