"""Errors of patches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from krm_merge.errors import KrmMergeError
from krm_merge.harmless import REDACTED
from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.text.reading.values import Object, Value

_SHOWN = 200
_OF_OPERATIONS = ("op", "path", "from")


def _nothing() -> bool:
    return False


_hides: ContextVar[Callable[[], bool]] = ContextVar("hides", default=_nothing)


class PatchError(KrmMergeError, ValueError):
    """A patch or document that cannot be taken. `path` is where, `problem` what is wrong there."""

    def __init__(self, problem: str, path: FieldPath = ()) -> None:
        """The message begins with the path."""
        super().__init__(f"{format_path(path)}: {problem}" if path else problem)
        self.problem = problem
        self.path = path


class PatchConflictError(PatchError):
    """Two sides changed the same thing differently, and nobody may overwrite."""


@contextmanager
def hiding_values(hides: Callable[[], bool]) -> Iterator[None]:
    """As long as it lasts, values in messages are redacted where it `hides` them (M6): only an error asks."""
    token = _hides.set(hides)
    try:
        yield
    finally:
        _hides.reset(token)


def shown(value: Value) -> str:
    """A value in a message."""
    return _cut(_redacted(value) if _hides.get()() else value)


def shown_operation(operation: Object) -> str:
    """An operation of a JSON patch in a message: what it does and where is no secret, whatever else it holds may be."""
    if not _hides.get()():
        return _cut(operation)
    return _cut(
        {
            name: inner if name in _OF_OPERATIONS and isinstance(inner, str) else _redacted(inner)
            for name, inner in operation.items()
        }
    )


def _cut(value: Value) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _redacted(value: Value) -> Value:
    """The value with the names of its fields alone."""
    if isinstance(value, dict):
        return {name: _redacted(inner) for name, inner in value.items()}
    return [_redacted(item) for item in value] if isinstance(value, list) else REDACTED
