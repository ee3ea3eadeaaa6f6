"""References that a merge breaks, as conflicts (law I)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from krm_merge.krm.identity import NO_RESOURCE
from krm_merge.merge.decisions.decision import FileDecision
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.resolution import file_content
from krm_merge.packages.files.tree import Changes, Tree

SideName = Literal["upstream", "local"]
SIDES: Final[tuple[SideName, ...]] = ("upstream", "local")


@dataclass(frozen=True, slots=True)
class Breach:
    """A reference that leads nowhere in the merged package; `held` says what it names on the sides that have it.

    `mend` gives the package what a side has there; None where that would take more than to put it back.
    """

    file: str
    reference: str
    held: Mapping[SideName, str]
    lost_by: SideName
    mend: Callable[[SideName, Tree], Changes] | None = None

    @property
    def choices(self) -> tuple[SideName, ...]:
        """The sides that it can be settled for: nothing to name, or what a side has."""
        return tuple(name for name in SIDES if name not in self.held or self.mend is not None)

    def decided(self, policy: Policy) -> FileDecision:
        """The decision on it: nothing is changed unless a choice says so."""
        policy = policy.of(NO_RESOURCE)
        upstream, local = (self.held[name].encode() if name in self.held else None for name in SIDES)
        sides = self.reference.encode(), upstream, local
        what = f"{self.reference}, which {self.lost_by} removed or changed"
        for resolution in policy.resolutions_at(()):
            known = resolution.nature == "reference" and resolution.choice in self.choices
            if known and resolution.fit("", *map(file_content, sides)):
                message = f"{what}; settled by {resolution.place}: {resolution.choice}"
                merged = upstream if resolution.choice == "upstream" else local
                return FileDecision(self.file, "I", message, "both", "info", *sides, merged, resolution, self.choices)
        message = policy.explanation((), what, "it leads nowhere", has_place=False)
        return FileDecision(self.file, "I", message, "both", policy.severity(()), *sides, choices=self.choices)
