"""Reads the fields of resources and collects all problems, each with its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from krm_merge.components.konflux.contexts import normalised
from krm_merge.components.konflux.images import digest_of, is_digest
from krm_merge.errors import KrmMergeError
from krm_merge.krm.fieldpath import format_path
from krm_merge.text.reading.values import Value

Place: TypeAlias = "tuple[str | int, ...]"
"""Names of fields and positions in lists, from the top of a resource."""

_END_OF_TIME = 253402300800  # the year 10000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\Z", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}\Z")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
# Source: git-check-ref-format(1). The branch of a fork comes with its owner and a colon.
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^?*\[\\]|\.\.|@\{|^-")
EXPECTED_DIGEST = "sha256: and 64 hexadecimal digits are expected, 0 to 9 and a to f"


class UnreadableError(KrmMergeError, ValueError):
    """A resource with invalid fields.

    `problems` are pairs of a field and what is expected there; `field` is the first of these fields.
    """

    def __init__(self, problem: str, field: str, *more: tuple[str, str]) -> None:
        """The message begins with the field; `more` are further fields and their problems."""
        self.problems = ((field, problem), *more)
        super().__init__("; ".join(f"{place}: {what}" for place, what in self.problems))
        self.field = field


class Fields:
    """The fields of a resource. Null counts as missing; `check` raises the collected problems."""

    def __init__(self, value: Value) -> None:
        """Takes the resource; reads nothing yet."""
        self._value = value
        self._problems: dict[str, str] = {}

    def wrong(self, problem: str, *place: str | int) -> None:
        """Records a problem; only the first problem of a field is kept."""
        self._problems.setdefault(format_path(place), problem)

    def check(self) -> None:
        """Raises UnreadableError with the problems of the fields that were read, if there are any."""
        if self._problems:
            (field, problem), *more = self._problems.items()
            raise UnreadableError(problem, field, *more)

    def at(self, *place: str | int) -> Value:
        """The value at a place, None if it is missing."""
        found = self._value
        for depth, step in enumerate(place):
            if found is None:
                return None
            if isinstance(step, int):
                found = found[step] if isinstance(found, list) else None
            elif isinstance(found, dict):
                found = found.get(step)
            else:
                self.wrong("a map is expected", *place[:depth])
                return None
        return found

    def text(self, *place: str | int) -> str:
        """A text, '' if it is missing."""
        found = self.at(*place)
        if isinstance(found, str):
            return found
        if isinstance(found, bool):
            self.wrong(f"a text is expected; put {str(found).lower()} in quotes", *place)
        elif isinstance(found, int | float):
            self.wrong("a text is expected; put the number in quotes", *place)
        elif found is not None:
            self.wrong("a text is expected", *place)
        return ""

    def needed(self, *place: str | int) -> str:
        """A required text."""
        found = self.text(*place)
        if not found:
            self.wrong("a text is expected", *place)
        return found

    def flag(self, *place: str | int) -> bool:
        """A boolean; False if it is missing."""
        found = self.at(*place)
        if not isinstance(found, bool | None):
            self.wrong("true or false is expected, without quotes", *place)
        return found is True

    def texts(self, *place: str | int) -> tuple[str, ...] | None:
        """A list of texts, none of them empty; None if it is missing."""
        found = self.at(*place)
        if found is None:
            return None
        if not isinstance(found, list):
            self.wrong("a list of texts is expected", *place)
            return ()
        return tuple(self.needed(*place, position) for position in range(len(found)))

    def maps(self, *place: str | int) -> list[Place]:
        """The places of the maps in a list."""
        found = self.at(*place)
        if not isinstance(found, list | None):
            self.wrong("a list of maps is expected", *place)
            return []
        places: list[Place] = []
        for position, one in enumerate(found or ()):
            if isinstance(one, dict):
                places.append((*place, position))
            else:
                self.wrong("a map is expected", *place, position)
        return places

    # ---- texts of a certain form -------------------------------------------------------------------------------

    def url(self, *place: str | int) -> str:
        """The URL of a git repository, '' if it is missing."""
        written = self.text(*place)
        if written.startswith("-"):
            self.wrong("the URL of a git repository is expected", *place)
        return written

    def branch(self, *place: str | int) -> str:
        """The name of a branch, '' if it is missing."""
        written = self.text(*place)
        if _NO_BRANCH.search(written):
            self.wrong("the name of a branch is expected", *place)
        return written

    def commit(self, *place: str | int) -> str:
        """The id of a commit, '' if it is missing."""
        written = self.text(*place)
        if written and not _COMMIT.match(written):
            self.wrong("the whole id of a commit is expected, 40 or 64 of the digits 0 to 9 and a to f", *place)
        return written

    def digest(self, *place: str | int) -> str:
        """The digest of an image, '' if it is missing."""
        written = self.text(*place)
        if written and not is_digest(written):
            self.wrong(EXPECTED_DIGEST, *place)
        return written

    def image(self, *place: str | int) -> str:
        """The reference to an image, with a digest or without, '' if it is missing; surrounding space is ignored."""
        written = self.text(*place).strip()
        if "@" in written and not is_digest(digest_of(written)):
            self.wrong(f"after the @ {EXPECTED_DIGEST}", *place)
        return written

    def directory(self, *place: str | int) -> str:
        """A directory of a repository as it is written, '' if it is missing."""
        written = self.text(*place)
        try:
            normalised(written)
        except ValueError as error:
            self.wrong(str(error), *place)
        return written

    def time(self, *place: str | int) -> str:
        """A time as text that sorts, '' if it is missing; seconds since 1970 are converted."""
        written = self._number_or_text(*place)
        if _NUMBER.match(written) and int(written) < _END_OF_TIME:
            return datetime.fromtimestamp(int(written), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if written and not _TIME.match(written):
            self.wrong("a time is expected, such as 2024-01-31T12:00:00Z", *place)
        return written

    def pull_request_number(self, *place: str | int) -> int:
        """The number of a pull request, in quotes or not; 0 if it is missing."""
        written = self._number_or_text(*place)
        if _NUMBER.match(written):
            return int(written)
        if written:
            self.wrong("the number of a pull request is expected", *place)
        return 0

    def _number_or_text(self, *place: str | int) -> str:
        found = self.at(*place)
        return str(found) if isinstance(found, int) and not isinstance(found, bool) else self.text(*place)


def at(value: Value, *path: str) -> Value:
    """The value at a path of fields, None if it is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def text(value: Value, *path: str) -> str:
    """The text or number at a path as text, '' if it is missing."""
    found = at(value, *path)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""


def items(value: Value, *path: str) -> list[Value]:
    """The list at a path, empty if it is missing."""
    found = at(value, *path)
    return found if isinstance(found, list) else []
