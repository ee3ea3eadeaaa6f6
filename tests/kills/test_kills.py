"""A few of the trials that `make kills` runs by the hundred."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from effort import scaled
from kills.scenes import SCENES, Scene
from kills.trials import Stage, Trial

SEEDS = range(1, 1 + scaled(20) // 10)


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
def test_struck_at_any_moment_nothing_is_half_and_no_edit_is_lost(
    tmp_path: Path, make: Callable[[Path], Scene]
) -> None:
    stage = Stage.build(make, tmp_path / make.__name__)
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        for seed in SEEDS:
            assert not Trial(seed, number).run(stage)
