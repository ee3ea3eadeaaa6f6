"""Places in an object: pointers count the elements of lists, locations know which they are.

Two plugins that change one object each count indices in their own copy. What they write is compared, and put together,
by locations: an element of the object as it came is known by its index there, a new one by what it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from krm_merge.text.values import Value


class Absent(Enum):
    """What stands where nothing is."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Added:
    """A list element that an operation added: its key fields or else its value, and which of its like it is."""

    key: Hashable
    number: int


Element: TypeAlias = int | Added
Location: TypeAlias = tuple[str | Element, ...]
KeysOf: TypeAlias = Callable[[tuple[str, ...]], tuple[str, ...]]
"""The fields that identify the elements of the list at a path without steps into elements, () where none do."""


def overlap(first: Location, second: Location) -> bool:
    """Whether two locations are the same, or one lies under the other."""
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


def index_of(token: str, items: list[Value]) -> int | None:
    """The index that a token names: a number (RFC 6901), or `[name=web]` for the element with these fields."""
    if token.startswith("[") and token.endswith("]"):
        wanted = [part.partition("=") for part in token[1:-1].split(",")]
        for at, item in enumerate(items):
            if isinstance(item, dict) and all(_text(item.get(name)) == text for name, _, text in wanted):
                return at
        return None
    if not token.isascii() or not token.isdigit() or (token[0] == "0" and token != "0") or int(token) >= len(items):
        return None
    return int(token)


def _text(value: Value) -> str | None:
    return json.dumps(value) if isinstance(value, bool | int | float) else value if isinstance(value, str) else None
