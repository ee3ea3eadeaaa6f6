"""Notes what a command wrote, which it must report if it is interrupted or cannot print its results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Notes what is written inside the context in the list that it yields."""
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
