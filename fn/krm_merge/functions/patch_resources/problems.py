"""What a patch does wrong, as results tell it: of a Secret no values."""

from __future__ import annotations

import re

from krm_merge.patch import PatchError
from krm_merge.patch.patches import ParsedPatch

_OPERATION = re.compile(r"(operation \d+, .*?(?:\}|\.\.\.)): (.*)", re.DOTALL)
_OTHER_VALUE = " is not equal to tested value "
# What the library says about an operation may quote the document; these words name only places.
_PLACES = re.compile(
    r"can't (?:remove|replace) a non-existent object '.*?'|can't (?:insert|replace) outside of list"
    r"|unable to fully resolve json pointer .*|member '.*?' not found|index '.*?' is out of bounds"
    r"|copies make more than .*"
)


def told(error: PatchError, patch: ParsedPatch, *, secret: bool) -> str:
    """The message.

    Of a `secret` the error was raised while values were hidden: only the words of the JSON patch library may tell any.
    """
    match = _OPERATION.fullmatch(error.problem) if secret and patch.operations is not None else None
    if match is None:
        return str(error)
    operation, words = match.groups()
    known = _PLACES.match(words)
    why = known.group() if known else "it cannot be carried out"
    return f"{operation}: {'the value there is another one' if _OTHER_VALUE in words else why}"
