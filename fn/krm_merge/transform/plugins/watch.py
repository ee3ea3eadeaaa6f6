"""Kills every process that a plugin started, even if a signal ends krm-merge (T6). The edge to signals and orphans."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_ENDS_US = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)

sessions: Final[set[int]] = set()
"""The sessions of running plugins; each plugin leads one."""


def _ours() -> set[int]:
    """Sessions that do not belong to a stray plugin process: ours, those of our other children, and other plugins'."""
    return {os.getsid(0), *sessions}


def _session(process: int) -> int:
    """The session of a process; 0, which no process has, if it ended."""
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return 0


def kill_group(leader: int) -> None:
    """Kills a plugin and the processes in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def end_strays(others: set[int]) -> bool:
    """Kills processes that left a plugin's session: our children, except `others`, in no known session."""
    found = False
    while strays := {child for child in children() - others if _session(child) not in _ours()}:
        for stray in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray, signal.SIGKILL)
            with suppress(ChildProcessError):
                _, status = os.waitpid(stray, 0)
                found = found or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    return found


class Watch:
    """While plugins run, adopts their orphans and kills them before a signal ends this process."""

    def __init__(self) -> None:
        """No plugin runs yet."""
        self._was_so = 0
        self._others: set[int] = set()
        self._signals: list[signal.Signals] = []

    def begin(self) -> None:
        """Called for the first running plugin."""
        if not sessions:
            was_so = ctypes.c_int(0)
            self._call(_PR_GET_CHILD_SUBREAPER, ctypes.byref(was_so))
            self._was_so = was_so.value
            self._call(_PR_SET_CHILD_SUBREAPER, 1)
            self._others = children()
            # Keep signals that are handled or ignored already. Only the main thread may set handlers.
            self._signals = [number for number in _ENDS_US if signal.getsignal(number) == signal.SIG_DFL]
            self._on_signals(self._end_all)

    def end(self) -> None:
        """Called after the last plugin. Orphans of other programs are left alone."""
        if not sessions:
            self._on_signals(signal.SIG_DFL)
            self._call(_PR_SET_CHILD_SUBREAPER, self._was_so)

    def _on_signals(self, action: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        with suppress(ValueError):
            for number in self._signals:
                signal.signal(number, action)

    def kill_all(self) -> None:
        """Kills the plugins: they have separate sessions, which signals to us do not reach (T6)."""
        for leader in sessions:
            kill_group(leader)
            with suppress(ChildProcessError):
                os.waitpid(leader, 0)
        sessions.clear()
        end_strays(self._others)

    def _end_all(self, number: int, _: FrameType | None) -> None:
        self.kill_all()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # The first process of a container survives.
        os._exit(128 + number)

    @staticmethod
    def _call(option: int, argument: object) -> None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


watch = Watch()
"""The single instance: signals and orphans belong to the whole process."""


@atexit.register
def _end_rest() -> None:
    """Kills a plugin that was just starting when a signal ended what it was started for."""
    if sessions:
        watch.kill_all()


def children() -> set[int]:
    """Our child processes; empty if the system does not list them."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return set()
    return {int(child) for child in listed.split()}
