"""SIGINT and SIGTERM end a command in good order; while something must not be left half done, they wait."""

from __future__ import annotations

import os
import signal
import sys
from _thread import get_ident
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
    """A signal asks the program to end. It is not an Exception, so that handlers of errors do not catch it."""


@contextmanager
def as_exceptions(*, to_the_end: bool = False) -> Iterator[None]:
    """In this block the first signal raises Interrupted; signals that are ignored or handled already are left alone.

    Handlers are restored afterwards. `to_the_end` of the program they ignore signals instead: the work is done.
    """
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
                if to_the_end:
                    # Python restores default handlers at its end: a signal or the timer would then kill the process.
                    signal.signal(signal.SIGALRM, signal.SIG_IGN)
            for number in ours:
                signal.signal(number, signal.SIG_IGN if to_the_end else before[number])


def ignore_further() -> None:
    """Ignores further signals: the command is done, and an interruption would only change what it reports."""
    _state.is_over = True


@contextmanager
def held() -> Iterator[None]:
    """In this block signals wait; one that arrived takes effect at its end, in the main thread."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
        if _state.waiting and not _state.depth:
            name, _state.waiting = _state.waiting, ""
            if get_ident() == _state.main_thread:
                _raise(name)
            elif not _state.is_over:
                # Raised here, it would wait until somebody asks for the result of this thread.
                os.kill(os.getpid(), signal.Signals[name])


class _State:
    """The main thread, the number of blocks that hold signals, the signal that arrived, whether signals are ignored.

    A signal is for the whole process, and any thread may receive it: masking it in one thread would not hold it.
    """

    def __init__(self) -> None:
        self.main_thread = get_ident()
        self.depth = 0
        self.waiting = ""
        self.is_over = False


_state: Final = _State()


def _handle() -> list[signal.Signals]:
    """Handles the signals that have no handler yet, and returns them."""
    ours = [number for number in _SIGNALS if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)]
    with suppress(ValueError):  # only the main thread may handle signals
        for number in ours:
            signal.signal(number, _interrupt)
            _state.main_thread = get_ident()
    if ours:
        _state.is_over = False
        sys.unraisablehook = _raise_later
    return ours


def _interrupt(number: int, frame: FrameType | None) -> None:
    name = signal.Signals(number).name
    if _state.depth:
        _state.waiting = name
    elif _HAS_TIMER and _is_in_class_body(frame):
        _repeat_soon(name)
    else:
        _raise(name)


def _is_in_class_body(frame: FrameType | None) -> bool:
    # Python 3.11 makes a RuntimeError of whatever is raised there, which handlers of errors catch.
    while frame is not None and frame.f_code.co_name != "__set_name__":
        frame = frame.f_back
    return frame is not None


def _raise(name: str) -> None:
    """Raises Interrupted, unless the program is ending already."""
    if not _state.is_over:
        _state.is_over = True
        raise Interrupted(name)


def _raise_later(ignored: UnraisableHookArgs) -> None:
    """Repeats the signal soon: Python drops exceptions that are raised while it finalizes objects."""
    if not isinstance(ignored.exc_value, Interrupted):
        sys.__unraisablehook__(ignored)
        return
    _state.is_over = False
    if _HAS_TIMER:  # elsewhere the next signal ends the command
        _repeat_soon(str(ignored.exc_value))


def _repeat_soon(name: str) -> None:
    def again(number: int, frame: FrameType | None) -> None:
        _interrupt(signal.Signals[name], frame)

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, _SOON)
