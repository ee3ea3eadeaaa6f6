"""The conventions of files that somebody laid out, and the file that they give a new resource (rule R8)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from krm_merge.vendored.naming import Named, Template, templates_of

_Kind: TypeAlias = tuple[str, str]
_Score: TypeAlias = tuple[int, ...]


class PlacedResource(NamedTuple):
    """A resource in the file that somebody put it in; `position` is the one in upstream's order, None for none."""

    resource: Named
    path: str
    position: int | None


class Conventions:
    """What the paths of resources have in common."""

    def __init__(self, placed: Sequence[PlacedResource]) -> None:
        """Takes every resource that shows where others belong."""
        self._placed = placed
        self._templates = [templates_of(path, resource) for resource, path, _ in placed]

    def path_of(self, resource: Named, position: int | None) -> str | None:
        """The file for a new resource at a position of upstream's order; None where there is no convention.

        The convention of most resources of its kind counts, of several the one of the nearest upstream. A kind that is
        new follows the convention of most kinds, else the resource that is nearest to it upstream.
        """
        kind = resource.identity.group_kind
        rankings = [self._by_kind[kind]] if kind in self._by_kind else [self._of_kinds, self._of_neighbours]
        found = (path for ranking in rankings for path in ranking.paths_of(resource, position))
        return next(found, None)

    @cached_property
    def _kinds(self) -> dict[Template, set[_Kind]]:
        """The kinds that each template explains."""
        kinds: dict[Template, set[_Kind]] = {}
        for (resource, _, _), templates in zip(self._placed, self._templates, strict=True):
            for template in templates:
                kinds.setdefault(template, set()).add(resource.identity.group_kind)
        return kinds

    def _generality(self, template: Template) -> int:
        """How many kinds a template explains, if that is more than one and something of it follows from them."""
        kinds = len(self._kinds[template])
        return kinds if kinds > 1 and template.placeholders else 0

    @cached_property
    def _by_kind(self) -> dict[_Kind, _Ranking]:
        """For each kind the templates that explain its resources."""
        numbers: dict[_Kind, list[int]] = {}
        for number, (resource, _, _) in enumerate(self._placed):
            numbers.setdefault(resource.identity.group_kind, []).append(number)
        return {kind: self._ranking(of_kind) for kind, of_kind in numbers.items()}

    def _ranking(self, numbers: Iterable[int]) -> _Ranking:
        votes = self._votes(numbers)
        return _Ranking(
            ((len(voters), self._generality(template), template.placeholders), template, self._position(number))
            for template, voters in votes.items()
            for number in voters
        )

    @cached_property
    def _of_kinds(self) -> _Ranking:
        """The templates that explain several kinds."""
        votes = self._votes(range(len(self._placed)))
        return _Ranking(
            ((general, len(voters), template.placeholders), template, self._position(voters[0]))
            for template, voters in votes.items()
            if (general := self._generality(template))
        )

    @cached_property
    def _of_neighbours(self) -> _Ranking:
        """For each resource the template that explains most others besides it."""
        votes = self._votes(range(len(self._placed)))
        best = (
            max(templates, key=lambda template: (len(votes[template]), template.placeholders, template.path))
            for templates in self._templates
        )
        return _Ranking(((), template, self._position(number)) for number, template in enumerate(best))

    def _votes(self, numbers: Iterable[int]) -> dict[Template, list[int]]:
        votes: dict[Template, list[int]] = {}
        for number in numbers:
            for template in self._templates[number]:
                votes.setdefault(template, []).append(number)
        return votes

    def _position(self, number: int) -> float:
        position = self._placed[number].position
        return math.inf if position is None else position


class _Ranking:
    """Templates by their score; those with one score by the position of what they explain."""

    def __init__(self, scored: Iterable[tuple[_Score, Template, float]]) -> None:
        by_score: dict[_Score, list[tuple[float, Template]]] = {}
        for score, template, position in scored:
            by_score.setdefault(score, []).append((position, template))
        self._groups = [sorted(by_score[score], key=_place) for score in sorted(by_score, reverse=True)]

    def paths_of(self, resource: Named, position: int | None) -> Iterator[str]:
        """The paths that the templates give a resource, the best first."""
        at = math.inf if position is None else position
        for group in self._groups:
            for template in _nearest_first(group, at):
                if (path := template.path_of(resource)) is not None:
                    yield path


def _place(entry: tuple[float, Template]) -> tuple[float, str]:
    # Of equal ones always the same, whatever the order of a set.
    return entry[0], entry[1].path


def _nearest_first(group: Sequence[tuple[float, Template]], position: float) -> Iterator[Template]:
    """The templates from a position outwards; what comes before it is nearer than what comes as far behind."""
    after = bisect_left(group, position, key=lambda entry: entry[0])
    before = after - 1
    while before >= 0 or after < len(group):
        is_before = after == len(group) or (before >= 0 and position - group[before][0] <= group[after][0] - position)
        yield group[before if is_before else after][1]
        before, after = (before - 1, after) if is_before else (before, after + 1)
