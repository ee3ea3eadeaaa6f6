"""What is left to people after a merge: its conflicts in short, how to settle them, and what to run next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import join
from shlex import quote
from typing import TypeAlias

from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.identity import KPTFILE
from krm_merge.krm.result import Severity
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.packages.files.tree import Tree

_MOST_FILES = 5

ConflictPlaces: TypeAlias = Mapping[str, Sequence[str]]
"""The paths of conflicts by file."""


def recap(decided: Iterable[PackageDecisions]) -> str:
    """The number of conflicts that were settled and where they are; '' where there are none."""
    places = _places(decided)
    return where(places) if places else ""


def open_conflicts(decided: Iterable[PackageDecisions]) -> ConflictPlaces:
    """The conflicts that nothing settled, so that the merge was refused."""
    return _places(decided, only_open=True)


def where(places: ConflictPlaces) -> str:
    """How many conflicts there are, and in which files."""
    files = [f"{file}{_where(paths)}" for file, paths in list(places.items())[:_MOST_FILES]]
    if len(places) > _MOST_FILES:
        left = sum(len(paths) for paths in list(places.values())[_MOST_FILES:])
        files.append(f"and {left:,} more in {len(places) - _MOST_FILES:,} more files")
    return f"{conflicts_of(places)}: {', '.join(files)}"


def conflicts_of(places: ConflictPlaces) -> str:
    """How many conflicts there are, in words."""
    count = count_of(places)
    return "1 conflict" if count == 1 else f"{count:,} conflicts"


def count_of(places: ConflictPlaces) -> int:
    """How many conflicts there are."""
    return sum(map(len, places.values()))


def what_next(place: Path, merged: Tree, decided: Iterable[PackageDecisions]) -> str:
    """What to run after new resources; '' where there are none, or no functions that change them."""
    new = sum(outcome.fate == "added" for part in decided for outcome in part.outcomes)
    if not new or KPTFILE not in merged or b"pipeline:" not in merged[KPTFILE].data:
        return ""
    what = "1 resource is new" if new == 1 else f"{new:,} resources are new"
    return f"{what}; run the package's functions on {'it' if new == 1 else 'them'}: kpt fn render {quote(str(place))}"


def _places(decided: Iterable[PackageDecisions], *, only_open: bool = False) -> dict[str, list[str]]:
    """The paths of the conflicts by file; `only_open` leaves out those that something settled."""
    found: dict[str, list[str]] = {}
    for file, path, severity in _conflicts(decided):
        if severity == "error" or not only_open:
            found.setdefault(file, []).append(path)
    return found


def _conflicts(decided: Iterable[PackageDecisions]) -> Iterator[tuple[str, str, Severity]]:
    for part in decided:
        for outcome in part.outcomes:
            for decision in outcome.decisions:
                if decision.is_conflict:
                    yield join(part.folder, outcome.member.place), format_path(decision.path), decision.severity
        for file in part.files:
            if file.is_conflict:
                yield join(part.folder, file.path), "", file.severity


def _where(paths: Sequence[str]) -> str:
    """What is said of the conflicts of a file: the place of a single one, else how many there are."""
    if len(paths) > 1:
        return f" ({len(paths):,})"
    return f" ({paths[0]})" if paths[0] else ""
