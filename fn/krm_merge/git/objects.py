"""Reads the objects of a git repository through one lasting `git cat-file --batch`."""

from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from krm_merge.git import program
from krm_merge.git.program import GitError

_ASKED_AT_ONCE = 32 * 1024
"""How many bytes of names are sent before answers are read: the capacity of a pipe, so that neither side blocks."""


@dataclass(frozen=True, slots=True)
class GitObject:
    """An object of a repository: commit, tree, blob or tag."""

    name: str
    kind: str
    data: bytes


TREE = "040000"
FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"
SUBMODULE = "160000"
_MODES = {0o04: TREE, 0o10: FILE, 0o12: LINK, 0o16: SUBMODULE}


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a tree: its mode, six octal digits as git writes them, and the id of its object.

    The id of a submodule is that of its commit, which is in another repository.
    """

    path: str
    mode: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file, not a directory, a symbolic link or a submodule."""
        return self.mode in (FILE, EXECUTABLE)


class GitObjects:
    """The objects of one repository. Those that are fetched later are found, too."""

    def __init__(self, store: Path) -> None:
        """Starts git at the first read, and ends it with this object."""
        self._store = store
        self._git: subprocess.Popen[bytes] | None = None

    def read(self, expressions: Sequence[str]) -> list[GitObject | None]:
        """The objects that git finds by these expressions, without line breaks; None if git finds none.

        Raises GitError.
        """
        if self._git is None:
            self._git = program.start(["cat-file", "--batch"], self._store)
            weakref.finalize(self, _end, self._git)
        questions, answers = _pipes(self._git)
        objects: list[GitObject | None] = []
        for lines in _portions(expressions):
            try:
                questions.write(b"".join(lines))
                questions.flush()
            except BrokenPipeError:
                raise GitError("git cat-file ended before it answered") from None
            objects += [_answer(answers) for _ in lines]
        return objects

    def files(self, root: GitObject) -> Iterator[TreeEntry]:
        """Everything in a tree and the trees inside it: files, symbolic links, submodules. Raises GitError."""
        size = len(root.name) // 2
        trees = {root.name: list(_entries(root.data, size))}
        missing = [entry.name for entry in trees[root.name] if entry.mode == TREE]
        while missing:
            names = list(dict.fromkeys(name for name in missing if name not in trees))
            read = {
                name: [] if tree is None else list(_entries(tree.data, size)) for name, tree in self._read_trees(names)
            }
            trees |= read
            missing = [entry.name for entries in read.values() for entry in entries if entry.mode == TREE]
        pending = [("", iter(trees[root.name]))]
        while pending:
            folder, entries = pending[-1]
            entry = next(entries, None)
            if entry is None:
                pending.pop()
            elif entry.mode == TREE:
                pending.append((f"{folder}{entry.path}/", iter(trees[entry.name])))
            else:
                yield TreeEntry(f"{folder}{entry.path}", entry.mode, entry.name)

    def _read_trees(self, names: list[str]) -> Iterable[tuple[str, GitObject | None]]:
        return zip(names, self.read(names), strict=True)


def _entries(data: bytes, size: int) -> Iterator[TreeEntry]:
    """The entries of a tree; the names of objects have `size` bytes."""
    at = 0
    while at < len(data):
        blank = data.index(b" ", at)
        end = data.index(b"\0", blank)
        name = data[end + 1 : end + 1 + size].hex()
        path = os.fsdecode(data[blank + 1 : end])
        mode = _MODES.get(int(data[at:blank], 8) >> 12, FILE)
        is_executable = mode == FILE and int(data[at:blank], 8) & 0o100
        yield TreeEntry(path, EXECUTABLE if is_executable else mode, name)
        at = end + 1 + size


def _portions(expressions: Iterable[str]) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for expression in expressions:
        line = os.fsencode(expression) + b"\n"
        if lines and size + len(line) > _ASKED_AT_ONCE:
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines


def _answer(stdout: IO[bytes]) -> GitObject | None:
    head = stdout.readline()
    if not head:
        raise GitError("git cat-file ended before it answered")
    words = head.split()
    if words[-1] in (b"missing", b"ambiguous"):
        return None
    name, kind, size = words
    data = stdout.read(int(size))
    stdout.read(1)
    return GitObject(name.decode(), kind.decode(), data)


def _pipes(git: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert git.stdin is not None
    assert git.stdout is not None
    return git.stdin, git.stdout


def _end(git: subprocess.Popen[bytes]) -> None:
    for pipe in _pipes(git):
        with suppress(BrokenPipeError):
            pipe.close()
    git.wait()
