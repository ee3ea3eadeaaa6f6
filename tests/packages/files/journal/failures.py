"""An update of a package, and what strikes it: kills, errors and signals at every call of the file system."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from effort import SEED
from krm_merge.packages.files import disk
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Changes, Directory, File, PackageError
from packages.repositories import Snapshot, Text, config_map, snapshot, write

OLD: dict[str, Text | None] = {
    "Kptfile": "old\n",
    "changed.yaml": config_map("a", a="old"),
    "gone.yaml": config_map("b"),
    "emptied/gone.yaml": config_map("c"),
    "emptied/below/gone.yaml": config_map("d"),
    "kept.yaml": config_map("e"),
    "shared/gone.yaml": config_map("f"),
    "shared/kept.yaml": config_map("g"),
    "tool": File(b"#!/bin/sh\n", "executable"),
    "becomes-tool": "#!/bin/sh\n",
    "tool-no-more": File(b"text\n", "executable"),
    "link": File(b"kept.yaml", "link"),
    "link-then-file": File(b"kept.yaml", "link"),
    "file-then-link": "text\n",
    "dangling": File(b"nowhere", "link"),
}
CHANGES: Changes = {
    "Kptfile": File(b"new\n"),
    "changed.yaml": File(config_map("a", a="new").encode()),
    "gone.yaml": None,
    "emptied/gone.yaml": None,
    "emptied/below/gone.yaml": None,
    "shared/gone.yaml": None,
    "tool": File(b"#!/bin/bash\n", "executable"),
    "becomes-tool": File(b"#!/bin/sh\n", "executable"),
    "tool-no-more": File(b"text\n"),
    "link": File(b"changed.yaml", "link"),
    "link-then-file": File(b"text\n"),
    "file-then-link": File(b"kept.yaml", "link"),
    "dangling": None,
    "added.yaml": File(config_map("h").encode()),
    "new/folder/added.yaml": File(config_map("i").encode()),
    "new/tool": File(b"#!/bin/sh\n", "executable"),
}
FEW: Changes = {path: CHANGES[path] for path in ("Kptfile", "changed.yaml", "gone.yaml", "new/folder/added.yaml")}
Strike = Callable[[str, tuple[Any, ...]], None]
CALLS = [
    "chmod",
    "fsync",
    "link",
    "listdir",
    "mkdir",
    "open",
    "remove",
    "rename",
    "replace",
    "rmdir",
    "scandir",
    "symlink",
    "truncate",
    "unlink",
    "write",
]
DISK_CALLS = ("exchange", "move_to_free", "sync")
STEP = 1 if SEED else 3
"""By day every third call is struck, at night each."""


def package(place: Path, files: dict[str, Text | None] = OLD) -> Path:
    # Without a git directory of its own, a copy of it would have no journal.
    write(place / ".git", {"HEAD": "ref: refs/heads/main\n", "objects/k": "", "refs/k": ""})
    folder = write(place / "pkg", files)
    (folder / "changed.yaml").chmod(0o640)
    return folder


def copy_of(folder: Path, place: Path) -> Path:
    """A copy of a package with its git directory, at another place."""
    return shutil.copytree(folder.parent, place, symlinks=True) / folder.name


def change(folder: Path, changes: Changes) -> Snapshot:
    """What the package is with the changes, by other means than the journal's."""
    expected = shutil.copytree(folder, folder.parent.with_name("expected") / "pkg", symlinks=True)
    for path in changes:
        if (expected / path).is_symlink() or (expected / path).is_file():
            (expected / path).unlink()
        for above in (expected / path).parents:
            if above == expected or not above.is_dir() or any(above.iterdir()):
                break
            above.rmdir()
    for path, file in changes.items():
        if file is not None:
            write(expected, {path: file})
    (expected / "changed.yaml").chmod(0o640)
    return snapshot(expected)


def commit(folder: Path, changes: Changes) -> None:
    with Journal.open(folder) as journal:
        journal.commit(changes, Directory(folder))


def recover(folder: Path) -> str:
    with Journal.open(folder) as journal:
        return journal.recovered


def beside(folder: Path) -> list[str]:
    """What an update left: beside the package, inside of it, and in the git directory."""
    left = [entry for entry in folder.parent.iterdir() if entry not in (folder, folder.parent / ".git")]
    left += [*folder.rglob("*.krm-merge"), *folder.parent.glob(".git/krm-merge/*")]
    return sorted(str(entry.relative_to(folder.parent)) for entry in left)


def plan_of(folder: Path) -> Path:
    """The plan of a package whose update was interrupted."""
    [plan] = folder.parent.glob(".git/krm-merge/*.plan")
    return plan


def staged_of(folder: Path) -> Path:
    """The directory of prepared files of a package whose update was interrupted."""
    [directory] = folder.glob(".*.krm-merge")
    return directory


class _Listed:
    """Entries of a directory in an order that does not depend on the file system."""

    def __init__(self, entries: list[os.DirEntry[str]]) -> None:
        self.entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        return self.entries

    def __next__(self) -> os.DirEntry[str]:
        return next(self.entries)

    def close(self) -> None:
        pass

    def __enter__(self) -> _Listed:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass


def watch(patch: pytest.MonkeyPatch, strike: Strike, *, backwards: bool = False) -> None:
    """Has `strike` called before each call of the file system, with its name and arguments."""

    def watch_calls(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **named: Any) -> Any:
            strike(name, arguments)
            return call(*arguments, **named)

        return instead

    def list_in_order(*arguments: Any) -> _Listed:
        with scandir(*arguments) as entries:
            return _Listed(sorted(entries, key=lambda entry: entry.name, reverse=backwards))

    scandir = os.scandir
    patch.setattr(os, "scandir", list_in_order)
    for name in CALLS:
        patch.setattr(os, name, watch_calls(name, getattr(os, name)))
    patch.setattr(io, "open", watch_calls("open", io.open))
    for name in DISK_CALLS:
        patch.setattr(disk, name, watch_calls(name, getattr(disk, name)))


class Nth:
    """Strikes at one call, counted from 1, of those with the names."""

    def __init__(self, number: int, then: Strike, *names: str) -> None:
        self.left = number
        self.then = then
        self.names = names or (*CALLS, *DISK_CALLS)

    def __call__(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in self.names:
            self.left -= 1
            if self.left == 0:
                self.then(name, arguments)


def kill(name: str, arguments: tuple[Any, ...]) -> None:
    if name == "sync":
        # What was not synced need not be there.
        for place in arguments[0]:
            if place.is_file() and not place.is_symlink():
                os.truncate(place, place.stat().st_size // 2)
    os.kill(os.getpid(), signal.SIGKILL)


def no_space(name: str, arguments: tuple[Any, ...]) -> None:
    filename = arguments[0] if arguments and isinstance(arguments[0], str | os.PathLike) else None
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), filename)


def is_killed(action: Callable[[], object], strike: Strike) -> bool:
    """Does it in a process of its own; whether that was killed."""
    child = os.fork()
    if child == 0:
        try:
            watch(pytest.MonkeyPatch(), strike)
            action()
            os._exit(0)
        except PackageError:
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), "the process ended with a traceback"
    return code != 0


def lines_of(wrong: Mapping[Any, str]) -> str:
    return "\n".join(f"{where}: {what}" for where, what in wrong.items())


def without_staged(folder: Path) -> Snapshot:
    """A package without what is prepared inside of it."""
    return {path: entry for path, entry in snapshot(folder).items() if ".krm-merge" not in path}


def difference(folder: Path, expected: Snapshot) -> list[str]:
    now = snapshot(folder)
    return sorted(path for path in now | expected if now.get(path) != expected.get(path))


def interrupt(folder: Path, changes: Changes = FEW) -> Path:
    """A package whose update was killed when the plan stood and nothing was done yet."""
    assert is_killed(partial(commit, folder, changes), Nth(3, kill, "rename"))
    assert len(beside(folder)) == 2
    plan_of(folder)
    return folder


def above(path: str) -> list[str]:
    return [str(folder) for folder in Path(path).parents]
