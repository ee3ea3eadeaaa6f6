"""What only POSIX systems have. The function and the commands that only read work elsewhere, too."""

from __future__ import annotations

import os

from krm_merge import TYPE_CHECKING
from krm_merge.errors import KrmMergeError

if TYPE_CHECKING:
    from types import ModuleType


class UnsupportedSystemError(KrmMergeError):
    """The system lacks something; the message names it and where the program has it."""


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


def require_process_groups(program: str) -> None:
    """Raises UnsupportedSystemError where a program could not be ended together with all that it started."""
    if not hasattr(os, "killpg"):
        raise UnsupportedSystemError(f"{program} is not run on a system without process groups; {_REMEDY}")
