"""What sequences of lines or elements have in common, how three of them differ, and their merged order (L4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from krm_merge.startup import frozen
from krm_merge.text import longest_rising

Block: TypeAlias = tuple[int, int, int]
"""A stretch that both sequences have: its start in the first, its start in the second, its length."""

MAX_COST = 1_000
"""Stretches with more differences than this count as different altogether: the effort grows with the square."""

MAX_EFFORT = 250_000
"""Steps of one comparison beyond which stretches with more than `SMALL_COST` differences count as different."""

SMALL_COST = 20
"""So few differences are always found: the effort for them grows with the length alone."""

SPLIT_ABOVE = 1_000
"""Longer stretches are first cut at the elements that both sequences hold once."""


def matching_blocks(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Block]:
    """The stretches that two sequences have in common, in order; none is empty."""
    numbers: dict[Hashable, int] = {}
    # Equal elements get one number: numbers compare fast, whatever the elements are.
    ours = tuple([numbers.setdefault(element, len(numbers)) for element in first])
    theirs = tuple([numbers.setdefault(element, len(numbers)) for element in second])
    return list(_blocks(ours, theirs))


@lru_cache(maxsize=16)
def _blocks(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[Block, ...]:
    """The stretches of two sequences of numbers; a merge asks for the same ones several times."""
    return tuple(_Difference(list(first), list(second)).blocks())


class _Difference:
    """Two sequences of numbers, and which of their elements the other lacks."""

    def __init__(self, first: list[int], second: list[int]) -> None:
        self._first = first
        self._second = second
        # One more at the end, never changed, so that groups need not look for the end.
        self._removed = bytearray(len(first) + 1)
        self._added = bytearray(len(second) + 1)

    def blocks(self) -> list[Block]:
        first, second = self._first, self._second
        # What both begin and end with is most of what they have in common.
        start, stop = 0, min(len(first), len(second))
        while start < stop and first[start] == second[start]:
            start += 1
        a, b = len(first), len(second)
        while a > start and b > start and first[a - 1] == second[b - 1]:
            a, b = a - 1, b - 1
        if min(a, b) > start:
            self._compare_shared(start, a, start, b)
            # The first before the second, as git does: each finds the groups of the other where they are by then.
            _slide(first, self._removed, self._added)
            _slide(second, self._added, self._removed)
        else:
            # What both begin with was taken first: one group alone is as far down as it comes.
            self._mark(start, a, start, b)
        return self._found()

    def _mark(self, a: int, a_end: int, b: int, b_end: int) -> None:
        self._removed[a:a_end] = b"\1" * (a_end - a)
        self._added[b:b_end] = b"\1" * (b_end - b)

    def _compare_shared(self, a: int, a_end: int, b: int, b_end: int) -> None:
        """Compares the elements that both have; an element that only one side has is always a difference."""
        first, second = self._first, self._second
        in_first, in_second = set(first), set(second)
        ours = [at for at in range(a, a_end) if first[at] in in_second]
        theirs = [at for at in range(b, b_end) if second[at] in in_first]
        self._mark(a, a_end, b, b_end)
        shared = _Shared([first[at] for at in ours], [second[at] for at in theirs])
        shared.compare()
        for index, at in enumerate(ours):
            self._removed[at] = shared.removed[index]
        for index, at in enumerate(theirs):
            self._added[at] = shared.added[index]

    def _found(self) -> list[Block]:
        removed, added = self._removed, self._added
        blocks: list[Block] = []
        # Both end with an unchanged one, and have as many of them.
        a, b = removed.find(0), added.find(0)
        while a < len(self._first):
            size = min(_next_change(removed, a) - a, _next_change(added, b) - b)
            blocks.append((a, b, size))
            a, b = removed.find(0, a + size), added.find(0, b + size)
        return blocks


def _next_change(changed: bytearray, start: int) -> int:
    # Without one, `find` gives -1: the last place.
    return changed.find(1, start) % len(changed)


class _Shared:
    """Two sequences of which every element occurs in the other; marks what is removed and added."""

    def __init__(self, first: list[int], second: list[int]) -> None:
        self._first = first
        self._second = second
        self.removed = bytearray(len(first))
        self.added = bytearray(len(second))
        self._effort = 0

    def compare(self) -> None:
        a = b = 0
        if max(len(self._first), len(self._second)) > SPLIT_ABOVE:
            for a_at, b_at in _unique_in_both(self._first, self._second):
                self._compare(a, a_at, b, b_at)
                a, b = a_at + 1, b_at + 1
        self._compare(a, len(self._first), b, len(self._second))

    def _compare(self, a: int, a_end: int, b: int, b_end: int) -> None:
        # A list instead of recursion, whose depth would grow with the number of differences.
        pending = [(a, a_end, b, b_end)]
        first, second = self._first, self._second
        while pending:
            a, a_end, b, b_end = pending.pop()
            while a < a_end and b < b_end and first[a] == second[b]:
                a, b = a + 1, b + 1
            while a < a_end and b < b_end and first[a_end - 1] == second[b_end - 1]:
                a_end, b_end = a_end - 1, b_end - 1
            if a == a_end or b == b_end or (middle := self._middle(a, a_end, b, b_end)) is None:
                self.removed[a:a_end] = b"\1" * (a_end - a)
                self.added[b:b_end] = b"\1" * (b_end - b)
            else:
                pending += ((a, middle[0], b, middle[1]), (middle[0], a_end, middle[1], b_end))

    def _middle(self, a: int, a_end: int, b: int, b_end: int) -> tuple[int, int] | None:
        """A point on a shortest way from the start to the end of both, found from both ends; None if it is too long.

        On a diagonal `a - b` is the same. `forward` and `backward` hold how far one comes on each diagonal.
        """
        first, second = self._first, self._second
        lowest, highest = a - b_end, a_end - b
        front = low = high = a - b
        back = back_low = back_high = a_end - b_end
        odd = (front ^ back) & 1
        # Nothing comes from beyond the range.
        forward, backward = defaultdict[int, int](lambda: -1), defaultdict[int, int](lambda: a_end + 1)
        forward[front], backward[back] = a, a_end
        for cost in range(1, MAX_COST + 1):
            self._effort += 2 * cost
            if self._effort > MAX_EFFORT and cost > SMALL_COST:
                return None
            low += -1 if low > lowest else 1
            high += 1 if high < highest else -1
            for diagonal in range(high, low - 1, -2):
                before, after = forward[diagonal - 1], forward[diagonal + 1]
                # Between ways of one length, the choice is that of git.
                x = before + 1 if before >= after else after
                y = x - diagonal
                while x < a_end and y < b_end and first[x] == second[y]:
                    x, y = x + 1, y + 1
                forward[diagonal] = x
                if odd and back_low <= diagonal <= back_high and backward[diagonal] <= x:
                    return x, y
            back_low += -1 if back_low > lowest else 1
            back_high += 1 if back_high < highest else -1
            for diagonal in range(back_high, back_low - 1, -2):
                before, after = backward[diagonal - 1], backward[diagonal + 1]
                x = before if before < after else after - 1
                y = x - diagonal
                while x > a and y > b and first[x - 1] == second[y - 1]:
                    x, y = x - 1, y - 1
                backward[diagonal] = x
                if not odd and low <= diagonal <= high and x <= forward[diagonal]:
                    return x, y
        return None


def _unique_in_both(first: list[int], second: list[int]) -> list[tuple[int, int]]:
    """The places of the elements that both hold once, as far as they are in the same order."""
    ours, theirs = Counter(first), Counter(second)
    places = {element: at for at, element in enumerate(second) if theirs[element] == 1}
    pairs = [(at, places[element]) for at, element in enumerate(first) if ours[element] == 1 and element in places]
    rising = longest_rising([place for _, place in pairs])
    return [pair for pair in pairs if pair[1] in rising]


def _slide(elements: list[int], changed: bytearray, other: bytearray) -> None:
    """Moves each group of changed elements down as far as its text allows; groups that meet become one.

    Where a group of the other sequence is within its reach, it stays beside that: then both are one difference.
    `other` are the changes of the other sequence. Between the unchanged elements, which both have, are the groups
    of either, many of them empty: the loop visits the groups of the two in step.
    """
    size = len(elements)
    start, stop = _group_from(changed, 0)
    beside = _group_from(other, 0)
    while True:
        while start < stop:
            length = stop - start
            while start > 0 and elements[start - 1] == elements[stop - 1]:
                start, stop = _up(changed, start, stop)
                beside = _group_before(other, beside)
            earliest, matching = stop, beside[0] < beside[1]
            while stop < size and elements[start] == elements[stop]:
                changed[start], changed[stop] = 0, 1
                start, stop = start + 1, _group_from(changed, stop + 1)[1]
                beside = _group_from(other, beside[1] + 1)
                matching = matching or beside[0] < beside[1]
            # Otherwise the group met another one, and both together may move further.
            if length == stop - start:
                while matching and stop > earliest and beside[0] == beside[1]:
                    start, stop = _up(changed, start, stop)
                    beside = _group_before(other, beside)
                break
        if stop >= size:
            return
        start, stop = _group_from(changed, stop + 1)
        beside = _group_from(other, beside[1] + 1)


def _up(changed: bytearray, start: int, stop: int) -> tuple[int, int]:
    """A group moved up by one element, together with a group that it meets there."""
    changed[start - 1], changed[stop - 1] = 1, 0
    return _start_of_group(changed, start - 1), stop - 1


def _group_from(changed: bytearray, start: int) -> tuple[int, int]:
    """The group, perhaps empty, that begins at a place."""
    stop = start
    while changed[stop]:
        stop += 1
    return start, stop


def _group_before(changed: bytearray, group: tuple[int, int]) -> tuple[int, int]:
    """The group, perhaps empty, in front of the unchanged element that precedes a group."""
    stop = group[0] - 1
    return _start_of_group(changed, stop), stop


def _start_of_group(changed: bytearray, at: int) -> int:
    while at > 0 and changed[at - 1]:
        at -= 1
    return at


Span: TypeAlias = tuple[int, int]


class Stretch(NamedTuple):
    """A part of three sequences, by its spans there; `changed_by` says which sides differ from the original in it.

    Where both sides made the same change, that is local's.
    """

    original: Span
    upstream: Span
    local: Span
    changed_by: Literal["none", "upstream", "local", "both"]


def stretches(
    original: Sequence[Hashable], upstream: Sequence[Hashable], local: Sequence[Hashable]
) -> Iterator[Stretch]:
    """The parts of three sequences, in their order."""
    o_from = u_from = l_from = 0
    for o_at, u_at, l_at, size in _anchors(original, upstream, local):
        spans = (o_from, o_at), (u_from, u_at), (l_from, l_at)
        if any(start < stop for start, stop in spans):
            before, theirs, ours = original[o_from:o_at], upstream[u_from:u_at], local[l_from:l_at]
            if theirs in (before, ours):
                yield Stretch(*spans, "local")
            else:
                yield Stretch(*spans, "upstream" if ours == before else "both")
        if size:
            yield Stretch((o_at, o_at + size), (u_at, u_at + size), (l_at, l_at + size), "none")
        o_from, u_from, l_from = o_at + size, u_at + size, l_at + size


def merged(original: Sequence[Key], upstream: Sequence[Key], local: Sequence[Key]) -> list[Key] | None:
    """What both sides' changes make of a sequence; None where they meet."""
    result: list[Key] = []
    for part in stretches(original, upstream, local):
        if part.changed_by == "both":
            return None
        result += upstream[slice(*part.upstream)] if part.changed_by == "upstream" else local[slice(*part.local)]
    return result


def _anchors(
    original: Sequence[Hashable], upstream: Sequence[Hashable], local: Sequence[Hashable]
) -> list[tuple[int, int, int, int]]:
    """What all three have: positions in original, upstream and local, and the length; an empty one ends them."""
    with_upstream: list[Block] = matching_blocks(original, upstream)
    with_local = matching_blocks(original, local)
    anchors: list[tuple[int, int, int, int]] = []
    i = j = 0
    while i < len(with_upstream) and j < len(with_local):
        (a, in_upstream, m), (b, in_local, n) = with_upstream[i], with_local[j]
        start, stop = max(a, b), min(a + m, b + n)
        if start < stop:
            anchors.append((start, in_upstream + start - a, in_local + start - b, stop - start))
        if a + m < b + n:
            i += 1
        else:
            j += 1
    return [*anchors, (len(original), len(upstream), len(local), 0)]


Key = TypeVar("Key", bound=Hashable)


@frozen
class Order(Generic[Key]):
    """The merged order, and whether both sides had reordered in different ways."""

    keys: list[Key]
    is_contested: bool


def merge_order(
    original: Sequence[Key],
    upstream: Sequence[Key],
    local: Sequence[Key],
    survivors: set[Key],
    *,
    reorder: bool = True,
    preferred: Literal["upstream", "local"] = "local",
) -> Order[Key]:
    """Merges three orders of keys. Each key is once in a source; `survivors` are in upstream or local.

    The order is that of the side that reordered, of the `preferred` one where both did, else local's; what only the
    other side has is inserted. With `reorder` False it is local's whatever upstream did (fields of mappings).
    """
    on_all = {*original} & {*upstream} & {*local} if reorder else set()
    orders = [[key for key in side if key in on_all] for side in (original, upstream, local)]
    by_upstream, by_local = (orders[0] != side for side in orders[1:])
    base, other = (upstream, local) if by_upstream and (preferred == "upstream" or not by_local) else (local, upstream)
    merged = _insert(base, other, survivors, {*original}, local_into_upstream=base is upstream)
    keys = [key for key in merged if key in survivors]
    return Order(keys, by_upstream and by_local and orders[1] != orders[2])


def _insert(
    base: Sequence[Key], side: Sequence[Key], survivors: set[Key], original: set[Key], *, local_into_upstream: bool
) -> list[Key]:
    """The keys with those of a side that survive and the base lacks, one at a time, in the side's own order."""
    merged = list(base)
    keys = set(merged)
    if all(key in keys for key in side if key in survivors):
        return merged
    # Whose elements give way at a gap: those that only the base added. What took the place of another stays there.
    only_base = keys - set(side) - original
    # As a ring, since many may come in; None is before the first key and behind the last.
    following: dict[Key | None, Key | None] = dict(zip([None, *merged], [*merged, None], strict=True))
    before: Key | None = None
    for key in side:
        if key in keys:
            before = key
            continue
        if key not in survivors:
            continue
        if before is not None:
            # Where both sides added something in one gap, local's comes first.
            while not local_into_upstream and (behind := following[before]) is not None and behind in only_base:
                before = behind
        elif (after := next((later for later in side if later in keys), None)) is not None:
            before = _last_before(after, following, only_base if local_into_upstream else set())
        else:
            before = merged[-1] if merged else None
        following[key] = following[before]
        following[before] = before = key
    return _in_order(following)


def _last_before(key: Key, following: dict[Key | None, Key | None], passed: set[Key]) -> Key | None:
    """The key before this one, those passed over."""
    last: Key | None = None
    for candidate in _in_order(following):
        if candidate == key:
            break
        last = last if candidate in passed else candidate
    return last


def _in_order(following: dict[Key | None, Key | None]) -> list[Key]:
    keys: list[Key] = []
    at = following[None]
    while at is not None:
        keys.append(at)
        at = following[at]
    return keys
