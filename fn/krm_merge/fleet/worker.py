"""Where jobs run: engines behind `concurrent.futures.Executor`, and what runs in their workers. Extra `[fleet]`."""

from __future__ import annotations

import faulthandler
import hashlib
import importlib.metadata
import ipaddress
import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from krm_merge import interrupts
from krm_merge.errors import KrmMergeError
from krm_merge.fleet.job import LEFT_ALONE, Job, Settings, TargetOutcome, about_target, failure_of
from krm_merge.fleet.merge import Merging, after
from krm_merge.fleet.repository import merge_repository
from krm_merge.packages import CommittedFiles, Directory, File, Journal, PackageError, Tree, UnavailableError
from krm_merge.safe_text import abridge

if TYPE_CHECKING:
    from distributed import Worker


def digest_of(tree: Tree) -> str:
    """The digest of the files of a package."""
    digest = hashlib.sha256()
    for path in sorted(tree):
        file = tree[path]
        digest.update(f"{len(path)} {path} {file.mode} {len(file.data)} ".encode("utf-8", "surrogateescape"))
        digest.update(file.data)
    return digest.hexdigest()[:32]


_SHOWN = 5


class WorkingTreeMerger:
    """Merges directories of one working tree."""

    def __init__(self, merging: Merging) -> None:
        """Asks git for what is committed only where there is something else."""
        self._merging = merging
        self._tree = Path(merging.settings.campaign.working_tree)
        self._committed: CommittedFiles | None = None

    def merge(self, job: Job) -> TargetOutcome:
        """Merges the packages of a directory into what is committed of it, and writes them all or none.

        What git has is merged and not what is there: a directory that holds the result of an earlier run is merged
        again under other choices as if that run had not been. Changes of somebody else refuse it. Raises
        KrmMergeError.
        """
        place = self._tree / job.target
        if not place.is_dir():
            raise PackageError(f"{place}: there is no such directory; remove it from targets.yaml")
        with Journal.open(place, only_looks=job.is_dry_run) as journal:
            here = Directory(place)
            if job.is_dirty:
                return self._merge(job, journal, here, self._committed_files().tree(job.target))
            outcome = self._merge(job, journal, here, here)
            if outcome.state == "unchanged":
                # A job whose worker ended before anybody had its outcome runs twice: the second finds what it wrote.
                committed = self._committed_files().tree(job.target)
                if committed and changed_files(committed, here):
                    return self._merge(replace(job, is_dirty=True), journal, here, committed)
            return outcome

    def _merge(self, job: Job, journal: Journal, here: Tree, base: Tree) -> TargetOutcome:
        if not base:
            return _dirty(job.target, sorted(here))
        merged = self._merging.merge(base, job.target, self._merging.settings.campaign.targets[job.target].packages)
        outcome = self._merging.outcome(job.target, merged)
        result = base if outcome.state in LEFT_ALONE else after(base, merged)
        changes = changed_files(here, result)
        # Git may have seen what a killed process prepared, which is gone by now.
        if job.is_dirty and changes and job.ours != digest_of(here) and (edited := changed_files(base, here)):
            if result is not base:
                return _dirty(job.target, sorted(edited))
            # There is nothing to merge: what somebody is at work on is none of our business.
            result, changes = here, {}
        if changes and not job.is_dry_run:
            journal.commit(changes, here, is_lasting=False)
        digest = digest_of(result)
        return replace(outcome, digest=digest, seen="" if job.is_dry_run else digest)

    def _committed_files(self) -> CommittedFiles:
        if self._committed is None:
            self._committed = CommittedFiles(self._tree)
        return self._committed


def _dirty(target: str, files: list[str]) -> TargetOutcome:
    return TargetOutcome(target, "refused", f"uncommitted changes: {abridge(files, _SHOWN)}; commit them first")


def changed_files(before: Tree, after: Tree) -> dict[str, File | None]:
    """What becomes of the files of a directory, by path."""
    if before is after:
        return {}
    changes: dict[str, File | None] = {path: after[path] for path in after if before.get(path) != after[path]}
    return changes | {path: None for path in before if path not in after}


_SECONDS_TO_END = 10
_BETWEEN_SIGNALS = 0.05


class _Worker:
    """The state of a worker: what it has read stays for the next job."""

    def __init__(self, settings: Settings) -> None:
        merging = Merging(settings)
        self.settings = settings
        self.directories = WorkingTreeMerger(merging)
        self.merge_repository = partial(merge_repository, merging)


_settings: list[Settings] = []
_refusals: list[str] = []
_logs: list[int] = []
"""The file for the traces of a process of its own, which may be ended."""
_of_thread = threading.local()


def prepare_process(settings: Settings) -> None:
    """Prepares a process of its own: it ends with its parent, and a crash leaves a trace in the campaign."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_program()
    log = os.open(Path(settings.temporary, f"worker-{os.getpid()}.log"), os.O_WRONLY | os.O_CREAT, 0o600)
    faulthandler.enable(log)
    _logs[:] = [log]
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
    """Runs jobs one after another. Raises KrmMergeError in a worker that refuses jobs."""
    if _refusals:
        raise KrmMergeError(_refusals[0])
    return [work(job) for job in jobs]


def run_target(job: Job) -> TargetOutcome:
    """Merges one target; whatever goes wrong is its outcome."""
    worker = _worker()
    try:
        with interrupts.as_exceptions(), _bounded(worker.settings.seconds):
            is_repository = worker.settings.campaign.targets[job.target].is_repository
            return worker.merge_repository(job) if is_repository else worker.directories.merge(job)
    except Exception as error:
        kind, message = failure_of(error)
        return TargetOutcome(job.target, "failed", about_target(message, job.target), kind)


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """Ends a process of its own with a trace where this takes longer: no signal ends a loop of a library in C."""
    if not _logs:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True, file=_logs[0])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _worker() -> _Worker:
    """The worker of this thread: what one reads through git is not for two at once."""
    (settings,) = _settings
    worker: _Worker | None = getattr(_of_thread, "worker", None)
    if worker is None or worker.settings is not settings:
        worker = _of_thread.worker = _Worker(settings)
    return worker


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
        context.set_forkserver_preload(["krm_merge.fleet.worker"])
        return ProcessPoolExecutor(self.workers, context, self.prepare, (settings,))

    def end(self, executor: Executor) -> None:
        """Waits for the jobs that run."""
        executor.shutdown(wait=True, cancel_futures=True)


_PROGRAM = "krm-merge"
_SECONDS_TO_CONNECT = "30s"
_REMEDY = "this is {}; install the same version on all workers"
_GO_ON = "run again to continue"
_LOGS = ("distributed", "distributed.client", "asyncio")
"""They trace every lost connection on stderr; what it means is reported once, in our words."""
_BATCH = 25
"""Jobs of a task: some 0.3 s of work. A task costs 4 ms of client and scheduler, a third of what a merge takes.

Source: "Avoid very small tasks" in https://docs.dask.org/en/stable/best-practices.html.
"""


@dataclass(frozen=True, slots=True)
class Dask:
    """The workers that a client's scheduler has. `scheduler` is its address."""

    client: Any
    scheduler: str
    batch: int = _BATCH

    @property
    def workers(self) -> int:
        """How many jobs run at once now; others may come."""
        threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def executor(self, settings: Settings) -> Executor:
        """The workers, those too that come later. Raises KrmMergeError."""
        try:
            self.client.register_plugin(_preparation(settings), name=_PROGRAM)
            executor: Executor = self.client.get_executor(pure=False)
        except (OSError, TimeoutError) as error:
            # The scheduler may go while other jobs of the run are done already.
            raise UnavailableError(f"{self.scheduler}: {error}; {_GO_ON}") from None
        except Exception as error:
            # A worker cannot read the plugin: it has another krm-merge, or none.
            remedy = _REMEDY.format(importlib.metadata.version(_PROGRAM))
            raise KrmMergeError(f"{self.scheduler}: a worker cannot be prepared ({error}); {remedy}") from None
        return executor

    def end(self, executor: Executor) -> None:
        """Drops the jobs that did not end."""
        executor.shutdown(wait=False)


@contextmanager
def dask_engine(scheduler: str, *, is_insecure: bool = False) -> Iterator[Dask]:
    """The engine of a scheduler; certificates are those of dask's own configuration.

    Raises KrmMergeError where the connection would be open to others, or there is none.
    """
    check_address(scheduler, is_insecure=is_insecure)
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise KrmMergeError(f"dask is not installed: pip install '{_PROGRAM}[fleet]' (no {error.name})") from None
    for name in _LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        connect: Any = Client
        client = connect(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise UnavailableError(f"{scheduler}: {error}") from None
    with client:
        yield Dask(client, scheduler)


def check_address(scheduler: str, *, is_insecure: bool = False) -> None:
    """Refuses an address that is none, or over which others may send jobs. Raises KrmMergeError."""
    parts = urlsplit(scheduler)
    if parts.scheme not in ("tls", "tcp") or not parts.hostname:
        raise KrmMergeError(f"{scheduler}: the address of a scheduler is expected, like tls://scheduler:8786")
    if parts.scheme == "tcp" and not is_insecure and not _is_loopback(parts.hostname):
        raise KrmMergeError(
            f"{scheduler}: anyone who can reach it can run code on the workers; use tls://, or "
            "--insecure in a private network"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _preparation(settings: Settings) -> Any:
    """A plugin that prepares workers, when they start too."""
    from distributed import WorkerPlugin

    ours = importlib.metadata.version(_PROGRAM)

    class Prepared(WorkerPlugin):
        def setup(self, worker: Worker) -> None:
            if (version := importlib.metadata.version(_PROGRAM)) == ours:
                prepare(_on_this_machine(settings))
            else:
                refuse(f"{worker.address} has {_PROGRAM} {version}; {_REMEDY.format(ours)}; {_GO_ON}")

    return Prepared()


def _on_this_machine(settings: Settings) -> Settings:
    """The same with directories that are on this machine: the campaign's, where the disk is shared."""
    if os.path.isdir(settings.cache) and os.path.isdir(settings.temporary):
        return settings
    place = Path(tempfile.gettempdir(), f"krm-merge-fleet-{os.getuid()}")
    for folder in ("cache", "tmp"):
        (place / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    return replace(settings, cache=str(place / "cache"), temporary=str(place / "tmp"))
