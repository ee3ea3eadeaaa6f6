"""File system calls that the standard library lacks: exchanging two files, and syncing everything written.

Where the system lacks such a call, the nearest ones replace it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable
from pathlib import Path

ASIDE = ".aside"
"""The ending of the name under which `exchange` keeps a file for a moment, where it takes several steps."""

_AT_FDCWD = -100
# Source: rename(2).
_NO_REPLACE = 1
_EXCHANGE = 2
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(place: Path, staged: Path) -> None:
    """Lets two files change places, in one step where the system can. Raises OSError.

    Elsewhere, `settle` must be called after a kill.
    """
    if _renamed(place, staged, _EXCHANGE):
        return
    aside = staged.with_name(staged.name + ASIDE)
    os.link(place, aside, follow_symlinks=False)
    os.replace(staged, place)
    os.replace(aside, staged)


def settle(staged: Path) -> None:
    """Ends an exchange that was killed half way. Raises OSError."""
    aside = staged.with_name(staged.name + ASIDE)
    if os.path.lexists(aside):
        if os.path.lexists(staged):
            os.unlink(aside)
        else:
            os.replace(aside, staged)


def move_to_free(staged: Path, place: Path) -> None:
    """Moves a file to where none is. Raises OSError, a FileExistsError where one is.

    Where it takes two steps, a kill may leave it in both places.
    """
    if not _renamed(staged, place, _NO_REPLACE):
        os.link(staged, place, follow_symlinks=False)
        os.unlink(staged)


def sync(places: Iterable[Path], directory: Path) -> None:
    """Makes files and directories last that were written below a directory. Raises OSError.

    For thousands of files one call for all of them takes a fraction of the time of one for each.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    for place in [directory] if call is not None else places:
        handle = os.open(place, os.O_RDONLY)
        try:
            if call is None:
                os.fsync(handle)
            elif call(handle) != 0:
                raise _error(place)
        finally:
            os.close(handle)


def _renamed(place: Path, other: Path, how: int) -> bool:
    """Whether the rename was done; False where the system or file system does not support it. Raises OSError."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(place), _AT_FDCWD, os.fsencode(other), how) == 0:
        return True
    if ctypes.get_errno() in _NOT_THERE:
        return False
    raise _error(place)


def _error(place: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(place))
