"""How alike texts are, and which of two lists belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

THRESHOLD: Final = 0.5
"""Values that are less alike than this are different ones."""

MOST_COMPARED: Final = 10_000
"""Pairs that are compared with each other; in longer stretches, likeness does not count."""


def text_likeness(first: str, second: str) -> float:
    """From 0 to 1: the share of what two texts begin and end with in common, of the longer one."""
    if first == second:
        return 1.0
    shortest, longest = sorted((len(first), len(second)))
    head = next((at for at in range(shortest) if first[at] != second[at]), shortest)
    tail = next((at for at in range(shortest - head) if first[-1 - at] != second[-1 - at]), shortest - head)
    return (head + tail) / longest


def best_pairs(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs of a row and a column, in order, with the greatest sum of scores; none of a score below the threshold."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            paired = scores[i][j] + best[i + 1][j + 1] if scores[i][j] >= THRESHOLD else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] >= THRESHOLD and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
