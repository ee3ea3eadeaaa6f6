"""The results in a working tree as commits, one for each package: on a branch that is pushed, or on the current one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import join

from krm_merge.fleet.campaign.campaign import Campaign, CampaignTarget
from krm_merge.fleet.entry import LedgerEntry
from krm_merge.fleet.merging.content import digest_of
from krm_merge.fleet.merging.git_store import HEADS, TRAILER, GitStore, NewCommit, heads_of
from krm_merge.fleet.publishing.branches import NotPublishedError, check_ours
from krm_merge.fleet.publishing.signing import is_signed_copy, signed
from krm_merge.git.credentials import take_credentials
from krm_merge.git.program import GitError
from krm_merge.git.working_tree import WorkingTree
from krm_merge.packages.committed import CommittedFiles
from krm_merge.packages.files.directory import Directory
from krm_merge.packages.files.tree import File, Tree


@dataclass
class TreePublisher:
    """Publishes results in one working tree."""

    campaign: Campaign
    date: str
    is_dry_run: bool = False
    signing: tuple[str, ...] = ()
    """The settings of git that sign commits, none for no signature."""

    @property
    def _tree(self) -> Path:
        return Path(self.campaign.working_tree)

    @cached_property
    def _around(self) -> WorkingTree:
        found = WorkingTree.around(self._tree)
        if found is None:
            raise GitError(f"{self._tree}: not a git repository")
        return found

    def committed(self, targets: Sequence[tuple[CampaignTarget, LedgerEntry]]) -> tuple[str, list[str], list[str]]:
        """Commits on top of what is checked out: the last one, whose targets they are, and those that changed since.

        A target that is committed already has none. Raises PackageError and GitError.
        """
        before = CommittedFiles(self._tree)
        commits: list[NewCommit] = []
        done: list[str] = []
        changed: list[str] = []
        for target, entry in targets:
            here = Directory(self._tree / target.name)
            if digest_of(here) != entry.digest:
                changed.append(target.name)
                continue
            done.append(target.name)
            changes = _placed(target.name, before.tree(target.name), here)
            if changes:
                commits.append(NewCommit(self._message(target), changes))
        base = self._git("rev-parse", "HEAD")
        if not commits or self.is_dry_run:
            return base, done, changed
        made = self._store().commit(base, commits, self.campaign.publishing.author, self.date)
        return made, done, changed

    def push(self, commit: str, pushed: str) -> str:
        """Pushes the campaign's branch to `origin`, and gives its commit. Raises NotPublishedError and GitError."""
        store = self._store()
        if not store.address:
            raise NotPublishedError(f"{self._tree} has no remote origin; add one, or publish with --direct")
        branch = self.campaign.publishing.branch
        seen = heads_of(store.address, f"{HEADS}{branch}").get(f"{HEADS}{branch}", "")
        if seen == commit:
            return seen
        if seen not in ("", pushed):
            check_ours(store, seen, self.campaign)
            if is_signed_copy(store, seen, commit):
                return seen
        if not self.is_dry_run:
            commit = signed(store, self._git("rev-parse", "HEAD"), commit, self.signing)
            store.push(commit, branch, seen)
        return commit

    def move_to(self, commit: str, targets: Sequence[str]) -> None:
        """Makes the commit the current branch's, and pushes that where it has a remote. Raises GitError."""
        if self.is_dry_run:
            return
        base = self._git("rev-parse", "HEAD")
        if commit != base:
            commit = signed(self._store(), base, commit, self.signing)
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

    def _store(self) -> GitStore:
        return GitStore(self.origin, self._around.repository, is_shallow=False)

    def _message(self, target: CampaignTarget) -> str:
        upstream = self.campaign.upstream
        message = self.campaign.message.replace("{package}", target.name).replace("{ref}", upstream.ref)
        return f"{message}\n\n{TRAILER}: {self.campaign.name}\n"

    def _git(self, *arguments: str) -> str:
        return os.fsdecode(self._around.output(arguments)).strip()

    def _optional(self, *arguments: str) -> str:
        try:
            return self._git(*arguments)
        except GitError:
            return ""


def _placed(target: str, before: Tree, here: Tree) -> dict[str, File | None]:
    """What becomes of a directory's files, by their paths in the working tree."""
    folder = "" if target == "." else target
    changes: dict[str, File | None] = {
        join(folder, path): here[path] for path in here if before.get(path) != here[path]
    }
    return changes | {join(folder, path): None for path in before if path not in here}
