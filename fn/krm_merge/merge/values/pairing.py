"""Which elements of a list without keys, or of a set, are the same on the three sides (rules L2, L3)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence, Set
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.merge.values.likeness import Leaf, Match, Traits, blind_to_versions, leaves_of, weigh, without_version
from krm_merge.text import (
    MOST_COMPARED,
    Canonical,
    MappingNode,
    Node,
    Scalar,
    best_pairs,
    is_null,
    longest_rising,
)

# The order matters: of several that identify all elements, the first one counts.
WEAK_KEYS = (
    *("name", "alert", "record", "host", "path", "id", "key", "target"),
    *("uses", "image", "type", "role", "port", "prefix", "cluster"),
)
"""Fields that identify elements where no schema says what does, where no two elements of a list share a value of it."""

# With its version, a raised one would make another element.
_WITH_VERSION = ("uses", "image")

Stretch: TypeAlias = tuple[list[int], list[int]]
"""Positions in two lists."""

MOST_COMPARED_IN_LIST = 50_000
"""Pairs of elements that are compared in all stretches of a list, the first ones first."""


_AROUND = 3
"""Elements before and behind those compared that say what is usual in a list."""

FEWEST_NUMBERED = 5
"""Elements of which one field has a different value in each, so that this is no chance but a rule of the list."""


class Pairs(dict[int, int]):
    """Positions in one list to positions in another, mostly in the original's and a side's.

    Pairs are only added while stretches are asked for.
    """

    def __init__(self, *sizes: int) -> None:
        """Without pairs; `sizes` are the numbers of elements of both lists."""
        super().__init__()
        self._sizes = sizes
        self._known: tuple[int, list[Stretch]] = (-1, [])

    def stretches(self) -> list[Stretch]:
        """The unpaired elements of both lists between pairs that are in order on both sides."""
        if self._known[0] != len(self):
            self._known = len(self), self._stretches(*self._sizes)
        return self._known[1]

    def _stretches(self, size: int, other_size: int) -> list[Stretch]:
        paired = set(self.values())
        # With one list used up, no stretch has elements of both.
        if len(self) == size or len(paired) == other_size:
            return []
        unpaired = [at for at in range(size) if at not in self]
        left = [at for at in range(other_size) if at not in paired]
        places = sorted(self)
        others = [self[at] for at in places]
        steady = longest_rising(others)
        if len(steady) < len(others):
            # Elements that moved say nothing of where others belong.
            places = [at for at in places if self[at] in steady]
            others = [self[at] for at in places]
        stretches: dict[int, Stretch] = {}
        for at in unpaired:
            stretches.setdefault(bisect_left(places, at), ([], []))[0].append(at)
        for at in left:
            if (stretch := stretches.get(bisect_left(others, at))) is not None:
                stretch[1].append(at)
        return [stretch for stretch in stretches.values() if stretch[1]]


class _Side(NamedTuple):
    """The elements of a list; those of equal value have one number in all lists, as numbers compare faster."""

    elements: Sequence[Node]
    numbers: list[int]


def match_set(items: Sequence[Sequence[Node]], *, equal_only: bool = False) -> list[Match] | None:
    """Pairs the elements of sets; a value and the one that a side put in its place are one. None if one is there twice.

    Two values of one thing that both sides added are one element as well, if they differ in their versions only (L2).
    With `equal_only` only equal values are one.
    """
    sides = _number_values(items)
    if any(len(set(side.numbers)) < len(side.numbers) for side in sides):
        return None
    return _match_all(sides, is_set=True, equal_only=equal_only)


def match_sequence(items: Sequence[Sequence[Node]], *, equal_only: bool = False) -> list[Match]:
    """Pairs the elements of three lists: equal ones, then by weak keys, without versions, by likeness, alone in a gap.

    The original is paired with each side on its own (L3), with `equal_only` by the first of these means alone.
    """
    return _match_all(_number_values(items), is_set=False, equal_only=equal_only)


def _match_all(sides: Sequence[_Side], *, is_set: bool, equal_only: bool = False) -> list[Match]:
    before, theirs, ours = sides
    # What both added is one addition: no side may have put it in another element's place on its own.
    common = (set(theirs.numbers) & set(ours.numbers)) - set(before.numbers)
    with_upstream, with_local = (_equal_pairs(before, side) for side in (theirs, ours))
    alone: tuple[dict[int, int], dict[int, int]] = {}, {}
    if not equal_only:
        alone = _pair_unequal(before, (theirs, ours), (with_upstream, with_local), common)
    matches = []
    for at in range(len(before.numbers)):
        upstream, local = with_upstream.get(at), with_local.get(at)
        if upstream is not None and local is not None:
            matches.append(Match(at, upstream, local, local))
            continue
        placed = alone[0].get(at), alone[1].get(at)
        # What merely took the place of an element that the other side removed is an addition.
        if placed[0] is not None and (local is not None or placed[1] is not None):
            upstream = with_upstream[at] = placed[0]
        if placed[1] is not None and upstream is not None:
            local = with_local[at] = placed[1]
        matches.append(_match(at, upstream, local, is_whole=placed != (None, None)))
    added = _list_unpaired(theirs, with_upstream), _list_unpaired(ours, with_local)
    twice, alike = _added_by_both(sides, (with_upstream, with_local), added, common, is_set=is_set)
    clashes = _added_with_one_value(sides, [set(added[0]) - set(twice), set(added[1]) - set(twice.values())])
    twice |= {at: other for at, (other, _) in clashes.items()}
    matches += [
        _match(None, at, twice.get(at), is_addition=at in alike, shares=clashes[at][1] if at in clashes else "")
        for at in added[0]
    ]
    return matches + [_match(None, None, at) for at in sorted(set(added[1]) - set(twice.values()))]


def _pair_unequal(
    before: _Side, sides: tuple[_Side, _Side], pairs: tuple[Pairs, Pairs], common: Set[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Pairs what upstream and local changed; gives what each put in the place of one element, however unlike it is."""
    (theirs, ours), (with_upstream, with_local) = sides, pairs
    # Lists of scalars have no keys to look for.
    has_fields = any(isinstance(element, MappingNode) for element in before.elements)
    # The order of these means is L3's: a pair by one of them is never looked at by the next.
    for side, of_side in zip(sides, pairs, strict=True) if has_fields else ():
        _pair_by_keys(of_side, before.elements, side.elements)
    # Before likeness: else another element as much alike is taken, and a merged list is not stable.
    if common:
        _pair_made_alike(before, sides, pairs, common)
    blind: dict[int, Canonical] = {}
    for side, of_side in zip(sides, pairs, strict=True):
        _pair_other_versions(of_side, before, side, common, blind)
        if len(of_side) == len(before.elements):
            # Nothing is left that could be like anything.
            continue
        _pair_all_alike(of_side, before, side, common)
        places = _alone(of_side, side, common)
        of_side |= {at: to for at, to in places.items() if _keeps_most(before.elements[at], side.elements[to])}
    # Only now is it known what each side made of an element.
    _pair_through(before, theirs, ours, with_upstream, with_local)
    _pair_through(before, ours, theirs, with_local, with_upstream)
    alone = _alone(with_upstream, theirs, common), _alone(with_local, ours, common)
    _part_new_keys(before, sides, pairs, alone)
    return alone


def _part_new_keys(
    before: _Side,
    sides: tuple[_Side, _Side],
    pairs: tuple[Pairs, Pairs],
    alone: tuple[dict[int, int], dict[int, int]],
) -> None:
    """Parts elements of one new weak key that the sides put in the place of different ones: they are one addition.

    Otherwise the list would have the key twice (law G).
    """
    known_numbers = set(before.numbers)
    fields: list[Set[Canonical]] = [
        {
            key
            for element, number in zip(side.elements, side.numbers, strict=True)
            if number not in known_numbers and isinstance(element, MappingNode)
            for key in element.fields
        }
        for side in sides
    ]
    for name in (name for name in WEAK_KEYS if name in fields[0] and name in fields[1]) if all(fields) else ():
        known = set(_keys(before.elements, name))
        places = [
            {key: at for at, key in enumerate(_keys(side.elements, name)) if key is not None and key not in known}
            for side in sides
        ]
        originals = [
            {to: at for mapping in (of_side, of_alone) for at, to in mapping.items()}
            for of_side, of_alone in zip(pairs, alone, strict=True)
        ]
        for key in places[0].keys() & places[1].keys():
            held = [of_side.get(place[key]) for of_side, place in zip(originals, places, strict=True)]
            for at, of_side, of_alone in zip(held, pairs, alone, strict=True):
                if at is not None and held[0] != held[1]:
                    of_side.pop(at, None)
                    of_alone.pop(at, None)
        if known and None not in known:
            # It identifies all elements: no other key does.
            return


def _pair_made_alike(before: _Side, sides: tuple[_Side, _Side], pairs: tuple[Pairs, Pairs], common: Set[int]) -> None:
    """Pairs the elements of which both sides made the same: local has it after a merge (law D)."""
    for side, other, of_side, of_other in zip(sides, sides[::-1], pairs, pairs[::-1], strict=True):
        # Reversed, so that of equal elements the first is kept.
        free = {
            other.numbers[at]: at for at in reversed(_list_unpaired(other, of_other)) if other.numbers[at] in common
        }
        for at, place in of_side.items() if free else ():
            if at not in of_other and side.numbers[place] in free:
                of_other[at] = free.pop(side.numbers[place])
    nearest: tuple[dict[int, int], dict[int, int]] = {}, {}
    common_pairs: tuple[dict[int, int], dict[int, int]] = {}, {}
    for side, of_side, of_all, of_common in zip(sides, pairs, nearest, common_pairs, strict=True):
        left = MOST_COMPARED_IN_LIST
        for unpaired, others in of_side.stretches():
            if in_common := [at for at in others if side.numbers[at] in common]:
                left = _pair_alike(of_all, before.elements, side.elements, (unpaired, others), left)
                left = _pair_alike(of_common, before.elements, side.elements, (unpaired, in_common), left)
    for at in common_pairs[0].keys() & common_pairs[1].keys():
        number, other_number = (
            side.numbers[of_common[at]] for side, of_common in zip(sides, common_pairs, strict=True)
        )
        # The nearest of one side is enough: what the other added beside it may be more alike, but no other version.
        is_nearest = any(
            of_all.get(at) == of_common[at] for of_all, of_common in zip(nearest, common_pairs, strict=True)
        ) and not any(
            of_all.get(at, of_common[at]) != of_common[at]
            and blind_to_versions(before.elements[at].canonical)
            == blind_to_versions(side.elements[of_all[at]].canonical)
            for side, of_all, of_common in zip(sides, nearest, common_pairs, strict=True)
        )
        if number == other_number and is_nearest:
            pairs[0][at], pairs[1][at] = common_pairs[0][at], common_pairs[1][at]


def _list_unpaired(side: _Side, pairs: Pairs) -> list[int]:
    paired = set(pairs.values())
    return [at for at in range(len(side.numbers)) if at not in paired]


def _number_values(sides: Sequence[Sequence[Node]]) -> list[_Side]:
    numbers: dict[Canonical, int] = {}
    return [_Side(side, [numbers.setdefault(item.canonical, len(numbers)) for item in side]) for side in sides]


def added_at_one_place(matches: Sequence[Match]) -> bool:
    """Whether upstream and local each added elements of their own between the same elements."""
    if all(match.original is not None for match in matches):
        return False
    theirs, ours = ({before for before, _ in _additions(matches, side).values()} for side in ("upstream", "local"))
    return bool(theirs & ours)


def is_narrowed_replacement(matches: Sequence[Match]) -> bool:
    """Whether both sides replaced all elements of the original, local by a part of what upstream did.

    The reverse cannot be told from a merged list to which local had added (law D).
    """
    added = [match for match in matches if match.original is None]
    gone = [match for match in matches if match.upstream is None and match.local is None]
    mine = [match for match in added if match.local is not None]
    is_part = 0 < len(mine) < len(added) and all(match.upstream is not None for match in added)
    return is_part and len(added) + len(gone) == len(matches)


def replaced_by_both(matches: Sequence[Match], loser: str) -> set[Match]:
    """The elements that one side alone put in the place of elements that the other side replaced, too, by others."""
    gone = sorted(m.original for m in matches if m.original is not None and m.upstream is None and m.local is None)
    if not gone:
        return set()
    mine, theirs = (_additions(matches, side) for side in (loser, "local" if loser == "upstream" else "upstream"))

    def replaced(place: tuple[int, int]) -> range:
        """Which of those that are gone, by their numbers."""
        return range(bisect_left(gone, place[0] + 1), bisect_left(gone, place[1]))

    # Places overlap where elements moved: each is looked at by its ends alone.
    ends = Counter[int]()
    for place in theirs.values():
        if numbers := replaced(place):
            ends.update({numbers.start: 1, numbers.stop: -1})
    depth = list(accumulate(ends[number] for number in range(len(gone))))
    ranks = list(accumulate((at_once > 0 for at_once in depth), initial=0))
    return {
        match
        for match, place in mine.items()
        if (numbers := replaced(place)) and ranks[numbers.stop] > ranks[numbers.start]
    }


def _additions(matches: Sequence[Match], side: str) -> dict[Match, tuple[int, int]]:
    """The elements that a side alone has, with the original's elements before and behind them that the side has, too.

    -1 means the start, the number of the original's elements the end.
    """
    other = "local" if side == "upstream" else "upstream"
    on_side = sorted((m for m in matches if getattr(m, side) is not None), key=lambda match: getattr(match, side))
    places: dict[Match, tuple[int, int]] = {}
    size = 1 + max((m.original for m in matches if m.original is not None), default=-1)
    # A stack, since a walk from each addition to the next paired element would be quadratic.
    behind: list[int] = [size]
    for match in reversed(on_side):
        behind.append(behind[-1] if match.original is None else match.original)
    before = -1
    for match in on_side:
        if match.original is not None:
            before = match.original
        elif getattr(match, other) is None:
            places[match] = (before, behind[-1])
        behind.pop()
    return places


def _match(
    original: int | None,
    upstream: int | None,
    local: int | None,
    *,
    is_addition: bool = False,
    is_whole: bool = False,
    shares: str = "",
) -> Match:
    step = next(at for at in (local, upstream, original) if at is not None)
    return Match(original, upstream, local, step, is_addition=is_addition, is_whole=is_whole, shares=shares)


def _keys(items: Sequence[Node], name: str) -> list[Canonical | None]:
    """The values of a field that identify elements: None where an element has none, or shares it with another."""
    values = [_scalar(item, name) for item in items]
    count = Counter(values)
    return [value if value is not None and count[value] == 1 else None for value in values]


def _scalar(item: Node, name: str) -> Canonical | None:
    value = item.get(name) if isinstance(item, MappingNode) else None
    # Null identifies nothing: to Kubernetes it is a field that is left out.
    if not isinstance(value, Scalar) or is_null(value):
        return None
    scalar = value.canonical
    return without_version(scalar) if name in _WITH_VERSION and type(scalar) is str else scalar


def _equal_pairs(original: _Side, side: _Side) -> Pairs:
    before, after = original.numbers, side.numbers
    pairs = Pairs(len(before), len(after))
    are_long_alike = len(before) == len(after)
    in_place = {at: at for at in range(len(before)) if before[at] == after[at]} if are_long_alike else {}
    if are_long_alike and len(in_place) >= len(before) - 1:
        # No more can be equal, and none moved: most changes of a list are of one element.
        pairs.update(in_place)
        return pairs
    for start, other, size in matching_blocks(before, after):
        pairs.update(zip(range(start, start + size), range(other, other + size), strict=True))
    if len(in_place) >= len(pairs):
        # Of elements that are there more than once, each is itself.
        pairs.clear()
        pairs.update(in_place)
    # An equal element in another place moved; of several nobody knows which.
    moved, *others = ([number for number, count in Counter(side).items() if count == 1] for side in (before, after))
    alone = set(moved).intersection(*others)
    _pair_equal(pairs, *([number if number in alone else None for number in side] for side in (before, after)))
    return pairs


def _pair_by_keys(pairs: dict[int, int], original: Sequence[Node], side: Sequence[Node]) -> None:
    """Pairs by the first field that identifies all elements of both lists, else by each that identifies some."""
    paired = set(pairs.values())
    left = (
        [element for at, element in enumerate(original) if at not in pairs],
        [element for at, element in enumerate(side) if at not in paired],
    )
    if not all(left):
        return
    names = [{key for item in of_side if isinstance(item, MappingNode) for key in item.fields} for of_side in left]
    # Counted over the whole lists: a key that a paired element has as well identifies nothing.
    candidates = [
        (_keys(original, name), _keys(side, name)) for name in WEAK_KEYS if name in names[0] and name in names[1]
    ]
    of_all = next((keys for keys in candidates if None not in keys[0] and None not in keys[1]), None)
    for before, after in candidates if of_all is None else [of_all]:
        _pair_equal(pairs, before, after)


def _pair_other_versions(
    pairs: Pairs, original: _Side, side: _Side, common: Set[int], blind: dict[int, Canonical]
) -> None:
    """Pairs what differs in versions only; `blind` keeps values without versions, by their numbers."""
    paired = set(pairs.values())
    # What the other list has, too, moved or is there several times: it is no new version of anything.
    numbers, held_before = set(side.numbers), common | set(original.numbers)
    ours = {at for at, number in enumerate(original.numbers) if at not in pairs and number not in numbers}
    theirs = {at for at, number in enumerate(side.numbers) if at not in paired and number not in held_before}
    if not ours or not theirs:
        return
    for of_side, free in ((original, ours), (side, theirs)):
        for at in free:
            if (number := of_side.numbers[at]) not in blind:
                blind[number] = blind_to_versions(of_side.elements[at].canonical)
    before, after = (
        [blind[number] if at in free else None for at, number in enumerate(of_side.numbers)]
        for of_side, free in ((original, ours), (side, theirs))
    )
    _pair_equal(pairs, before, after)


def _pair_all_alike(pairs: Pairs, original: _Side, side: _Side, common: Set[int]) -> None:
    left = MOST_COMPARED_IN_LIST
    for ours, theirs in pairs.stretches():
        free = [at for at in theirs if side.numbers[at] not in common]
        left = _pair_alike(pairs, original.elements, side.elements, (ours, free), left)


def _alone(pairs: Pairs, side: _Side, common: Set[int]) -> dict[int, int]:
    """What a side put in the place of one element, and nothing else, however unlike it is."""
    return {
        ours[0]: theirs[0]
        for ours, theirs in pairs.stretches()
        if len(ours) == len(theirs) == 1 and side.numbers[theirs[0]] not in common
    }


def _keeps_most(original: Node, element: Node) -> bool:
    """Whether an element has more than half of the fields of another, with equal values, or nothing but those."""
    if not isinstance(original, MappingNode) or not isinstance(element, MappingNode):
        return False
    before, after = original.fields, element.fields
    equal_fields = sum(
        key in after and entry.value.canonical == after[key].value.canonical for key, entry in before.items()
    )
    return 2 * equal_fields > len(before) or equal_fields == len(after) > 0


def _pair_through(original: _Side, other_side: _Side, side: _Side, with_known: Pairs, pairs: Pairs) -> None:
    """Pairs what is no longer like the original's element, but like what the other side made of it.

    After a merge, local has the changes of both (law D). What the other side added is none of it.
    """
    if not (stretches := pairs.stretches()):
        return
    versions = [
        other_side.elements[with_known[at]] if at in with_known else element
        for at, element in enumerate(original.elements)
    ]
    added = {other_side.numbers[at] for at in _list_unpaired(other_side, with_known)}
    left = MOST_COMPARED_IN_LIST
    for ours, theirs in stretches:
        changed = [at for at in ours if at in with_known and other_side.numbers[with_known[at]] != original.numbers[at]]
        candidates = [at for at in theirs if side.numbers[at] not in added]
        left = _pair_alike(pairs, versions, side.elements, (changed, candidates), left)


def _pair_equal(pairs: dict[int, int], before: Sequence[object], after: Sequence[object]) -> None:
    """Pairs equal values, in order; None is like nothing."""
    paired = set(pairs.values())
    free: dict[object, list[int]] = {}
    # From the end, so that pop() takes the first.
    for at in range(len(after) - 1, -1, -1):
        if at not in paired and after[at] is not None:
            free.setdefault(after[at], []).append(at)
    for at, element in enumerate(before):
        if at not in pairs and free.get(element):
            pairs[at] = free[element].pop()


def _pair_alike(
    pairs: dict[int, int],
    original: Sequence[Node],
    side: Sequence[Node],
    unpaired: tuple[list[int], list[int]],
    left: int,
    measure: _Additions | None = None,
) -> int:
    """Pairs in order, so that the likeness of all pairs together is the greatest; of as good ones the nearest.

    `left` is how many may still be compared in the list; gives how many are left then.
    """
    ours, theirs = unpaired
    compared = len(ours) * len(theirs)
    if not compared:
        return left
    if compared > min(left, MOST_COMPARED):
        # Stretches behind it may be small: only what was compared counts.
        return left
    traits, likeness = (measure.traits, measure.likeness) if measure is not None else (Traits, Traits.likeness)
    of_ours, of_theirs = [traits(original[at]) for at in ours], [traits(side[at]) for at in theirs]
    scores = [[likeness(our_traits, other) for other in of_theirs] for our_traits in of_ours]
    # Of additions nothing is usual.
    around = _AROUND if measure is None else 0
    neighbours = [[*original[max(0, at - around) : at], *original[at + 1 : at + 1 + around]] for at in ours]
    weigh(scores, of_ours, of_theirs, neighbours)
    pairs.update((ours[i], theirs[j]) for i, j in best_pairs(scores))
    return left - compared


def _added_by_both(
    sides: Sequence[_Side],
    pairs: tuple[Pairs, Pairs],
    added: tuple[list[int], list[int]],
    common: Set[int],
    *,
    is_set: bool,
) -> tuple[dict[int, int], set[int]]:
    """Upstream's additions that local made, too: equal ones, with one weak key, and at one place nearly equal ones.

    The second are those of upstream that only are alike.
    """
    before, *changed = sides
    known = set(before.numbers)
    # One more of an element of the original is no version of what the other side added.
    candidates = [[at for at in new if side.numbers[at] not in known] for side, new in zip(changed, added, strict=True)]
    if not all(candidates):
        return {}, set()
    elements = [[side.elements[at] for at in new] for side, new in zip(changed, candidates, strict=True)]
    numbers = [[side.numbers[at] for at in new] for side, new in zip(changed, candidates, strict=True)]
    likely_pairs: dict[int, int] = {}
    _pair_equal(likely_pairs, *([number if number in common else None for number in side] for side in numbers))
    _pair_by_keys(likely_pairs, *elements)
    same = {candidates[0][index]: candidates[1][other] for index, other in likely_pairs.items()}
    # Equal ones, and those with one key, are one wherever they are; nearly equal ones only at one place.
    certain = set(same)
    left = MOST_COMPARED_IN_LIST
    measure: _Additions | None = None
    # By the element before, then by the one behind: a side may have removed either of them.
    for is_behind in (True, False):
        runs = [_runs(new, paired, is_behind=is_behind) for new, paired in zip(candidates, pairs, strict=True)]
        paired = set(same.values())
        for place, run in runs[0].items():
            theirs = [at for at in run if at not in same]
            ours = [at for at in runs[1].get(place, []) if at not in paired]
            if theirs and ours and measure is None:
                # What other elements of the list have as well does not say that two additions are one.
                usual = (leaf for element in before.elements for leaf in leaves_of(element, by_lines=True))
                measure = _Additions(frozenset(usual), is_set)
            left = _pair_alike(same, changed[0].elements, changed[1].elements, (theirs, ours), left, measure)
    return same, set(same) - certain


def _added_with_one_value(sides: Sequence[_Side], added: Sequence[Set[int]]) -> dict[int, tuple[int, str]]:
    """Additions of both sides that share a value which no two elements of a list do, such as a code; with its field."""
    clashes: dict[int, tuple[int, str]] = {}
    first = sides[0].elements[0] if all(added) and len(sides[0].elements) >= FEWEST_NUMBERED else None
    names = [key for key in first.fields if isinstance(key, str)] if isinstance(first, MappingNode) else []
    for name in names:
        values = [_keys(side.elements, name) for side in sides]
        if any(None in side for side in values):
            continue
        free = {values[2][at]: at for at in added[1] - {other for other, _ in clashes.values()}}
        for at in added[0] - set(clashes):
            if values[1][at] in free:
                clashes[at] = free[values[1][at]], name
    return clashes


class _Additions(NamedTuple):
    """How alike two elements are that both sides added at one place."""

    usual: Set[Leaf]
    is_set: bool

    def traits(self, node: Node) -> Traits:
        return Traits(node, self.usual, by_lines=True)

    def likeness(self, first: Traits, second: Traits) -> float:
        first_node, other_node = first.node, second.node
        if first_node.canonical == other_node.canonical:
            return 1.0
        # Alike scalars may be two: addresses of people at one company, or finalizers of one operator.
        if isinstance(first_node, Scalar) and isinstance(other_node, Scalar):
            are_options = not self.is_set and "=" in first_node.text and "=" in other_node.text
            what = (
                node.text.partition("=")[0] if are_options else without_version(node.text)
                for node in (first_node, other_node)
            )
            return float(next(what) == next(what))
        keys = ((_scalar(first_node, name), _scalar(other_node, name)) for name in _WITH_VERSION)
        return 1.0 if any(key is not None and key == other_key for key, other_key in keys) else first.likeness(second)


def _runs(added: list[int], pairs: Pairs, *, is_behind: bool) -> dict[int | None, list[int]]:
    """The added elements of a side by the original's nearest element: the one that they are behind, or in front of."""
    original = {place: at for at, place in pairs.items()}
    runs: dict[int | None, list[int]] = {}
    places = sorted(original)
    for at in added:
        # No place is that of an addition: what is found is behind it.
        index = bisect_left(places, at) - is_behind
        nearest = places[index] if 0 <= index < len(places) else None
        runs.setdefault(None if nearest is None else original[nearest], []).append(at)
    return runs
