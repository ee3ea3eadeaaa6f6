"""Where jobs run: engines behind `concurrent.futures.Executor`."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from krm_merge.fleet.merging.job import Settings
from krm_merge.fleet.merging.worker import prepare_process


class Engine(Protocol):
    """Makes executors; another one where the first broke."""

    @property
    def workers(self) -> int:
        """How many jobs run at once."""
        ...

    @property
    def batch(self) -> int:
        """How many jobs a worker gets at most with one call: more where a call costs much."""
        ...

    def executor(self, settings: Settings) -> Executor:
        """Workers that are prepared for the jobs of a run. Raises KrmMergeError."""
        ...

    def end(self, executor: Executor) -> None:
        """Ends an executor: jobs that run end first, where that can be had, and others are dropped."""
        ...


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes on this machine. They are forked from a small server, so that nothing of this one is in them."""

    workers: int
    prepare: Callable[[Settings], None] = prepare_process
    batch: int = 1

    def executor(self, settings: Settings) -> Executor:
        """A pool; its workers start with the first jobs."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["krm_merge.fleet.merging.worker"])
        return ProcessPoolExecutor(self.workers, context, self.prepare, (settings,))

    def end(self, executor: Executor) -> None:
        """Waits for the jobs that run."""
        executor.shutdown(wait=True, cancel_futures=True)


def processors() -> int:
    """How many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
