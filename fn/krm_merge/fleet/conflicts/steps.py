"""What was chosen for groups, step by step, and what holds after that."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias, get_args

from krm_merge.fleet.conflicts.groups import Group
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.text.reading.values import Value

_CHOICES: Mapping[object, Choice] = {choice: choice for choice in get_args(Choice)}

GroupPartKey: TypeAlias = tuple[str, tuple[str, ...]]
"""The key of a group, and the packages that are settled apart; none for the group."""


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A choice for a group, or for packages of it that are settled apart; without a `choice` these are set apart."""

    group: str
    apart: tuple[str, ...] = ()
    choice: Choice | None = None
    value: Value = None
    always: bool = False


@dataclass(frozen=True, slots=True)
class GroupStep:
    """What was chosen at once, and can be undone at once."""

    choices: tuple[GroupChoice, ...]

    def about(self, groups: Container[str]) -> GroupStep:
        """What the step says of groups that are still there."""
        return GroupStep(tuple(one for one in self.choices if one.group in groups))


@dataclass(frozen=True, slots=True)
class GroupPart:
    """A group (number 0), or some packages of it that are settled apart. `packages` are those that it is for."""

    group: Group
    number: int
    packages: tuple[str, ...]

    @property
    def id(self) -> str:
        """The id of its record."""
        return f"{self.group.id}-{self.number}" if self.number else self.group.id

    @property
    def apart(self) -> tuple[str, ...]:
        """The packages where these are settled apart, none for a group."""
        return self.packages if self.number else ()

    @property
    def key(self) -> GroupPartKey:
        """What a choice is known by."""
        return self.group.key, self.apart

    def matching(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """The packages that have one of these names, match one of these patterns, or are in such a directory."""
        return tuple(
            package
            for package in self.packages
            if any(
                package == pattern or fnmatchcase(package, pattern) or package.startswith(f"{pattern.rstrip('/')}/")
                for pattern in patterns
            )
        )


@dataclass(frozen=True, slots=True)
class GroupChoices:
    """What holds after some steps: the parts in their order, and what was chosen for each of them."""

    parts: tuple[GroupPart, ...]
    made: Mapping[GroupPartKey, GroupChoice]

    @classmethod
    def after(cls, steps: Iterable[GroupStep], groups: Mapping[str, Group]) -> GroupChoices:
        """What the steps leave of groups by key."""
        apart: dict[str, list[tuple[str, ...]]] = {}
        made: dict[GroupPartKey, GroupChoice] = {}
        for step in steps:
            for one in step.choices:
                if one.choice is None:
                    apart.setdefault(one.group, []).append(one.apart)
                else:
                    made[one.group, one.apart] = one
        parts: list[GroupPart] = []
        for key, group in groups.items():
            sets = apart.get(key, [])
            taken = {package for packages in sets for package in packages}
            rest = tuple(package for package in group.packages if package not in taken)
            parts.append(GroupPart(group, 0, rest))
            parts += [GroupPart(group, number, packages) for number, packages in enumerate(sets, 1)]
        return cls(tuple(parts), made)


class GroupSteps:
    """Steps as plain values, for a file of choices."""

    def to_value(self, step: GroupStep) -> Mapping[str, Value]:
        """A step as a plain value."""
        return {"choices": [_value_of(one) for one in step.choices]}

    def from_value(self, value: Mapping[str, Value]) -> GroupStep:
        """The step again. Raises ValueError, TypeError or LookupError."""
        written = value["choices"]
        if not isinstance(written, list):
            raise TypeError("choices is expected to be a list")
        return GroupStep(tuple(map(_choice, written)))


def _value_of(one: GroupChoice) -> dict[str, Value]:
    value: dict[str, Value] = {"group": one.group, "apart": list(one.apart)}
    return value | {"choice": one.choice, "value": one.value, "always": one.always}


def _choice(written: Value) -> GroupChoice:
    if not isinstance(written, Mapping):
        raise TypeError("a choice is expected")
    packages, chosen = written["apart"], written["choice"]
    if not isinstance(packages, list):
        raise TypeError("apart is expected to be a list")
    choice = None if chosen is None else _CHOICES[chosen]
    apart = tuple(map(str, packages))
    return GroupChoice(str(written["group"]), apart, choice, written["value"], written["always"] is True)
