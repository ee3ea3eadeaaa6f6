"""Resources that a patch or plugin gave another identity."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.krm.identity import Identity
from krm_merge.krm.selector import TargetNames
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class Renamed:
    """A resource that got another identity: how results name what it was, the old and the new one, and who did it."""

    was: str
    old: Identity
    new: Identity
    by: str


def renamed(was: str, before: dict[str, Value], after: dict[str, Value], by: str) -> Renamed | None:
    """What `by` made of the identity of an object; None where it is the same, or has no name."""
    old, new = TargetNames.of(before).identity, TargetNames.of(after).identity
    return Renamed(was, old, new, by) if new.name and new != old else None
