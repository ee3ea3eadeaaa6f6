"""Nothing is left of plugins: whatever they start, and whatever ends us (T6). The edge to signals and orphans."""

from __future__ import annotations

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
_ENDS_US = (signal.SIGTERM, signal.SIGHUP)

sessions: Final[set[int]] = set()
"""The sessions of plugins that run; each leads its own."""


def _ours() -> set[int]:
    """The sessions that are none of a plugin's strays: ours, with all that we start otherwise, and other plugins'."""
    return {os.getsid(0), *sessions}


def _session(process: int) -> int:
    """The session of a process; 0, which is nobody's, where it is gone."""
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return 0


def kill_group(leader: int) -> None:
    """Kills a plugin with all that stayed in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def end_strays(others: set[int]) -> bool:
    """Kills who left a plugin's session: our children, but others, in a session that is neither ours nor a plugin's."""
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
    """While plugins run, nothing of them is left behind: we adopt their orphans, and no signal ends us without them."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._was_so = 0
        self._others: set[int] = set()
        self._signals: list[signal.Signals] = []

    def begin(self) -> None:
        """For the first plugin that runs."""
        if not sessions:
            was_so = ctypes.c_int(0)
            self._call(_PR_GET_CHILD_SUBREAPER, ctypes.byref(was_so))
            self._was_so = was_so.value
            self._call(_PR_SET_CHILD_SUBREAPER, 1)
            self._others = children()
            # Whoever handles or ignores one knows what to do. Only the main thread may handle any.
            self._signals = [number for number in _ENDS_US if signal.getsignal(number) == signal.SIG_DFL]
            self._on_signals(self._end_all)

    def end(self) -> None:
        """For the last one. Orphans of other programs are none of ours."""
        if not sessions:
            self._on_signals(signal.SIG_DFL)
            self._call(_PR_SET_CHILD_SUBREAPER, self._was_so)

    def _on_signals(self, action: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        with suppress(ValueError):
            for number in self._signals:
                signal.signal(number, action)

    def _end_all(self, number: int, _: FrameType | None) -> None:
        """Plugins have sessions of their own: what ends us does not reach them (T6)."""
        for leader in sessions:
            kill_group(leader)
            with suppress(ChildProcessError):
                os.waitpid(leader, 0)
        sessions.clear()
        end_strays(self._others)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # The first process of a container lives on.
        os._exit(128 + number)

    @staticmethod
    def _call(option: int, argument: object) -> None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


watch = Watch()
"""There is one for the process, as signals and orphans are."""


def children() -> set[int]:
    """The processes whose parent we are; none where the system does not tell."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return set()
    return {int(child) for child in listed.split()}
