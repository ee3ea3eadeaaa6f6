"""Globs as Pipelines as Code matches paths with them.

Source: https://github.com/gobwas/glob, its releases before 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from krm_merge.components.configure.cel_values import any_of
from krm_merge.components.configure.pattern_steps import Step, Unreadable, anything, exactly, one, sequence

_GLOB_PIECE = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)"
    r"|\[(?P<not>!?)(?:(?P<low>[^\]\\!^-])-(?P<high>[^\]\\])|(?P<list>(?![!^])(?:[^\]\\-]|\\.)+))\]"
    r"|\{(?P<terms>(?:[^{}\[\]*?\\]|\\.)+)\}"
    r"|(?P<text>(?:[^\\*?\[{\0]|\\.)+)",
    re.DOTALL,
)

_GLOB_TERM = re.compile(r"(?:[^,\\]|\\.)*", re.DOTALL)
_GLOB_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MOST_GLOBS = 256

_Piece: TypeAlias = str | Step


@dataclass(frozen=True, slots=True)
class _Glob:
    """A glob without alternatives: texts, and steps for what is not one."""

    step: Step
    texts_and_stars: bool
    ends: tuple[str, str] | None
    """The texts around the stars of a glob that has nothing else."""

    def matches(self, path: str) -> bool | None:
        # Releases before 1.0 count single characters and alternatives in bytes (gobwas/glob#41).
        if not (self.texts_and_stars or path.isascii()):
            return None
        if len(path) in self.step(path, frozenset({0})):
            return True
        # Releases before 1.0 let the two overlap: `a*ant` matches `ant` (gobwas/glob#51).
        overlapping = self.ends is not None and path.startswith(self.ends[0]) and path.endswith(self.ends[1])
        return None if overlapping else False


def glob_matches(pattern: str, path: str) -> bool | None:
    """Whether a glob matches a path; None where releases of the library differ."""
    try:
        return any_of(glob.matches(path) for glob in _globs(pattern))
    except Unreadable:
        return None


@lru_cache(maxsize=4096)
def _globs(pattern: str) -> tuple[_Glob, ...]:
    choices: list[list[_Piece]] = []
    position, count = 0, 1
    while position < len(pattern):
        match = _GLOB_PIECE.match(pattern, position)
        if match is None:
            raise Unreadable
        choices.append(_glob_choices(match))
        count *= len(choices[-1])
        if count > _MOST_GLOBS:
            raise Unreadable
        position = match.end()
    alternatives = any(len(pieces) > 1 for pieces in choices)
    return tuple(_glob(pieces, alternatives) for pieces in product(*choices))


def _glob_choices(match: re.Match[str]) -> list[_Piece]:
    if match["stars"]:
        return [anything]
    if match["any"]:
        return [one(lambda character: True)]
    if terms := match["terms"]:
        texts = [_GLOB_ESCAPE.sub(r"\1", term) for term in _glob_terms(terms)]
        # Releases before 1.0 go wrong with alternatives that are empty or alike (gobwas/glob#62, #66).
        if not all(texts) or len(set(texts)) < len(texts):
            raise Unreadable
        return list(texts)
    if text := match["text"]:
        return [_GLOB_ESCAPE.sub(r"\1", text)]
    wanted = not match["not"]
    if low := match["low"]:
        high = match["high"]
        if high < low:
            raise Unreadable
        return [one(lambda character: (low <= character <= high) is wanted)]
    listed = _GLOB_ESCAPE.sub(r"\1", match["list"])
    return [one(lambda character: (character in listed) is wanted)]


def _glob_terms(terms: str) -> Iterator[str]:
    position = -1
    while position < len(terms):
        match = _GLOB_TERM.match(terms, position + 1)
        if match is None:
            raise Unreadable
        yield match[0]
        position = match.end()


def _glob(pieces: Sequence[_Piece], alternatives: bool) -> _Glob:
    merged: list[_Piece] = []
    for piece in pieces:
        if merged and isinstance(piece, str) and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    steps = [exactly(piece) if isinstance(piece, str) else piece for piece in merged]
    ends: tuple[str, str] | None = None
    match merged:
        case [str(start), star, str(end)] if star is anything:
            ends = start, end
    texts_and_stars = all(isinstance(piece, str) or piece is anything for piece in pieces)
    return _Glob(sequence(steps), texts_and_stars and not alternatives, ends)
