"""The merge of a target that is a repository: fetched, merged, committed; pushed when it is published."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from posixpath import dirname, join

from krm_merge.fleet.campaign.campaign import Campaign, CampaignTarget
from krm_merge.fleet.campaign.discovery import follower
from krm_merge.fleet.merging.git_store import HEADS, TRAILER, GitStore, NewCommit, contents
from krm_merge.fleet.merging.job import Job, TargetOutcome
from krm_merge.fleet.merging.merge import Merging, TargetPackage
from krm_merge.git.objects import GitObjects, TreeEntry
from krm_merge.packages.files.directory import PackageError
from krm_merge.packages.files.tree import Tree, belongs, is_kptfile


class RepositoryMerger:
    """Merges repositories."""

    def __init__(self, merging: Merging) -> None:
        """Takes how packages are merged."""
        self._merging = merging

    def merge(self, job: Job) -> TargetOutcome:
        """Merges the packages of a repository that follow the upstream, each in a commit of its own.

        The commits are in a copy in the campaign's cache until they are published. Raises KrmMergeError and GitError.
        """
        settings = self._merging.settings
        campaign = settings.campaign
        target = campaign.targets[job.target]
        store = GitStore(target.name, Path(settings.temporary, f"{target.id}-{os.getpid()}.git"))
        try:
            base = store.fetch(f"{HEADS}{target.branch}" if target.branch else "HEAD")
            objects, entries = store.files(base)
            packages = _packages(campaign, target, objects, entries)
            if not packages:
                at = f" and is at {campaign.from_}" if campaign.from_ else ""
                message = f"no package in it follows the upstream{at}"
                return TargetOutcome(target.name, "unchanged", message, seen=base, base=base)
            tree = _files_of(packages, objects, entries)
            merged = self._merging.merged(tree, target.name, packages)
            outcome = self._merging.outcome(target.name, merged, with_body=True)
            outcome = replace(outcome, base=base, seen="" if job.is_dry_run else base)
            if outcome.files == 0 or job.is_dry_run:
                return outcome
            commits = [_commit(campaign, target, one) for one in merged if one.changes]
            commit = store.commit(base, commits, campaign.publishing.author, settings.date)
            kept = store_of(target, settings.cache)
            kept.remove()
            kept.place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(store.place, kept.place)
            return replace(outcome, commit=commit)
        finally:
            store.remove()


def store_of(target: CampaignTarget, cache: str | Path) -> GitStore:
    """Where the commits for a repository are until they are published."""
    return GitStore(target.name, Path(cache, "repositories", f"{target.id}.git"))


def _packages(
    campaign: Campaign, target: CampaignTarget, objects: GitObjects, entries: Sequence[TreeEntry]
) -> tuple[str, ...]:
    """The directories of the packages that follow the upstream, those around others first. Raises PackageError."""
    kptfiles = contents(objects, (entry for entry in entries if is_kptfile(entry.path) and entry.is_file))
    if target.packages:
        for package in target.packages:
            if join(package, "Kptfile") not in kptfiles:
                raise PackageError(f"{target.name}: there is no package {package}; correct targets.yaml")
        return target.packages
    found = []
    for path in sorted(kptfiles, key=lambda path: (path.count("/"), path)):
        one = follower(campaign.upstream, kptfiles[path].data, join(target.name, path))
        if one is not None and one.is_at(campaign.from_):
            found.append(dirname(path))
    return tuple(found)


def _files_of(packages: Sequence[str], objects: GitObjects, entries: Sequence[TreeEntry]) -> Tree:
    """The files of packages, by their paths in the repository."""
    folders = tuple(f"{package}/" if package else "" for package in packages)
    wanted = [entry for entry in entries if entry.path.startswith(folders) and all(map(belongs, entry.path.split("/")))]
    return contents(objects, wanted)


def _commit(campaign: Campaign, target: CampaignTarget, merged: TargetPackage) -> NewCommit:
    name = merged.package or target.name.rstrip("/").rpartition("/")[2].removesuffix(".git")
    message = campaign.message.replace("{package}", name).replace("{ref}", campaign.upstream.ref)
    return NewCommit(f"{message}\n\n{TRAILER}: {campaign.name}\n", merged.changes)
