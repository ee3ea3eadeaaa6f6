"""Work on many items on all processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

WORTH_IT = 200
"""Items for each process below which another process costs more than it saves."""

_PR_SET_PDEATHSIG = 1


def in_parallel(work: Callable[[Sequence[Item]], Done], items: Sequence[Item]) -> list[Done]:
    """Splits the items into parts, runs `work` on each, and returns its results in the order of the items.

    Parts may run in other processes: changes that `work` makes are lost there, and its results are pickled. A part
    whose process fails runs again in this process, so that its exceptions are raised here.
    """
    processes = min(_processors(), len(items) // WORTH_IT)
    if processes < 2:
        return [work(items)]
    size = -(-len(items) // processes)
    parts = [items[at : at + size] for at in range(0, len(items), size)]
    # Only here are they worth their time: every run imports this module.
    import pickle

    children = [_start(work, part) for part in parts[1:]]
    try:
        done = [work(parts[0])]
    finally:
        # Whatever happens here: no process and no pipe is left behind.
        answers = [None if child is None else _answer(*child) for child in children]
    for answer, part in zip(answers, parts[1:], strict=True):
        done.append(work(part) if answer is None else pickle.loads(answer))
    return done


def _processors() -> int:
    if not hasattr(os, "fork"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _answer(child: int, pipe: int) -> bytes | None:
    """The output of a process, None where it failed."""
    with open(pipe, "rb") as source:
        data = source.read()
    _, status = os.waitpid(child, 0)
    return data if data and os.waitstatus_to_exitcode(status) == 0 else None


def _start(work: Callable[[Sequence[Item]], Done], part: Sequence[Item]) -> tuple[int, int] | None:
    """A process that does a part, and the pipe that it writes to; None where there can be no more processes."""
    import pickle

    reader, writer = os.pipe()
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if child:
        os.close(writer)
        return child, reader
    data = b""
    try:
        os.close(reader)
        end_with_parent(parent)
        data = pickle.dumps(work(part))
        with open(writer, "wb") as target:
            target.write(data)
    finally:
        # Nothing of the parent's (buffers, handlers) may run twice.
        os._exit(0 if data else 1)


def end_with_parent(parent: int) -> None:
    """Lets this process be ended with its parent: nobody waits for its answer then. Linux only."""
    import ctypes
    import signal

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit
