"""Standard output that cannot be written: it is full, or nobody reads it any more."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

EXIT_CODE: Final = 3


def is_missing() -> bool:
    """Whether we were started without one: a file opened later would take its place."""
    return sys.stdout is None


def give_up() -> None:
    """Lets what is still to be written go nowhere: at the end of the program nobody can report it."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def problem(error: OSError) -> str:
    """What is wrong with it."""
    return f"{error.filename or 'stdout'}: {error.strerror or error}"
