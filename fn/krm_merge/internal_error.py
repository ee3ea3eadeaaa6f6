"""The message for an internal error: one line and, on request, the traceback."""

from __future__ import annotations

import os
from typing import Final

from krm_merge.harmless import line, quoted

DEBUG: Final = "KRM_MERGE_DEBUG"
"""The environment variable that adds tracebacks."""
ISSUES: Final = "https://github.com/krm-merge/krm-merge/issues"


def internal_error(error: Exception, consequence: str) -> str:
    """The message, with the traceback if DEBUG is set; `consequence` says what happened to the work."""
    what = quoted(line(f"{type(error).__name__}: {error}"))
    message = f"internal error, {consequence}: {what}; please report it with what {DEBUG}=1 adds: {ISSUES}"
    if os.environ.get(DEBUG, "") in ("", "0"):
        return message
    import traceback

    return f"{message}\n{''.join(traceback.format_exception(error)).rstrip()}"
