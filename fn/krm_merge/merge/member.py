"""The resources of a package's sides, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.merge.decision import Decision
from krm_merge.merge.policy import Subject
from krm_merge.text.nodes import Mapping

KPTFILE = "Kptfile"

Fate: TypeAlias = Literal["merged", "added", "deleted", "kept"]


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A resource of one side. `place` is where it stands in the package, `file` where the host has it."""

    place: str
    subject: Subject
    root: Mapping
    file: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one resource, and every decision that led there."""

    fate: Fate
    original: Member | None
    upstream: Member | None
    local: Member | None
    decisions: list[Decision]

    @property
    def member(self) -> Member:
        """The resource as the nearest side has it."""
        member = self.local or self.upstream or self.original
        assert member is not None
        return member
