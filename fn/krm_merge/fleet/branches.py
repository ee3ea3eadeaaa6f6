"""The results of a campaign as branches and commits, signed if git is set up for it. The edge to git.

A signature may have the time in it, so that signed commits have another id each time. The commits of a campaign are
therefore signed when they are pushed, and what was pushed is compared without signatures.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from posixpath import basename, join
from typing import Final

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import CAMPAIGN_FILE, Campaign, CampaignTarget
from krm_merge.fleet.job import Job, Settings
from krm_merge.fleet.ledger import LedgerEntry
from krm_merge.fleet.merge import Merging
from krm_merge.fleet.repository import (
    HEADS,
    credentials_of,
    default_branch,
    head_of,
    merge_repository,
    new_commit,
    place_of,
    ref_of,
    remote_at,
    was_made_by,
)
from krm_merge.fleet.worker import changed_files, digest_of
from krm_merge.git.program import GitError, WorkingTree, take_credentials
from krm_merge.git.store import NewCommit, Person, Remote, Stamp, Store
from krm_merge.packages import CommittedFiles, Directory, folders_around

_CONTENT = "%T%n%an <%ae>%n%ad%n%cn <%ce>%n%cd%n%B"
"""A commit without its parents and its signature."""


def sign_commits(store: Store, base: str, commit: str, settings: Sequence[str]) -> str:
    """The last of the signed copies of the commits that `commit` has and `base` has not. Raises GitError.

    `settings` are those of git that sign (`signing_settings`); without any it is the commit itself.
    """
    if not settings:
        return commit
    parent = base
    for name in store.text("rev-list", "--reverse", f"{base}..{commit}").split():
        tree, person, date, _, _, message = _content(store, name).split("\n", 5)
        parent = store.commit(tree, [parent], message, Stamp(Person.parse(person), date), signing=settings)
    return parent


def is_signed_copy(store: Store, commit: str, of: str) -> bool:
    """Whether a commit has the files, the message, the author and the time of another one. Raises GitError."""
    return _content(store, commit) == _content(store, of)


def _content(store: Store, name: str) -> str:
    return store.output("show", "--no-patch", "--date=raw", f"--format=format:{_CONTENT}", name)


class NotPublishedError(KrmMergeError):
    """Why a result cannot be published, in words."""


def check_ours(remote: Remote, head: str, branch: str, campaign: Campaign, *, is_shallow: bool = True) -> None:
    """Refuses to overwrite a commit that somebody else made; fetches it. Raises NotPublishedError."""
    try:
        remote.fetch_ref(f"{HEADS}{branch}", depth=1 if is_shallow else 0)
        ours = was_made_by(remote.store, head, campaign.publishing.author)
    except GitError as error:
        raise NotPublishedError(f"{branch} cannot be looked at: {error}") from None
    if not ours:
        raise NotPublishedError(
            f"{branch} has the commit {head[:12]} of somebody else, which is kept; merge it or remove the branch"
        )


@dataclass
class BranchPusher:
    """Pushes branches of a campaign."""

    campaign: Campaign
    settings: Settings
    is_dry_run: bool = False
    signing: tuple[str, ...] = ()
    """The settings of git that sign commits, none for no signature."""

    def _push(self, remote: Remote, branch: str, base: str, commit: str, *, seen: str, pushed: str) -> str:
        """Makes a branch, which is at `seen`, a commit on top of `base`; gives it as it was signed.

        `pushed` is what was pushed last. Raises NotPublishedError and GitError.
        """
        if seen == commit:
            return seen
        if seen not in ("", pushed):
            check_ours(remote, seen, branch, self.campaign, is_shallow=not self.campaign.working_tree)
            if is_signed_copy(remote.store, seen, commit):
                return seen
        if self.is_dry_run:
            return seen
        signed_commit = sign_commits(remote.store, base, commit, self.signing)
        remote.push(signed_commit, branch, seen)
        return signed_commit


class Branches(BranchPusher):
    """Pushes the branches of targets that are repositories."""

    def push(self, target: CampaignTarget, entry: LedgerEntry) -> str:
        """Makes the branch what was merged, and gives its commit. Raises NotPublishedError and GitError."""
        if entry.settings.partition(" ")[0] != self.campaign.settings_digest:
            raise NotPublishedError(f"{CAMPAIGN_FILE} changed since it was merged; run the campaign again")
        seen = head_of(target.name, self.campaign.publishing.branch)
        if seen == entry.made:
            return seen
        place = place_of(target, self.settings.cache)
        if not place.is_dir():
            # The copy of the repository is gone; the same merge gives the same commit.
            outcome = merge_repository(Merging(self.settings), Job(target.name))
            if outcome.commit != entry.made:
                shutil.rmtree(place, ignore_errors=True)
                raise NotPublishedError("it changed since it was merged; run the campaign again")
        return self._push_copy(remote_at(target.name, place), entry.base, entry.made, seen, entry)

    def push_empty(self, target: CampaignTarget, entry: LedgerEntry, message: str) -> str:
        """Makes the branch a commit that changes nothing: a place to talk about conflicts.

        Raises NotPublishedError and GitError.
        """
        place = place_of(target, self.settings.cache)
        shutil.rmtree(place, ignore_errors=True)
        remote = remote_at(target.name, place)
        base = remote.fetch_ref(ref_of(target.branch), 1)
        commit = remote.store.commit_files(
            base, [NewCommit(message, {})], self.campaign.publishing.author, self.settings.date
        )
        return self._push_copy(remote, base, commit, head_of(target.name, self.campaign.publishing.branch), entry)

    def _push_copy(self, remote: Remote, base: str, commit: str, seen: str, entry: LedgerEntry) -> str:
        """Pushes from a copy of a repository, which is not needed any more then."""
        head = self._push(remote, self.campaign.publishing.branch, base, commit, seen=seen, pushed=entry.commit)
        if not self.is_dry_run:
            remote.store.remove()
        return head


_DIFFERING = (
    "what is committed here is not what origin's own branch has; bring them together (git pull, git push), and run the "
    "campaign again"
)


@dataclass
class TreePublisher(BranchPusher):
    """Publishes results in one working tree."""

    is_direct: bool = False

    @property
    def _tree(self) -> Path:
        return Path(self.campaign.working_tree)

    @cached_property
    def _around(self) -> WorkingTree:
        tree = WorkingTree.around(self._tree)
        if tree is None:
            raise GitError(f"{self._tree}: not a git repository")
        return tree

    def base(self) -> str:
        """What commits are made on: for a request the newest of origin's own branch, whatever is checked out here.

        Raises GitError.
        """
        if self.is_direct or self.is_dry_run or not self.origin:
            return self._git("rev-parse", "HEAD")
        remote = self._remote()
        return remote.fetch_ref(f"{HEADS}{default_branch(remote.url)}")

    def commit(
        self, base: str, targets: Sequence[tuple[CampaignTarget, LedgerEntry]]
    ) -> tuple[str, list[str], dict[str, str]]:
        """Commits on top of `base`: the last one, whose targets they are, and why others cannot be committed.

        A target that is committed already has none. Raises PackageError and GitError.
        """
        before = CommittedFiles(self._tree)
        commits: list[NewCommit] = []
        done: list[str] = []
        problems: dict[str, str] = {}
        differing = self._differing(base, [target.name for target, _ in targets])
        for target, entry in targets:
            here = Directory(self._tree / target.name)
            if digest_of(here) != entry.digest:
                problems[target.name] = "it changed since it was merged; run the campaign again"
                continue
            if target.name in differing:
                problems[target.name] = _DIFFERING
                continue
            done.append(target.name)
            folder = "" if target.name == "." else target.name
            changed = changed_files(before.tree(target.name), here)
            changes = {join(folder, path): file for path, file in changed.items()}
            if changes:
                commits.append(new_commit(self.campaign, target.name, changes))
        if not commits or self.is_dry_run:
            return base, done, problems
        commit = self._store.commit_files(base, commits, self.campaign.publishing.author, self.settings.date)
        return commit, done, problems

    def _differing(self, base: str, targets: Sequence[str]) -> set[str]:
        """The targets whose committed files are not those of `base`: somebody's work that is not ready, or lacks it."""
        if base == self._git("rev-parse", "HEAD"):
            return set()
        prefix = self._git("rev-parse", "--show-prefix")
        names = ["" if target == "." else target for target in targets]
        here, there = (self._store.read([f"{commit}:{prefix}{name}" for name in names]) for commit in ("HEAD", base))
        return {
            target
            for target, ours, theirs in zip(targets, here, there, strict=True)
            if ours is None or theirs is None or ours.name != theirs.name
        }

    def push(self, base: str, commit: str, branch: str, pushed: str) -> str:
        """Pushes a branch of the campaign to `origin`, and gives its commit. Raises NotPublishedError and GitError."""
        remote = self._remote()
        if not remote.url:
            raise NotPublishedError(f"{self._tree} has no remote origin; add one, or publish with --direct")
        seen = head_of(remote.url, branch)
        return self._push(remote, branch, base, commit, seen=seen, pushed=pushed)

    def move_to(self, commit: str, targets: Sequence[str]) -> None:
        """Makes the commit the current branch's, and pushes that where it has a remote. Raises GitError."""
        if self.is_dry_run:
            return
        base = self._git("rev-parse", "HEAD")
        if commit != base:
            commit = sign_commits(self._store, base, commit, self.signing)
            self._git("update-ref", "-m", f"krm-merge fleet: {self.campaign.name}", "HEAD", commit, base)
            names = "".join(f"{target}\0" for target in targets).encode()
            add = ["--literal-pathspecs", "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"]
            self._around.output(add, names)
        branch = self._git("symbolic-ref", "--quiet", "--short", "HEAD")
        remote = self._optional("config", f"branch.{branch}.remote")
        if remote:
            merge = self._optional("config", f"branch.{branch}.merge") or f"{HEADS}{branch}"
            self._git("push", "--quiet", "--no-verify", "--end-of-options", remote, f"{commit}:{merge}")

    @property
    def origin(self) -> str:
        """The address that the branch is pushed to, '' where there is none."""
        return take_credentials(self._optional("remote", "get-url", "--push", "origin"))

    @cached_property
    def _store(self) -> Store:
        return Store(self._around.repository)

    def _remote(self) -> Remote:
        return Remote(self.origin, self._store, credentials_of(self.origin))

    def _git(self, *arguments: str) -> str:
        return os.fsdecode(self._around.output(arguments)).strip()

    def _optional(self, *arguments: str) -> str:
        try:
            return self._git(*arguments)
        except GitError:
            return ""


_OWNERS: Final = ("CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", ".forgejo/CODEOWNERS", "docs/CODEOWNERS")
_NOT_IN_BRANCHES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LENGTH_OF_DIGEST: Final = 6


def split_branches(campaign: Campaign) -> Mapping[str, str]:
    """The branch of each target, by `publish.split`; none where all targets are in the campaign's branch."""
    split = campaign.publishing.split
    if split in (None, "none") or not campaign.working_tree:
        return {}
    if split == "owner":
        owners = list(_read_owners(Path(campaign.working_tree)))
        keys = {target: owner_of(owners, target) or "no owner" for target in campaign.targets}
    else:
        keys = {target: target if split == "package" else target.partition("/")[0] for target in campaign.targets}
    slugs = {key: _NOT_IN_BRANCHES.sub("-", key).strip("-") or "root" for key in keys.values()}
    equal = Counter(slugs.values())
    return {target: f"{campaign.publishing.branch}-{_unique(key, slugs[key], equal)}" for target, key in keys.items()}


def _unique(key: str, slug: str, equal: Mapping[str, int]) -> str:
    return slug if equal[slug] == 1 else f"{slug}-{sha256(key.encode()).hexdigest()[:_LENGTH_OF_DIGEST]}"


def _read_owners(tree: Path) -> Iterator[tuple[str, str]]:
    """The patterns of the first CODEOWNERS that there is, each with its first owner."""
    place = next((tree / name for name in _OWNERS if (tree / name).is_file()), None)
    for line in place.read_text(encoding="utf-8", errors="replace").splitlines() if place else ():
        words = line.partition("#")[0].split()
        # GitLab has sections in brackets.
        if words and not words[0].lstrip("^").startswith("["):
            yield words[0], next(iter(words[1:]), "")


def owner_of(owners: Sequence[tuple[str, str]], directory: str) -> str:
    """The owner of a directory by the last pattern that is for it or a directory around it, '' for none."""
    folders = [directory, *folders_around(directory)]
    return next((owner for pattern, owner in reversed(owners) if _is_for(pattern, folders)), "")


def _is_for(pattern: str, folders: Sequence[str]) -> bool:
    name = pattern.strip("/").removesuffix("/**")
    if name in ("", "*", "**"):
        return True
    if "/" not in pattern.rstrip("/"):
        return any(fnmatchcase(basename(folder), name) for folder in folders)
    of_pattern = name.split("/")
    return any(
        len(of_pattern) == folder.count("/") + 1 and all(map(fnmatchcase, folder.split("/"), of_pattern))
        for folder in folders
    )
