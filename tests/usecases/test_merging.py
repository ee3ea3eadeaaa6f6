"""How the settings of a run and of a package become the policy of a merge."""

from __future__ import annotations

import pickle
import random
from typing import Literal

import pytest

from generated.texts import triple
from krm_merge.krm import Resource, Results
from krm_merge.merge import ResourceOutcome, carry_out
from krm_merge.packages import File
from krm_merge.policy import parse_policy
from krm_merge.report import records_of
from krm_merge.text import Object
from krm_merge.usecases import MergeChoices, MergeSides, merge_sides


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


def test_a_stale_choice_is_reported_where_only_files_without_resources_were_merged() -> None:
    choice: Object = {"path": "", "nature": "file", "fingerprint": "0" * 64, "choice": "local"}
    policy: Object = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "resolutions": [choice]}
    choices = MergeChoices.of(None, "smart", None).obeying(parse_policy(policy, "merge-policy.yaml"))
    original, upstream, local = ({"README.md": File(text)} for text in (b"a\nb\n", b"a\nc\n", b"a\nb\n"))
    outcome = merge_sides(MergeSides(original, upstream, local), choices)
    assert [(bool(part.outcomes), bool(part.files)) for part in outcome.decided] == [(False, True)]
    choices.report_unused(outcome)
    assert [result.file for result in outcome.results if "README" not in str(result.file)] == ["merge-policy.yaml"]


@pytest.mark.parametrize("seed", range(20))
def test_decisions_are_data(seed: int) -> None:
    """They can be stored: a copy has the same records, and carries the same out."""
    original, upstream, local = (
        {path: File(text.encode()) for path, text in side.items()} for side in triple(random.Random(seed))
    )
    outcome = merge_sides(MergeSides(original, upstream, local), MergeChoices.of("local", "smart", None))
    copied = pickle.loads(pickle.dumps(outcome.decided))
    assert records_of(copied, outcome.policy) == outcome.records()
    for decided, stored in zip(outcome.decided[0].outcomes, copied[0].outcomes, strict=True):
        assert written(stored) == written(decided)


def written(outcome: ResourceOutcome) -> str:
    resource = Resource.from_tree(outcome.member.root)
    if outcome.fate == "merged":
        carry_out(resource, outcome, Results())
    return resource.text()
