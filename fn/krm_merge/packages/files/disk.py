"""Writes single files and new packages, with the file system calls that the standard library lacks.

Where the system lacks such a call, the nearest ones replace it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from krm_merge import interrupts
from krm_merge.packages.files.tree import File, PackageError, Tree, UnavailableError, reason, refuse_repositories
from krm_merge.posix import StateFile, file_locks, is_own, keep_owner, state_directory, temporary_directory

_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """Notes what is written inside the context in the list that it yields."""
    notes: list[str] = []
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


def note(what: str) -> None:
    """Notes that something was written, as a clause: `web was changed`."""
    notes = _noted.get()
    if notes is not None:
        notes.append(what)


ASIDE = ".aside"
"""The ending of the name under which `exchange` keeps a file for a moment, where it takes several steps."""

_AT_FDCWD = -100
# Source: rename(2).
_NO_REPLACE = 1
_EXCHANGE = 2
# Systems without the call, file systems without the flag, sandboxes that forbid it.
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(place: Path, staged: Path) -> None:
    """Lets two files change places, in one step where the system can. Raises OSError.

    Elsewhere, `settle` must be called after a kill.
    """
    if _rename(place, staged, _EXCHANGE):
        return
    aside = staged.with_name(staged.name + ASIDE)
    # The old content has a name at every step, so that `settle` can go back.
    os.link(place, aside, follow_symlinks=False)
    os.replace(staged, place)
    os.replace(aside, staged)


def settle(staged: Path) -> None:
    """Ends an exchange that was killed half way. Raises OSError."""
    aside = staged.with_name(staged.name + ASIDE)
    if os.path.lexists(aside):
        if os.path.lexists(staged):
            # The new version has not moved yet.
            os.unlink(aside)
        else:
            # It has: what is aside is the old version.
            os.replace(aside, staged)


def move_to_free(staged: Path, place: Path) -> None:
    """Moves a file to where none is. Raises OSError, a FileExistsError where one is.

    Where it takes two steps, a kill may leave it in both places.
    """
    if not _rename(staged, place, _NO_REPLACE):
        # A rename would replace a file that came meanwhile; a link never does.
        os.link(staged, place, follow_symlinks=False)
        os.unlink(staged)


def sync(places: Iterable[Path], directory: Path) -> None:
    """Makes files and directories last that were written below a directory. Raises OSError.

    For thousands of files one call for all of them takes a fraction of the time of one for each.
    """
    handle = os.open(directory, os.O_RDONLY)
    try:
        problem = _call("syncfs", handle)
    finally:
        os.close(handle)
    if problem:
        raise OSError(problem, os.strerror(problem), str(directory))
    for place in places if problem is None else ():
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename(place: Path, other: Path, how: int) -> bool:
    """Whether the rename was done; False where the system or file system does not support it. Raises OSError."""
    problem = _call("renameat2", _AT_FDCWD, os.fsencode(place), _AT_FDCWD, os.fsencode(other), how)
    if problem is None or problem in _NOT_THERE:
        return False
    if problem:
        raise OSError(problem, os.strerror(problem), str(place))
    return True


def _call(name: str, *arguments: int | bytes) -> int | None:
    """The number of the error of a system call, 0 without one; None where the system lacks the call."""
    # The merge driver writes a file without it.
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is None:
        return None
    return ctypes.get_errno() if call(*arguments) != 0 else 0


def state_file(place: Path, ending: str) -> StateFile:
    """The file for what must survive a run about a package or file: in its repository, else in the user's directory.

    In a repository of another user, or in one that git does not trust, nothing is kept (A9).
    """
    # The merge driver needs neither.
    from hashlib import sha256

    from krm_merge.git.program import GitError, WorkingTree

    real = place.resolve()
    try:
        tree = WorkingTree.around(real if real.is_dir() else real.parent)
    except GitError:
        tree = None
    if tree is not None and is_own(tree.repository):
        base, subject = tree.repository.resolve(), os.path.relpath(real, tree.top)
    else:
        base, subject = state_directory(), str(real)
    return StateFile(base, f"{sha256(os.fsencode(subject)).hexdigest()[:32]}.{ending}")


def write_file(place: Path, file: File, before: File | None = None) -> None:
    """Writes a file as a whole or not at all. Raises PackageError, where it no longer holds what it held `before`, too.

    A device, a pipe or the like is written to instead of replaced, since it must stay what it is.
    """
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(file.data)
            note(f"{place} was written")
            return
        place = place.resolve()  # a link stays one
        # Beside it: a rename works only within a file system.
        with temporary_directory(place.parent) as folder:
            staged = folder / "new"
            staged.write_bytes(file.data)
            if place.exists():
                keep_owner(staged, place)
                # After the owner: a change of that takes some bits of the mode away.
                staged.chmod(stat.S_IMODE(place.stat().st_mode))
            else:
                os.chmod(staged, _new_mode(file))
            with interrupts.held():
                if before is None:
                    os.replace(staged, place)
                else:
                    _exchange(place, staged, before)
                note(f"{place} was written")
    except OSError as error:
        raise PackageError(f"{place}: {reason(error)}; nothing was written") from None


def _exchange(place: Path, staged: Path, before: File) -> None:
    """Puts a file in the place of another that still is as it was; an edit of somebody else stays."""
    fcntl = file_locks()
    old = os.open(place, os.O_RDONLY)
    try:
        # It is the staged one for a moment, which no other process may take.
        fcntl.flock(old, fcntl.LOCK_EX)
        exchange(place, staged)
        # Before the exchange somebody could still write to it after the look.
        if staged.read_bytes() != before.data:
            exchange(place, staged)
            raise UnavailableError(f"{place} was changed meanwhile; that change is kept, and nothing was written")
        staged.unlink()
    finally:
        os.close(old)


def write_tree(place: Path, tree: Tree) -> None:
    """Writes a package to a new or empty directory. Raises PackageError."""
    refuse_repositories(str(place), {}, tree)
    try:
        if place.exists() and any(place.iterdir()):
            raise PackageError(f"{place} is not empty; name a new directory, or use --in-place")
        # Never leave a partly written package behind.
        place.parent.mkdir(parents=True, exist_ok=True)
        # Beside it: a rename works only within a file system.
        with temporary_directory(place.parent) as staged:
            whole = staged / "package"
            whole.mkdir()
            for path, file in tree.items():
                write_new(whole / path, file)
            with interrupts.held():
                os.replace(whole, place)
                note(f"{place} was written")
    except OSError as error:
        raise PackageError(f"{place}: {reason(error)}; nothing was written") from None


def write_new(target: Path, file: File) -> None:
    """Writes a file where none is, with the folders around it. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.mode == "link":
        target.symlink_to(os.fsdecode(file.data))
    else:
        target.write_bytes(file.data)
        target.chmod(_new_mode(file))


def _new_mode(file: File) -> int:
    # The system gives the mask only to those who set one.
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if file.mode == "executable" else 0o666) & ~mask
