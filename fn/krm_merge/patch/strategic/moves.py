"""Elements that a patch moves through the default order, without saying so (rule P2)."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.patch.strategic.keys import ElementKeys
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class Moved:
    """An existing element that the default order moved, although no patch asked for that."""

    path: FieldPath
    element: str


def moved_to_the_front(live: list[Value], result: list[Value], order: list[Value], key: ElementKeys) -> Value | None:
    """An element that the order list does not name, and that was behind one that it names."""
    named, left = {key.of_any(item) for item in order}, {key.of_any(item) for item in result}
    behind = False
    for item in live:
        own = key.of_any(item)
        if own in named:
            behind |= own in left
        elif behind and own in left:
            return item
    return None


def moved_by_patch_list(live: list[Value], result: list[Value], key: ElementKeys) -> Value | None:
    """The first element whose position among the remaining ones changed."""
    before = [key.of_any(item) for item in live]
    known = set(before)
    after = [own for own in map(key.of_any, result) if own in known]
    left = set(after)
    for now, was in zip(after, (own for own in before if own in left), strict=False):
        if now != was:
            return next(item for item in live if key.of_any(item) == was)
    return None
