"""The order of keyed lists, sets and mappings after a merge (rule L4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Order(Generic[Key]):
    """The merged order, and who had reordered."""

    keys: list[Key]
    upstream_reordered: bool
    local_reordered: bool


def merge_order(
    original: Sequence[Key], upstream: Sequence[Key], local: Sequence[Key], survivors: set[Key], *, reorder: bool = True
) -> Order[Key]:
    """Merges three orders of keys. Each key stands once in a source; `survivors` stand in upstream or local.

    With `reorder` False local's order is the base whatever upstream did (fields of mappings).
    """
    in_upstream, in_local = set(upstream), set(local)
    upstream_reordered = reorder and _reordered(original, upstream)
    if upstream_reordered:
        merged = [key for key in upstream if key in survivors]
        _insert(merged, [key for key in local if key in survivors], in_upstream, local_into_upstream=True)
        return Order(merged, True, _reordered(original, local))
    merged = [key for key in local if key in survivors]
    _insert(merged, [key for key in upstream if key in survivors], in_local, local_into_upstream=False)
    return Order(merged, False, _reordered(original, local))


def _reordered(original: Sequence[Key], side: Sequence[Key]) -> bool:
    in_side, in_original = set(side), set(original)
    return [key for key in original if key in in_side] != [key for key in side if key in in_original]


def _insert(merged: list[Key], side: list[Key], base: set[Key], *, local_into_upstream: bool) -> None:
    """Inserts the keys of a side that the base lacks, one at a time, in the side's own order."""
    placed = set(merged)
    base_keys = set(merged)
    other = set(side)
    for position, key in enumerate(side):
        if key in placed:
            continue
        before = next((k for k in reversed(side[:position]) if k in placed), None)
        after = next((k for k in side[position + 1 :] if k in placed), None)
        # Whose elements give way at this gap: those that only the base has, and that this side does not know.
        only_base = base_keys - other
        if before is not None:
            at = merged.index(before) + 1
            if not local_into_upstream:
                while at < len(merged) and merged[at] in only_base:
                    at += 1
        elif after is not None:
            at = merged.index(after)
            if local_into_upstream:
                while at > 0 and merged[at - 1] in only_base:
                    at -= 1
        else:
            at = len(merged)
        merged.insert(at, key)
        placed.add(key)
