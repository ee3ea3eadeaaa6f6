"""Places in an object: pointers count the elements of lists, locations know which they are.

Two plugins that change one object each count indices in their own copy. What they write is compared, and put together,
by locations: an element of the original object is identified by its index there, a new one by its contents.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from krm_merge.text.reading.values import Value


class Absent(Enum):
    """Marks a missing value."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Added(NamedTuple):
    """A list element that an operation added: its key fields or else its value, and its number among equal ones."""

    key: Hashable
    number: int


Element: TypeAlias = int | Added
Location: TypeAlias = tuple[str | Element, ...]


def overlap(first: Location, second: Location) -> bool:
    """Whether two locations are the same, or one lies under the other."""
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


Holder = TypeVar("Holder")


class FirstClaims(Generic[Holder]):
    """Index of the first claimant of each location, with the locations above and below it."""

    def __init__(self) -> None:
        """Starts empty."""
        self._count = 0
        self._at: dict[Location, tuple[int, Holder]] = {}
        self._under: dict[Location, tuple[int, Holder]] = {}

    def add(self, location: Location, holder: Holder) -> None:
        """Records a claimant of a location, unless it has one."""
        self._count += 1
        first = (self._count, holder)
        self._at.setdefault(location, first)
        for depth in range(len(location) + 1):
            self._under.setdefault(location[:depth], first)

    def overlapping(self, locations: Iterable[Location]) -> tuple[Holder, Location] | None:
        """The first claimant whose location overlaps one of these, and that location."""
        found: tuple[int, Holder] | None = None
        place: Location = ()
        for location in locations:
            met = [self._at.get(location[:depth]) for depth in range(len(location))]
            for first in (self._under.get(location), *met):
                if first is not None and (found is None or first[0] < found[0]):
                    found, place = first, location
        return None if found is None else (found[1], place)

    def has_around(self, location: Location) -> bool:
        """Whether a location or one above it has a claimant."""
        return any(location[:depth] in self._at for depth in range(len(location) + 1))


def index_of(token: str, items: list[Value]) -> int | None:
    """The index that a token names: a number (RFC 6901), or `[name=web]` for the element with these fields."""
    if token.startswith("[") and token.endswith("]"):
        wanted = [part.partition("=") for part in token[1:-1].split(",")]
        for at, item in enumerate(items):
            if isinstance(item, dict) and all(_text(item.get(name)) == text for name, _, text in wanted):
                return at
        return None
    if not token.isascii() or not token.isdigit() or (token[0] == "0" and token != "0"):
        return None
    # int() refuses strings of more than 4300 digits.
    index = int(token) if len(token) <= len(str(len(items))) else len(items)
    return index if index < len(items) else None


def _text(value: Value) -> str | None:
    return json.dumps(value) if isinstance(value, bool | int | float) else value if isinstance(value, str) else None
