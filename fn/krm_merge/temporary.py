"""Directories for a moment. One that was left by a process that was killed is removed by whoever needs the next one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from krm_merge.posix import file_locks

# No package has a folder of such a name.
_PREFIX, _SUFFIX = ".temporary-", ".krm-merge"


@contextmanager
def temporary_directory(around: Path | None = None) -> Iterator[Path]:
    """A new directory for us alone, which is gone afterwards: in `around`, or where the system has such ones.

    Raises OSError, and UnsupportedSystemError where there are no file locks.
    """
    fcntl = file_locks()
    around = around or Path(tempfile.gettempdir())
    _remove_abandoned(around, fcntl)
    directory, lock = _locked(around, fcntl)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _locked(around: Path, fcntl: ModuleType) -> tuple[Path, int]:
    """A new directory, and the handle that holds its lock: a directory without lock is nobody's."""
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=around))
        lock = os.open(directory, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), directory.lstat()):
                return directory, lock
        # Somebody removed it before it was locked.
        os.close(lock)


def _remove_abandoned(around: Path, fcntl: ModuleType) -> None:
    """Removes our user's directories whose process has ended: its locks ended with it."""
    for directory in around.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)
