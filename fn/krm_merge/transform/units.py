"""Which operations of one plugin stand or fall together (rule T4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.transform.changes import Effect
from krm_merge.transform.locations import overlap

Keep: TypeAlias = Literal["unit", "operation", "plugin"]
"""What a plugin loses with an operation: its unit, the operation alone, or all that it wants of the resource."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of a plugin with what it did. `patch` is the number of the patch that it belongs to."""

    effect: Effect
    patch: int
    guarded: bool


def units(steps: Sequence[Step], keep: Keep) -> list[list[int]]:
    """The numbers of the steps that belong together, each list in order, the lists by their first step."""
    if keep == "plugin":
        return [list(range(len(steps)))] if steps else []
    leader = list(range(len(steps)))

    def lead(at: int) -> int:
        while leader[at] != at:
            at = leader[at]
        return at

    if keep == "unit":
        for later, step in enumerate(steps):
            for earlier in range(later):
                if lead(earlier) != lead(later) and _belong(steps[earlier], step):
                    # The lowest number leads.
                    first, second = sorted((lead(earlier), lead(later)))
                    leader[second] = first
    found: dict[int, list[int]] = {}
    for at in range(len(steps)):
        found.setdefault(lead(at), []).append(at)
    return list(found.values())


def _belong(earlier: Step, later: Step) -> bool:
    if earlier.patch == later.patch and earlier.guarded:
        return True
    first, second = earlier.effect, later.effect
    written = [(a, b) for a in first.writes for b in second.writes]
    read = [(a, b) for a in first.writes for b, _ in second.reads]
    overwritten = [(a, b) for a, _ in first.reads for b in second.writes]
    return any(overlap(a, b) for a, b in (*written, *read, *overwritten))
