"""The order of a merged list (rule P2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.patch.model.errors import PatchError, shown
from krm_merge.patch.strategic.directives import directive_of, has_directive
from krm_merge.patch.strategic.keys import ElementKeys
from krm_merge.text.reading.values import Value

ListOrder: TypeAlias = Literal["document", "kubernetes"]
"""How a merged list is ordered: by rule P2, or exactly as kubectl does."""
KeyOf: TypeAlias = Callable[[Value], Hashable]


def by_order_list(
    merged: Sequence[Value], order: Sequence[Value], live: Sequence[Value], key: KeyOf, mode: ListOrder
) -> list[Value]:
    """The merged elements as `$setElementOrder` wants them; what it does not name keeps its live order.

    `document`: all that it does not name comes first. `kubernetes`: each comes before the first named element that
    stood behind it in the live list; Source: strategicpatch.normalizeElementOrder.
    """
    named, others = _split(merged, order, live, key)
    return [*others, *named] if mode == "document" else _interleaved(named, others, live, key)


def by_patch_list(
    merged: Sequence[Value], patch: Sequence[Value], live: Sequence[Value], key: KeyOf, mode: ListOrder
) -> list[Value]:
    """The merged elements as the order of the patch's own elements wants them.

    `document`: where the live elements that the patch names are in its order already, nothing moves; a new element
    is inserted behind the one before it in the patch, else in front of the one behind it, else last. Otherwise, those
    that it does not name precede the rest. The worked examples of the two specifications show both.
    """
    named, others = _split(merged, patch, live, key)
    if mode == "kubernetes":
        return _interleaved(named, others, live, key)
    place = _ranks(live, key)
    known = [place[own] for own in map(key, named) if own in place]
    if known != sorted(known):
        return [*others, *named]
    return _beside(named, [item for item in merged if key(item) in place], place, key)


def _beside(named: list[Value], known: list[Value], place: dict[Hashable, int], key: KeyOf) -> list[Value]:
    """The elements that were there, in their order, and each new one beside its neighbour among the named ones."""
    first: list[Value] = []
    behind: dict[Hashable, list[Value]] = {}
    anchor: Hashable = None
    for item in named:
        own = key(item)
        if own in place:
            anchor = own
            behind.setdefault(own, [])
        elif anchor is None:
            first.append(item)
        else:
            behind[anchor].append(item)
    result: list[Value] = []
    copies = Counter(own for own in map(key, known) if own in behind)
    for item in known:
        own = key(item)
        if own in copies:
            result += first
            first = []
            copies[own] -= 1
        result.append(item)
        if own in copies and not copies[own]:
            result += behind[own]
    return result + first


def _split(
    merged: Sequence[Value], wanted: Sequence[Value], live: Sequence[Value], key: KeyOf
) -> tuple[list[Value], list[Value]]:
    """The merged elements that are wanted, in that order, and all others, in live order."""
    rank, place = _ranks(wanted, key), _ranks(live, key)
    keyed = [(key(item), item) for item in merged]
    named = sorted((pair for pair in keyed if pair[0] in rank), key=lambda pair: rank[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in rank), key=lambda pair: place.get(pair[0], len(place)))
    return [item for _, item in named], [item for _, item in others]


def _interleaved(named: list[Value], others: list[Value], live: Sequence[Value], key: KeyOf) -> list[Value]:
    place = _ranks(live, key)
    result: list[Value] = []
    at = 0
    for item in others:
        here = place.get(key(item))
        while at < len(named):
            there = place.get(key(named[at]))
            if here is not None and there is not None and here < there:
                break
            result.append(named[at])
            at += 1
        result.append(item)
    return result + named[at:]


def _ranks(items: Sequence[Value], key: KeyOf) -> dict[Hashable, int]:
    """The first position of each element."""
    ranks: dict[Hashable, int] = {}
    for at, item in enumerate(items):
        ranks.setdefault(key(item), at)
    return ranks


def check_order(path: FieldPath, patch: list[Value], order: list[Value], key: ElementKeys, mode: ListOrder) -> None:
    """Checks that the order list has the patch's merging elements, in its order. Raises PatchError."""
    if not patch or not order:
        return
    wanted = iter([key.of(item) for item in order])
    merging = ("merge",) if mode == "document" else ()
    matches = all(
        (has_directive(item) and directive_of(item) not in merging) or key.of(item) in wanted for item in patch
    )
    if matches and mode == "kubernetes":
        # Once it has come to the end of the order list, kubectl skips no directives but deletions.
        last = next((item for item in reversed(patch) if directive_of(item) != "delete"), None)
        matches = not has_directive(last) or next(wanted, None) is not None
    if not matches:
        raise PatchError(
            f"the order in patch list {shown(patch)} doesn't match $setElementOrder list {shown(order)}", path
        )


def live_order_of_kubectl(live: list[Value], patch: list[Value], key: ElementKeys) -> list[Value]:
    """The live order as kubectl remembers it: new elements take the room of deleted ones, and so count as live.

    Both lists share memory in Go.
    """
    gone = {key.of(item) for item in patch if directive_of(item) == "delete"}
    kept = [item for item in live if key.of_any(item) not in gone]
    if len(kept) == len(live):
        return live
    known = {key.of_any(item) for item in kept}
    new = [item for item in patch if not has_directive(item) and key.of(item) not in known]
    return [*kept, *new][: len(live)]
