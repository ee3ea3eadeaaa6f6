"""Which operations of one plugin stand or fall together (rule T4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.transform.engine.changes import Effect
from krm_merge.transform.engine.locations import Location

Keep: TypeAlias = Literal["unit", "operation", "plugin"]
"""What a plugin loses with an operation: its unit, the operation alone, or all that it wants of the resource."""


@dataclass(frozen=True, slots=True)
class EffectOfOperation:
    """An operation of a plugin with what it did. `patch` is the number of the patch that it belongs to."""

    effect: Effect
    patch: int
    guarded: bool


def units(steps: Sequence[EffectOfOperation], keep: Keep) -> list[list[int]]:
    """The numbers of the steps that belong together, each list in order, the lists by their first step.

    They do if they share a `test`, or if one reads, writes or makes room where the other writes or makes room.
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
    """Numbers that form groups; the lowest one leads."""

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
    """The steps that came to locations."""

    def __init__(self, united: _United) -> None:
        self._united = united
        self._at: dict[Location, list[int]] = {}
        self._under: dict[Location, list[int]] = {}

    def add(self, location: Location, step: int) -> None:
        self._at.setdefault(location, []).append(step)
        for depth in range(len(location) + 1):
            self._under.setdefault(location[:depth], []).append(step)

    def unite(self, location: Location, step: int) -> None:
        """Makes one of a step and all that came to a location, to one below it, or to one above it."""
        above = [self._at.get(location[:depth]) for depth in range(len(location))]
        for others in (self._under.get(location), *above):
            if others is not None:
                for other in others:
                    self._united.unite(other, step)
                # One of them is enough for all that come later: else many at one place would take quadratic time.
                others[:] = [step]
