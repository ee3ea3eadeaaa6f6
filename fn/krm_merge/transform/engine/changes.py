"""What operations do to an object, told by locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from krm_merge.text.reading.values import Value
from krm_merge.transform.engine.locations import Added, Element, Location
from krm_merge.transform.protocol.operation import Operation


@dataclass(frozen=True, slots=True)
class Put:
    """A value at a location. A `parent` is only there to hold others: it is made where it is missing."""

    location: Location
    value: Value
    parent: bool = False


@dataclass(frozen=True, slots=True)
class InsertedElement:
    """A new element of the list at a location, in front of the first of its `followers` that is there."""

    location: Location
    element: Added
    value: Value
    followers: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Take:
    """What stands at a location goes."""

    location: Location


EffectPart: TypeAlias = Put | InsertedElement | Take


@dataclass(frozen=True, slots=True)
class Effect:
    """What one operation did: its changes, the locations that it wrote, and the values that it relied on.

    A write counts even where it changed nothing: who sets a field to what it is wants it to be that. `room` are
    locations that it made for what its plugin puts there.
    """

    operation: Operation
    changes: tuple[EffectPart, ...]
    writes: tuple[Location, ...]
    reads: tuple[tuple[Location, Value], ...] = ()
    room: tuple[Location, ...] = ()

    @property
    def taken(self) -> Location | None:
        """Where a move takes its value away."""
        first = self.changes[0] if self.operation.kind == "move" and self.changes else None
        return first.location if isinstance(first, Take) else None

    @property
    def places(self) -> tuple[Location, ...]:
        """Where it wrote or made room."""
        return (*self.writes, *self.room)


def written(change: EffectPart) -> Location:
    """The location that a change writes."""
    return (*change.location, change.element) if isinstance(change, InsertedElement) else change.location
