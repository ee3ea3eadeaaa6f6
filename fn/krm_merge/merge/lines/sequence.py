"""Three-way merge of lines with equal ones as anchors; stretches that both changed are split (rule V6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from krm_merge.merge.lines.diff import Block, matching_blocks
from krm_merge.startup import frozen, pattern
from krm_merge.text import MOST_COMPARED, THRESHOLD, best_pairs, text_likeness

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
    # The effort is the product of both: longer stretches are compared by equal lines and by places alone.
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
    outermost = min(indents, default=None)
    return {key for line, indent in zip(full, indents, strict=True) if indent == outermost and (key := key_of(line))}


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
        if self.other_start < self.other_stop:
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
    for edit, side in sorted(numbered, key=lambda pair: (pair[0].start, pair[0].stop)):
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
    if any(edit.start < start == stop < edit.stop for edit in (first, second)):
        # Inside of lines that others replaced there is no place of its own.
        return True
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


Clash: TypeAlias = Literal["", "changed", "inserted", "alike"]
"""Lines that both sides changed, other lines that both inserted at one place, and alike ones."""

ChosenSide: TypeAlias = Literal["upstream", "local", "upstream-then-local", "local-then-upstream"]

Span: TypeAlias = tuple[int, int]


@frozen
class MergedRun:
    """A stretch of the result: which lines of which side. `clash` names what the sides could not agree on."""

    side: Literal["upstream", "local"]
    start: int
    stop: int
    clash: Clash = ""


@frozen
class Settling:
    """How clashes are settled: as `chosen`, but other lines that both inserted are all kept unless `chooses_inserted`.

    `splits` looks for the single lines that each side changed where git finds them too near to each other. Lines that
    are `loose` say nothing of their neighbours: one that was inserted among others that went is kept.
    """

    chosen: ChosenSide
    chooses_inserted: bool = False
    splits: bool = True
    loose: bool = False


def merge_sequences(
    original: Sequence[str],
    upstream: Sequence[str],
    local: Sequence[str],
    settling: Settling,
    with_upstream: list[Block] | None = None,
) -> list[MergedRun]:
    """The runs of the merged sequence; lines that local has are taken from local.

    Where both sides inserted at one place, a run that contains the other one is kept, unless that is in it by chance.
    Alike lines are one addition that was made twice (clash `alike`), of others local's are put before upstream's
    (`inserted`). Of lines that both changed, the chosen ones are kept (`changed`).
    """
    return list(merged_runs(original, upstream, local, settling, with_upstream))


def merged_runs(
    original: Sequence[str],
    upstream: Sequence[str],
    local: Sequence[str],
    settling: Settling,
    with_upstream: list[Block] | None = None,
) -> Iterator[MergedRun]:
    """The runs of `merge_sequences`, one after the other: for those whom the first clash ends."""
    merge = _Merge(original, upstream, local, settling)
    o_from = u_from = l_from = 0
    for o_at, u_at, l_at, size in anchors(original, upstream, local, with_upstream):
        for run in merge.stretch((o_from, o_at), (u_from, u_at), (l_from, l_at)):
            if run.stop > run.start or run.clash:
                yield run
        if size:
            yield MergedRun("local", l_at, l_at + size)
        o_from, u_from, l_from = o_at + size, u_at + size, l_at + size


class _Merge:
    """The merge of stretches between anchors. Spans are those of the original, of upstream and of local."""

    def __init__(
        self, original: Sequence[str], upstream: Sequence[str], local: Sequence[str], settling: Settling
    ) -> None:
        self._original = original
        self._upstream = upstream
        self._local = local
        self._settling = settling
        self._usual: frozenset[str] | None = None

    def stretch(self, before: Span, theirs: Span, ours: Span) -> Iterator[MergedRun]:
        if (run := self._of_one_side(before, theirs, ours)) is not None:
            yield run
            return
        runs = list(self._split(before, theirs, ours)) if self._settling.splits else []
        if not runs or self._doubles(runs, before, theirs, ours):
            yield from self._clash("changed" if before[1] > before[0] else "inserted", theirs, ours)
        else:
            yield from runs

    def _doubles(self, runs: Sequence[MergedRun], before: Span, theirs: Span, ours: Span) -> bool:
        """Whether a line that both sides added would be there twice, in silence: lines were paired with wrong ones."""
        if self._settling.loose or any(run.clash for run in runs):
            return False
        sides = {"upstream": self._upstream, "local": self._local}
        merged = [line for run in runs for line in sides[run.side][run.start : run.stop]]
        o, u, l = self._original[slice(*before)], self._upstream[slice(*theirs)], self._local[slice(*ours)]  # noqa: E741
        return come_twice(o, u, l, merged)

    def _of_one_side(self, before: Span, theirs: Span, ours: Span) -> MergedRun | None:
        """The run of the one side that changed these lines, or that made all of the other's changes and more."""
        o, u, l = self._original[slice(*before)], self._upstream[slice(*theirs)], self._local[slice(*ours)]  # noqa: E741
        from_upstream, from_local = MergedRun("upstream", *theirs), MergedRun("local", *ours)
        if u in (l, o):
            return from_local
        if l == o:
            return from_upstream
        if not o:
            # An end such as `{{- end }}` is in the other's block by chance: without both no template parses.
            if _contains(l, u) and not (self._are_usual(u) and self._is_behind):
                return from_local
            return from_upstream if _contains(u, l) and not self._are_usual(l) else None
        # Of single lines, none can lie between two others.
        if max(map(len, (o, u, l))) > 1:
            for side, other, run in ((u, l, from_local), (l, u, from_upstream)):
                if side and has_change(o, side, other) and not _is_replaced(o, side, other):
                    return None if self._has_moved(o, u, l) else run
        return None

    def _has_moved(self, original: Sequence[str], upstream: Sequence[str], local: Sequence[str]) -> bool:
        """Whether one side has elsewhere what both took away here, and the other nowhere; of what is there once."""
        gone = (Counter(original) - Counter(upstream)) & (Counter(original) - Counter(local))
        before, theirs, ours = self._counts
        return any(before[line] == 1 and (line in theirs) != (line in ours) for line in gone)

    @cached_property
    def _counts(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        return Counter(self._original), Counter(self._upstream), Counter(self._local)

    def _are_usual(self, lines: Sequence[str]) -> bool:
        """Whether the original has all of these lines, too, as it has the ends of blocks: they say nothing."""
        if self._settling.loose or not any(line.strip() for line in lines):
            return False
        if self._usual is None:
            self._usual = frozenset(self._original)
        return self._usual.issuperset(lines)

    @cached_property
    def _is_behind(self) -> bool:
        """Whether local lacks more of what upstream changed: then it has not made this change already."""
        return not has_change(self._original, self._upstream, self._local)

    def _split(self, before: Span, theirs: Span, ours: Span) -> Iterator[MergedRun]:
        at, u, l = before[0], theirs[0], ours[0]  # noqa: E741
        by_upstream = edits_of(self._original, self._upstream, before, theirs)
        by_local = edits_of(self._original, self._local, before, ours)
        # Nobody can tell how the inserted lines are to be indented, or whether they are comments.
        if not self._settling.loose and (
            self._inserts_where_laid_out(by_local, by_upstream, self._upstream)
            or self._inserts_where_laid_out(by_upstream, by_local, self._local)
        ):
            return
        groups = groups_of(by_upstream, by_local, loose=self._settling.loose)
        for group in groups:
            same = group.start - at
            yield MergedRun("local", l, l + same)
            u, l = u + same, l + same  # noqa: E741
            u_stop, l_stop = u + group.size(0), l + group.size(1)
            yield from self._of_group((group.start, group.stop), (u, u_stop), (l, l_stop))
            at, u, l = group.stop, u_stop, l_stop  # noqa: E741
        yield MergedRun("local", l, ours[1])

    def _inserts_where_laid_out(self, edits: list[LineEdit], others: list[LineEdit], lines: Sequence[str]) -> bool:
        """Whether a side inserted lines beside some that the other, with `lines`, indented anew or commented out."""
        exchanged = [
            (edit.start, self._original[edit.start], lines[edit.other_start]) for edit in others if edit.is_exchange
        ]
        indented = {at for at, before, after in exchanged if _is_indented_anew(before, after)}
        commented = {at for at, before, after in exchanged if _toggles_comment(before, after)}
        places = [{edit.start - 1, edit.start} for edit in edits if edit.start == edit.stop]
        return any(place & indented or place <= commented for place in places)

    def _of_group(self, before: Span, theirs: Span, ours: Span) -> Iterator[MergedRun]:
        if (run := self._of_one_side(before, theirs, ours)) is not None:
            yield run
        elif before[0] == before[1]:
            yield from self._inserted(theirs, ours)
        else:
            u, l = self._upstream[slice(*theirs)], self._local[slice(*ours)]  # noqa: E741
            # What both changed alike at the ends is not in question: no conflict and no marker holds it.
            head = _common(u, l)
            tail = _common(u[head:][::-1], l[head:][::-1])
            yield MergedRun("local", ours[0], ours[0] + head)
            yield from self._clash("changed", (theirs[0] + head, theirs[1] - tail), (ours[0] + head, ours[1] - tail))
            yield MergedRun("local", ours[1] - tail, ours[1])

    def _inserted(self, theirs: Span, ours: Span) -> Iterator[MergedRun]:
        """Lines that both inserted at one place; of one addition that was made twice, what agrees is there once."""
        if not are_alike(self._upstream[slice(*theirs)], self._local[slice(*ours)]):
            yield from self._clash("inserted", theirs, ours)
            return
        at = ours[0]
        for edit in edits_of(self._upstream, self._local, theirs, ours, by_place=False):
            yield MergedRun("local", at, edit.other_start)
            u, l = (edit.start, edit.stop), (edit.other_start, edit.other_stop)  # noqa: E741
            if edit.is_exchange:
                yield from self._clash("alike", u, l)
            elif u[0] < u[1] and l[0] < l[1]:
                yield from self._clash("inserted", u, l)
            else:
                yield from (MergedRun("upstream", *u), MergedRun("local", *l))
            at = edit.other_stop
        yield MergedRun("local", at, ours[1])

    def _clash(self, clash: Clash, theirs: Span, ours: Span) -> Iterator[MergedRun]:
        settling = self._settling
        chosen = settling.chosen
        if clash == "inserted" and not settling.chooses_inserted:
            chosen = "local-then-upstream"
        elif (chosen == "upstream-then-local" and self._begins(ours, theirs)) or (
            chosen == "local-then-upstream" and self._ends(ours, theirs)
        ):
            # Chosen before: local has both already.
            chosen = "local"
        spans = {"upstream": theirs, "local": ours}
        for side in ("upstream", "local") if chosen.startswith("upstream") else ("local", "upstream"):
            if side in chosen:
                yield MergedRun(side, *spans[side], clash)
                # The second run of a clash does not count again.
                clash = ""

    def _begins(self, ours: Span, theirs: Span) -> bool:
        u, l = self._upstream[slice(*theirs)], self._local[slice(*ours)]  # noqa: E741
        return l[: len(u)] == u

    def _ends(self, ours: Span, theirs: Span) -> bool:
        u, l = self._upstream[slice(*theirs)], self._local[slice(*ours)]  # noqa: E741
        return l[max(0, len(l) - len(u)) :] == u


def _is_indented_anew(before: str, after: str) -> bool:
    inner = before.lstrip()
    return bool(inner) and inner == after.lstrip() and len(before) != len(after)


def _toggles_comment(before: str, after: str) -> bool:
    """Whether a line was made a comment, or a comment a line."""
    words = before.strip(_MARKS)
    if not words or words != after.strip(_MARKS):
        return False
    return before.lstrip().startswith("#") != after.lstrip().startswith("#")


def come_twice(original: Sequence[str], upstream: Sequence[str], local: Sequence[str], merged: Sequence[str]) -> bool:
    """Whether a line that both sides added is there more often than on either of them."""
    theirs, ours = Counter(upstream), Counter(local)
    added = {line for line in theirs.keys() & ours.keys() if line.strip()} - {*original}
    if not added:
        return False
    both = Counter(merged)
    return any(both[line] > max(theirs[line], ours[line]) for line in added)


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many lines both begin with."""
    size = min(len(first), len(second))
    return next((at for at in range(size) if first[at] != second[at]), size)


def _contains(run: Sequence[str], part: Sequence[str]) -> bool:
    """Whether a part is there without a gap. Source: D. E. Knuth, J. H. Morris, V. R. Pratt (1977), in linear time."""
    # For each element of the part: how many before it are how the part begins, too.
    beginnings, matched = [0], 0
    for element in part[1:]:
        matched = _count_matches(part, beginnings, matched, element)
        beginnings.append(matched)
    matched = 0
    for element in run:
        if matched == len(part):
            break
        matched = _count_matches(part, beginnings, matched, element)
    return matched == len(part)


def _count_matches(part: Sequence[str], beginnings: list[int], matched: int, element: str) -> int:
    """How much of the part is there up to this element, where so much was there before it."""
    while matched and part[matched] != element:
        matched = beginnings[matched - 1]
    return matched + (part[matched] == element)


def has_change(before: Sequence[str], after: Sequence[str], other: Sequence[str]) -> bool:
    """Whether other lines have a whole change already: it lies on the way to them, and they lack what it removed."""
    if not _is_between(before, after, other):
        return False
    # Where both changed the layout of all lines, a removed one is a new one of the other: it has other spaces.
    removed = _words(before) - _words(after)
    return not removed or not removed & (_words(other) - _words(after))


def _words(lines: Sequence[str]) -> Counter[str]:
    """Lines without their layout; blank ones say nothing."""
    return Counter(word for line in lines if (word := line.strip()))


def _is_between(start: Sequence[str], middle: Sequence[str], end: Sequence[str]) -> bool:
    """Whether a shortest way from the start to the end leads over the middle: the end has all changes that made it."""
    away = _lacking(middle, end)
    if away > _lacking(start, end):
        return False
    left = _distance(start, end) - _distance(start, middle)
    # The lower bound first: where it fails, the third comparison is spared.
    return left >= away and left == _distance(middle, end)


def _is_replaced(start: Sequence[str], middle: Sequence[str], end: Sequence[str]) -> bool:
    """Whether the end may have other versions of lines that the middle removed (law S).

    Where the middle only removed lines these are all others of the end, else those that are alike.
    """
    added = Counter(end) - Counter(middle)
    if len(middle) < len(start):
        return bool(added)
    removed = Counter(start) - Counter(middle) - Counter(end)
    if len(removed) * len(added) > MOST_COMPARED:
        return False
    ours, theirs = list(removed), list(Counter(middle) - Counter(start))
    replaced, candidates = dict(pair_alike(ours, theirs)), set(added - Counter(start))
    for at, line in enumerate(ours):
        others = candidates
        if at in replaced:
            # What the middle put in its place, and the end has, too, is its other version: one more may be beside that.
            place = end.index(theirs[replaced[at]])
            others = candidates.intersection(end[max(place - 1, 0) : place + 2])
        if any(line_likeness(line, other) >= THRESHOLD for other in others):
            return True
    return False


def _lacking(first: Sequence[str], second: Sequence[str]) -> int:
    """The least that their distance can be: how many elements of each the other lacks, whatever their order."""
    ours, theirs = Counter(first), Counter(second)
    # Not by subtracting Counters, which takes many times as long.
    shared = sum(min(count, theirs[element]) for element, count in ours.items() if element in theirs)
    return len(first) + len(second) - 2 * shared


def _distance(first: Sequence[str], second: Sequence[str]) -> int:
    """How many elements have to be removed or added to come from the one to the other."""
    return len(first) + len(second) - 2 * sum(size for _, _, size in matching_blocks(first, second))


def anchors(
    original: Sequence[str],
    upstream: Sequence[str],
    local: Sequence[str],
    with_upstream: list[Block] | None = None,
) -> list[tuple[int, int, int, int]]:
    """Stretches that all three have: positions in original, upstream and local, and the length; an empty one ends.

    `with_upstream` are those of original and upstream, where they are known.
    """
    if with_upstream is None:
        with_upstream = matching_blocks(original, upstream)
    with_local = matching_blocks(original, local)
    triples: list[tuple[int, int, int, int]] = []
    i = j = 0
    while i < len(with_upstream) and j < len(with_local):
        (a, in_upstream, m), (b, in_local, n) = with_upstream[i], with_local[j]
        start, stop = max(a, b), min(a + m, b + n)
        if start < stop:
            triples.append((start, in_upstream + start - a, in_local + start - b, stop - start))
        if a + m < b + n:
            i += 1
        else:
            j += 1
    triples.append((len(original), len(upstream), len(local), 0))
    return triples
