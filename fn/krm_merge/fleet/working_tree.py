"""The results of a campaign in one working tree, as commits: of one branch, or of several. The edge to git."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from posixpath import join
from typing import Final

from krm_merge.fleet.campaign import Campaign, CampaignTarget
from krm_merge.fleet.job import Settings
from krm_merge.fleet.ledger import LedgerEntry
from krm_merge.fleet.proposals import BranchUpdate
from krm_merge.fleet.repository import credentials_of, default_branch, head_of, new_commit
from krm_merge.fleet.worker import changed_files, digest_of
from krm_merge.git.program import HEADS, GitError, WorkingTree, take_credentials
from krm_merge.git.store import NewCommit, Remote, Store
from krm_merge.packages import CommittedFiles, Directory

_DIFFERING: Final = (
    "the commits here differ from those of origin's branch; synchronise them (git pull, git push), and run the "
    "campaign again"
)


@dataclass(frozen=True)
class TreeCommits:
    """Makes commits of what was merged in a working tree."""

    campaign: Campaign
    settings: Settings
    is_dry_run: bool = False

    def head(self) -> str:
        """The commit that is checked out. Raises GitError."""
        return self._git("rev-parse", "HEAD")

    def origin_head(self) -> str:
        """The newest commit of origin's own branch, whatever is checked out here. Raises GitError."""
        if self.is_dry_run:
            return self.head()
        return self._remote.fetch_ref(f"{HEADS}{default_branch(self.origin)}")

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
        if base == self.head():
            return set()
        prefix = self._git("rev-parse", "--show-prefix")
        names = ["" if target == "." else target for target in targets]
        here, there = (self._store.read([f"{commit}:{prefix}{name}" for name in names]) for commit in ("HEAD", base))
        return {
            target
            for target, ours, theirs in zip(targets, here, there, strict=True)
            if ours is None or theirs is None or ours.name != theirs.name
        }

    def update(self, commit: str, branch: str, targets: Sequence[LedgerEntry]) -> BranchUpdate:
        """The update of a branch of origin for targets. Raises GitError."""
        ours = {commit for entry in targets for commit in entry.commits}
        return BranchUpdate(self._remote, branch, "", commit, head_of(self.origin, branch), ours)

    def move_to(self, commit: str, targets: Sequence[str]) -> bool:
        """Makes the commit the current branch's, and pushes that where it has a remote. Raises GitError.

        Returns whether it was pushed.
        """
        branch = self._optional("symbolic-ref", "--quiet", "--short", "HEAD")
        if not branch:
            raise GitError(f"{self._tree} has no branch checked out; switch to one")
        remote = self._optional("config", f"branch.{branch}.remote")
        base = self.head()
        if self.is_dry_run:
            return bool(remote)
        if commit != base:
            self._git("update-ref", "-m", f"krm-merge fleet: {self.campaign.name}", "HEAD", commit, base)
            names = "".join(f"{target}\0" for target in targets).encode()
            add = ["--literal-pathspecs", "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"]
            self._around.output(add, names)
        if remote:
            merge = self._optional("config", f"branch.{branch}.merge") or f"{HEADS}{branch}"
            self._git("push", "--quiet", "--no-verify", "--end-of-options", remote, f"{commit}:{merge}")
        return bool(remote)

    @cached_property
    def origin(self) -> str:
        """The address that branches are pushed to, '' where there is none."""
        return take_credentials(self._optional("remote", "get-url", "--push", "origin"))

    @property
    def _tree(self) -> Path:
        return Path(self.campaign.working_tree)

    @cached_property
    def _around(self) -> WorkingTree:
        tree = WorkingTree.around(self._tree)
        if tree is None:
            raise GitError(f"{self._tree}: not a git repository")
        return tree

    @cached_property
    def _store(self) -> Store:
        return Store(self._around.repository)

    @property
    def _remote(self) -> Remote:
        return Remote(self.origin, self._store, credentials_of(self.origin))

    def _git(self, *arguments: str) -> str:
        return os.fsdecode(self._around.output(arguments)).strip()

    def _optional(self, *arguments: str) -> str:
        try:
            return self._git(*arguments)
        except GitError:
            return ""


_NOT_IN_BRANCHES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LENGTH_OF_DIGEST: Final = 6


def split_branches(campaign: Campaign) -> Mapping[str, str]:
    """The branch of each target, by `publish.split`; none where all targets are in the campaign's branch."""
    split = campaign.publishing.split
    if split in (None, "none") or not campaign.working_tree:
        return {}
    keys = {target: target if split == "package" else target.partition("/")[0] for target in campaign.targets}
    slugs = {key: _NOT_IN_BRANCHES.sub("-", key).strip("-") or "root" for key in keys.values()}
    equal = Counter(slugs.values())
    return {target: f"{campaign.publishing.branch}-{_unique(key, slugs[key], equal)}" for target, key in keys.items()}


def _unique(key: str, slug: str, equal: Mapping[str, int]) -> str:
    return slug if equal[slug] == 1 else f"{slug}-{sha256(key.encode()).hexdigest()[:_LENGTH_OF_DIGEST]}"
