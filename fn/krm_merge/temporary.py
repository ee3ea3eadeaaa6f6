"""Temporary directories. A process that creates one removes those that killed processes left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from krm_merge.posix import file_locks

# Unlikely to be the name of a folder in a package.
_PREFIX, _SUFFIX = ".temporary-", ".krm-merge"


@contextmanager
def temporary_directory(around: Path | None = None) -> Iterator[Path]:
    """A new private directory in `around`, or where the system has temporary ones; it is removed after the block.

    Raises OSError, and UnsupportedSystemError where there are no file locks.
    """
    fcntl = file_locks()
    around = around or Path(tempfile.gettempdir())
    _remove_abandoned(around, fcntl)
    directory, lock = _create_locked(around, fcntl)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _create_locked(around: Path, fcntl: ModuleType) -> tuple[Path, int]:
    """A new directory, and the handle that locks it: a directory without a lock is abandoned."""
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=around))
        lock = os.open(directory, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), directory.lstat()):
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
                    shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)
