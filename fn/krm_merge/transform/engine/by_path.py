"""Settles conflicts as crane did, by the text of the paths alone (`detect: path`).

Source: the specification of plugin priorities. Beyond it, operations keep their order, those of one plugin do not
conflict with each other (T2), and overwritten values are reported (T5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krm_merge.limits import Copies
from krm_merge.text.editing.change import KeysOf
from krm_merge.text.reading.values import Object, Value
from krm_merge.transform.engine.apply import carry_out
from krm_merge.transform.engine.locations import Absent, Effect, Location, Tracked
from krm_merge.transform.engine.settle import (
    Agreed,
    Ignored,
    Proposal,
    Reason,
    RefusedOperationsError,
    Settlement,
    is_same,
    ranks,
    run_on_copy,
    with_values,
)
from krm_merge.transform.protocol import Operation, OperationError, PluginOperation, Pointer, agree


@dataclass(frozen=True, slots=True)
class _Proposed:
    """An operation of a plugin, with its effects on the original resource."""

    plugin: str
    rank: tuple[int, int]
    effect: Effect

    @property
    def operation(self) -> Operation:
        return self.effect.operation

    @property
    def provenance(self) -> PluginOperation:
        return PluginOperation(self.plugin, self.operation)


@dataclass(frozen=True, slots=True)
class _Loss:
    """An operation that lost against another; `at` is its location in the original object."""

    loser: _Proposed
    winner: _Proposed
    at: Location


def settle_by_path(original: Object, proposals: Sequence[Proposal], keys_of: KeysOf, copies: Copies) -> Settlement:
    """Combines the operations of all plugins, which all saw the original (T1). Raises RefusedOperationsError.

    The operations of the strongest plugin on a path are accepted; an equal one of another plugin agrees.
    """
    settlement = Settlement(original)
    proposed: list[_Proposed] = []
    for rank, proposal in zip(ranks(proposals), proposals, strict=True):
        steps, _, skipped = run_on_copy(proposal, original, keys_of, copies)
        settlement.skipped += skipped
        proposed += (_Proposed(proposal.plugin, rank, step.effect) for step in steps)
    holders: dict[Pointer, list[_Proposed]] = {}
    for claim in sorted(proposed, key=lambda claim: claim.rank):
        holder = holders.setdefault(claim.operation.path, [])
        if not holder or holder[0].rank == claim.rank:
            holder.append(claim)
    before = Tracked(original, keys_of)
    accepted: list[_Proposed] = []
    losses: list[_Loss] = []
    for claim in proposed:
        holder = holders[claim.operation.path]
        if holder[0].rank == claim.rank:
            accepted.append(claim)
        elif any(agree(claim.operation, other.operation) for other in holder):
            settlement.agreed.append(Agreed(claim.provenance, holder[0].plugin))
        else:
            losses.append(_Loss(claim, holder[0], before.whereabouts(claim.operation.path)))
    overwritten = _apply(settlement, accepted, keys_of, copies.afresh())
    lost = {id(loss.loser) for loss in overwritten}
    settlement.operations = [claim.provenance for claim in accepted if id(claim) not in lost]
    after = Tracked(settlement.value, keys_of)
    settlement.ignored = [with_values(_explain_loss(loss), loss.at, before, after) for loss in (*losses, *overwritten)]
    return settlement


def _explain_loss(loss: _Loss) -> Ignored:
    # An operation overwrites another path only by its location.
    by_priority = loss.winner.operation.path == loss.loser.operation.path and loss.winner.rank[0] != loss.loser.rank[0]
    reason: Reason = "priority" if by_priority else "order"
    return Ignored(loss.loser.provenance, loss.winner.plugin, reason, loss.winner.operation)


def _apply(settlement: Settlement, accepted: Sequence[_Proposed], keys_of: KeysOf, copies: Copies) -> list[_Loss]:
    """Carries out the accepted operations in order. Reports values that another plugin overwrites."""
    working, merged = Tracked(settlement.value, keys_of), Tracked(settlement.value, keys_of)
    written: list[tuple[_Proposed, Location, Value | Absent]] = []
    for claim in accepted:
        try:
            if claim.effect.created_parents and isinstance(
                working.at(working.whereabouts(claim.operation.path)), dict | list
            ):
                continue  # another plugin created the parents, and may have put a value there
            effect = carry_out(working, claim.operation, copies)
        except OperationError as error:
            raise RefusedOperationsError(claim.plugin, f"with the operations of other plugins, {error}") from None
        written += ((claim, location, working.at(location)) for location in effect.writes)
        for change in effect.changes:
            settlement.patch += (PluginOperation(claim.plugin, done) for done in merged.apply(change))
    if not isinstance(merged.value, dict):
        raise RefusedOperationsError(accepted[-1].plugin, "with the operations of other plugins, they leave no object")
    settlement.value = merged.value
    return list(_overwritten(written, merged))


def _overwritten(written: Sequence[tuple[_Proposed, Location, Value | Absent]], merged: Tracked) -> Iterator[_Loss]:
    """The operations whose outcome was lost because another plugin wrote to the same location or above it."""
    last = {location: at for at, (_, location, _) in enumerate(written)}
    reported: set[int] = set()
    for at, (claim, location, value) in enumerate(written):
        if id(claim) in reported or is_same(merged.at(location), value):
            continue
        above = (last.get(location[:depth], -1) for depth in range(len(location), -1, -1))
        winner = next((written[later][0] for later in above if later > at), claim)
        if winner.rank != claim.rank:
            reported.add(id(claim))
            yield _Loss(claim, winner, location)
