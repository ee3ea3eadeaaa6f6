"""A month of a fleet on three forges: every repository ends on the last version that nobody refused.

`make nightly PARTS=years` is for longer, with more repositories.
"""

from __future__ import annotations

import pytest

from fleet.life import DAYS, live
from fleet.world import World


@pytest.mark.parametrize("seed", [2])
def test_a_month(world: World, seed: int) -> None:
    live(world, 3, DAYS, seed)
