"""How alike two lines of text are (rules V6 and L3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from krm_merge.startup import pattern
from krm_merge.text.likeness import MOST_COMPARED, THRESHOLD, best_pairs, text_likeness

_MARKS = " \t\r\n#"

# A setting: `name = value`, `name: value`. An element of a list is not one, as every element may begin with `- name:`.
_KEY = pattern(r"\s*(?:export\s+)?([^\s#:=-][^\s:=]*?)[ \t]*(?:=(?!=)|:(?=\s|\Z))")


def key_of(line: str) -> str:
    """The key of a line that sets one, in front of `=` or `:`; '' of other lines."""
    match = _KEY.match(line)
    return match[1] if match else ""


def line_likeness(first: str, second: str) -> float:
    """From 0 to 1: of two lines that set a key, whether it is the same, of others their likeness as texts."""
    keys = key_of(first), key_of(second)
    if all(keys):
        return float(keys[0] == keys[1])
    # Neither indentation nor the mark of a comment makes lines alike.
    words = first.strip(_MARKS), second.strip(_MARKS)
    return text_likeness(*words) if all(words) else float(first.strip() == second.strip())


def pair_alike(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs lines in order, so that the likeness of all pairs together is the greatest."""
    if len(first) * len(second) > MOST_COMPARED:
        return []
    return best_pairs([[line_likeness(line, other) for other in second] for line in first])


def are_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two runs of lines are one addition made twice: alike lines, half of all lines in common, or a key.

    Only keys of the lines that are indented least count: deeper ones are part of something else.
    """
    if len(first) == len(second) == 1:
        return line_likeness(first[0], second[0]) >= THRESHOLD
    ours, theirs = (Counter(line for line in run if line.strip()) for run in (first, second))
    shared = sum((ours & theirs).values())
    if shared and shared >= THRESHOLD * (ours.total() + theirs.total() - shared):
        return True
    return bool(_outer_keys(first) & _outer_keys(second))


def _outer_keys(lines: Sequence[str]) -> set[str]:
    full = [line for line in lines if line.strip()]
    indents = [len(line) - len(line.lstrip()) for line in full]
    outermost = min(indents, default=0)
    return {key for line, indent in zip(full, indents, strict=True) if indent == outermost and (key := key_of(line))}
