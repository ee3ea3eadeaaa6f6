"""Regular expressions as Pipelines as Code matches texts with them: the plain part of RE2.

Source: https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from krm_merge.components.configure.pattern_steps import Step, Unreadable, either, exactly, one, repeat, sequence, where

_DEEPEST = 40
"""How deep groups may be nested; nobody writes more."""
_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_SPACES = frozenset("\t\n\f\r ")
_PERL_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_REGEX_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_REPEAT = re.compile(r"\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\}", re.ASCII)
_MOST_REPEATS = 1000


def regex_matches(pattern: str, text: str) -> bool | None:
    """Whether a regular expression matches somewhere."""
    try:
        step = _regex(pattern)
    except Unreadable:
        return None
    return bool(step(text, frozenset(range(len(text) + 1))))


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> Step:
    return _Regex(pattern).read()


def _at_start(text: str, at: int) -> bool:
    return at == 0


def _at_end(text: str, at: int) -> bool:
    return at == len(text)


def _at_boundary(text: str, at: int) -> bool:
    before = at > 0 and text[at - 1] in _WORD
    return before is not (at < len(text) and text[at] in _WORD)


class _Regex:
    """Reads the plain part of RE2: no flags, no named groups, no classes by name."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def read(self) -> Step:
        step, _ = self._alternatives()
        if self._at < len(self._pattern):
            raise Unreadable
        return step

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise Unreadable
        self._at += 1
        return character

    def _alternatives(self) -> tuple[Step, int]:
        """The step, and how often its parts are repeated at most by numbers: RE2 limits the product."""
        found, repeats = [self._row()], 1
        while self._peek() == "|":
            self._at += 1
            found.append(self._row())
        repeats = max(count for _, count in found)
        return either([step for step, _ in found]), repeats

    def _row(self) -> tuple[Step, int]:
        steps: list[Step] = []
        most = 1
        while self._peek() not in ("", "|", ")"):
            step, repeats = self._atom()
            step, times = self._repeated(step)
            most = max(most, repeats * times)
            if most > _MOST_REPEATS:
                raise Unreadable
            steps.append(step)
        return sequence(steps), most

    def _repeated(self, step: Step) -> tuple[Step, int]:
        bounds = self._bounds()
        if bounds is None:
            return step, 1
        if self._peek() == "?":  # as few as possible: no other texts match
            self._at += 1
        if self._bounds() is not None:
            raise Unreadable
        least, most = bounds
        return repeat(step, least, most), max(least, most or 1)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
            return simple
        match = _REPEAT.match(self._pattern, self._at)
        if match is None:
            return None
        self._at = match.end()
        if max(len(match[1]), len(match[3] or "")) > 4:
            raise Unreadable
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else None
        if most is not None and most < least:
            raise Unreadable
        return least, most

    def _atom(self) -> tuple[Step, int]:
        character = self._next()
        match character:
            case "(":
                return self._group()
            case "[":
                return one(self._class()), 1
            case ".":
                return one(lambda character: character != "\n"), 1
            case "^":
                return where(_at_start), 1
            case "$":
                return where(_at_end), 1
            case "\\":
                return self._escaped(), 1
            case "*" | "+" | "?" | "{":
                raise Unreadable
        return exactly(character), 1

    def _group(self) -> tuple[Step, int]:
        if self._peek() == "?":
            self._at += 1
            if self._next() != ":":
                raise Unreadable
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable
        found = self._alternatives()
        if self._next() != ")":
            raise Unreadable
        self._depth -= 1
        return found

    def _escaped(self) -> Step:
        match self._peek():
            case "b":
                step = where(_at_boundary)
            case "B":
                step = where(lambda text, at: not _at_boundary(text, at))
            case "A":
                step = where(_at_start)
            case "z":
                step = where(_at_end)
            case _:
                member = self._escaped_member()
                return exactly(member) if isinstance(member, str) else one(member)
        self._at += 1
        return step

    def _escaped_member(self) -> str | Callable[[str], bool]:
        """What is behind a backslash, also in a class: a character, or whether one belongs to what it names."""
        character = self._next()
        members = _PERL_CLASSES.get(character.lower())
        if members is not None:
            wanted = character.islower()
            return lambda other: (other in members) is wanted
        if character in _REGEX_ESCAPES:
            return _REGEX_ESCAPES[character]
        if character in _WORD or not character.isascii():
            raise Unreadable
        return character

    def _class(self) -> Callable[[str], bool]:
        wanted = self._peek() != "^"
        self._at += not wanted
        if self._peek() == "]":
            raise Unreadable
        tests: list[Callable[[str], bool]] = []
        while self._peek() != "]":
            tests.append(self._members())
        self._at += 1
        return lambda character: any(test(character) for test in tests) is wanted

    def _members(self) -> Callable[[str], bool]:
        low = self._member()
        if self._peek() != "-" or self._pattern[self._at + 1 : self._at + 2] == "]":
            return low if callable(low) else lambda character: character == low
        self._at += 1
        high = self._member()
        if callable(low) or callable(high) or high < low:
            raise Unreadable
        return lambda character: low <= character <= high

    def _member(self) -> str | Callable[[str], bool]:
        character = self._next()
        if character == "\\":
            return self._escaped_member()
        if character == "[" and self._peek() == ":":
            raise Unreadable
        return character
