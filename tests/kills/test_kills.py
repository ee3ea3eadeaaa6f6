"""A few of the trials that `make nightly` runs by the hundred."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kills.scenes import SCENES, Scene
from kills.trials import Stage, Trial


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
def test_struck_at_any_moment_nothing_is_half_and_no_edit_is_lost(
    tmp_path: Path, make: Callable[[Path], Scene]
) -> None:
    stage = Stage.build(make, tmp_path / make.__name__)
    # `make nightly PARTS=kills` has SIGTERM as well.
    assert not Trial(1, signal.SIGKILL).run(stage)
