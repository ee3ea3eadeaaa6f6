"""What only POSIX systems have, temporary directories, and files that are kept for the next run.

The function and commands that only read work elsewhere, too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType

from krm_merge.errors import KrmMergeError
from krm_merge.startup import frozen


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


def _not_ours(place: Path, what: str, remedy: str = "") -> KrmMergeError:
    return KrmMergeError(f"{place} {what}; it is not trusted, and nothing was changed: {remedy or 'remove it'}")


@frozen
class StateFile:
    """A file for the next run of this program, where no clone, archive or `kpt pkg get` brings one (A9).

    It is opened without following a link at any part of its path. It and the folder around it must belong to this user
    alone, and its first line is its own number on this disk, which nobody who delivers a file can know. All else is
    refused with its path, and stays.
    """

    base: Path
    """A directory of the user: the git directory of a working tree, or the one for the state of programs."""
    name: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.base / "krm-merge" / self.name

    def beside(self, ending: str) -> StateFile:
        """The file about the same subject with another ending."""
        return StateFile(self.base, f"{self.name.partition('.')[0]}.{ending}")

    def read(self) -> bytes | None:
        """What was written to it, None where there is no such file. Raises KrmMergeError, OSError."""
        if not hasattr(os, "O_DIRECTORY"):  # No command writes on such a system.
            return None
        with self._folder() as folder:
            handle = self._open(folder, os.O_RDONLY) if folder is not None else None
            if handle is None:
                return None
            with os.fdopen(handle, "rb") as opened:
                return opened.read()

    def append(self, data: bytes) -> None:
        """Adds to it. Raises KrmMergeError, OSError."""
        with self._folder(create=True) as folder:
            assert folder is not None
            handle = self._open(folder, os.O_RDWR | os.O_APPEND)
            if handle is None:
                self._create(folder, data)
                return
            with os.fdopen(handle, "ab") as opened:
                opened.write(data)

    def write(self, data: bytes) -> None:
        """Writes it as a whole or not at all. Raises KrmMergeError, OSError."""
        with self._folder(create=True) as folder:
            assert folder is not None
            self._create(folder, data)

    def rename(self, other: StateFile, *, is_lasting: bool) -> None:
        """Gives it another name in the same folder; `is_lasting` waits for the disk. Raises KrmMergeError, OSError."""
        with self._folder() as folder:
            if folder is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if is_lasting:
                _sync(self.name, folder)
            os.rename(self.name, other.name, src_dir_fd=folder, dst_dir_fd=folder)
            if is_lasting:
                _sync(".", folder)

    def remove(self) -> None:
        """Takes it away. Raises KrmMergeError, OSError."""
        with self._folder() as folder:
            for name in (self.name, f"{self.name}.new") if folder is not None else ():
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)

    def _create(self, folder: int, data: bytes) -> None:
        new = f"{self.name}.new"
        with suppress(FileNotFoundError):  # of a killed process
            os.unlink(new, dir_fd=folder)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(_number(os.fstat(handle)) + data)
            os.rename(new, self.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(new, dir_fd=folder)
            raise

    def _open(self, folder: int, flags: int) -> int | None:
        """The handle of the file, behind its first line. Raises KrmMergeError where it is not ours."""
        try:
            # Neither waits for a pipe.
            handle = os.open(self.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
            raise _not_ours(self.path, "is not a file") from None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise _not_ours(self.path, "is not a file")
            if status.st_uid != os.geteuid():
                raise _not_ours(self.path, "belongs to another user")
            if not status.st_size:
                # Its content was lost with the machine's power.
                os.close(handle)
                return None
            if os.read(handle, len(_number(status))) != _number(status):
                raise _not_ours(self.path, "was not written here by krm-merge")
        except BaseException:
            os.close(handle)
            raise
        return handle

    @contextmanager
    def _folder(self, *, create: bool = False) -> Iterator[int | None]:
        """The handle of the folder, None where it is not there. Raises KrmMergeError where it is not ours."""
        # Its base alone may be behind a link, which only the system or the user can have made.
        folder = self.base.parent.resolve() / self.base.name / "krm-merge"
        flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
        handle = os.open(folder.anchor, flags)
        place = Path(folder.anchor)
        try:
            for part in folder.parts[1:]:
                place = place / part
                inner = _inner_folder(part, handle, flags, create=create)
                if inner is None:
                    yield None
                    return
                os.close(handle)
                handle = inner
            status = os.fstat(handle)
            if status.st_uid != os.geteuid():
                raise _not_ours(folder, "belongs to another user")
            if status.st_mode & 0o022:
                raise _not_ours(folder, "can be written to by others", f"remove it, or chmod 700 {folder}")
            place = self.path
            yield handle
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise _not_ours(place, "is a link or not a directory") from None
            raise OSError(error.errno, error.strerror, str(place)) from None
        finally:
            os.close(handle)


def _number(status: os.stat_result) -> bytes:
    return b"%d\n" % status.st_ino


def _inner_folder(name: str, around: int, flags: int, *, create: bool) -> int | None:
    try:
        return os.open(name, flags, dir_fd=around)
    except FileNotFoundError:
        if not create:
            return None
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=around)
    return os.open(name, flags, dir_fd=around)


def _sync(name: str, folder: int) -> None:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def state_directory() -> Path:
    """The user's directory for what programs keep. Raises KrmMergeError where there is none."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # A relative one counts for nothing, by the specification of these directories.
    place = Path(given if os.path.isabs(given) else os.path.expanduser("~/.local/state"))
    if not place.is_absolute():
        raise KrmMergeError("you have no home directory; set XDG_STATE_HOME to a directory of your own")
    return place


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
        name = os.urandom(6).hex()
        directory = around / f"{_PREFIX}{name}{_SUFFIX}"
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
            # What is delivered with a package cannot have its number in its name (A9).
            return directory.rename(around / f"{_PREFIX}{name}-{os.fstat(lock).st_ino}{_SUFFIX}"), lock
        # Another process removed it before it was locked.
        os.close(lock)


def _remove_abandoned(around: Path, fcntl: ModuleType) -> None:
    """Removes directories that we made, whose process has ended, and with it the lock."""
    for directory in around.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                status = os.fstat(lock)
                if status.st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # Killed before it had its name, it is empty.
                    (_remove if directory.name.endswith(f"-{status.st_ino}{_SUFFIX}") else os.rmdir)(directory)
            finally:
                os.close(lock)
