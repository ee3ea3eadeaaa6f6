"""SIGINT and SIGTERM: they end a command in good order, and wait where half of something would be left."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

EXIT_CODE: Final = 130

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """Somebody wants the program to end. No error of the work: what handles those lets it pass."""


@contextmanager
def as_exceptions() -> Iterator[None]:
    """Meanwhile the signals raise Interrupted, but for those that are ignored or handled already."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    ours = [number for number in before if before[number] in (signal.SIG_DFL, signal.default_int_handler)]
    with suppress(ValueError):  # only the main thread may handle signals
        for number in ours:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        with suppress(ValueError):
            for number in ours:
                signal.signal(number, before[number])


@contextmanager
def held() -> Iterator[None]:
    """Meanwhile the signals wait; one that came takes effect at the end."""
    _waiting.depth += 1
    try:
        yield
    finally:
        _waiting.depth -= 1
        if _waiting.name and not _waiting.depth:
            name, _waiting.name = _waiting.name, ""
            raise Interrupted(name)


class _Waiting:
    """How many wait for the end of something, and the signal that came meanwhile.

    The signals are the process's, whichever thread takes them: a mask of one thread would not hold them.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.name = ""


_waiting: Final = _Waiting()


def _interrupt(number: int, _: FrameType | None) -> None:
    name = signal.Signals(number).name
    if not _waiting.depth:
        raise Interrupted(name)
    _waiting.name = name
