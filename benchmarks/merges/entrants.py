"""Programs that merge one file three ways, each behind the same call."""

from __future__ import annotations

import contextlib
import io
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.merges.triples import Triple

SECONDS = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a merge: the text, whether a conflict was reported, and why there is no text.

    `reports` are the conflicts in words; `reports_comment` says whether the loss of a comment is on record.
    """

    text: bytes | None
    has_conflict: bool
    error: str = ""
    reports: tuple[str, ...] = ()
    reports_comment: bool = False


Entrant: TypeAlias = Callable[[Triple], Outcome | None]
"""None where a program is not made for such a file."""


def merge_lines(triple: Triple, *options: str) -> Outcome:
    """Merges with `git merge-file`."""
    with written(triple) as folder:
        labels = [word for label in ("local", "original", "upstream") for word in ("-L", label)]
        command = ["git", "merge-file", "-p", "-q", *options, *labels, "L", "O", "U"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode > 127:  # 255: not a text
        return Outcome(None, True, done.stderr.decode("utf-8", "replace"))
    return Outcome(done.stdout, done.returncode > 0)


def merge_lines_zdiff3(triple: Triple) -> Outcome:
    """Merges with `git merge-file --zdiff3`."""
    return merge_lines(triple, "--zdiff3")


def merge_package(triple: Triple) -> Outcome:
    """Merges with krm-merge as the function and the program do: upstream's side of a conflict is kept."""
    from krm_merge import KrmMergeError, merge_packages

    name = triple.name
    try:
        merged = merge_packages({name: triple.original}, {name: triple.upstream}, {name: triple.local})
    except (KrmMergeError, RecursionError) as error:
        return Outcome(None, True, str(error) or type(error).__name__)
    reports = tuple(f"{record.path}: {record.message}" for record in merged.records if record.status != "automatic")
    comments = any(str(record.nature) == "comment" for record in merged.records)
    return Outcome(merged.files.get(name), bool(reports), "", reports, comments)


def drive_merge(triple: Triple) -> Outcome:
    """Merges with krm-merge as git's merge driver, with markers; in this process, which saves its start."""
    from krm_merge.cli.app import main

    with written(triple) as folder:
        output = io.StringIO()
        arguments = ["merge-driver", *(str(folder / side) for side in "OLU"), triple.name]
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output), contextlib.chdir(folder):
            try:
                code: object = main(arguments)
            except SystemExit as stop:
                code = stop.code
        text = (folder / "L").read_bytes()
    reports = tuple(output.getvalue().splitlines())
    if code not in (0, 1, None):
        return Outcome(None, True, output.getvalue())
    comments = any("that the result does not have" in report for report in reports)
    return Outcome(text, code == 1, "", reports, comments)


@dataclass(frozen=True, slots=True)
class Command:
    """Another program, called with the words of `command` and then O U L OUT: three files to read and one to write.

    It must end with 0 where it settled all, and with 1 where it left a conflict.
    """

    command: str

    def __call__(self, triple: Triple) -> Outcome:
        with written(triple) as folder:
            words = [*shlex.split(self.command), *(str(folder / side) for side in ("O", "U", "L", "OUT"))]
            try:
                done = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return Outcome(None, True, f"took more than {SECONDS} s")
            text = (folder / "OUT").read_bytes() if (folder / "OUT").is_file() else None
        errors = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode not in (0, 1) or text is None:
            return Outcome(None, True, errors or f"ended with {done.returncode}")
        return Outcome(text, done.returncode == 1, "", tuple(errors.splitlines()))


@contextlib.contextmanager
def written(triple: Triple) -> Iterator[Path]:
    """A folder with the files O, U and L, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="krm-merge-merges-") as name:
        folder = Path(name)
        for side, text in (("O", triple.original), ("U", triple.upstream), ("L", triple.local)):
            (folder / side).write_bytes(text)
        yield folder


GIT, ZDIFF3, PACKAGE, DRIVER = "git", "git --zdiff3", "krm-merge", "krm-merge merge-driver"
ENTRANTS: dict[str, Entrant] = {
    GIT: merge_lines,
    ZDIFF3: merge_lines_zdiff3,
    PACKAGE: merge_package,
    DRIVER: drive_merge,
}
