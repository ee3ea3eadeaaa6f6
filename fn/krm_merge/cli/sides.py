"""The three versions that a merge is given by name, and where its result is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from krm_merge.cli.show import opened_journal
from krm_merge.packages.files.directory import Directory, PackageError, read_file
from krm_merge.packages.files.tree import Changed, Changes, File, Tree
from krm_merge.packages.files.write import write_file, write_tree
from krm_merge.packages.merge.side import path_of

STDIN: Final = Path("-")
STDOUT: Final = STDIN

Writer: TypeAlias = Callable[[Tree, Changes], None]


def read_sides(places: tuple[Path, Path, Path]) -> tuple[Tree, Tree, Tree]:
    """Three directories or three files, of which one can be stdin. Raises PackageError."""
    missing = [place for place in places if place != STDIN and not place.exists()]
    if missing:
        raise PackageError(f"{missing[0]}: there is no such file or directory")
    directories = [place for place in places if place != STDIN and place.is_dir()]
    if directories and len(directories) < len(places):
        file = next(place for place in places if place not in directories)
        raise PackageError(f"{file} is a file and {directories[0]} a directory; give three files or three directories")
    if directories:
        original, upstream, local = (Directory(place) for place in places)
        return original, upstream, local
    files = [File(sys.stdin.buffer.read()) if place == STDIN else read_file(place) for place in places]
    path = path_of(next(place.name for place in reversed(places) if place != STDIN), files[2])
    return {path: files[0]}, {path: files[1]}, {path: files[2]}


@contextmanager
def destination(local: Path, target: Path | None, in_place: bool) -> Iterator[Writer | None]:
    """The writer of the result, None where the result is only shown."""
    if local == STDIN or not local.is_dir():
        place = local if in_place else target
        yield None if place is None else lambda tree, changes: _write_file(place, tree, changes, in_place=in_place)
        return
    with opened_journal(local) as journal:
        if in_place:
            yield lambda tree, changes: journal.commit(changes, tree)
        elif target is not None:
            yield lambda tree, changes: write_tree(target, Changed(tree, changes))
        else:
            yield None


def _write_file(place: Path, tree: Tree, changes: Changes, *, in_place: bool) -> None:
    file = next(iter(Changed(tree, changes).values()), None)
    if file is None:
        # All its resources were deleted.
        file = File(b"")
    if place == STDOUT:
        sys.stdout.buffer.write(file.data)
        sys.stdout.buffer.flush()
    else:
        write_file(place, file, next(iter(tree.values())) if in_place else None)
