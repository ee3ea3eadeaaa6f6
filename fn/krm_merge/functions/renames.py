"""Resources whose identity a patch or plugin changed."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.krm.identity import Identity
from krm_merge.krm.selector import TargetNames
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class Renamed:
    """A renamed resource. `was` is its old name in results, `by` the patch or plugin that renamed it."""

    was: str
    old: Identity
    new: Identity
    by: str


def renamed(was: str, before: dict[str, Value], after: dict[str, Value], by: str) -> Renamed | None:
    """The change of an object's identity, None if it is the same or has no name."""
    old, new = TargetNames.of(before).identity, TargetNames.of(after).identity
    return Renamed(was, old, new, by) if new.name and new != old else None
