"""The results of a campaign as branches and commits, signed if git is set up for it. The edge to git.

A signature may have the time in it, so that signed commits have another id each time. The commits of a campaign are
therefore signed when they are pushed, and what was pushed is compared without signatures.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import join

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import CAMPAIGN_FILE, Campaign, CampaignTarget
from krm_merge.fleet.job import Job, Settings
from krm_merge.fleet.ledger import LedgerEntry
from krm_merge.fleet.merge import Merging
from krm_merge.fleet.repository import HEADS, TRAILER, GitStore, NewCommit, RepositoryMerger, heads_of, store_of
from krm_merge.fleet.worker import digest_of
from krm_merge.git import program as git_program
from krm_merge.git.program import GitError, WorkingTree, take_credentials
from krm_merge.git.store import GitObjects
from krm_merge.packages import CommittedFiles, Directory, File, Tree

_DIFFERS = re.compile(rb"^(?:parent .*|gpgsig(?:-sha256)? .*(?:\n .*)*)\n", re.MULTILINE)
_PERSON = re.compile(r"^committer (?P<name>[^<\n]*) <(?P<mail>[^>\n]*)> (?P<date>.*)$", re.MULTILINE)


def sign_commits(store: GitStore, base: str, commit: str, settings: Sequence[str]) -> str:
    """The last of the signed copies of the commits that `commit` has and `base` has not. Raises GitError.

    `settings` are those of git that sign (`signing_settings`); without any it is the commit itself.
    """
    if not settings:
        return commit
    parent = base
    listed = git_program.output(["rev-list", "--reverse", f"{base}..{commit}"], store.place, alone=True)
    for name in listed.decode().split():
        head, message = _commit(store, name)
        tree = head.partition("\n")[0].removeprefix("tree ")
        command = [*settings, "commit-tree", "-S", tree, "-p", parent, "-F", "-"]
        answer = git_program.output(command, store.place, message, _environment(head))
        parent = answer.decode().strip()
    return parent


def is_signed_copy(store: GitStore, commit: str, of: str) -> bool:
    """Whether a commit has the files, the message, the author and the time of another one. Raises GitError."""
    return _without_signature(store, commit) == _without_signature(store, of)


def _without_signature(store: GitStore, name: str) -> tuple[bytes, bytes]:
    head, message = _commit(store, name)
    return _DIFFERS.sub(b"", head.encode(errors="surrogateescape") + b"\n"), message


def _commit(store: GitStore, name: str) -> tuple[str, bytes]:
    (commit_object,) = GitObjects(store.place).read([f"{name}^{{commit}}"])
    if commit_object is None:
        raise GitError(f"{store.address}: the commit {name} is missing")
    head, _, message = commit_object.data.partition(b"\n\n")
    return head.decode(errors="surrogateescape"), message


def _environment(head: str) -> dict[str, str]:
    person = _PERSON.search(head)
    assert person is not None
    values = {"NAME": person["name"], "EMAIL": person["mail"], "DATE": person["date"]}
    return {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in values.items()}


class NotPublishedError(KrmMergeError):
    """Why a result cannot be published, in words."""


@dataclass(slots=True)
class Branches:
    """Pushes the branches of targets that are repositories."""

    campaign: Campaign
    settings: Settings
    is_dry_run: bool = False
    signing: tuple[str, ...] = ()
    """The settings of git that sign commits, none for no signature."""

    def push(self, target: CampaignTarget, entry: LedgerEntry) -> str:
        """Makes the branch what was merged, and gives its commit. Raises NotPublishedError and GitError."""
        if entry.settings.partition(" ")[0] != self.campaign.settings_digest:
            raise NotPublishedError(f"{CAMPAIGN_FILE} changed since it was merged; run the campaign again")
        seen = self._head(target)
        if seen == entry.made:
            return seen
        store = self._store(target, entry)
        return self._push(store, entry.base, entry.made, seen, entry.commit)

    def push_empty(self, target: CampaignTarget, entry: LedgerEntry, message: str) -> str:
        """Makes the branch a commit that changes nothing: a place to talk about conflicts.

        Raises NotPublishedError and GitError.
        """
        store = store_of(target, self.settings.cache)
        store.place.parent.mkdir(parents=True, exist_ok=True)
        base = store.fetch(f"{HEADS}{target.branch}" if target.branch else "HEAD")
        commit = store.commit(base, [NewCommit(message, {})], self.campaign.publishing.author, self.settings.date)
        seen = self._head(target)
        return self._push(store, base, commit, seen, entry.commit)

    def _push(self, store: GitStore, base: str, commit: str, seen: str, pushed: str) -> str:
        """Pushes a commit, and gives it as it was signed."""
        is_done = seen == commit
        if not is_done and seen not in ("", pushed):
            check_ours(store, seen, self.campaign)
            is_done = is_signed_copy(store, seen, commit)
        if self.is_dry_run:
            return seen
        if not is_done:
            signed_commit = sign_commits(store, base, commit, self.signing)
            store.push(signed_commit, self.campaign.publishing.branch, seen)
            seen = signed_commit
        store.remove()
        return seen

    def _head(self, target: CampaignTarget) -> str:
        branch = f"{HEADS}{self.campaign.publishing.branch}"
        return heads_of(target.name, branch).get(branch, "")

    def _store(self, target: CampaignTarget, entry: LedgerEntry) -> GitStore:
        """The copy of the repository with the commit; made again where it is gone, which gives the same commit."""
        store = store_of(target, self.settings.cache)
        if not store.place.is_dir():
            outcome = RepositoryMerger(Merging(self.settings)).merge(Job(target.name))
            if outcome.commit != entry.made:
                store.remove()
                raise NotPublishedError("it changed since it was merged; run the campaign again")
        return store


def check_ours(store: GitStore, head: str, campaign: Campaign) -> None:
    """Refuses to overwrite a commit that somebody else made; fetches it. Raises NotPublishedError."""
    branch = campaign.publishing.branch
    try:
        store.fetch_more(f"{HEADS}{branch}")
        ours = store.was_made_by(head, campaign.publishing.author)
    except GitError as error:
        raise NotPublishedError(f"{branch} cannot be looked at: {error}") from None
    if not ours:
        raise NotPublishedError(
            f"{branch} has the commit {head[:12]} of somebody else, which is kept; merge it or remove the branch"
        )


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
        tree = WorkingTree.around(self._tree)
        if tree is None:
            raise GitError(f"{self._tree}: not a git repository")
        return tree

    def commit(self, targets: Sequence[tuple[CampaignTarget, LedgerEntry]]) -> tuple[str, list[str], list[str]]:
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
            changes = _file_changes(target.name, before.tree(target.name), here)
            if changes:
                commits.append(NewCommit(self._message(target), changes))
        base = self._git("rev-parse", "HEAD")
        if not commits or self.is_dry_run:
            return base, done, changed
        new_commit = self._store().commit(base, commits, self.campaign.publishing.author, self.date)
        return new_commit, done, changed

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
            commit = sign_commits(store, self._git("rev-parse", "HEAD"), commit, self.signing)
            store.push(commit, branch, seen)
        return commit

    def move_to(self, commit: str, targets: Sequence[str]) -> None:
        """Makes the commit the current branch's, and pushes that where it has a remote. Raises GitError."""
        if self.is_dry_run:
            return
        base = self._git("rev-parse", "HEAD")
        if commit != base:
            commit = sign_commits(self._store(), base, commit, self.signing)
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


def _file_changes(target: str, before: Tree, here: Tree) -> dict[str, File | None]:
    """What becomes of a directory's files, by their paths in the working tree."""
    folder = "" if target == "." else target
    changes: dict[str, File | None] = {
        join(folder, path): here[path] for path in here if before.get(path) != here[path]
    }
    return changes | {join(folder, path): None for path in before if path not in here}
