"""A few of the trials that `make nightly` runs by the hundred."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kills.campaigns import CAMPAIGNS, CampaignScene, CampaignStage, CampaignTrial


@pytest.mark.parametrize("make", CAMPAIGNS, ids=lambda make: make.__name__)
def test_struck_at_any_moment_nothing_is_done_twice_and_nothing_is_left(
    tmp_path: Path, make: Callable[[Path], CampaignScene]
) -> None:
    stage = CampaignStage.build(make, tmp_path / make.__name__)
    for seed, number in enumerate((signal.SIGKILL, signal.SIGINT)):
        assert not CampaignTrial(seed, number).run(stage)
