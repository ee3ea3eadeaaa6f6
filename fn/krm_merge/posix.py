"""What only POSIX systems have, and temporary directories; the function and commands that only read work elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType

from krm_merge.errors import KrmMergeError


class UnsupportedSystemError(KrmMergeError):
    """The system lacks something; the message names it and where the program has it."""


PATIENCE = 2.0
"""Seconds: by then a killed process is gone, and so are the programs that it was just starting."""
_BETWEEN_TRIES = 0.02

_REMEDY = "on Windows, run krm-merge in WSL or in a container; nothing was changed"


def file_locks() -> ModuleType:
    """The module fcntl, whose locks keep two processes from changing the same files. Raises UnsupportedSystemError."""
    try:
        import fcntl
    except ModuleNotFoundError:
        raise UnsupportedSystemError(
            f"without file locks, which this system lacks, no file is changed; {_REMEDY}"
        ) from None
    return fcntl


def is_own(place: Path) -> bool:
    """Whether a file is this user's: what others wrote is not read as ours. Raises OSError."""
    return not hasattr(os, "geteuid") or place.lstat().st_uid == os.geteuid()


def is_at(handle: int, place: Path) -> bool:
    """Whether what was opened still is in its place: another process may have moved or removed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), place.lstat())
    return False


def locked_soon(handle: int, fcntl: ModuleType) -> bool:
    """Locks an open file or directory for this process alone. False where another process keeps the lock.

    A killed process keeps its locks until the system has removed it, and a program that it was starting keeps them
    until it runs: somebody who repeats a killed command at once must not be refused.
    """
    end = monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if monotonic() > end:
                return False
        sleep(_BETWEEN_TRIES)


def keep_owner(place: Path, like: Path) -> None:
    """Gives what replaces a file, or is made in a folder, the owner and group of that file or folder.

    Only root can; another user keeps the group of a file, where that is one of the user's. Raises OSError where root
    cannot.
    """
    if not hasattr(os, "geteuid"):
        return
    now, expected = place.lstat(), like.lstat()
    if (now.st_uid, now.st_gid) == (expected.st_uid, expected.st_gid):
        return
    is_root = os.geteuid() == 0
    if not is_root and (like.is_dir() or now.st_gid == expected.st_gid):
        return
    try:
        os.chown(place, expected.st_uid if is_root else -1, expected.st_gid, follow_symlinks=False)
    except OSError as error:
        if is_root:
            why = f"owner {expected.st_uid} and group {expected.st_gid} cannot be kept ({error.strerror})"
            raise OSError(error.errno, f"{why}; run krm-merge as that user", str(like)) from None


def require_process_groups(program: str) -> None:
    """Raises UnsupportedSystemError where a program could not be ended together with all that it started."""
    if not hasattr(os, "killpg"):
        raise UnsupportedSystemError(f"{program} is not run on a system without process groups; {_REMEDY}")


# Unlikely to be the name of a folder in a package.
_PREFIX, _SUFFIX = ".temporary-", ".krm-merge"


@contextmanager
def temporary_directory(around: Path | None = None) -> Iterator[Path]:
    """A new private directory in `around`, or where the system has temporary ones; it is removed after the block.

    Raises OSError, and UnsupportedSystemError where there are no file locks.
    """
    fcntl = file_locks()
    around = around or _system_directory()
    _remove_abandoned(around, fcntl)
    directory, lock = _create_locked(around, fcntl)
    try:
        yield directory
    finally:
        _remove(directory)
        os.close(lock)


def _system_directory() -> Path:
    # The merge driver, which git starts for each file, needs none there; this import takes a tenth of its time.
    import tempfile

    return Path(tempfile.gettempdir())


def _remove(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        import shutil

        shutil.rmtree(directory, ignore_errors=True)


def _create_locked(around: Path, fcntl: ModuleType) -> tuple[Path, int]:
    """A new directory, and the handle that locks it: a directory without a lock is abandoned."""
    while True:
        directory = around / f"{_PREFIX}{os.urandom(6).hex()}{_SUFFIX}"
        try:
            directory.mkdir(0o700)
            lock = os.open(directory, os.O_RDONLY)
        except FileExistsError:
            continue
        except FileNotFoundError:
            if not around.is_dir():
                raise
            # Another process removed it before it was opened.
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_at(lock, directory):
            return directory, lock
        # Another process removed it before it was locked.
        os.close(lock)


def _remove_abandoned(around: Path, fcntl: ModuleType) -> None:
    """Removes directories of this user whose process has ended, and with it the lock."""
    for directory in around.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(directory)
            finally:
                os.close(lock)
