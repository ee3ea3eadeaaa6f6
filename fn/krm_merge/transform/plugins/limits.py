"""Limits of plugins (T6): usage is measured, and every process that a plugin started is ended. The edge to Linux."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from krm_merge.startup import group_by_key

TIME_LIMIT: Final = 10.0
"""Seconds that a plugin may take for one request."""

MEMORY_LIMIT: Final = 1 << 30
"""Bytes that a plugin may use, with all its processes."""

PROCESS_LIMIT: Final = 64
"""Processes that it may have, including itself."""

_PROCESSES = Path("/proc")
_FILES_IN_MEMORY = ("/memfd:", "/dev/shm/")
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Usage:
    """The number of processes, and their bytes of memory in total."""

    processes: int
    memory: int


def usage_of(process: int, others: Set[int]) -> Usage:
    """The usage of a child and its descendants; our other children, except `others`, are its orphans."""
    parents = dict(_all())
    below = group_by_key((parent, number) for number, parent in parents.items())
    pending = [process, *(child for child in below.get(os.getpid(), ()) if child not in others)]
    processes: set[int] = set()
    while pending:
        number = pending.pop()
        if number not in processes and number in parents:
            processes.add(number)
            pending += below.get(number, ())
    return Usage(len(processes), _memory_of(processes))


def _memory_of(processes: Iterable[int]) -> int:
    """The bytes of memory that processes use, without those that end.

    Files in memory are memfd and POSIX shared memory. What is written into them counts for no process until it is
    mapped.
    """
    private = mapped = 0
    files: dict[tuple[int, int], int] = {}
    for number in processes:
        place = _PROCESSES / str(number)
        with suppress(OSError, IndexError):
            # Source: proc_pid_status(5), in kibibytes. Before the files: of a process that ends now, neither counts.
            # All from one reading: what is unmapped between two would count twice.
            status = (place / "status").read_text(errors="replace")
            resident, shared = (int(status.partition(name)[2].split()[0]) << 10 for name in ("VmRSS:", "RssShmem:"))
            private, mapped = private + resident - shared, mapped + shared
            for name in os.listdir(place / "fd"):
                with suppress(OSError):  # closed meanwhile
                    if os.readlink(place / "fd" / name).startswith(_FILES_IN_MEMORY):
                        file = os.stat(place / "fd" / name)
                        files[file.st_dev, file.st_ino] = file.st_blocks * _BLOCK
    return private + max(mapped, sum(files.values()))


def limit_memory(process: int, limit: int) -> None:
    """Limits the memory of a process, and of each process that it starts."""
    import resource

    if hasattr(resource, "prlimit"):
        # Reserved memory does not count: programs in Go reserve much.
        with suppress(OSError):
            resource.prlimit(process, resource.RLIMIT_DATA, (limit, limit))


def _all() -> Iterator[tuple[int, int]]:
    """All processes: number, parent."""
    try:
        names = os.listdir(_PROCESSES)
    except OSError:
        return
    for name in names:
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name of the program is in brackets and may hold any character.
                fields = (_PROCESSES / name / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(name), int(fields[1])


_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_ENDS_US = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)

sessions: Final[set[int]] = set()
"""The sessions of running plugins; each plugin leads one."""


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


def _kill(child: int) -> bool:
    """Kills a child and reaps it. Returns whether that ended it."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return False


def end_strays(others: set[int]) -> bool:
    """Kills processes that left a plugin's session: our children, except `others`, in no session of ours or a plugin's.

    Returns whether there were some that had not ended.
    """
    is_killed = False
    while strays := {child for child in children() - others if _session(child) not in {os.getsid(0), *sessions}}:
        for stray in strays:
            is_killed = _kill(stray) or is_killed
    return is_killed


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
