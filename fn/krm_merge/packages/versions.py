"""Versions of a package among the tags of a repository: `v1.2.3`, or `package/v1.2.3` as kpt names them.

As tags of packages often are, versions may be shorter than semantic ones: `v1.2` and `v1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeAlias

_Order: TypeAlias = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def newer_versions(ref: str, directory: str, tags: Iterable[str]) -> list[str]:
    """The tags with a higher semantic version than a ref, the highest last, written as the ref is.

    Tags of the package itself come before those of the whole repository, where it has such a tag of the ref. Versions
    before a release are left out unless the ref is one. A ref that is no version has none. Source: semver.org, 2.0.0.
    """
    known = set(tags)
    prefix, _, name = ref.rpartition("/")
    here = _order(name)
    if here is None:
        return []
    written = f"{prefix}/" if prefix else ""
    folder = f"{directory.strip('/')}/{ref}"
    place = folder.removesuffix(name) if folder in known else written
    found = []
    for tag in known:
        order = _order(tag.removeprefix(place)) if tag.startswith(place) else None
        if order is not None and order > here and (order[1] or not here[1]):
            found.append((order, written + tag.removeprefix(place)))
    return [tag for _, tag in sorted(found)]


def newest_version(directory: str, tags: Iterable[str]) -> str:
    """The tag of a package with the highest version that is no version before a release; '' where none is."""
    known = set(tags)
    for lowest in (f"{directory.strip('/')}/0.0", "0.0"):
        if versions := newer_versions(lowest, "", known):
            return versions[-1]
    return ""


def is_version(ref: str) -> bool:
    """Whether a ref is a semantic version, of a package or of the whole repository."""
    return _order(ref.rpartition("/")[2]) is not None


def same_major(ref: str, versions: Iterable[str]) -> list[str]:
    """Those of the versions whose first number is the ref's."""
    return [version for version in versions if _major(version) == _major(ref)]


def _major(ref: str) -> int | None:
    order = _order(ref.rpartition("/")[2])
    return order[0][0] if order else None


def nearest(ref: str, names: Iterable[str]) -> str:
    """The tag or branch that is written most like a ref; '' where none is."""
    return next(iter(get_close_matches(ref, sorted(names), n=1)), "")


def _order(name: str) -> _Order | None:
    """What versions are compared by: their numbers, whether it is a release, and what comes before one."""
    release, _, before = name.removeprefix("v").partition("+")[0].partition("-")
    numbers = release.split(".")
    is_marked = len(numbers) > 1 or name.startswith("v")
    if not is_marked or len(numbers) > 3 or not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    parts = before.split(".") if before else []
    marks = tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
    return (*map(int, numbers), 0, 0)[:3], not before, marks
