"""The kinds of places that decisions are about: one nature always has the same words."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath

Nature: TypeAlias = Literal[
    "value",
    "kind",
    "text",
    "order",
    "sequence",
    "element",
    "resource",
    "alternative",
    "functions",
    "file",
    "reference",
    "added-twice",
    "comment",
]

_BY_RULE: Final[dict[str, Nature]] = {
    "V5": "kind",
    "V6": "text",
    "V7": "alternative",
    "V8": "comment",
    "H": "text",
    "I": "reference",
    "W1": "text",
    "L1": "sequence",
    "L3": "sequence",
    "L4": "order",
    "F": "file",
    "F3": "functions",
    "F4": "functions",
    "F7": "added-twice",
    "K4": "resource",
    "R1": "resource",
    "R2": "resource",
    "R3": "resource",
    "R4": "file",
    "R5": "file",
    "R13": "file",
}


def nature_of(rule: str, path: FieldPath, *, added_twice: bool, one_side: bool) -> Nature:
    """The nature of a decision by this rule at this place.

    `added_twice` says that both sides have something where the original has nothing and that they collide, `one_side`
    that one of upstream and local has nothing there.
    """
    if rule == "F5":
        return "element" if path else "resource"
    if (nature := _BY_RULE.get(rule)) is not None:
        return nature
    if added_twice:
        return "added-twice"
    return "element" if one_side and path and not isinstance(path[-1], str) else "value"
