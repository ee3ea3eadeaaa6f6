"""The order of keyed lists, sets and mappings after a merge (rule L4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from krm_merge.startup import frozen

Key = TypeVar("Key", bound=Hashable)


@frozen
class Order(Generic[Key]):
    """The merged order, and who had reordered."""

    keys: list[Key]
    upstream_reordered: bool
    local_reordered: bool


def merge_order(
    original: Sequence[Key], upstream: Sequence[Key], local: Sequence[Key], survivors: set[Key], *, reorder: bool = True
) -> Order[Key]:
    """Merges three orders of keys. Each key is once in a source; `survivors` are in upstream or local.

    With `reorder` False local's order is the base whatever upstream did (fields of mappings).
    """
    upstream_reordered = reorder and _has_reordered(original, upstream)
    if upstream_reordered:
        merged = [key for key in upstream if key in survivors]
        merged = _insert(merged, [key for key in local if key in survivors], local_into_upstream=True)
        return Order(merged, True, _has_reordered(original, local))
    merged = [key for key in local if key in survivors]
    merged = _insert(merged, [key for key in upstream if key in survivors], local_into_upstream=False)
    return Order(merged, False, _has_reordered(original, local))


def _has_reordered(original: Sequence[Key], side: Sequence[Key]) -> bool:
    if original == side:
        return False
    in_side, in_original = set(side), set(original)
    return [key for key in original if key in in_side] != [key for key in side if key in in_original]


def _insert(merged: list[Key], side: list[Key], *, local_into_upstream: bool) -> list[Key]:
    """The keys with those of a side that the base lacks inserted, one at a time, in the side's own order."""
    keys = set(merged)
    if keys.issuperset(side):
        return merged
    # Whose elements give way at a gap: those that only the base has, and that this side does not know.
    only_base = keys - set(side)
    # As a ring, since many may come in; None is before the first key and behind the last.
    following: dict[Key | None, Key | None] = dict(zip([None, *merged], [*merged, None], strict=True))
    before: Key | None = None
    for key in side:
        if key in keys:
            before = key
            continue
        if before is not None:
            while not local_into_upstream and (behind := following[before]) is not None and behind in only_base:
                before = behind
        elif (after := next((later for later in side if later in keys), None)) is not None:
            before = _last_before(after, following, only_base if local_into_upstream else set())
        else:
            before = merged[-1] if merged else None
        following[key] = following[before]
        following[before] = before = key
    return _in_order(following)


def _last_before(key: Key, following: dict[Key | None, Key | None], passed: set[Key]) -> Key | None:
    """The key before this one, those passed over."""
    last: Key | None = None
    for candidate in _in_order(following):
        if candidate == key:
            break
        last = last if candidate in passed else candidate
    return last


def _in_order(following: dict[Key | None, Key | None]) -> list[Key]:
    keys: list[Key] = []
    at = following[None]
    while at is not None:
        keys.append(at)
        at = following[at]
    return keys
