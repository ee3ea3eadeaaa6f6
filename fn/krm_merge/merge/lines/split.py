"""Splits a stretch of lines that both sides changed into the lines that each of them changed (rule V6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from krm_merge.merge.lines.alike import pair_alike
from krm_merge.merge.lines.diff import matching_blocks


class LineEdit(NamedTuple):
    """The lines of one sequence from `start` to `stop`, and those that another has in their place."""

    start: int
    stop: int
    other_start: int
    other_stop: int

    @property
    def inserts(self) -> bool:
        """Whether more lines took the place of fewer, or of none."""
        return self.other_stop - self.other_start > self.stop - self.start

    @property
    def is_exchange(self) -> bool:
        """Whether one line took the place of one."""
        return self.stop - self.start == 1 == self.other_stop - self.other_start

    def by_line(self) -> list[LineEdit]:
        """A removal as one of each line; any other edit as it is."""
        if self.other_start < self.other_stop or self.start == self.stop:
            return [self]
        return [LineEdit(at, at + 1, self.other_start, self.other_stop) for at in range(self.start, self.stop)]


class EditGroup:
    """Edits of both sides, by number, that are about the same lines of the original: those from `start` to `stop`."""

    def __init__(self, edit: LineEdit) -> None:
        """Without edits; they begin where this one does."""
        self.start, self.stop = edit.start, edit.stop
        self._edits: tuple[list[LineEdit], list[LineEdit]] = ([], [])

    def add(self, side: int, edit: LineEdit) -> None:
        """Adds an edit of a side."""
        self._edits[side].append(edit)
        self.stop = max(self.stop, edit.stop)

    def is_about(self, side: int, edit: LineEdit, *, loose: bool) -> bool:
        """Whether an edit of a side is about the same lines as one of the other side."""
        return any(_same_lines(edit, other, loose) for other in self._edits[1 - side])

    def size(self, side: int) -> int:
        """How many lines a side has there."""
        growth = sum((e.other_stop - e.other_start) - (e.stop - e.start) for e in self._edits[side])
        return self.stop - self.start + growth


def groups_of(upstream: list[LineEdit], local: list[LineEdit], *, loose: bool) -> list[EditGroup]:
    """The edits of sides 0 and 1 in their order, those together that are about the same lines.

    `loose` lines say nothing of their neighbours: each that was removed is an edit of its own.
    """
    sides = [[one for edit in edits for one in (edit.by_line() if loose else [edit])] for edits in (upstream, local)]
    numbered = [(edit, side) for side, edits in enumerate(sides) for edit in edits]
    groups: list[EditGroup] = []
    for edit, side in sorted(numbered, key=lambda one: one[0][:2]):
        if not groups or not groups[-1].is_about(side, edit, loose=loose):
            groups.append(EditGroup(edit))
        groups[-1].add(side, edit)
    return groups


def _same_lines(first: LineEdit, second: LineEdit, loose: bool) -> bool:
    """Whether edits of two sides are about the same lines.

    A line that was inserted beside lines that went is one of them, unless they are `loose`: nothing else says where it
    belongs now.
    """
    if first.start == first.stop == second.start == second.stop:
        return True
    start, stop = max(first.start, second.start), min(first.stop, second.stop)
    inserts = not loose and (first.inserts or second.inserts)
    return start < stop or (start == stop and inserts and not (first.is_exchange or second.is_exchange))


def edits_of(
    first: Sequence[str], second: Sequence[str], span: tuple[int, int], other: tuple[int, int], *, by_place: bool = True
) -> list[LineEdit]:
    """The changes that lead from a span of one sequence to a span of another, as small as they can be seen to be.

    Alike lines are paired one to one, and with `by_place` also what is left between them, where it is as many lines.
    """
    a, b = first[slice(*span)], second[slice(*other)]
    edits: list[LineEdit] = []
    at, there = 0, 0
    for start, other_start, size in [*matching_blocks(a, b), (len(a), len(b), 0)]:
        pairs = [(at + i, there + j) for i, j in pair_alike(a[at:start], b[there:other_start])]
        for i, j in [*pairs, (start, other_start)]:
            if by_place and i - at == j - there:
                edits += (LineEdit(at + n, at + n + 1, there + n, there + n + 1) for n in range(i - at))
            elif i > at or j > there:
                edits.append(LineEdit(at, i, there, j))
            if i < start:
                edits.append(LineEdit(i, i + 1, j, j + 1))
            at, there = i + 1, j + 1
        at, there = start + size, other_start + size
    return [LineEdit(e[0] + span[0], e[1] + span[0], e[2] + other[0], e[3] + other[0]) for e in edits]
