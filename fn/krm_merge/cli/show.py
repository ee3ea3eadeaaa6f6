"""How commands print what was decided: for people, or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from krm_merge.harmless import line
from krm_merge.krm.result import Result, Results
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.report.forms.terminal import Style

_COLORS = {"error": "red", "warning": "yellow", "info": "green"}

COLORS: Final[dict[Style, str | None]] = {"heading": None, "removed": "red", "added": "green", "plain": None}
"""How lines of differences look where there is colour."""


@contextmanager
def opened_journal(package: Path) -> Iterator[Journal]:
    """The journal of a package. Reports how an interrupted update was recovered."""
    with Journal.opened(package) as journal:
        if journal.recovered != "nothing":
            why = f": {journal.because}" if journal.because else ""
            say(f"an interrupted update of {package} was {journal.recovered}{why}")
        yield journal


def show_results(results: Results, *, quiet: bool, done: bool = False) -> None:
    """One line for each result on stderr; `quiet` leaves out what has no conflict.

    An error, which refuses the whole merge, leaves it out too, unless the changes are `done` in spite of it.
    """
    for result in results:
        if result.severity == "info" and (quiet or (results.errors and not done)):
            continue
        label = click.style(f"{result.severity:7}", fg=_COLORS[result.severity], bold=result.severity != "info")
        click.echo(f"{label} {_placed(result)}", err=True)


def say(message: str, *, on_stdout: bool = False) -> None:
    """Prints a message in one line, by default on stderr.

    Names and values in it come from packages: they do not write to the terminal what they like.
    """
    click.echo(line(message), err=not on_stdout)


def _placed(result: Result) -> str:
    message, file = (line(text or "") for text in (result.message, result.file))
    return message if not file or message.startswith(file) else f"{file}: {message}"


def show_conflicts_left(places: int, binary: Sequence[str]) -> None:
    """Says on stderr how many conflicts are left in the files; nothing where there are none."""
    for path in binary:
        say(f"{path}: a binary file has no place for markers; ours is kept, look whether it is right")
    if places:
        noun = "1 conflict is" if places == 1 else f"{places} conflicts are"
        say(f"{noun} left in the files between markers; edit them, then remove the markers")


def summary(local: Tree, changes: Changes, results: Results) -> str:
    """The numbers in one line."""
    added, changed, deleted = counted(local, changes)
    parts = [f"{len(changed)} changed", f"{len(added)} added", f"{len(deleted)} deleted"]
    said = f"files: {', '.join(parts)}" if changes else "no file changes"
    conflicts = sum(1 for result in results if result.severity != "info")
    noun = "warning" if conflicts == 1 else "warnings"
    return f"{said}; {conflicts} {noun}" if conflicts else said


def counted(local: Tree, changes: Changes) -> tuple[list[str], list[str], list[str]]:
    """The paths that are added, changed and deleted."""
    added = sorted(path for path, file in changes.items() if file is not None and path not in local)
    changed = sorted(path for path, file in changes.items() if file is not None and path in local)
    return added, changed, sorted(path for path, file in changes.items() if file is None)


def as_json(local: Tree, changes: Changes, results: Iterable[Result], **more: object) -> str:
    """All of it for a program: `files` by what becomes of them, `results` as the KRM specification has them."""
    added, changed, deleted = counted(local, changes)
    files = {"added": added, "changed": changed, "deleted": deleted}
    return json.dumps({**more, "files": files, "results": [result.to_value() for result in results]}, indent=2)
