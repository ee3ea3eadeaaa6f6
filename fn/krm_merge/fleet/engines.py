"""Where jobs run: engines behind `concurrent.futures.Executor`, on this machine or with dask. Extra `[fleet]`."""

from __future__ import annotations

import importlib.metadata
import ipaddress
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.job import Settings
from krm_merge.fleet.worker import prepare, prepare_process, refuse
from krm_merge.packages.files.tree import UnavailableError

if TYPE_CHECKING:
    from distributed import Worker


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


def processors() -> int:
    """How many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_PROGRAM = "krm-merge"
_SECONDS_TO_CONNECT = "30s"
_REMEDY = "this is {}: install the same on all workers"
_GO_ON = "run again to go on"
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
        """The workers, those too that come later. Raises KrmMergeError naming those that cannot do the jobs."""
        try:
            self._check_versions()
            self.client.register_plugin(_preparation(settings), name=_PROGRAM)
            executor: Executor = self.client.get_executor(pure=False)
        except (OSError, TimeoutError) as error:
            # The scheduler may go while other jobs of the run are done already.
            raise UnavailableError(f"{self.scheduler}: {error}; {_GO_ON}") from None
        return executor

    def end(self, executor: Executor) -> None:
        """Drops the jobs that did not end."""
        executor.shutdown(wait=False)

    def _check_versions(self) -> None:
        ours = importlib.metadata.version(_PROGRAM)
        versions: dict[str, Any] = self.client.run(importlib.metadata.version, _PROGRAM, on_error="return")
        if wrong := [
            _other_version(worker, versions[worker]) for worker in sorted(versions) if versions[worker] != ours
        ]:
            raise KrmMergeError(f"{'; '.join(wrong)}; {_REMEDY.format(ours)}")


def _other_version(worker: str, version: object) -> str:
    return f"{worker} {f'has {_PROGRAM} {version}' if isinstance(version, str) else f'lacks {_PROGRAM}'}"


@contextmanager
def dask_engine(scheduler: str, *, is_insecure: bool = False) -> Iterator[Dask]:
    """The engine of a scheduler; certificates are those of dask's own configuration.

    Raises KrmMergeError where the connection would be open to others, or there is none.
    """
    check_address(scheduler, is_insecure=is_insecure)
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise KrmMergeError(f"dask needs more: pip install '{_PROGRAM}[fleet]' ({error.name} is missing)") from None
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
            f"{scheduler}: whoever reaches it may run anything on the workers; use tls://, or --insecure in a network "
            "of your own"
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
            # Those that come later are not among those whose versions were compared.
            if (version := importlib.metadata.version(_PROGRAM)) == ours:
                prepare(_on_this_machine(settings))
            else:
                refuse(f"{_other_version(worker.address, version)}; {_REMEDY.format(ours)}; {_GO_ON}")

    return Prepared()


def _on_this_machine(settings: Settings) -> Settings:
    """The same with directories that are on this machine: the campaign's, where the disk is shared."""
    if os.path.isdir(settings.cache) and os.path.isdir(settings.temporary):
        return settings
    place = Path(tempfile.gettempdir(), f"krm-merge-fleet-{os.getuid()}")
    for folder in ("cache", "tmp"):
        (place / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    return replace(settings, cache=str(place / "cache"), temporary=str(place / "tmp"))
