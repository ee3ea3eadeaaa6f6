"""How far a command is: its stage, with counts, while it lasts. Only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from krm_merge.cli.terminal.layout import width_of
from krm_merge.harmless import line
from krm_merge.packages.files.tree import Tree
from krm_merge.packages.git import Version
from krm_merge.packages.update import Repositories

if TYPE_CHECKING:
    from rich.text import Text

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

    status = Console(stderr=True).status(_one_line(first))
    shown = [status]

    def show(text: str) -> None:
        # Whoever keeps the repositories asks them later, too.
        for one in shown:
            one.update(_one_line(text))

    with status:
        try:
            yield show
        finally:
            shown.clear()


def _one_line(text: str) -> Text:
    """A stage on a single line, whose end is left out where it is too long."""
    from rich.text import Text

    room = (width_of(sys.stderr) or len(text)) - _SIGN
    shown = line(text)
    return Text(shown if len(shown) <= room else f"{shown[: room - 1]}…")


class StagedRepositories:
    """Repositories that show what is fetched and read from them."""

    def __init__(self, repositories: Repositories, stage: Stage) -> None:
        """Asks these, and shows the stages by that."""
        self._repositories = repositories
        self._stage = stage

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        """The commit that a ref names now."""
        self._stage(f"looking for {ref} in {repository}")
        return self._repositories.resolve(repository, directory, ref)

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        """Prepares for `tree` of several commits."""
        count = "1 commit" if len(set(commits)) == 1 else f"{len(set(commits))} commits"
        self._stage(f"fetching {count} of {repository}")
        self._repositories.fetch(repository, commits)

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        """The files of a package in a commit."""
        tree = self._repositories.tree(repository, directory, commit)
        self._stage(f"merging {counted_files(len(tree))} of {directory.strip('/') or repository}")
        return tree


def counted_files(count: int) -> str:
    """A number of files."""
    return "1 file" if count == 1 else f"{count:,} files"
