"""The merge of a target that is a repository: a shallow copy is fetched, merged and committed to. The edge to git.

Nothing is checked out, and nothing of the repository runs: no hooks, no filters, no submodules.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from posixpath import dirname, join
from typing import Final

from krm_merge.fleet.campaign import Campaign, CampaignTarget
from krm_merge.fleet.discovery import follows
from krm_merge.fleet.job import Job, TargetOutcome
from krm_merge.fleet.merge import Merging, TargetPackage
from krm_merge.forges.choice import ForgeSettings
from krm_merge.forges.interface import Pace, host_of
from krm_merge.git.program import HEADS, NO_CREDENTIALS, Credentials, GitError, credentials_for, list_refs
from krm_merge.git.store import NewCommit, Remote, Store, TreeEntry
from krm_merge.packages import MODES, Changes, PackageError, Tree, belongs, files_of, is_kptfile

TRAILER: Final = "Fleet-Campaign"
_MODES_IN_GIT: Final = {mode: name for name, mode in MODES.items()}


def new_commit(campaign: Campaign, package: str, changes: Changes) -> NewCommit:
    """The commit to be made for a package of a campaign, with what becomes of files."""
    message = campaign.message.replace("{package}", package).replace("{ref}", campaign.upstream.ref)
    files = {path: None if file is None else (_MODES_IN_GIT[file.mode], file.data) for path, file in changes.items()}
    return NewCommit(f"{message}\n\n{TRAILER}: {campaign.name}\n", files)


def remote_at(address: str, place: Path) -> Remote:
    """A repository, and the directory for its copy, which is made. Raises GitError."""
    return Remote(address, Store.open(place), credentials_of(address))


def credentials_of(address: str) -> Credentials:
    """What git identifies itself with to the host of a repository, over https alone."""
    if not address.startswith("https://"):
        return NO_CREDENTIALS
    return credentials_for(address, _token(host_of(address)))


@cache
def _token(host: str) -> str:
    return ForgeSettings.parse((), (), Pace()).token_of(host).secret


def ref_of(branch: str) -> str:
    """The ref of a branch, that of the repository's own branch for ''."""
    return f"{HEADS}{branch}" if branch else "HEAD"


def head_of(address: str, branch: str) -> str:
    """The commit of a branch of a repository, of its own branch for ''; '' for none. Raises GitError."""
    commits, _ = _refs_of(address, ref_of(branch))
    return commits.get(ref_of(branch), "")


def default_branch(address: str) -> str:
    """The branch that a repository calls its own. Raises GitError."""
    _, branch = _refs_of(address, ref_of(""))
    if not branch:
        raise GitError(f"{address} has no default branch; name one in targets.yaml")
    return branch


def _refs_of(address: str, name: str) -> tuple[dict[str, str], str]:
    try:
        return list_refs(address, [name], credentials_of(address))
    except GitError as error:
        raise GitError(f"{address}: {error}") from None


def merge_repository(merging: Merging, job: Job) -> TargetOutcome:
    """Merges the packages of a repository that follow the upstream, each in a commit of its own.

    The commits are in a copy in the campaign's cache until they are published. Raises KrmMergeError and GitError.
    """
    settings = merging.settings
    campaign = settings.campaign
    target = campaign.targets[job.target]
    remote = remote_at(target.name, Path(settings.temporary, f"{target.id}-{os.getpid()}.git"))
    store = remote.store
    try:
        base = remote.fetch_ref(ref_of(target.branch), 1)
        entries = [entry for entry in store.entries(base).values() if entry.mode in MODES]
        packages = _packages(campaign, target, store, entries)
        if not packages:
            return TargetOutcome(target.name, "unchanged", "no package in it follows the upstream", seen=base)
        tree = _files_of(packages, store, entries)
        merged = merging.merge(tree, target.name, packages)
        outcome = merging.outcome(target.name, merged, with_body=True)
        outcome = replace(outcome, seen="" if job.is_dry_run else base)
        if outcome.files == 0 or job.is_dry_run:
            return outcome
        commits = [_commit(campaign, target, package) for package in merged if package.changes]
        commit = store.commit_files(base, commits, campaign.publishing.author, settings.date)
        place = place_of(target, settings.cache)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(store.directory, place)
        return replace(outcome, commit=commit)
    finally:
        store.remove()


def place_of(target: CampaignTarget, cache: str | Path) -> Path:
    """Where the commits for a repository are until they are published."""
    return Path(cache, "repositories", f"{target.id}.git")


def _packages(
    campaign: Campaign, target: CampaignTarget, store: Store, entries: Sequence[TreeEntry]
) -> tuple[str, ...]:
    """The directories of the packages that follow the upstream, those around others first. Raises PackageError."""
    kptfiles = files_of(store, (entry for entry in entries if is_kptfile(entry.path) and entry.is_file))
    if target.packages:
        for package in target.packages:
            if join(package, "Kptfile") not in kptfiles:
                raise PackageError(f"{target.name}: there is no package {package}; correct targets.yaml")
        return target.packages
    return tuple(
        dirname(path)
        for path in sorted(kptfiles, key=lambda path: (path.count("/"), path))
        if follows(campaign.upstream, kptfiles[path].data, join(target.name, path))
    )


def _files_of(packages: Sequence[str], store: Store, entries: Sequence[TreeEntry]) -> Tree:
    """The files of packages, by their paths in the repository."""
    folders = tuple(f"{package}/" if package else "" for package in packages)
    files_of_packages = [
        entry for entry in entries if entry.path.startswith(folders) and all(map(belongs, entry.path.split("/")))
    ]
    return files_of(store, files_of_packages)


def _commit(campaign: Campaign, target: CampaignTarget, merged: TargetPackage) -> NewCommit:
    name = merged.package or target.name.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return new_commit(campaign, name, merged.changes)
