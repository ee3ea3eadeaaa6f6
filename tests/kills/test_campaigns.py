"""A few of the trials that `make nightly` runs by the hundred."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kills.campaigns import CAMPAIGNS, CampaignStage, CampaignTrial
from kills.scenes import Scene


# `make nightly PARTS=kills` strikes each with every signal.
@pytest.mark.parametrize(
    ("make", "number"),
    [*zip(CAMPAIGNS, (signal.SIGKILL, signal.SIGINT) * 2, strict=True)],
    ids=[make.__name__ for make in CAMPAIGNS],
)
def test_struck_at_any_moment_nothing_is_done_twice_and_nothing_is_left(
    tmp_path: Path, make: Callable[[Path], Scene], number: signal.Signals
) -> None:
    stage = CampaignStage.build(make, tmp_path / make.__name__)
    assert not CampaignTrial(1, number).run(stage)
