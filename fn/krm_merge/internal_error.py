"""The message for an error that nobody expects: one line and, on request, the traceback."""

from __future__ import annotations

import os
from typing import Final

from krm_merge.safe_text import line, quoted

DEBUG: Final = "KRM_MERGE_DEBUG"
"""The environment variable that adds tracebacks."""
ISSUES: Final = "https://github.com/krm-merge/krm-merge/issues"


def let_go(error: BaseException | None) -> None:
    """Frees what the calls held in which memory ran out: there is too little left to say so."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def internal_error(error: Exception, consequence: str, size: int | None = None) -> str:
    """The message, with the traceback if DEBUG is set; `consequence` says what happened to the work.

    `size` is that of the input in bytes, if it is known.
    """
    if isinstance(error, MemoryError):
        size_note = "" if size is None else f" for an input of {size:,} bytes"
        return f"out of memory{size_note}, {consequence}; divide the input, or let krm-merge have more memory"
    what = quoted(line(f"{type(error).__name__}: {error}"))
    message = f"internal error, {consequence}: {what}; please report it with what {DEBUG}=1 adds: {ISSUES}"
    if os.environ.get(DEBUG, "") in ("", "0"):
        return message
    import traceback

    return f"{message}\n{''.join(traceback.format_exception(error)).rstrip()}"
