"""The changes of operations to an object, by location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from krm_merge.text.reading.values import Value
from krm_merge.transform.engine.locations import Added, Element, Location
from krm_merge.transform.protocol.operation import Operation


@dataclass(frozen=True, slots=True)
class Put:
    """Sets a value at a location. A `parent` only holds others: it is created if it is missing."""

    location: Location
    value: Value
    parent: bool = False


@dataclass(frozen=True, slots=True)
class InsertedElement:
    """Inserts an element into the list at a location, before the first of its `followers` that exists."""

    location: Location
    element: Added
    value: Value
    followers: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Take:
    """Removes the value at a location."""

    location: Location


EffectPart: TypeAlias = Put | InsertedElement | Take


@dataclass(frozen=True, slots=True)
class Effect:
    """The effects of one operation: its changes, the locations that it wrote, and the values that it relied on.

    A write counts even if it changes nothing: a plugin that sets a field to its present value wants that value.
    `created_parents` are locations that it created for values that the plugin puts there.
    """

    operation: Operation
    changes: tuple[EffectPart, ...]
    writes: tuple[Location, ...]
    reads: tuple[tuple[Location, Value], ...] = ()
    created_parents: tuple[Location, ...] = ()

    @property
    def taken(self) -> Location | None:
        """The location from which a move removes its value."""
        first = self.changes[0] if self.operation.kind == "move" and self.changes else None
        return first.location if isinstance(first, Take) else None

    @property
    def places(self) -> tuple[Location, ...]:
        """The locations that it wrote, and the parents that it created."""
        return (*self.writes, *self.created_parents)


def written(change: EffectPart) -> Location:
    """The location that a change writes."""
    return (*change.location, change.element) if isinstance(change, InsertedElement) else change.location
