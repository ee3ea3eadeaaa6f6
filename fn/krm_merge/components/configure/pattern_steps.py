"""Pieces that patterns are made of: each goes through a text from many places at once, so that no text takes long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Positions: TypeAlias = frozenset[int]
Step: TypeAlias = Callable[[str, Positions], Positions]
"""A piece of a pattern: from where it may start in a text to where it may end. No text takes long."""


class Unreadable(Exception):
    """A pattern that is wrong, or not read here."""


def exactly(expected: str) -> Step:
    """This text."""
    return lambda text, at: frozenset(i + len(expected) for i in at if text.startswith(expected, i))


def one(test: Callable[[str], bool]) -> Step:
    """A character that passes a test."""
    return lambda text, at: frozenset(i + 1 for i in at if i < len(text) and test(text[i]))


def where(test: Callable[[str, int], bool]) -> Step:
    """Nothing, in places that pass a test."""
    return lambda text, at: frozenset(i for i in at if test(text, i))


def anything(text: str, at: Positions) -> Positions:
    """Any characters, or none."""
    return frozenset(range(min(at), len(text) + 1)) if at else at


def sequence(steps: Sequence[Step]) -> Step:
    """One piece after the other."""

    def step(text: str, at: Positions) -> Positions:
        for each in steps:
            at = each(text, at)
        return at

    return step


def either(steps: Sequence[Step]) -> Step:
    """Any of the pieces."""
    return lambda text, at: frozenset().union(*(step(text, at) for step in steps))


def repeat(step: Step, least: int, most: int | None) -> Step:
    """A piece again and again."""

    def repeated(text: str, at: Positions) -> Positions:
        for _ in range(least):
            at = step(text, at)
        found, count = at, least
        while at and (most is None or count < most):
            at = step(text, at) - found
            found |= at
            count += 1
        return found

    return repeated
