"""A run of a campaign: looks at its targets, gives jobs to an engine, tries failures again, records the outcomes.

No more jobs are in flight than the workers need. Where a pool breaks, nobody knows which job broke it: those that were
in flight run again one by one, so that the next break has one cause.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic, sleep

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import Campaign, CampaignTarget
from krm_merge.fleet.campaign_file import CampaignDirectory
from krm_merge.fleet.job import SECONDS_FOR_A_MERGE, Job, Settings, TargetOutcome
from krm_merge.fleet.ledger import Ledger, LedgerEntry, LedgerUpstream, is_merged, now
from krm_merge.fleet.merge import choices_digest
from krm_merge.fleet.repository import head_of
from krm_merge.fleet.worker import Engine, digest_of, run_each, run_target
from krm_merge.git.program import GitError
from krm_merge.packages import (
    Directory,
    GitRepositories,
    PackageError,
    UnavailableError,
    folders_around,
    uncommitted_files,
)
from krm_merge.safe_text import line
from krm_merge.startup import group_by_key

_ASKED_AT_ONCE = 16
"""Repositories: each waits for its host most of the time."""


def matches(target: str, patterns: Sequence[str]) -> bool:
    """Whether a target is among those that patterns name; without any, all are."""
    return not patterns or any(fnmatchcase(target, pattern) for pattern in patterns)


MOST_TRIES = 5
MOST_CRASHES = 2
_IN_FLIGHT_FOR_EACH_WORKER = 4
_FAILURES_OF_A_HOST = 20
"""Failures in a row after which a host is asked no more before all others were tried."""


@dataclass(slots=True)
class Supervisor:
    """Runs jobs. `host_of` gives the host of a target.

    What failed for a reason that may pass is tried again after all others, after a `pause` in seconds, which doubles
    each time.
    """

    engine: Engine
    settings: Settings
    host_of: Callable[[str], str]
    pause: float = 0.5
    work: Callable[[Job], TargetOutcome] = run_target
    _crashes: Counter[str] = field(default_factory=Counter)
    _failures: Counter[str] = field(default_factory=Counter)
    """How often each host failed in a row."""
    _suspects: deque[Job] = field(default_factory=deque)

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[TargetOutcome]:
        """The outcomes of jobs as they end."""
        left = list(jobs)
        for tries in range(1, MOST_TRIES + 1):
            self._failures.clear()
            again: list[Job] = []
            for job, outcome in self._try_each(left):
                host = self.host_of(job.target)
                if outcome.failure != "transient":
                    self._failures[host] = 0
                    yield outcome
                    continue
                self._failures[host] += 1
                if tries < MOST_TRIES:
                    again.append(job)
                else:
                    yield replace(outcome, message=f"{outcome.message} (tried {tries} times)")
            if not again:
                return
            left = again
            # Longer or shorter by chance: not all campaigns come back at once.
            sleep(self.pause * 2.0 ** (tries - 1) * random.uniform(0.5, 1.5))

    def _try_each(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, TargetOutcome]]:
        waiting = deque(jobs)
        running: dict[Future[list[TargetOutcome]], list[Job]] = {}
        pool = self.engine.executor(self.settings)
        try:
            while waiting or running or self._suspects:
                yield from self._submit(pool, waiting, running)
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                if any(future.cancelled() for future in done):
                    raise UnavailableError("the connection to the scheduler was lost; run again to continue")
                broken = [future for future in done if isinstance(future.exception(), BrokenExecutor)]
                for future in done.difference(broken):
                    yield from self._end(running.pop(future), future)
                if broken:
                    self.engine.end(pool)
                    # The others of this pool have ended, too: well, or with it.
                    for future in [future for future in running if future.done() and future.exception() is None]:
                        yield from self._end(running.pop(future), future)
                    yield from self._blame([job for jobs in running.values() for job in jobs])
                    running.clear()
                    pool = self.engine.executor(self.settings)
        finally:
            self.engine.end(pool)

    def _submit(
        self, pool: Executor, waiting: deque[Job], running: dict[Future[list[TargetOutcome]], list[Job]]
    ) -> Iterator[tuple[Job, TargetOutcome]]:
        """Has the workers run what comes next. What it gives are jobs whose host does not answer for others."""
        if self._suspects:
            # One by one: the next break has one cause.
            if not running:
                job = self._suspects.popleft()
                running[pool.submit(run_each, self.work, [job])] = [job]
            return
        most = self.engine.workers * _IN_FLIGHT_FOR_EACH_WORKER
        while waiting and len(running) < most:
            # The last jobs are divided among all workers.
            size = max(1, min(self.engine.batch, len(waiting) // most))
            batch: list[Job] = []
            while waiting and len(batch) < size:
                job = waiting.popleft()
                host = self.host_of(job.target)
                if host and self._failures[host] >= _FAILURES_OF_A_HOST:
                    yield job, TargetOutcome(job.target, "failed", f"{host} does not answer", "transient")
                else:
                    batch.append(job)
            if batch:
                running[pool.submit(run_each, self.work, batch)] = batch

    def _end(self, jobs: list[Job], future: Future[list[TargetOutcome]]) -> Iterator[tuple[Job, TargetOutcome]]:
        error = future.exception()
        if isinstance(error, KrmMergeError):
            raise error
        if error is not None:
            # Not the target's: the engine could not run it.
            yield from self._blame(jobs, str(error))
            return
        yield from zip(jobs, future.result(), strict=True)

    def _blame(self, jobs: list[Job], why: str = "") -> Iterator[tuple[Job, TargetOutcome]]:
        """Jobs that were in flight when a worker ended; one that was alone did it."""
        alone = len(jobs) == 1
        for job in jobs:
            if alone:
                self._crashes[job.target] += 1
            if self._crashes[job.target] >= MOST_CRASHES:
                killed = f"it crashed its worker or timed out {self._crashes[job.target]} times"
                message = f"{killed}{f': {why}' if why else ''}; set aside"
                yield job, TargetOutcome(job.target, "failed", message, "poison")
            else:
                self._suspects.append(job)


_SECONDS_BETWEEN_WRITES = 0.25


@dataclass(frozen=True, slots=True)
class RunEvent:
    """The end of one target in a run: its outcome, None where a look showed that there is nothing to do."""

    target: str
    outcome: TargetOutcome | None


@dataclass(slots=True)
class Run:
    """One run. `events` yields what happens; what it says has been recorded."""

    directory: CampaignDirectory
    campaign: Campaign
    ledger: Ledger
    engine: Engine
    only: tuple[str, ...] = ()
    """The names or patterns of the targets that it is about, all where there are none."""
    only_failed: bool = False
    is_dry_run: bool = False
    seconds: float = SECONDS_FOR_A_MERGE
    allows_older: bool = False
    total: int = 0

    def events(self) -> Iterator[RunEvent]:
        """Looks at all targets, and merges those that need it. Raises KrmMergeError."""
        self.ledger.follow(self.campaign.targets)
        entries = self.ledger.entries()
        targets = [target for target in self.campaign.targets.values() if matches(target.name, self.only)]
        if self.only_failed:
            targets = [target for target in targets if entries[target.name].state == "failed"]
        self.total = len(targets)
        if not targets:
            return
        settings = replace(self._settings(), seconds=self.seconds)
        digest = f"{self.campaign.settings_digest} {settings.commit}"
        if not self.only_failed:
            # What killed workers is tried only where that is asked for.
            aside = [target.name for target in targets if entries[target.name].failure == "poison"]
            yield from (RunEvent(name, None) for name in aside)
            targets = [target for target in targets if target.name not in set(aside)]
        done = self._find_done(targets, entries, digest)
        yield from (RunEvent(name, None) for name in done)
        jobs = self._jobs([target for target in targets if target.name not in done], entries)
        targets_by_name = self.campaign.targets
        supervisor = Supervisor(self.engine, settings, lambda name: targets_by_name[name].host)
        yield from self._record_outcomes(supervisor.outcomes(jobs), digest)

    def _settings(self) -> Settings:
        settings = current_settings(
            self.campaign, self.directory, self.ledger, allows_older=self.allows_older, notes=not self.is_dry_run
        )
        if not self.is_dry_run:
            self.ledger.put_upstream(LedgerUpstream(self.campaign.upstream.ref, settings.commit, settings.date))
        return settings

    def _find_done(
        self, targets: Iterable[CampaignTarget], entries: Mapping[str, LedgerEntry], settings: str
    ) -> set[str]:
        """The targets whose last run ended well, and all that it depended on is as it was."""
        conflicts = group_by_key(self.ledger.conflicts())

        def is_settled(entry: LedgerEntry) -> bool:
            if entry.state in ("pending", "failed") or not entry.seen or entry.settings != settings:
                return False
            return entry.choices == choices_digest(self.campaign, entry.target, conflicts.get(entry.target, ()))

        settled = [target for target in targets if is_settled(entries[target.name])]
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as threads:
            looks = zip((target.name for target in settled), threads.map(self._look, settled), strict=True)
            return {name for name, seen in looks if seen == entries[name].seen}

    def _look(self, target: CampaignTarget) -> str:
        """What a target shows now: of a repository its commit, '' where it does not answer: the job says why."""
        try:
            if target.is_repository:
                return head_of(target.name, target.branch)
            return digest_of(Directory(Path(self.campaign.working_tree, target.name)))
        except (GitError, PackageError):
            return ""

    def _jobs(self, targets: Collection[CampaignTarget], entries: Mapping[str, LedgerEntry]) -> list[Job]:
        has_directories = not all(target.is_repository for target in targets)
        paths = uncommitted_files(Path(self.campaign.working_tree)) if has_directories else []
        # A path with a slash at its end is a folder, which is changed as well.
        changed = {folder for path in paths for folder in (*folders_around(path), ".")}
        return [
            Job(target.name, target.name in changed, entries[target.name].digest, self.is_dry_run) for target in targets
        ]

    def _record_outcomes(self, outcomes: Iterator[TargetOutcome], settings: str) -> Iterator[RunEvent]:
        """The outcomes, recorded some at a time before anybody hears of them."""
        waiting: list[TargetOutcome] = []
        written = monotonic()
        try:
            for outcome in outcomes:
                waiting.append(outcome)
                if monotonic() - written > _SECONDS_BETWEEN_WRITES:
                    yield from self._record(waiting, settings)
                    waiting, written = [], monotonic()
        finally:
            # What was done when somebody interrupts has been done.
            events = self._record(waiting, settings)
        yield from events

    def _record(self, outcomes: list[TargetOutcome], settings: str) -> list[RunEvent]:
        if outcomes and not self.is_dry_run:
            before = self.ledger.entries() if any(outcome.state == "unchanged" for outcome in outcomes) else {}
            # What was merged once and has arrived is no other outcome.
            arrived = [
                merged_upstream
                for merged_upstream in outcomes
                if merged_upstream.state == "unchanged" and is_merged(before[merged_upstream.target])
            ]
            self.ledger.record_upstream_merged(
                [(outcome.target, outcome.seen, outcome.digest, settings) for outcome in arrived], now()
            )
            rest = [outcome for outcome in outcomes if outcome not in arrived]
            for outcome in rest:
                self._write_body(outcome)
            rows = [
                (outcome, settings, choices_digest(self.campaign, outcome.target, outcome.conflicts))
                for outcome in rest
            ]
            self.ledger.record(rows, now())
        return [RunEvent(outcome.target, outcome) for outcome in outcomes]

    def _write_body(self, outcome: TargetOutcome) -> None:
        place = self.directory.report_of(self.campaign.targets[outcome.target])
        if outcome.body:
            place.write_text(outcome.body, encoding="utf-8")
        else:
            place.unlink(missing_ok=True)


def _seconds(date: str) -> int:
    """A time as git writes it, in seconds since 1970; 0 for none."""
    return int(date.partition(" ")[0] or 0)


def current_settings(
    campaign: Campaign, directory: CampaignDirectory, ledger: Ledger, *, allows_older: bool = False, notes: bool = True
) -> Settings:
    """What all jobs have in common. Raises PackageError where upstream's ref is gone, or names an older commit.

    The ledger `notes` why, for those who look at the state.
    """
    ref = campaign.upstream.ref
    before = ledger.upstream(ref)
    try:
        settings = settings_of(campaign, directory)
        if not allows_older and settings.commit != before.commit and _seconds(settings.date) < _seconds(before.date):
            moved = f"{ref} was at {before.commit[:12]} in the last run, and is at {settings.commit[:12]} now"
            raise PackageError(f"{moved}, which is older; to update to it anyway: krm-merge fleet run --allow-older")
    except UnavailableError:
        raise
    except PackageError as error:
        if notes:
            ledger.put_upstream(replace(before, problem=line(str(error))))
        raise
    return settings


def settings_of(campaign: Campaign, directory: CampaignDirectory, known: LedgerUpstream | None = None) -> Settings:
    """What all jobs have in common; upstream is asked which commit its ref names if none is `known`.

    Raises PackageError.
    """
    if known is not None and known.commit:
        commit, date = known.commit, known.date
    else:
        upstream = campaign.upstream
        repositories = GitRepositories(directory.cache)
        commit = repositories.resolve(upstream.repository, upstream.directory, upstream.ref).commit
        date = repositories.committed_at(upstream.repository, commit)
    return Settings(campaign, commit, date, str(directory.cache), str(directory.temporary))
