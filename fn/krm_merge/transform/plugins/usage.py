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


def usage_of(process: int, others: Set[int]) -> Usage:
    """The usage of a child and its descendants; our other children, except `others`, are its orphans."""
    below: dict[int, list[int]] = {}
    memory: dict[int, int] = {}
    for number, parent, held in _all():
        below.setdefault(parent, []).append(number)
        memory[number] = held
    pending = [process, *(child for child in below.get(os.getpid(), ()) if child not in others)]
    found: set[int] = set()
    while pending:
        number = pending.pop()
        if number not in found and number in memory:
            found.add(number)
            pending += below.get(number, ())
    mapped, in_files = shared_memory_of(found)
    return Usage(len(found), sum(memory[number] for number in found) + max(0, in_files - mapped))


def shared_memory_of(processes: Iterable[int]) -> tuple[int, int]:
    """Bytes of shared memory that processes have mapped, and bytes of the files in memory that they have open.

    These are memfd and POSIX shared memory. What is written into them counts for no process until it is mapped.
    """
    mapped = 0
    files: dict[tuple[int, int], int] = {}
    for number in processes:
        place = _PROCESSES / str(number)
        with suppress(OSError, IndexError):
            # Source: proc_pid_status(5), in kibibytes. Before the files: of a process that ends now, neither counts.
            mapped += int((place / "status").read_text(errors="replace").partition("RssShmem:")[2].split()[0]) << 10
            for name in os.listdir(place / "fd"):
                with suppress(OSError):  # closed meanwhile
                    if os.readlink(place / "fd" / name).startswith(_FILES_IN_MEMORY):
                        status = os.stat(place / "fd" / name)
                        files[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return mapped, sum(files.values())


def limit_memory(process: int, limit: int) -> None:
    """Limits the memory of a process, and of each process that it starts."""
    import resource

    if hasattr(resource, "prlimit"):
        # Reserved memory does not count: programs in Go reserve much.
        with suppress(OSError):
            resource.prlimit(process, resource.RLIMIT_DATA, (limit, limit))


def _all() -> Iterator[tuple[int, int, int]]:
    """All processes: number, parent, bytes of memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        names = os.listdir(_PROCESSES)
    except OSError:
        return
    for name in names:
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name of the program is in brackets and may hold any character.
                fields = (_PROCESSES / name / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(name), int(fields[1]), int(fields[21]) * page
