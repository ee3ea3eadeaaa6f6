"""Copies of git repositories in the user's cache, which is private; the user may remove it at any time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from krm_merge.packages.files.tree import PackageError, reason
from krm_merge.posix import file_locks, is_at, is_own

CACHE_VARIABLE = "KRM_MERGE_CACHE_DIR"

_REMEDY = f"set {CACHE_VARIABLE} to another directory"


class GitCache:
    """The cache in a directory."""

    def __init__(self, place: Path | None = None) -> None:
        """Takes a directory, by default the user's own one."""
        self.place = place or cache_directory()

    @contextmanager
    def open(self, name: str) -> Iterator[Path]:
        """The directory of a copy, for this process alone; it may be empty. Raises PackageError."""
        place = self._folder("git") / name
        handle = _lock(place)
        try:
            for lock in place.glob("*.lock"):
                # A git that was killed left it: under our lock no other one runs here.
                lock.unlink(missing_ok=True)
            yield place
        finally:
            os.close(handle)

    def directory_of(self, name: str) -> Path:
        """The directory of a copy of `krm-merge components`. Raises PackageError."""
        return self._folder("components") / name

    def _folder(self, name: str) -> Path:
        """A folder for copies that is private: they may be of private repositories."""
        folder = self.place / name
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            for private in (self.place, folder):
                if not private.exists():
                    private.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(exist_ok=True)
            if not is_own(folder):
                raise PackageError(f"{folder} belongs to another user, whose copies are not trusted; {_REMEDY}")
            for private in (folder, *([] if os.environ.get(CACHE_VARIABLE) else [self.place])):
                if private.stat().st_mode & 0o077:
                    private.chmod(0o700)
        except OSError as error:
            raise PackageError(f"{folder}: {reason(error)}; {_REMEDY}") from None
        return folder


def cache_directory() -> Path:
    """Where copies of repositories are kept."""
    if override := os.environ.get(CACHE_VARIABLE):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "krm-merge"


def _lock(place: Path) -> int:
    """The handle that locks a directory, which is made where it is missing. Raises PackageError."""
    fcntl = file_locks()
    while True:
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(place, os.O_RDONLY)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise PackageError(f"{place}: {reason(error)}; {_REMEDY}") from None
        fcntl.flock(handle, fcntl.LOCK_EX)
        if is_at(handle, place):
            return handle
        # Somebody removed it before it was locked.
        os.close(handle)
