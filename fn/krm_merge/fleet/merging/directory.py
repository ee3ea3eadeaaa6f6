"""The merge of a target that is a directory of the working tree. The edge to its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from krm_merge.fleet.merging.content import digest_of, look_at
from krm_merge.fleet.merging.job import LEFT_ALONE, Job, TargetOutcome
from krm_merge.fleet.merging.merge import Merging, after
from krm_merge.packages.committed import CommittedFiles
from krm_merge.packages.files.directory import Directory, PackageError
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import File, Tree

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
        with Journal.opened(place) as journal:
            here = Directory(place)
            if job.is_dirty:
                return self._merged(job, journal, here, self._committed_files().tree(job.target))
            outcome = self._merged(job, journal, here, here)
            if outcome.state == "unchanged":
                # A job whose worker ended before anybody had its outcome runs twice: the second finds what it wrote.
                committed = self._committed_files().tree(job.target)
                if committed and _differences(committed, here):
                    return self._merged(replace(job, is_dirty=True), journal, here, committed)
            return outcome

    def _merged(self, job: Job, journal: Journal, here: Tree, base: Tree) -> TargetOutcome:
        if not base:
            return _dirty(job.target, sorted(here))
        merged = self._merging.merged(base, job.target, self._merging.settings.campaign.targets[job.target].packages)
        outcome = self._merging.outcome(job.target, merged)
        wanted = base if outcome.state in LEFT_ALONE else after(base, merged)
        changes = _differences(here, wanted)
        if job.is_dirty and changes and job.ours != digest_of(here):
            if wanted is not base:
                return _dirty(job.target, sorted(_differences(base, here)))
            # There is nothing to merge: what somebody is at work on is none of our business.
            wanted, changes = here, {}
        if changes and not job.is_dry_run:
            journal.commit(changes, here, is_lasting=False)
        seen = "" if job.is_dry_run else look_at(self._tree / job.target)
        return replace(outcome, digest=digest_of(wanted), seen=seen)

    def _committed_files(self) -> CommittedFiles:
        if self._committed is None:
            self._committed = CommittedFiles(self._tree)
        return self._committed


def _dirty(target: str, files: list[str]) -> TargetOutcome:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    shown = ", ".join(files[:_SHOWN])
    return TargetOutcome(target, "refused", f"uncommitted changes: {shown}{more}; commit them first")


def _differences(before: Tree, after: Tree) -> dict[str, File | None]:
    if before is after:
        return {}
    changes: dict[str, File | None] = {path: after[path] for path in after if before.get(path) != after[path]}
    return changes | {path: None for path in before if path not in after}
