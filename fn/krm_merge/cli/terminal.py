"""Output on a terminal: lines that fit its width, the progress of a command, and what to do next."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from posixpath import join
from shlex import quote
from textwrap import fill
from typing import TYPE_CHECKING, TextIO, TypeAlias

from krm_merge.krm import KPTFILE, ResourceRef, Severity, format_path
from krm_merge.merge import PackageDecisions
from krm_merge.packages import Tree
from krm_merge.safe_text import line, quantity
from krm_merge.startup import group_by_key
from krm_merge.text import TextError, read_all

if TYPE_CHECKING:
    from rich.text import Text


_WIDEST = 120
"""Columns: longer lines are hard to read, however wide the terminal is."""

_NARROWEST = 30


def width_of(stream: TextIO) -> int | None:
    """The columns to write to a stream in; None where it is no terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return None
    override = os.environ.get("COLUMNS", "")
    columns = int(override) if columns and override.isdecimal() else columns
    return max(_NARROWEST, min(columns, _WIDEST)) if columns else None


def fit(text: str, width: int | None, indent: int) -> str:
    """A line cut between words into lines of that width; those behind the first are indented.

    Words that are longer than a line, such as paths, are cut where it ends. Without a width it is the line itself.
    """
    if width is None or len(text) <= width:
        return text
    pad = " " * min(indent, width // 2)
    return fill(text, width, subsequent_indent=pad, expand_tabs=False, replace_whitespace=False, break_on_hyphens=False)


Stage: TypeAlias = Callable[[str], None]
"""Shows the stage that begins."""


_SIGN = 3
"""Columns in front of a stage, for the sign that moves, and behind it."""


@contextmanager
def stages(first: str, form: str = "text") -> Iterator[Stage]:
    """Shows stages on stderr as they begin, and nothing afterwards; nothing at all unless people read it."""
    if form == "json" or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(_one_line(first)) as status:
        # Repositories report stages later, too: then this shows nothing.
        yield lambda text: status.update(_one_line(text))


def _one_line(text: str) -> Text:
    """A stage on a single line, whose end is left out where it is too long."""
    from rich.text import Text

    room = (width_of(sys.stderr) or len(text)) - _SIGN
    visible = line(text)
    return Text(visible if len(visible) <= room else f"{visible[: room - 1]}…")


_MOST_FILES = 5

ConflictPlaces: TypeAlias = Mapping[str, Sequence[str]]
"""The paths of conflicts by file."""


def conflicts_in(decided: Iterable[PackageDecisions], files: Tree, *, only_open: bool = False) -> ConflictPlaces:
    """The conflicts of a merge into files; with `only_open` those that nothing settled, so that it was refused."""
    conflicts = _conflicts(decided, files)
    return group_by_key((file, path) for file, path, severity in conflicts if severity == "error" or not only_open)


def where(places: ConflictPlaces) -> str:
    """How many conflicts there are, and in which files."""
    files = [f"{file}{_where(paths)}" for file, paths in list(places.items())[:_MOST_FILES]]
    if len(places) > _MOST_FILES:
        left = sum(len(paths) for paths in list(places.values())[_MOST_FILES:])
        files.append(f"and {left:,} more in {len(places) - _MOST_FILES:,} more files")
    return f"{quantity(count_of(places), 'conflict')}: {', '.join(files)}"


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


def _conflicts(decided: Iterable[PackageDecisions], files: Tree) -> Iterator[tuple[str, str, Severity]]:
    for part in decided:
        for outcome in part.outcomes:
            file, about = join(part.folder, outcome.member.place), outcome.member.identity
            for decision in outcome.decisions:
                if decision.is_conflict:
                    resource = str(ResourceRef("", about.kind, about.name, about.namespace))
                    path = format_path(decision.path)
                    place = f"{resource} {path}".strip() if holds_several(files, file) else path
                    yield file, place, decision.severity
        for of_file in part.files:
            if of_file.is_conflict:
                yield join(part.folder, of_file.path), "", of_file.severity


def holds_several(files: Tree, path: str) -> bool:
    """Whether a file has more than one document, so that a line about one of its resources has to name it (I12)."""
    file = files.get(path)
    try:
        return file is not None and sum(1 for _ in read_all(file.data.decode())) > 1
    except (UnicodeDecodeError, TextError):
        return True


def _where(paths: Sequence[str]) -> str:
    """What is said of the conflicts of a file: the place of a single one, else how many there are."""
    if len(paths) > 1:
        return f" ({len(paths):,})"
    return f" ({paths[0]})" if paths[0] else ""
