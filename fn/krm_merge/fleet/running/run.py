"""A run of a campaign: looks at its targets, merges those that need it, and records what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from krm_merge.fleet.campaign.campaign import Campaign, CampaignTarget
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.entry import is_merged
from krm_merge.fleet.ledger import Ledger, now
from krm_merge.fleet.merging.job import Job, Settings, TargetOutcome
from krm_merge.fleet.merging.policy import choices_digest
from krm_merge.fleet.merging.worker import run_target
from krm_merge.fleet.running.engines import Engine
from krm_merge.fleet.running.looks import Known, Scope, look_at_directories, look_at_repositories
from krm_merge.fleet.running.supervisor import Pauses, Supervisor
from krm_merge.packages.git import GitRepositories, uncommitted

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
    scope: Scope = field(default_factory=Scope)
    is_dry_run: bool = False
    pauses: Pauses = field(default_factory=Pauses)
    work: Callable[[Job], TargetOutcome] = run_target
    total: int = 0

    def events(self) -> Iterator[RunEvent]:
        """Looks at all targets, and merges those that need it. Raises KrmMergeError."""
        self.ledger.follow(self.campaign.targets)
        entries = self.ledger.entries()
        targets = self.scope.targets(self.campaign, entries)
        self.total = len(targets)
        if not targets:
            return
        settings = settings_of(self.campaign, self.directory)
        digest = f"{self.campaign.settings_digest} {' '.join(sorted(set(settings.versions.values())))}"
        known = Known.of(self.campaign, digest, entries, self.ledger.conflicts())
        if not self.scope.failed:
            aside = [target.name for target in targets if known.is_set_aside(target.name)]
            yield from (RunEvent(name, None) for name in aside)
            targets = [target for target in targets if target.name not in set(aside)]
        jobs, done = self._looked_at(known, targets)
        if not self.is_dry_run:
            self.ledger.looked([(name, entries[name].seen) for name in done], now())
        yield from (RunEvent(name, None) for name in done)
        crashes = Counter({name: entry.crashes for name, entry in entries.items() if entry.crashes})
        supervisor = Supervisor(
            self.engine, settings, lambda name: self.campaign.targets[name].host, self._crashed, self.pauses, self.work
        )
        yield from self._recorded(supervisor.outcomes(jobs, Counter() if self.scope.failed else crashes), digest)

    def _looked_at(self, known: Known, targets: list[CampaignTarget]) -> tuple[list[Job], list[str]]:
        directories = [target for target in targets if not target.is_repository]
        dirty = uncommitted(Path(self.campaign.working_tree)) if directories else []
        jobs, done = look_at_directories(known, directories, dirty)
        more, unchanged = look_at_repositories(known, [target for target in targets if target.is_repository])
        jobs, done = jobs + more, done + unchanged
        return [replace(job, is_dry_run=self.is_dry_run) for job in jobs], done

    def _crashed(self, target: str) -> None:
        if not self.is_dry_run:
            self.ledger.crashed(target)

    def _recorded(self, outcomes: Iterator[TargetOutcome], settings: str) -> Iterator[RunEvent]:
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
            known = self.ledger.entries() if any(one.state == "unchanged" for one in outcomes) else {}
            # What was merged once and has arrived is no other outcome.
            arrived = [one for one in outcomes if one.state == "unchanged" and is_merged(known[one.target])]
            self.ledger.arrived([(one.target, one.seen, one.digest, settings) for one in arrived], now())
            rest = [one for one in outcomes if one not in arrived]
            for outcome in rest:
                self._write_reports(outcome)
            rows = [(one, settings, choices_digest(self.campaign, one.target, one.conflicts)) for one in rest]
            self.ledger.record(rows, now())
        return [RunEvent(outcome.target, outcome) for outcome in outcomes]

    def _write_reports(self, outcome: TargetOutcome) -> None:
        place = self.directory.reports / self.campaign.targets[outcome.target].id
        for suffix, text in ((".json", outcome.report), (".md", outcome.body)):
            if text:
                place.with_suffix(suffix).write_text(text, encoding="utf-8")
            else:
                with suppress(FileNotFoundError):
                    place.with_suffix(suffix).unlink()


def settings_of(campaign: Campaign, directory: CampaignDirectory) -> Settings:
    """What all jobs have in common; upstream is asked once which commit its ref names. Raises PackageError."""
    upstream = campaign.upstream
    repositories = GitRepositories(directory.cache)
    commit = repositories.resolve(upstream.repository, upstream.directory, upstream.ref).commit
    versions = dict.fromkeys(_spellings(upstream.directory), commit)
    date = repositories.committed_at(upstream.repository, commit)
    return Settings(campaign, versions, date, str(directory.cache), str(directory.temporary))


def _spellings(directory: str) -> Iterable[str]:
    """How Kptfiles write a directory."""
    bare = directory.strip("/")
    return {directory, bare, f"/{bare}", f"{bare}/", f"/{bare}/", bare or "."}
