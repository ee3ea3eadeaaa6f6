"""SIGINT and SIGTERM: they end a command in good order, and wait where half of something would be left."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

EXIT_CODE: Final = 130

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_HAS_TIMER: Final = hasattr(signal, "setitimer")
_SOON: Final = 0.001
"""Seconds."""


class Interrupted(BaseException):
    """Somebody wants the program to end. No error of the work: what handles those lets it pass."""


@contextmanager
def as_exceptions() -> Iterator[None]:
    """Meanwhile the first of the signals raises Interrupted, but for those that are ignored or handled already."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    hook = sys.unraisablehook
    ours = _handle()
    try:
        yield
    finally:
        sys.unraisablehook = hook
        with suppress(ValueError):
            if ours and _HAS_TIMER:
                signal.setitimer(signal.ITIMER_REAL, 0)
            for number in ours:
                signal.signal(number, before[number])


@contextmanager
def as_exceptions_to_the_end() -> Iterator[None]:
    """The same; afterwards the signals are ignored, while Python ends the process: all is done and said."""
    ours = _handle()
    try:
        yield
    finally:
        # Python itself sets its own handlers back to what kills, which would hide the exit code: that of a timer, too.
        if ours and _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        for number in ours:
            signal.signal(number, signal.SIG_IGN)


def over() -> None:
    """The command is done, and says what it did: to interrupt it now would only make it say something else."""
    _state.is_over = True


@contextmanager
def held() -> Iterator[None]:
    """Meanwhile the signals wait; one that came takes effect at the end."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
        if _state.waiting and not _state.depth:
            name, _state.waiting = _state.waiting, ""
            _raise(name)


class _State:
    """How many wait for the end of something, the signal that came meanwhile, and whether none counts any more.

    The signals are the process's, whichever thread takes them: a mask of one thread would not hold them.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.waiting = ""
        self.is_over = False


_state: Final = _State()


def _handle() -> list[signal.Signals]:
    """Handles the signals that nobody else does, and gives them."""
    ours = [one for one in _SIGNALS if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler)]
    with suppress(ValueError):  # only the main thread may handle signals
        for number in ours:
            signal.signal(number, _interrupt)
    if ours:
        _state.is_over = False
        sys.unraisablehook = _raise_later
    return ours


def _interrupt(number: int, _: FrameType | None) -> None:
    name = signal.Signals(number).name
    if _state.depth:
        _state.waiting = name
    else:
        _raise(name)


def _raise(name: str) -> None:
    """Raises Interrupted, unless the program is ending already: that must not be disturbed."""
    if not _state.is_over:
        _state.is_over = True
        raise Interrupted(name)


def _raise_later(ignored: UnraisableHookArgs) -> None:
    """Python drops what is raised while it tidies up objects; the signal comes again when that is over."""
    if not isinstance(ignored.exc_value, Interrupted):
        sys.__unraisablehook__(ignored)
        return
    name = str(ignored.exc_value)

    def again(number: int, frame: FrameType | None) -> None:
        _interrupt(signal.Signals[name], frame)

    _state.is_over = False
    if not _HAS_TIMER:  # not a POSIX system: the next signal ends the command
        return
    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, _SOON)
