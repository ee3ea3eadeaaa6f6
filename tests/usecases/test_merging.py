"""How the settings of a run and of a package become the policy of a merge."""

from __future__ import annotations

from typing import Literal

import pytest

from krm_merge.usecases import MergeChoices


@pytest.mark.parametrize("side", ["upstream", "local"])
def test_between_markers_each_side_wins_once(side: Literal["upstream", "local"]) -> None:
    choices = MergeChoices.of(None, "smart", None, otherwise="markers")
    policy = choices.policy_won_by(side)
    assert (policy.on_conflict, policy.marks, policy.rules[-1].on_delete) == (side, True, side)


def test_what_is_not_left_open_between_markers_is_won_by_upstream() -> None:
    choices = MergeChoices.of(None, "smart", None, otherwise="markers")
    assert choices.on_conflict == "markers"
    policy = choices.policy
    assert (policy.on_conflict, policy.marks, policy.rules) == ("upstream", False, ())
