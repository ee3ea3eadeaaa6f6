"""Branches with the results of a campaign, pushed unless somebody else has committed to them. The edge to git."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign.campaign import Campaign, CampaignTarget
from krm_merge.fleet.ledger import LedgerEntry
from krm_merge.fleet.merging.git_store import HEADS, GitStore, NewCommit, heads_of
from krm_merge.fleet.merging.job import Job, Settings
from krm_merge.fleet.merging.merge import Merging
from krm_merge.fleet.merging.repository import RepositoryMerger, store_of
from krm_merge.fleet.publishing.signing import is_signed_copy, signed
from krm_merge.git.program import GitError


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
        seen = self._head(target)
        if seen == entry.made:
            return seen
        store = self._store(target, entry)
        self._push(store, entry.base, entry.made, seen, entry.pushed)
        return entry.made

    def push_empty(self, target: CampaignTarget, entry: LedgerEntry, message: str) -> str:
        """Makes the branch a commit that changes nothing: a place to talk about conflicts.

        Raises NotPublishedError and GitError.
        """
        store = store_of(target, self.settings.cache)
        store.place.parent.mkdir(parents=True, exist_ok=True)
        base = store.fetch(f"{HEADS}{target.branch}" if target.branch else "HEAD")
        commit = store.commit(base, [NewCommit(message, {})], self.campaign.publishing.author, self.settings.date)
        seen = self._head(target)
        if seen != commit:
            self._push(store, base, commit, seen, entry.pushed)
        store.remove()
        return commit

    def _push(self, store: GitStore, base: str, commit: str, seen: str, pushed: str) -> None:
        if seen:
            check_ours(store, seen, pushed, self.campaign)
        if self.is_dry_run:
            return
        if not seen or not is_signed_copy(store, seen, commit):
            store.push(signed(store, base, commit, self.signing), self.campaign.publishing.branch, seen)
        store.remove()

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


def check_ours(store: GitStore, head: str, pushed: str, campaign: Campaign) -> None:
    """Refuses to overwrite a commit that somebody else made. Raises NotPublishedError."""
    if head == pushed:
        return
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
