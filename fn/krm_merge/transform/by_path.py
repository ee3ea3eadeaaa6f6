"""Settles conflicts as crane did, by the text of the paths alone (`detect: path`).

Source: the specification of plugin priorities. Beyond it, operations keep their order, and those of one plugin do not
conflict with each other (T2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from krm_merge.transform.carrying_out import carry_out
from krm_merge.transform.locations import KeysOf
from krm_merge.transform.operation import Operation, OperationError, PluginOperation, Pointer, agree
from krm_merge.transform.plugin import Object
from krm_merge.transform.settle import (
    Agreed,
    Ignored,
    Proposal,
    Refused,
    Settlement,
    carried_out,
    placed,
    ranks,
)
from krm_merge.transform.tracked import Tracked


@dataclass(slots=True)
class _Holder:
    """The plugin whose operations on a path stand so far, each with its number among all."""

    plugin: str
    rank: tuple[int, int]
    operations: dict[int, Operation] = field(default_factory=dict)


def settle_by_path(original: Object, proposals: Sequence[Proposal], keys_of: KeysOf) -> Settlement:
    """Puts together what all plugins want; each saw the original (T1). Raises Refused.

    The first operation on a path stands, unless one of a plugin with a higher priority comes; an equal one agrees.
    """
    settlement = Settlement(original)
    holders: dict[Pointer, _Holder] = {}
    lost: list[tuple[tuple[int, int], PluginOperation]] = []
    number = 0
    for rank, proposal in zip(ranks(proposals), proposals, strict=True):
        steps, _, skipped = carried_out(proposal, original, keys_of)
        settlement.skipped += skipped
        for operation in (step.effect.operation for step in steps):
            number += 1
            holder = holders.get(operation.path)
            if holder is None or holder.rank == rank:
                holders.setdefault(operation.path, _Holder(proposal.plugin, rank)).operations[number] = operation
                continue
            same = any(agree(operation, other) for other in holder.operations.values())
            if rank > holder.rank:
                own = PluginOperation(proposal.plugin, operation)
                if same:
                    settlement.agreed.append(Agreed(own, holder.plugin))
                else:
                    lost.append((rank, own))
                continue
            holders[operation.path] = _Holder(proposal.plugin, rank, {number: operation})
            for other in holder.operations.values():
                theirs = PluginOperation(holder.plugin, other)
                if agree(operation, other):
                    settlement.agreed.append(Agreed(theirs, proposal.plugin))
                else:
                    lost.append((holder.rank, theirs))
    standing = sorted(
        (number, PluginOperation(holder.plugin, operation))
        for holder in holders.values()
        for number, operation in holder.operations.items()
    )
    settlement.operations = [operation for _, operation in standing]
    _apply(settlement, keys_of)
    before, after = Tracked(original, keys_of), Tracked(settlement.value, keys_of)
    for rank, loser in lost:
        path = loser.operation.path
        settlement.ignored.append(placed(_lost(loser, rank, holders[path]), before.whereabouts(path), before, after))
    return settlement


def _lost(loser: PluginOperation, rank: tuple[int, int], winner: _Holder) -> Ignored:
    against = next(iter(winner.operations.values()))
    return Ignored(loser, winner.plugin, "priority" if rank[0] != winner.rank[0] else "order", against)


def _apply(settlement: Settlement, keys_of: KeysOf) -> None:
    """Carries out what stands, one after the other."""
    working, merged = Tracked(settlement.value, keys_of), Tracked(settlement.value, keys_of)
    for standing in settlement.operations:
        try:
            effect = carry_out(working, standing.operation)
        except OperationError as error:
            raise Refused(standing.plugin, f"with the operations of other plugins, {error}") from None
        for change in effect.changes:
            settlement.patch += (PluginOperation(standing.plugin, done) for done in merged.apply(change))
    if not isinstance(merged.value, dict):
        raise Refused(settlement.operations[-1].plugin, "with the operations of other plugins, they leave no object")
    settlement.value = merged.value
