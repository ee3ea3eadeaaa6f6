"""Settles the conflicts of plugins by the paths of their operations, and by what these hold or lie in (T2 to T4).

Source: the specification of plugin priorities. Beyond it, operations keep their order, and those of one plugin do not
conflict with each other (T2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.krm import FieldPath
from krm_merge.limits import Copies
from krm_merge.startup import group_by_key
from krm_merge.text import KeysOf, Object, Value
from krm_merge.transform.engine.locations import (
    ABSENT,
    Absent,
    Claims,
    Effect,
    InsertedElement,
    Location,
    Put,
    Take,
    TestFailedError,
    Tracked,
    carry_out,
    overlap,
)
from krm_merge.transform.protocol import Operation, OperationError, Patch, PluginOperation, equal


@dataclass(frozen=True, slots=True)
class EffectOfOperation:
    """An operation of a plugin with its effects. `patch` is the number of the patch that it belongs to."""

    effect: Effect
    patch: int
    guarded: bool


def units(steps: Sequence[EffectOfOperation]) -> list[list[int]]:
    """The numbers of the steps that belong together (T4), each list in order, the lists by their first step.

    They do if they share a `test`, or if one reads, writes or creates a location that the other writes or creates.
    """
    united = _United(len(steps))
    writers: Claims[int] = Claims()
    readers: Claims[int] = Claims()
    patches: dict[int, int] = {}
    for at, step in enumerate(steps):
        writes = step.effect.places
        read = [location for location, _ in step.effect.reads]
        for location in (*writes, *read):
            united.unite_all(writers.overlapping(location), at)
        for location in writes:
            united.unite_all(readers.overlapping(location), at)
        for location in writes:
            writers.add(location, at)
        for location in read:
            readers.add(location, at)
        if step.guarded:
            united.unite(patches.setdefault(step.patch, at), at)
    return list(group_by_key((united.lead(at), at) for at in range(len(steps))).values())


class _United:
    """Disjoint sets of numbers; the lowest number represents its set."""

    def __init__(self, count: int) -> None:
        self._leaders = list(range(count))

    def lead(self, number: int) -> int:
        while (leader := self._leaders[number]) != number:
            self._leaders[number] = number = self._leaders[leader]
        return number

    def unite(self, first_unit: int, other: int) -> None:
        first, second = sorted((self.lead(first_unit), self.lead(other)))
        self._leaders[second] = first

    def unite_all(self, groups: list[list[tuple[int, int]]], number: int) -> None:
        """Joins a number with all numbers in these lists of claims."""
        for claims in groups:
            for _, other in claims:
                self.unite(other, number)
            # One claim represents all: otherwise many steps at one location would take quadratic time.
            del claims[1:]


Reason: TypeAlias = Literal["priority", "order", "whiteout"]
"""Why a change is ignored: a higher priority, an earlier declaration, a whiteout."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposal of one plugin for a resource. `priority` is its number, None if it is not listed."""

    plugin: str
    priority: int | None
    patches: tuple[Patch, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """An operation that lost. `winner` is the plugin that won, `against` its operation.

    `unit` numbers the units of one plugin. `path` is the field, `current` what the resource had there, `proposed`
    the value there now.
    """

    operation: PluginOperation
    winner: str
    reason: Reason
    against: Operation | None = None
    unit: int = 0
    path: FieldPath = ()
    current: Value | Absent = ABSENT
    proposed: Value | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class Agreed:
    """An operation with the same outcome as another plugin's operation."""

    operation: PluginOperation
    other: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A patch that was skipped because its test failed."""

    plugin: str
    test: Operation


@dataclass(slots=True)
class Settlement:
    """The result of all proposals for one resource.

    `operations` are the accepted ones, `patch` does the same to the resource as plain RFC 6902, in this order. They and
    `value` share parts: change none of them.
    """

    value: Object
    operations: list[PluginOperation] = field(default_factory=list)
    patch: list[PluginOperation] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    agreed: list[Agreed] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class RefusedOperationsError(KrmMergeError):
    """Operations of a plugin that cannot be applied to the resource."""

    def __init__(self, plugin: str, problem: str) -> None:
        """`plugin` is the cause."""
        super().__init__(problem)
        self.plugin = plugin


@dataclass(frozen=True, slots=True)
class _Claim:
    """An operation of a plugin with its effects: on the plugin's own copy, so on the original resource."""

    plugin: str
    rank: tuple[int, int]
    effect: Effect

    @property
    def operation(self) -> Operation:
        return self.effect.operation

    @property
    def provenance(self) -> PluginOperation:
        return PluginOperation(self.plugin, self.operation)


def ranks(proposals: Sequence[Proposal]) -> list[tuple[int, int]]:
    """The rank of each proposal, lower for a stronger one: T2, listed before unlisted, then as declared."""
    unlisted = max((p.priority for p in proposals if p.priority is not None), default=0) + 1
    return [(unlisted if p.priority is None else p.priority, at) for at, p in enumerate(proposals)]


def settle(original: Object, proposals: Sequence[Proposal], keys_of: KeysOf, copies: Copies) -> Settlement:
    """Combines the operations of all plugins, which all saw the original (T1). Raises RefusedOperationsError.

    A change is accepted if it touches no location that a stronger plugin changes, or has the same outcome there.
    """
    settlement = _Settling(original, keys_of, copies)
    for rank, proposal in sorted(zip(ranks(proposals), proposals, strict=True), key=lambda pair: pair[0]):
        settlement.add(rank, proposal)
    return settlement.result()


def run_on_copy(
    proposal: Proposal, original: Object, keys_of: KeysOf, copies: Copies
) -> tuple[list[EffectOfOperation], Tracked, list[Skipped]]:
    """The operations of a plugin on its own copy, step by step, without patches whose test fails (T4).

    Raises RefusedOperationsError.
    """
    copy = Tracked(original, keys_of)
    steps: list[EffectOfOperation] = []
    skipped: list[Skipped] = []
    empty: list[int] = []
    for number, patch in enumerate(proposal.patches):
        trial = copy.copy() if patch.is_guarded else copy
        effects: list[Effect] = []
        fresh: list[int] = []
        try:
            for operation in patch.operations:
                if _adds_emptiness(operation, trial):
                    fresh.append(len(steps) + len(effects))
                effects.append(carry_out(trial, operation, copies))
        except OperationError as error:
            if not (isinstance(error, TestFailedError) and patch.skips):
                raise RefusedOperationsError(proposal.plugin, str(error)) from None
            skipped.append(Skipped(proposal.plugin, patch.operations[len(effects)]))
            continue
        copy = trial
        empty += fresh
        steps += (EffectOfOperation(effect, number, patch.is_guarded) for effect in effects)
    if not isinstance(copy.value, dict):
        raise RefusedOperationsError(proposal.plugin, "the operations leave no object")
    before = Tracked(original, keys_of)
    for at in empty:
        steps[at] = replace(steps[at], effect=_as_created_parent(steps[at].effect, before, copy))
    return steps, copy, skipped


def _adds_emptiness(operation: Operation, tracked: Tracked) -> bool:
    """Whether an operation adds an empty map or list at a missing location."""
    value = operation.value
    if operation.kind != "add" or value or not isinstance(value, dict | list):
        return False
    return tracked.at(tracked.whereabouts(operation.path)) in (None, ABSENT)


def _as_created_parent(effect: Effect, before: Tracked, after: Tracked) -> Effect:
    """Treats an empty map or list that was added only to hold other values as an implicitly created parent."""
    match effect.changes:
        case (Put(location=location, value=value),) if before.at(location) in (None, ABSENT):
            filled = after.at(location)
            if filled and type(filled) is type(value):
                return Effect(effect.operation, (Put(location, value, parent=True),), (), (), (location,))
    return effect


def with_values(ignored: Ignored, at: Location, original: Tracked, merged: Tracked) -> Ignored:
    """Copy of `ignored` with field path, original value and merged value filled in."""
    where = (original.field_path(at), original.at(at), merged.at(at))
    # There are many, and `replace` is five times slower.
    return Ignored(ignored.operation, ignored.winner, ignored.reason, ignored.against, ignored.unit, *where)


Outcomes: TypeAlias = dict[Location, "Value | Absent"]
"""The values that a plugin wants at last, by the locations that it writes."""


class _Settling:
    """The object with the changes of the plugins added so far."""

    def __init__(self, original: Object, keys_of: KeysOf, copies: Copies) -> None:
        self._original = Tracked(original, keys_of)
        self._merged = Tracked(original, keys_of)
        self._keys_of = keys_of
        self._copies = copies
        # The accepted operations by the locations that they wrote, created or relied on.
        self._writers: Claims[_Claim] = Claims()
        self._makers: Claims[_Claim] = Claims()
        self._readers: Claims[_Claim] = Claims()
        self._settlement = Settlement(original)
        self._lost: list[tuple[Ignored, Effect, Location, Outcomes]] = []

    def add(self, rank: tuple[int, int], proposal: Proposal) -> None:
        """Accepts the operations of a plugin that do not conflict with accepted ones."""
        assert isinstance(self._original.value, dict)
        steps, alone, skipped = run_on_copy(proposal, self._original.value, self._keys_of, self._copies)
        claims = [_Claim(proposal.plugin, rank, step.effect) for step in steps]
        self._settlement.skipped += skipped
        compatible: dict[int, frozenset[Location]] = {}
        for number, unit in enumerate(units(steps)):
            effects = [steps[at].effect for at in unit]
            outcomes = {location: alone.at(location) for effect in effects for location in effect.writes}
            # Where other plugins wrote the same value already.
            same = (at for at, outcome in outcomes.items() if self._is_same(at, outcome))
            settled = frozenset(at for at in same if self._writers.first((at,)) is not None)
            clash = self._clash(effects, outcomes, settled)
            if clash is None:
                compatible |= dict.fromkeys(unit, settled)
            else:
                self._lose([claims[at] for at in unit], outcomes, *clash, number)
        # T2: a plugin never conflicts with itself; its operations are applied together, in their order.
        for at in sorted(compatible):
            self._accept(claims[at], compatible[at])
        for claim in (claims[at] for at in compatible):
            for location in claim.effect.writes:
                self._writers.add(location, claim)
            for location in claim.effect.places:
                self._makers.add(location, claim)
            for location, _ in claim.effect.reads:
                self._readers.add(location, claim)

    def result(self) -> Settlement:
        """The result. A lost operation whose outcome the result has in spite of it agrees: nothing of it is lost."""
        assert isinstance(self._merged.value, dict)
        self._settlement.value = self._merged.value
        for ignored, effect, at, outcomes in self._lost:
            if self._has_outcome(effect, outcomes):
                maker = self._makers.first(effect.places)
                other = ignored.winner if maker is None else maker[0].plugin
                self._settlement.agreed.append(Agreed(ignored.operation, other))
            else:
                self._settlement.ignored.append(with_values(ignored, at, self._original, self._merged))
        return self._settlement

    def _has_outcome(self, effect: Effect, outcomes: Outcomes) -> bool:
        """Whether the result has what an operation wanted."""
        parents = map(self._merged.at, effect.created_parents)
        return all(isinstance(parent, dict | list) for parent in parents) and all(
            self._is_same(location, outcomes[location]) for location in effect.writes
        )

    def _clash(
        self, effects: list[Effect], outcomes: Outcomes, settled: frozenset[Location]
    ) -> tuple[_Claim, Location] | None:
        """The first accepted operation that conflicts with a unit, and where (T3)."""
        if outcomes and len(settled) == len(outcomes):
            # Other plugins did all of it already, so the values that it relies on do not matter.
            return None
        changed = [location for location, outcome in outcomes.items() if not self._is_same(location, outcome)]
        reads = (read for effect in effects for read in effect.reads)
        relied_on = [location for location, value in reads if not self._is_same(location, value)]
        unfit = [location for effect in effects for location in self._unfit(effect)]
        return self._writers.first((*changed, *relied_on, *unfit)) or self._readers.first(changed)

    def _unfit(self, effect: Effect) -> list[Location]:
        """The location where other plugins left no suitable parent for an operation: a list for a map, or none."""
        unfit_locations: list[Location] = []
        for change in effect.changes:
            if not isinstance(change, Take) and change.parent:
                location = change.location
                now = self._merged.at(location)
                if now is None or now is ABSENT:
                    # Do not create a parent again that another plugin removed.
                    unfit = bool(effect.created_parents) and self._writers.has_around(location)
                else:
                    unfit = type(now) is not type(change.value)
                unfit_locations += [location] if unfit else []
            elif isinstance(change, InsertedElement) and self._is_moved_from_elsewhere(effect, change):
                unfit_locations.append(change.location)
        return unfit_locations

    def _is_moved_from_elsewhere(self, effect: Effect, change: InsertedElement) -> bool:
        """Whether another plugin moved an equal element here: both would count as one."""
        first = self._writers.first((change.location,)) if effect.operation.kind == "move" else None
        return first is not None and first[0].effect.source not in (None, effect.source)

    def _is_same(self, location: Location, outcome: Value | Absent) -> bool:
        """Whether a location has this outcome already."""
        now = self._merged.at(location)
        return now is outcome if now is ABSENT or outcome is ABSENT else equal(now, outcome)

    def _lose(self, claims: Sequence[_Claim], outcomes: Outcomes, winner: _Claim, at: Location, unit: int) -> None:
        for claim in claims:
            if claim.operation.kind == "test":
                continue  # no effect
            reason: Reason = "priority" if winner.rank[0] != claim.rank[0] else "order"
            places = claim.effect.places
            place = next((place for place in places if overlap(place, at)), places[0])
            ignored = Ignored(claim.provenance, winner.plugin, reason, winner.operation, unit)
            self._lost.append((ignored, claim.effect, place, outcomes))

    def _accept(self, claim: _Claim, settled: frozenset[Location]) -> None:
        """Makes the changes of an operation, except those that other plugins made already."""
        effect = claim.effect
        other = self._agrees(effect, settled)
        changes = () if other is not None else (change for change in effect.changes if change.location not in settled)
        operations = [done for change in changes for done in self._merged.apply(change)]
        if claim.operation.kind != "test":
            if other is not None:
                self._settlement.agreed.append(Agreed(claim.provenance, other))
            else:
                self._settlement.operations.append(claim.provenance)
        self._settlement.patch += (PluginOperation(claim.plugin, done) for done in operations)

    def _agrees(self, effect: Effect, settled: frozenset[Location]) -> str | None:
        """The plugin that already made the change of an operation, if any."""
        parents = map(self._merged.at, effect.created_parents)
        if not settled.issuperset(effect.writes) or not all(isinstance(parent, dict | list) for parent in parents):
            return None
        first = self._makers.first(effect.places)
        return None if first is None else first[0].plugin
