"""Expressions of ReleasePlans (`release.appstudio.openshift.io/auto-release`): which Components are released.

Source: konflux-ci/integration-service, loader/loader.go (facts as of 2026-08).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from krm_merge.components.configure.cel_tokens import CelError, check

_UPDATED = r'updatedComponentIs\("(?:[^"\\]|\\.)*"\)'
_OURS = re.compile(rf"(?:\((?P<theirs>.*?)\n?\) && \()?{_UPDATED}(?: \|\| {_UPDATED})*(?(theirs)\))", re.DOTALL)


def released(theirs: str, names: Iterable[str]) -> str:
    """An expression that releases these Components if the existing expression, if any, holds too.

    Raises:
        CelError: The existing expression cannot be read.
    """
    ours = " || ".join(f"updatedComponentIs({json.dumps(name)})" for name in names)
    if not theirs:
        return ours
    end = "\n" if theirs[check(theirs)[-1].end :].strip() else ""  # a comment ends with its line
    return f"({theirs}{end}) && ({ours})"


def theirs_of(text: str) -> str:
    """The expression from which `released` made this one; the whole text if `released` did not write it."""
    match = _OURS.fullmatch(text)
    if match is None:
        return text
    try:
        check(match["theirs"] or "true")
    except CelError:
        return text
    return match["theirs"] or ""
