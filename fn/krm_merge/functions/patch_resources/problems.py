"""Messages for errors of patches, without secret values."""

from __future__ import annotations

import re

from krm_merge.patch import PatchError
from krm_merge.patch.patches import ParsedPatch

_OPERATION = re.compile(r"(operation \d+, .*?(?:\}|\.\.\.)): (.*)", re.DOTALL)
_OTHER_VALUE = " is not equal to tested value "
# The library's messages may quote the document; these messages name only places.
_PLACES = re.compile(
    r"can't (?:remove|replace) a non-existent object '.*?'|can't (?:insert|replace) outside of list"
    r"|unable to fully resolve json pointer .*|member '.*?' not found|index '.*?' is out of bounds"
    r"|copies make more than .*|the value that it copies is nested deeper than [0-9]+ levels"
)


def format_problem(error: PatchError, patch: ParsedPatch, *, secret: bool) -> str:
    """The message of an error.

    For a `secret` values were hidden already: only messages of the JSON patch library may quote any.
    """
    match = _OPERATION.fullmatch(error.problem) if secret and patch.operations is not None else None
    if match is None:
        return str(error)
    operation, words = match.groups()
    known = _PLACES.match(words)
    why = known.group() if known else "it cannot be applied"
    return f"{operation}: {'the value there differs' if _OTHER_VALUE in words else why}"
