"""Standard output that cannot be written: the disk is full, or the reader is gone."""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import suppress
from typing import Any, Final

EXIT_CODE: Final = 3


class _Pipe(io.FileIO):
    """Takes what nobody reads any more, and discards it."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def outlive_readers() -> None:
    """Lets a command go on to its end where `| head` and the like have read enough of its stdout and stderr."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        with suppress(AttributeError, OSError, ValueError):
            mode = os.fstat(stream.fileno()).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                writer = io.BufferedWriter(_Pipe(stream.fileno(), "wb", closefd=False))
                lines = stream.line_buffering
                stream_for_pipes = io.TextIOWrapper(writer, stream.encoding, stream.errors, line_buffering=lines)
                setattr(sys, name, stream_for_pipes)


def give_up() -> None:
    """Discards what is still buffered: at the end of the program a failure to write it could not be reported."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def problem(error: OSError) -> str:
    """The message for an error of stdout."""
    return f"{error.filename or 'stdout'}: {error.strerror or error}"
