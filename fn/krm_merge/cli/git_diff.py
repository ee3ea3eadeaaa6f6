"""The difference between a package and what becomes of it, as git prints it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from krm_merge.git import program
from krm_merge.harmless import terminal_line
from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.packages.files.write import write_new
from krm_merge.temporary import temporary_directory


def show_diff(local: Tree, changes: Changes) -> None:
    """Prints the difference on stdout: as a patch, or escaped and in colour on a terminal."""
    with temporary_directory() as directory:
        for path, file in changes.items():
            if path in local:
                write_new(Path(directory, "a", path), local[path])
            if file is not None:
                write_new(Path(directory, "b", path), file)
        for side in "ab":
            Path(directory, side).mkdir(exist_ok=True)
        options = ["--no-index", "--no-ext-diff", "--no-textconv", "--no-prefix", "--color=never"]
        done = program.run(["--no-pager", "diff", *options, "a", "b"], directory=directory)
    if done.returncode > 1:  # 1 says that there is a difference
        raise PackageError("git diff failed; nothing was changed")
    sys.stdout.flush()
    if not sys.stdout.isatty():
        # A patch, which must hold what the files hold.
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.buffer.flush()
        return
    for text in done.stdout.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        click.echo(_styled(text))


def _styled(text: str) -> str:
    """A line of a difference for a terminal, in git's colours: what the terminal would obey is escaped."""
    shown = terminal_line(text.removesuffix("\r"))
    if os.environ.get("NO_COLOR"):
        return shown
    if text.startswith(("diff ", "index ", "--- ", "+++ ")):
        return click.style(shown, bold=True)
    color = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1])
    return click.style(shown, fg=color) if color else shown
