"""The differences of two versions of a package, as decisions: a merge in which local is the original takes them all."""

from __future__ import annotations

from krm_merge.merge.decisions.decision import Decision
from krm_merge.merge.decisions.member import ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Tree
from krm_merge.packages.merge.trees import MergedTree, merge_trees
from krm_merge.startup import replace

ALL_TAKEN = Policy()
"""The policy of that merge: nothing collides in it."""


def differences(before: Tree, after: Tree) -> MergedTree:
    """What differs from `before` to `after`, with a decision for each resource that moved to another file."""
    merged = merge_trees(before, after, before, PackageMerger(ALL_TAKEN, smart=True, of_branches=True))
    return replace(merged, decided=replace(merged.decided, outcomes=[*map(_with_move, merged.decided.outcomes)]))


def _with_move(outcome: ResourceOutcome) -> ResourceOutcome:
    """The outcome with a decision that reports the file to which upstream moved the resource."""
    original, upstream = outcome.original, outcome.upstream
    if original is None or upstream is None or original.place == upstream.place:
        return outcome
    moved = Decision("R1", (), f"moved from {original.place} to {upstream.place}", "upstream", is_reported=True)
    return replace(outcome, decisions=[moved, *outcome.decisions])
