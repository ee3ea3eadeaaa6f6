"""Limits for plugins that run in our own process: time, memory and child processes (T6). The edge to the system."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import _GeneratorContextManager, contextmanager, suppress
from pathlib import Path
from types import FrameType

from krm_merge.transform.plugins.usage import MEMORY_LIMIT, PROCESS_LIMIT, memory_of, usage_of
from krm_merge.transform.plugins.watch import children, sessions
from krm_merge.transform.protocol.plugin import PluginError

TIME_LIMIT = 10.0
_LOOK_EVERY = 0.1
"""Seconds between two measurements of a plugin's usage."""


class LimitError(PluginError):
    """A plugin that exceeded a limit. It is not called again: every other resource could cost as much."""


class _Exceeded(BaseException):
    """A limit was exceeded. Not an Exception, so that the plugin's own handlers do not catch it."""


@contextmanager
def limited(
    time_limit: float = TIME_LIMIT, memory_limit: int = MEMORY_LIMIT, process_limit: int = PROCESS_LIMIT
) -> Iterator[None]:
    """Ends the block when it exceeds a limit: seconds, additional bytes, processes. Raises LimitError.

    Only the main thread can be interrupted, between two steps of Python; in other threads only memory is limited.
    """
    others = children() | sessions
    deadline = time.monotonic() + time_limit

    def look(number: int, frame: FrameType | None) -> None:
        if frame is not None and _is_leaving(frame):
            return
        if time.monotonic() > deadline:
            raise _Exceeded(f"did not finish within {time_limit:g} s and was stopped")
        usage = usage_of(0, others)
        if usage.processes >= process_limit:
            raise _Exceeded(f"started more than {process_limit - 1} processes, which were killed")
        if usage.memory > memory_limit:
            raise _Exceeded(f"started processes that used more than {memory_limit >> 20:,} MiB of memory")
        # The limit of data is not for shared memory.
        own = memory_of([os.getpid()])
        if max(own.mapped, own.in_files) > memory_limit:
            raise _Exceeded(f"used more than {memory_limit >> 20:,} MiB of memory")

    try:
        with _less_memory(memory_limit), _regularly(look):
            yield
    except _Exceeded as error:
        raise LimitError(str(error)) from None
    except MemoryError:
        raise LimitError(f"used more than {memory_limit >> 20:,} MiB of memory") from None
    finally:
        _end(children() - others)


def _is_leaving(frame: FrameType) -> bool:
    """Whether the block has ended already: what a look raises now would keep the timer from being turned off."""
    ours = _is_leaving.__code__.co_filename
    if frame.f_code is _GeneratorContextManager.__exit__.__code__:
        return bool(frame.f_locals["self"].gen.gi_code.co_filename == ours)
    return frame.f_code.co_filename == ours


@contextmanager
def _regularly(look: signal._HANDLER) -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGALRM, look)
    except (AttributeError, ValueError):  # not a POSIX system, or not the main thread
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, _LOOK_EVERY, _LOOK_EVERY)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        # What a look raised on the way out must not leave the timer on: it would raise anywhere, later.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _less_memory(limit: int) -> Iterator[None]:
    """Limits the additional memory of this process and of each new child during the block."""
    try:
        import resource
    except ModuleNotFoundError:  # not a POSIX system
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        # Source: proc_pid_statm(5); the sixth field is data and stack, in pages.
        now = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (now + limit, before[1]))
    except (OSError, ValueError):  # another system, or a harder limit
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _end(left: set[int]) -> None:
    """Kills processes that a plugin left, which must not outlive it."""
    for child in left:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
