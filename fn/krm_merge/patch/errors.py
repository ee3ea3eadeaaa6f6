"""What a patch does wrong."""

from __future__ import annotations

import json

from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.text.values import Value

_SHOWN = 200


class PatchError(ValueError):
    """A patch or document that cannot be taken. `path` is where, `problem` what is wrong there."""

    def __init__(self, problem: str, path: FieldPath = ()) -> None:
        """The message begins with the path."""
        super().__init__(f"{format_path(path)}: {problem}" if path else problem)
        self.problem = problem
        self.path = path


class PatchConflict(PatchError):
    """Two sides changed the same thing differently, and nobody may overwrite."""


def shown(value: Value) -> str:
    """A value in a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
