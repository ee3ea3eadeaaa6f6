"""What a plugin uses, with all that it started (T6). The edge to the processes of the system, Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEMORY_LIMIT: Final = 1 << 30
"""Bytes that a plugin may use, with all that it started."""

PROCESS_LIMIT: Final = 64
"""Processes that it may be, itself counted."""

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True)
class Usage:
    """How many processes there are, and the bytes of memory that they hold together."""

    processes: int
    memory: int


def usage_of(process: int, others: Set[int]) -> Usage:
    """What a child of ours uses, with all below it; our other children, but `others`, are orphans of it."""
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
    """Lets a process, and each that it starts, have no more memory of its own than this."""
    import resource

    if hasattr(resource, "prlimit"):
        # What is only reserved does not count: programs in Go reserve much.
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
                # The name of the program is in brackets and may hold anything.
                fields = (_PROCESSES / name / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(name), int(fields[1]), int(fields[21]) * page
