"""What runs in a worker: `prepare` once, then `run_target` for each job. The edge to the process."""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from krm_merge import interrupts
from krm_merge.errors import KrmMergeError
from krm_merge.fleet.merging.directory import WorkingTreeMerger
from krm_merge.fleet.merging.failures import failure_of
from krm_merge.fleet.merging.job import Job, Settings, TargetOutcome
from krm_merge.fleet.merging.merge import Merging
from krm_merge.fleet.merging.repository import RepositoryMerger

_JOBS_BETWEEN_COLLECTIONS = 200
_SECONDS_TO_END = 10
_BETWEEN_SIGNALS = 0.05


class _Worker:
    """The state of a worker: what it has read stays for the next job."""

    def __init__(self, settings: Settings) -> None:
        merging = Merging(settings)
        self.settings = settings
        self.directories = WorkingTreeMerger(merging)
        self.repositories = RepositoryMerger(merging)
        self.jobs = 0


_settings: list[Settings] = []
_refusals: list[str] = []
_of_thread = threading.local()


def prepare_process(settings: Settings) -> None:
    """Prepares a process of its own: it ends with its parent, and a crash leaves a trace in the campaign."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_program()
    log = Path(settings.temporary, f"worker-{os.getpid()}.log")
    faulthandler.enable(os.open(log, os.O_WRONLY | os.O_CREAT, 0o600))
    # Trees have no cycles; what others make is collected between jobs.
    gc.disable()
    prepare(settings)


def _end_with_program() -> None:
    """Ends this process when the program is gone. Its parent is the server that forks workers, which outlives them."""
    program = multiprocessing.parent_process()
    if program is not None:
        threading.Thread(target=_end_after, args=(program,), daemon=True).start()


def _end_after(program: BaseProcess) -> None:
    program.join()
    end = time.monotonic() + _SECONDS_TO_END
    while time.monotonic() < end:
        # The first signal interrupts a job, after which the worker would wait for another one.
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_BETWEEN_SIGNALS)
    os._exit(1)


def prepare(settings: Settings) -> None:
    """Hands a worker what all jobs have in common."""
    _settings[:] = [settings]
    _refusals.clear()


def refuse(reason: str) -> None:
    """Makes a worker refuse all jobs."""
    _settings[:] = []
    _refusals[:] = [reason]


def run_each(work: Callable[[Job], TargetOutcome], jobs: Sequence[Job]) -> list[TargetOutcome]:
    """Runs jobs one after another. A worker that others use, too, collects garbage again afterwards.

    Raises KrmMergeError in a worker that refuses jobs.
    """
    if _refusals:
        raise KrmMergeError(_refusals[0])
    collects = gc.isenabled()
    gc.disable()
    try:
        return [work(job) for job in jobs]
    finally:
        if collects:
            gc.enable()


def run_target(job: Job) -> TargetOutcome:
    """Merges one target; whatever goes wrong is its outcome."""
    worker = _worker()
    started = time.monotonic()
    try:
        with interrupts.as_exceptions():
            is_repository = worker.settings.campaign.targets[job.target].is_repository
            outcome = (worker.repositories if is_repository else worker.directories).merge(job)
    except Exception as error:
        kind, message = failure_of(error)
        outcome = TargetOutcome(job.target, "failed", message, kind)
    worker.jobs += 1
    if worker.jobs % _JOBS_BETWEEN_COLLECTIONS == 0:
        gc.collect()
    return replace(outcome, seconds=time.monotonic() - started)


def _worker() -> _Worker:
    """The worker of this thread: what one reads through git is not for two at once."""
    (settings,) = _settings
    known: _Worker | None = getattr(_of_thread, "worker", None)
    if known is None or known.settings is not settings:
        known = _of_thread.worker = _Worker(settings)
    return known
