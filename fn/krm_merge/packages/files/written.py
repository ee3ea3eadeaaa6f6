"""What a command has written so far: one that is interrupted, or cannot print its results, must say it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Meanwhile, what is written is noted in the list that this gives."""
    notes: list[str] = []
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


def note(what: str) -> None:
    """Notes that something was written, as a clause: `web was changed`."""
    notes = _noted.get()
    if notes is not None:
        notes.append(what)
