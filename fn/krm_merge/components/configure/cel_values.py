"""What values of expressions are, and how they compare where some of them are not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Listing:
    """A list. If it is not `complete`, any of the items may be missing: it is known which files changed, not how."""

    items: tuple[Value, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Beginning:
    """A text of which only the beginning is known."""

    text: str

    def starts_with(self, prefix: str) -> bool | None:
        """Whether it begins with another text, too; None where that is up to what follows."""
        if self.text.startswith(prefix):
            return True
        return None if prefix.startswith(self.text) else False


Value: TypeAlias = str | int | bool | Beginning | Listing | None
"""A value, None where it is not known. An error counts as not known too: it starts no pipeline."""


def truth_of(value: Value) -> bool | None:
    """A value as a truth, None for what is none."""
    return value if isinstance(value, bool) else None


def any_of(truths: Iterable[bool | None]) -> bool | None:
    """Whether one is true; None where that depends on what is not known."""
    known: bool | None = False
    for truth in truths:
        if truth:
            return True
        if truth is None:
            known = None
    return known


def negated(truth: bool | None) -> bool | None:
    """The opposite of a truth."""
    return None if truth is None else not truth


def all_of(truths: Iterable[bool | None]) -> bool | None:
    """Whether all are true; None where that depends on what is not known."""
    return negated(any_of(negated(truth) for truth in truths))


def compared(left: Value, operator: str, right: Value) -> bool | None:
    """What a comparison gives."""
    if operator == "in":
        if not isinstance(right, Listing):
            return None
        return exists(right, (compared(item, "==", left) for item in right.items))
    if isinstance(left, Beginning | Listing | None) or type(left) is not type(right):
        return None
    if operator in ("==", "!="):
        return (left == right) is (operator == "==")
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(left < right, left == right, operator)
    if type(left) is int and type(right) is int:
        return _ordered(left < right, left == right, operator)
    return None


def _ordered(less: bool, equal: bool, operator: str) -> bool:
    if equal:
        return operator in ("<=", ">=")
    return less is (operator in ("<", "<="))


def size_of(value: Value) -> int | None:
    """How long a text or list is."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Listing) and (value.complete or not value.items):
        return len(value.items)
    return None


def exists(listing: Listing, truths: Iterable[bool | None]) -> bool | None:
    """Whether a test is true for an item of a list; `truths` is what it gave for each."""
    found = any_of(truths)
    return found if listing.complete or found is False else None
