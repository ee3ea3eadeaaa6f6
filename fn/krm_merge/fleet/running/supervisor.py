"""Gives jobs to an engine and takes their outcomes: failures are tried again, and one that kills workers is set aside.

No more jobs are in flight than the workers need. Where a pool breaks, nobody knows which job broke it: those that were
in flight run again one by one, so that the next break has one cause.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from time import monotonic, sleep

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.merging.job import Job, Settings, TargetOutcome
from krm_merge.fleet.merging.worker import run_each, run_target
from krm_merge.fleet.running.engines import Engine
from krm_merge.packages.files.directory import UnavailableError

MOST_TRIES = 5
MOST_CRASHES = 2
_IN_FLIGHT_FOR_EACH_WORKER = 4
_FAILURES_THAT_PAUSE_A_HOST = 20


@dataclass(frozen=True, slots=True)
class Pauses:
    """Pauses in seconds: the first before a second try, which doubles each time, and that of a host."""

    first: float = 0.5
    longest: float = 30.0
    of_host: float = 60.0

    def before(self, tries: int) -> float:
        """The pause after so many tries, longer or shorter by chance: not all come back at once."""
        return min(self.longest, self.first * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.5)


@dataclass(slots=True)
class _Host:
    """How a host has answered."""

    failures: int = 0
    pauses: int = 0
    until: float = 0.0


@dataclass(slots=True)
class Supervisor:
    """Runs jobs. `host_of` gives the host of a target, `crashed` is called for one that may have killed a worker."""

    engine: Engine
    settings: Settings
    host_of: Callable[[str], str]
    crashed: Callable[[str], None] = lambda target: None
    pauses: Pauses = field(default_factory=Pauses)
    work: Callable[[Job], TargetOutcome] = run_target
    _tries: Counter[str] = field(default_factory=Counter)
    _crashes: Counter[str] = field(default_factory=Counter)
    _hosts: dict[str, _Host] = field(default_factory=dict)
    _later: list[tuple[float, int, Job]] = field(default_factory=list)
    _suspects: deque[Job] = field(default_factory=deque)
    _numbers: int = 0

    def outcomes(self, jobs: Iterable[Job], crashes: Counter[str] | None = None) -> Iterator[TargetOutcome]:
        """The outcomes of jobs as they end. `crashes` counts the workers that each has killed before."""
        self._crashes.update(crashes or {})
        waiting = deque(jobs)
        running: dict[Future[list[TargetOutcome]], list[Job]] = {}
        pool = self.engine.executor(self.settings)
        try:
            while waiting or running or self._later or self._suspects:
                yield from self._submit(pool, waiting, running)
                if not running:
                    self._sleep_until_next()
                    continue
                done, _ = wait(running, timeout=self._patience(), return_when=FIRST_COMPLETED)
                if any(future.cancelled() for future in done):
                    raise UnavailableError("the scheduler is gone; run again to go on")
                broken = [future for future in done if isinstance(future.exception(), BrokenExecutor)]
                for future in done.difference(broken):
                    yield from self._ended(running.pop(future), future)
                if broken:
                    self.engine.end(pool)
                    # The others of this pool have ended, too: well, or with it.
                    for future in [one for one in running if one.done() and one.exception() is None]:
                        yield from self._ended(running.pop(future), future)
                    yield from self._blamed([job for jobs in running.values() for job in jobs])
                    running.clear()
                    pool = self.engine.executor(self.settings)
        finally:
            self.engine.end(pool)

    # ---- what runs next ------------------------------------------------------------------------------------------

    def _submit(
        self, pool: Executor, waiting: deque[Job], running: dict[Future[list[TargetOutcome]], list[Job]]
    ) -> Iterator[TargetOutcome]:
        if self._suspects:
            # One by one: the next break has one cause.
            if not running:
                job = self._suspects.popleft()
                running[pool.submit(run_each, self.work, [job])] = [job]
            return
        while self._later and self._later[0][0] <= monotonic():
            waiting.appendleft(heapq.heappop(self._later)[2])
        most = self.engine.workers * _IN_FLIGHT_FOR_EACH_WORKER
        while waiting and len(running) < most:
            # The last jobs are divided among all workers.
            size = max(1, min(self.engine.batch, len(waiting) // most))
            batch: list[Job] = []
            yield from self._next_batch(waiting, size, batch)
            if batch:
                running[pool.submit(run_each, self.work, batch)] = batch

    def _next_batch(self, waiting: deque[Job], size: int, batch: list[Job]) -> Iterator[TargetOutcome]:
        """Moves jobs whose hosts answer to a batch; the outcomes are those of hosts that do not."""
        now = monotonic()
        while waiting and len(batch) < size:
            job = waiting.popleft()
            host = self._hosts.get(self.host_of(job.target))
            if host is not None and host.pauses > 1:
                message = f"{self.host_of(job.target)} did not answer others; run again when it does"
                yield TargetOutcome(job.target, "failed", message, "transient")
            elif host is not None and host.until > now:
                self._postpone(job, host.until)
            else:
                batch.append(job)

    def _patience(self) -> float | None:
        return max(0.0, self._later[0][0] - monotonic()) if self._later else None

    def _sleep_until_next(self) -> None:
        if self._later and (pause := self._patience()):
            sleep(pause)

    def _postpone(self, job: Job, until: float) -> None:
        self._numbers += 1
        heapq.heappush(self._later, (until, self._numbers, job))

    # ---- what ended ----------------------------------------------------------------------------------------------

    def _ended(self, jobs: list[Job], future: Future[list[TargetOutcome]]) -> Iterator[TargetOutcome]:
        error = future.exception()
        if isinstance(error, KrmMergeError):
            raise error
        if error is not None:
            # Not the target's: the engine could not run it.
            yield from self._blamed(jobs, str(error))
            return
        for job, outcome in zip(jobs, future.result(), strict=True):
            yield from self._taken(job, outcome)

    def _taken(self, job: Job, outcome: TargetOutcome) -> Iterator[TargetOutcome]:
        host = self._hosts.setdefault(self.host_of(job.target), _Host())
        if outcome.failure != "transient":
            host.failures, host.pauses = 0, 0
            yield outcome
            return
        host.failures += 1
        if self.host_of(job.target) and host.failures >= _FAILURES_THAT_PAUSE_A_HOST:
            host.failures, host.pauses = 0, host.pauses + 1
            host.until = monotonic() + self.pauses.of_host
        self._tries[job.target] += 1
        tries = self._tries[job.target]
        if tries >= MOST_TRIES:
            yield replace(outcome, message=f"{outcome.message} (tried {tries} times)")
        else:
            self._postpone(job, max(host.until, monotonic() + self.pauses.before(tries)))

    def _blamed(self, jobs: list[Job], why: str = "") -> Iterator[TargetOutcome]:
        """Jobs that were in flight when a worker ended; one that was alone did it."""
        alone = len(jobs) == 1
        for job in jobs:
            if alone:
                self._crashes[job.target] += 1
                self.crashed(job.target)
            if self._crashes[job.target] >= MOST_CRASHES:
                killed = f"it ended its worker {self._crashes[job.target]} times"
                yield TargetOutcome(job.target, "failed", f"{killed}{f': {why}' if why else ''}; set aside", "poison")
            else:
                self._suspects.append(job)
