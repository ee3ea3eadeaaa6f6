"""Measures a plugin with all its processes (T6). The edge to the processes of the system, Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes that processes hold alone, those of shared memory that they have mapped, and those of files in memory.

    These files are memfd and POSIX shared memory. What is written into them counts for no process until it is mapped.
    """

    private: int
    mapped: int
    in_files: int


def usage_of(process: int, others: Set[int]) -> Usage:
    """The usage of a child and its descendants; our other children, except `others`, are its orphans."""
    parents = dict(_all())
    below: dict[int, list[int]] = {}
    for number, parent in parents.items():
        below.setdefault(parent, []).append(number)
    pending = [process, *(child for child in below.get(os.getpid(), ()) if child not in others)]
    found: set[int] = set()
    while pending:
        number = pending.pop()
        if number not in found and number in parents:
            found.add(number)
            pending += below.get(number, ())
    memory = memory_of(found)
    return Usage(len(found), memory.private + max(memory.mapped, memory.in_files))


def memory_of(processes: Iterable[int]) -> Memory:
    """The memory of processes, without those that end."""
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
    return Memory(private, mapped, sum(files.values()))


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
