"""Which targets have something to do: one look at each, compared with what the ledger knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from krm_merge.fleet.campaign.campaign import Campaign, CampaignTarget
from krm_merge.fleet.entry import LedgerEntry
from krm_merge.fleet.merging.content import look_at
from krm_merge.fleet.merging.git_store import HEADS, heads_of
from krm_merge.fleet.merging.job import Job, TargetConflict
from krm_merge.fleet.merging.policy import choices_digest
from krm_merge.git.program import GitError

_ASKED_AT_ONCE = 16
"""Repositories: each waits for its host most of the time."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which targets a run is about: by name, only those that failed, the first so many, or one shard of them."""

    only: tuple[str, ...] = ()
    failed: bool = False
    limit: int | None = None
    shard: tuple[int, int] | None = None

    def targets(self, campaign: Campaign, entries: Mapping[str, LedgerEntry]) -> list[CampaignTarget]:
        """The targets, in the order of `targets.yaml`."""
        found = [target for target in campaign.targets.values() if self._includes(target, entries[target.name])]
        if self.limit is None:
            return found
        # Those that are done do not count: two runs of ten targets are twenty.
        open_ones = [target for target in found if entries[target.name].state in ("pending", "failed")]
        return open_ones[: self.limit]

    def _includes(self, target: CampaignTarget, entry: LedgerEntry) -> bool:
        if self.failed and entry.state != "failed":
            return False
        if self.shard is not None and not target.is_in_shard(*self.shard):
            return False
        return not self.only or any(fnmatchcase(target.name, pattern) for pattern in self.only)


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger knows, for looks: its entries, the conflicts of each target, and what settings are now."""

    campaign: Campaign
    settings: str
    entries: Mapping[str, LedgerEntry]
    conflicts: Mapping[str, Collection[TargetConflict]]

    @classmethod
    def of(
        cls,
        campaign: Campaign,
        settings: str,
        entries: Mapping[str, LedgerEntry],
        conflicts: Iterable[tuple[str, TargetConflict]],
    ) -> Known:
        """Takes the conflicts as the ledger gives them."""
        by_target: dict[str, list[TargetConflict]] = defaultdict(list)
        for target, conflict in conflicts:
            by_target[target].append(conflict)
        return cls(campaign, settings, entries, by_target)

    def is_settled(self, target: str) -> bool:
        """Whether the last run ended well, and what it depended on is as it was, but for the target itself."""
        entry = self.entries[target]
        if entry.state in ("pending", "failed") or not entry.seen or entry.settings != self.settings:
            return False
        return entry.choices == choices_digest(self.campaign, target, self.conflicts.get(target, ()))

    def is_set_aside(self, target: str) -> bool:
        """Whether it killed workers: it is tried only where that is asked for."""
        return self.entries[target].failure == "poison"


def look_at_directories(
    known: Known, targets: Iterable[CampaignTarget], dirty: Collection[str]
) -> tuple[list[Job], list[str]]:
    """The jobs of directories, and the targets that have nothing to do.

    `dirty` are the paths in the working tree with changes that git has not committed.
    """
    jobs: list[Job] = []
    done: list[str] = []
    changed = {folder for path in dirty for folder in _folders(path)}
    for target in targets:
        entry = known.entries[target.name]
        if known.is_settled(target.name) and look_at(Path(known.campaign.working_tree, target.name)) == entry.seen:
            done.append(target.name)
        else:
            jobs.append(Job(target.name, is_dirty=target.name in changed, ours=entry.digest))
    return jobs, done


def look_at_repositories(known: Known, targets: Iterable[CampaignTarget]) -> tuple[list[Job], list[str]]:
    """The same of repositories: each is asked for its commit. One that does not answer is a job, which says why."""
    found = list(targets)
    jobs = [Job(target.name) for target in found if not known.is_settled(target.name)]
    asked = [target for target in found if known.is_settled(target.name)]
    done: list[str] = []
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as threads:
        for target, commit in zip(asked, threads.map(_commit_of, asked), strict=True):
            if commit == known.entries[target.name].seen:
                done.append(target.name)
            else:
                jobs.append(Job(target.name))
    return jobs, done


def _commit_of(target: CampaignTarget) -> str:
    name = f"{HEADS}{target.branch}" if target.branch else "HEAD"
    try:
        return heads_of(target.name, name).get(name, "")
    except GitError:
        return ""


def _folders(path: str) -> list[str]:
    """The folders that a path is in, '.' for the top."""
    parts = path.rstrip("/").split("/")
    return [".", *("/".join(parts[:at]) for at in range(1, len(parts) + (1 if path.endswith("/") else 0)))]
