"""Copies of git repositories in the user's cache: private, and limited in size; the least recently used goes first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from krm_merge.limits import CACHE_MB
from krm_merge.packages.files.tree import PackageError, reason
from krm_merge.posix import file_locks, is_at, is_own
from krm_merge.startup import frozen

CACHE_VARIABLE = "KRM_MERGE_CACHE_DIR"

_PACKAGES, _COMPONENTS = "git", "components"
"""Folders of copies: each of the first has a lock of its own, the second one lock for all."""
_REMOVED = ".removed-"
_REMEDY = f"set {CACHE_VARIABLE} to another directory"


@frozen
class CachedRepository:
    """A copy of a repository: its size in bytes, and when it was used last, in seconds since 1970."""

    place: Path
    size: int
    used_at: float


class GitCache:
    """The cache in a directory. What this object gave out is not removed by it."""

    def __init__(self, place: Path | None = None) -> None:
        """Takes a directory, by default the user's own one."""
        self.place = place or cache_directory()
        self._used: set[Path] = set()
        self._hold: int | None = None

    @contextmanager
    def open(self, name: str) -> Iterator[Path]:
        """The directory of a copy, for this process alone; it may be empty. Raises PackageError."""
        place = self._folder(_PACKAGES) / name
        if place not in self._used and _size_of(place) > CACHE_MB.value() * 10**6:
            # On its own it is too large, with commits that nobody needs any more.
            _remove(place)
        self._used.add(place)
        handle = _lock(place, shared=False)
        try:
            for lock in place.glob("*.lock"):
                # A git that was killed left it: under our lock no other one runs here.
                lock.unlink(missing_ok=True)
            yield place
        finally:
            os.close(handle)

    def directory_of(self, name: str) -> Path:
        """The directory of a copy of `krm-merge components`; all of these stay while this process runs.

        Raises PackageError.
        """
        folder = self._folder(_COMPONENTS)
        if self._hold is None:
            self.trim()
            self._hold = _lock(folder, shared=True)
        place = folder / name
        self._used.add(place)
        with suppress(OSError):  # it is not there yet
            os.utime(place)
        return place

    def copies(self) -> list[CachedRepository]:
        """All copies, the least recently used first."""
        copies = []
        for folder in (_PACKAGES, _COMPONENTS):
            for place in (self.place / folder).glob("[!.]*"):
                with suppress(FileNotFoundError):  # another process removes it
                    copies.append(CachedRepository(place, _size_of(place), place.stat().st_mtime))
        return sorted(copies, key=lambda copy: copy.used_at)

    def trim(self) -> None:
        """Removes the least recently used copies until the others have room. Raises KrmMergeError for a wrong limit."""
        copies, most = self.copies(), CACHE_MB.value() * 10**6
        size = sum(copy.size for copy in copies)
        for copy in copies:
            # Those of this process may be in use although nothing locks them now.
            if size > most and copy.place not in self._used and _remove(copy.place):
                size -= copy.size

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


def _lock(place: Path, *, shared: bool) -> int:
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
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        if is_at(handle, place):
            with suppress(OSError):  # it may be read-only
                os.utime(place)
            return handle
        # Another process removed it before it was locked.
        os.close(handle)


def _remove(place: Path) -> bool:
    """Whether a copy was removed: not while a process uses it."""
    fcntl = file_locks()
    guard = place if place.parent.name == _PACKAGES else place.parent
    try:
        # Not through a link, which could lead to a directory that is no copy.
        handle = os.open(guard, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # At once: half a copy could be taken for a whole one.
        removed = place.with_name(f"{_REMOVED}{place.name}")
        shutil.rmtree(removed, ignore_errors=True)
        place.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _size_of(place: Path) -> int:
    size = 0
    for folder, _, files in os.walk(place):
        for name in files:
            with suppress(FileNotFoundError):
                size += os.lstat(os.path.join(folder, name)).st_size
    return size
