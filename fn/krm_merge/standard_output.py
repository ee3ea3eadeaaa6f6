"""Standard output that cannot be written: the disk is full, or the reader is gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

EXIT_CODE: Final = 3


def is_missing() -> bool:
    """Whether the process was started without stdout: a file opened later would get its descriptor."""
    return sys.stdout is None


def give_up() -> None:
    """Discards what is still buffered: at the end of the program a failure to write it could not be reported."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def problem(error: OSError) -> str:
    """The message for an error of stdout."""
    return f"{error.filename or 'stdout'}: {error.strerror or error}"
