"""What is left to people after a merge: its conflicts in short, how to settle them, and what to run next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from posixpath import join
from shlex import quote

from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.identity import KPTFILE
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.tree import Tree
from krm_merge.packages.git import uncommitted

_MOST_FILES = 5


def recap(
    decided: Iterable[PackageDecisions], arguments: Sequence[str], *, is_written: bool, in_git: bool
) -> Iterator[str]:
    """The number of conflicts and where they are, then the command that settles them; nothing where there are none.

    `arguments` are those of `resolve`; the last one is the package that was merged into, perhaps with a ref. No command
    is named where the merge is written and cannot be taken back, because the package is not `in_git`.
    """
    places = _places(decided)
    count = sum(map(len, places.values()))
    if not count:
        return
    files = [f"{file}{_where(paths)}" for file, paths in list(places.items())[:_MOST_FILES]]
    if len(places) > _MOST_FILES:
        left = sum(len(paths) for paths in list(places.values())[_MOST_FILES:])
        files.append(f"and {left:,} more in {len(places) - _MOST_FILES:,} more files")
    conflicts, them = ("1 conflict", "it") if count == 1 else (f"{count:,} conflicts", "them")
    yield f"{conflicts}: {', '.join(files)}"
    command = " ".join(["krm-merge resolve", *map(quote, arguments)])
    if not is_written:
        yield f"settle {them} with: {command}"
    elif in_git:
        package = arguments[-1].rpartition("@")[0] or arguments[-1]
        # What is stashed is the merge alone: resolve makes it again.
        yield f"settle {them} yourself with: git stash -u -- {quote(package)} && {command}"


def can_be_stashed(place: Path) -> bool:
    """Whether git has the package as it was before the merge was written."""
    try:
        return place.is_dir() and bool(uncommitted(place))
    except PackageError:
        # Merging directories needs no git.
        return False


def what_next(place: Path, merged: Tree, decided: Iterable[PackageDecisions]) -> str:
    """What to run after new resources; '' where there are none, or no functions that change them."""
    new = sum(outcome.fate == "added" for part in decided for outcome in part.outcomes)
    if not new or KPTFILE not in merged or b"pipeline:" not in merged[KPTFILE].data:
        return ""
    what = "1 resource is new" if new == 1 else f"{new:,} resources are new"
    return f"{what}; run the package's functions on {'it' if new == 1 else 'them'}: kpt fn render {quote(str(place))}"


def _places(decided: Iterable[PackageDecisions]) -> dict[str, list[str]]:
    """The paths of the conflicts by file."""
    found: dict[str, list[str]] = {}
    for file, path in _conflicts(decided):
        found.setdefault(file, []).append(path)
    return found


def _conflicts(decided: Iterable[PackageDecisions]) -> Iterator[tuple[str, str]]:
    for part in decided:
        for outcome in part.outcomes:
            for decision in outcome.decisions:
                if decision.is_conflict:
                    yield join(part.folder, outcome.member.place), format_path(decision.path)
        for file in part.files:
            if file.is_conflict:
                yield join(part.folder, file.path), ""


def _where(paths: Sequence[str]) -> str:
    """What is said of the conflicts of a file: the place of a single one, else how many there are."""
    if len(paths) > 1:
        return f" ({len(paths):,})"
    return f" ({paths[0]})" if paths[0] else ""
