"""What is said of an error of ours: one line for the user, the traceback for those who ask for it."""

from __future__ import annotations

import os
from typing import Final

from krm_merge.harmless import line, quoted

DEBUG: Final = "KRM_MERGE_DEBUG"
"""The environment variable that asks for tracebacks."""
ISSUES: Final = "https://github.com/krm-merge/krm-merge/issues"


def internal_error(error: Exception, consequence: str) -> str:
    """The message; `consequence` says what became of the work. With the traceback, where that is asked for."""
    what = quoted(line(f"{type(error).__name__}: {error}"))
    message = f"internal error, {consequence}: {what}; please report it with what {DEBUG}=1 adds: {ISSUES}"
    if os.environ.get(DEBUG, "") in ("", "0"):
        return message
    import traceback

    return f"{message}\n{''.join(traceback.format_exception(error)).rstrip()}"
