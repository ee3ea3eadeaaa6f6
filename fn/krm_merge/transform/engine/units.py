"""Groups the operations of one plugin that are accepted or lost together (rule T4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.transform.engine.changes import Effect
from krm_merge.transform.engine.locations import Location

Keep: TypeAlias = Literal["unit", "operation", "plugin"]
"""How much a plugin loses with an operation: its unit, only the operation, or its whole proposal for the resource."""


@dataclass(frozen=True, slots=True)
class EffectOfOperation:
    """An operation of a plugin with its effects. `patch` is the number of the patch that it belongs to."""

    effect: Effect
    patch: int
    guarded: bool


def units(steps: Sequence[EffectOfOperation], keep: Keep) -> list[list[int]]:
    """The numbers of the steps that belong together, each list in order, the lists by their first step.

    They do if they share a `test`, or if one reads, writes or creates a location that the other writes or creates.
    """
    if keep == "plugin" or len(steps) < 2:
        return [list(range(len(steps)))] if steps else []
    united = _United(len(steps))
    if keep == "unit":
        writers, readers = _Places(united), _Places(united)
        patches: dict[int, int] = {}
        for at, step in enumerate(steps):
            written = step.effect.places
            read = [location for location, _ in step.effect.reads]
            for location in (*written, *read):
                writers.unite(location, at)
            for location in written:
                readers.unite(location, at)
            for location in written:
                writers.add(location, at)
            for location in read:
                readers.add(location, at)
            if step.guarded:
                united.unite(patches.setdefault(step.patch, at), at)
    found: dict[int, list[int]] = {}
    for at in range(len(steps)):
        found.setdefault(united.lead(at), []).append(at)
    return list(found.values())


class _United:
    """Disjoint sets of numbers; the lowest number represents its set."""

    def __init__(self, count: int) -> None:
        self._leaders = list(range(count))

    def lead(self, number: int) -> int:
        while (leader := self._leaders[number]) != number:
            self._leaders[number] = number = self._leaders[leader]
        return number

    def unite(self, one: int, other: int) -> None:
        first, second = sorted((self.lead(one), self.lead(other)))
        self._leaders[second] = first


class _Places:
    """The steps by the locations that they claim."""

    def __init__(self, united: _United) -> None:
        self._united = united
        self._at: dict[Location, list[int]] = {}
        self._under: dict[Location, list[int]] = {}

    def add(self, location: Location, step: int) -> None:
        self._at.setdefault(location, []).append(step)
        for depth in range(len(location) + 1):
            self._under.setdefault(location[:depth], []).append(step)

    def unite(self, location: Location, step: int) -> None:
        """Joins a step with all steps at a location, below it, or above it."""
        above = [self._at.get(location[:depth]) for depth in range(len(location))]
        for others in (self._under.get(location), *above):
            if others is not None:
                for other in others:
                    self._united.unite(other, step)
                # One step represents all: otherwise many steps at one location would take quadratic time.
                others[:] = [step]
