"""Measures a plugin with all its processes (T6). The edge to the processes of the system, Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEMORY_LIMIT: Final = 1 << 30
"""Bytes that a plugin may use, with all its processes."""

PROCESS_LIMIT: Final = 64
"""Processes that it may have, including itself."""

_PROCESSES = Path("/proc")


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
    return Usage(len(found), sum(memory[number] for number in found))


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
