"""Judges of a merged file: is it what the people made of both sides, and is it sound?"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.merges.facts import Facts, Values, comments_of, facts_of, scalar_of, scalars_in, versionless
from benchmarks.merges.triples import Triple

NOTHING: Counter[str] = Counter()
MOST_COMBINATIONS = 300
ALIKE = 0.5
"""The share of common scalars from which two added elements count as one that was added twice."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change that only one side made: a value that it added at a place, or removed, and how often it has it now."""

    place: str
    value: str
    added: bool
    count: int

    def is_in(self, facts: Facts) -> bool:
        """Whether a file has the change."""
        count = facts.fields.get(self.place, NOTHING)[self.value]
        return count >= self.count if self.added else count <= self.count

    def __str__(self) -> str:
        return f"{'+' if self.added else '-'} {self.place}: {self.value}"


def is_same(text: bytes, other: bytes) -> bool:
    """Whether two files have the same values, or the same lines where they cannot be parsed."""
    if text == other:
        return True
    values, its_values = facts_of(text).values, facts_of(other).values
    if values is None and its_values is None:
        return _lines(text) == _lines(other)
    return values == its_values


def several_kinds(triple: Triple, *results: bytes) -> frozenset[str]:
    """The kinds of which some version has several resources: in all versions, their names say which is which."""
    texts = (triple.original, triple.upstream, triple.local, triple.people, *results)
    return frozenset[str]().union(*(facts_of(text).several for text in texts))


def one_sided_changes(triple: Triple, several: frozenset[str] = frozenset()) -> list[Change]:
    """Every change that only one side made; see `facts_of` for `several`.

    Where both sides changed one field differently, or one removed a line or element that the other replaced, nothing of
    it counts: that is for the people to decide.
    """
    sides = (triple.original, triple.upstream, triple.local)
    original, upstream, local = (facts_of(text, several).fields for text in sides)
    changes: list[Change] = []
    for place in original.keys() | upstream.keys() | local.keys():
        before, ours, theirs = (side.get(place, NOTHING) for side in (original, local, upstream))
        if ours == before or theirs == before:
            changes += _changes(place, before, ours if theirs == before else theirs)
        elif max(before.total(), ours.total(), theirs.total()) > 1:
            changes += _changes_among_several(place, before, ours, theirs)
    return changes


def _changes(place: str, before: Counter[str], after: Counter[str]) -> Iterator[Change]:
    for value in sorted(before.keys() | after.keys()):
        if before[value] != after[value]:
            yield Change(place, value, after[value] > before[value], after[value])


def _changes_among_several(place: str, before: Counter[str], *sides: Counter[str]) -> Iterator[Change]:
    """Changes of lines, or of elements without a name."""
    contested = any(all(side[value] < count for side in sides) for value, count in before.items())
    for side, other in (sides, sides[::-1]):
        for change in _changes(place, before, side):
            if other[change.value] == before[change.value] and not (contested and change.added):
                yield change


def missing_changes(triple: Triple, text: bytes) -> list[Change]:
    """The changes of one side alone that a file lacks."""
    several = several_kinds(triple, text)
    facts = facts_of(text, several)
    if (facts.values is None) != (facts_of(triple.original).values is None):
        return []
    return [change for change in one_sided_changes(triple, several) if not change.is_in(facts)]


def lost_changes(triple: Triple, text: bytes) -> list[Change]:
    """The changes of one side alone that a file lacks and the people have."""
    people = facts_of(triple.people, several_kinds(triple, text))
    return [change for change in missing_changes(triple, text) if change.is_in(people)]


def is_sound(triple: Triple, text: bytes) -> bool:
    """Whether a file parses and repeats no key, as far as the sides do not either."""
    sides = [facts_of(side) for side in (triple.original, triple.upstream, triple.local)]
    facts = facts_of(text)
    parses = facts.values is not None or any(side.values is None for side in sides)
    return parses and (not facts.repeats or any(side.repeats for side in sides))


def two_versions(triple: Triple, text: bytes) -> list[str]:
    """References that a list has with more versions than on any side, and than the people left."""
    return _beyond_sides(triple, text, _versions)


def doubled_elements(triple: Triple, text: bytes) -> list[str]:
    """Elements that a list has more often than on any side, and than the people left."""
    return _beyond_sides(triple, text, _equals)


def _versions(elements: Sequence[Values]) -> Counter[Values]:
    """How many versions a list has of each reference."""
    return Counter(bare for element in set(elements) if (bare := versionless(element)) != element)


def _equals(elements: Sequence[Values]) -> Counter[Values]:
    return Counter({element: count for element, count in Counter(elements).items() if count > 1})


def _beyond_sides(triple: Triple, text: bytes, count: Callable[[Sequence[Values]], Counter[Values]]) -> list[str]:
    def counts(side: bytes) -> dict[tuple[str, Values], int]:
        most: dict[tuple[str, Values], int] = {}
        for place, elements in facts_of(side).lists:
            for name, number in count(elements).items():
                most[place, name] = max(number, most.get((place, name), 0))
        return most

    others = [counts(side) for side in (triple.original, triple.upstream, triple.local, triple.people)]
    return [
        f"{place}: {' '.join(scalars_in(name))[:100]}"
        for (place, name), number in counts(text).items()
        if number > 1 and number > max(other.get((place, name), 1) for other in others)
    ]


def added_twice(triple: Triple, text: bytes) -> list[str]:
    """Elements that one side added to a list beside nearly equal ones of the other, where the people kept only one.

    One that has the name of an original's was changed and not added, and two with different names are two.
    """
    original, upstream, local, people = (
        _elements(side) for side in (triple.original, triple.upstream, triple.local, triple.people)
    )
    doubles = []
    for place, elements in _elements(text).items():
        before = original.get(place, set())
        names = {scalar_of(element, "name") for element in before} - {""}
        present = {element for element in elements - before if scalar_of(element, "name") not in names}
        ours = present & local.get(place, set()) - upstream.get(place, set())
        theirs = present & upstream.get(place, set()) - local.get(place, set())
        for mapping, other in itertools.product(ours, theirs):
            are_named = all(scalar_of(element, "name") for element in (mapping, other))
            if are_named and scalar_of(mapping, "name") != scalar_of(other, "name"):
                continue
            if likeness(mapping, other) >= ALIKE and not {mapping, other} <= people.get(place, set()):
                doubles.append(f"{place}: {' '.join(scalars_in(mapping))[:100]}")
    return doubles


def _elements(text: bytes) -> dict[str, set[Values]]:
    """The mappings in each list of a file."""
    by_place: dict[str, set[Values]] = {}
    for place, elements in facts_of(text).lists:
        by_place.setdefault(place, set()).update(element for element in elements if element[0] == "m")
    return by_place


def likeness(mapping: Values, other: Values) -> float:
    """The share of scalars that two values have in common."""
    scalars, others = Counter(scalars_in(mapping)), Counter(scalars_in(other))
    return (scalars & others).total() / max(scalars.total(), others.total(), 1)


def lost_comments(triple: Triple, text: bytes) -> list[str]:
    """Comments that one side added and a file lacks, though the people kept them."""
    before, result, people = (comments_of(side) for side in (triple.original, text, triple.people))
    sides = comments_of(triple.local), comments_of(triple.upstream)
    lost = []
    for side, other in (sides, sides[::-1]):
        for comment in side - before:
            count = side[comment] - (before - other)[comment]  # without those that the other side removed
            if result[comment] < count and result[comment] < people[comment]:
                lost.append(comment)
    return lost


MARKED = re.compile(rb"^<{7} .*?\n(.*?)(?:^\|{7} [^\n]*\n.*?)?^={7}\r?\n(.*?)^>{7} [^\n]*\n?", re.DOTALL | re.MULTILINE)


def is_reached(text: bytes, people: bytes) -> bool:
    """Whether the people's answer is one of a side, or of both in some order, at each place between markers."""
    outside: list[bytes] = []
    choices: list[list[bytes]] = []
    end = 0
    for conflict in MARKED.finditer(text):
        first, other = conflict[1], conflict[2]
        outside.append(text[end : conflict.start()])
        choices.append([first, other, first + other, other + first] if first and other else [first, other])
        end = conflict.end()
    rest = text[end:]

    def assemble(chosen: Sequence[bytes]) -> bytes:
        return b"".join(part for pair in zip(outside, chosen, strict=True) for part in pair) + rest

    number = 1
    for options in choices:
        number *= len(options)
    if number <= MOST_COMBINATIONS:
        return any(is_same(assemble(chosen), people) for chosen in itertools.product(*choices))
    return is_same(assemble(_nearest(choices, assemble, people)), people)


def _nearest(choices: list[list[bytes]], assemble: Callable[[Sequence[bytes]], bytes], people: bytes) -> list[bytes]:
    """The choices that come nearest to a text, chosen place by place."""
    chosen = [options[0] for options in choices]
    for number, options in enumerate(choices):
        tried = [[*chosen[:number], option, *chosen[number + 1 :]] for option in options]
        chosen = min(tried, key=lambda words: distance(assemble(words), people))
    return chosen


def distance(text: bytes, other: bytes) -> int:
    """How many values two files do not share."""
    fields, its_fields = facts_of(text).fields, facts_of(other).fields
    places = fields.keys() | its_fields.keys()
    pairs = ((fields.get(place, NOTHING), its_fields.get(place, NOTHING)) for place in places)
    return sum(((a - b) + (b - a)).total() for a, b in pairs)


def _lines(text: bytes) -> list[bytes]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]
