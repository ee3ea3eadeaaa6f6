"""Branches with the results of a campaign, pushed unless somebody else has committed to them. The edge to git."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign.campaign import CAMPAIGN_FILE, Campaign, CampaignTarget
from krm_merge.fleet.entry import LedgerEntry
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
            made = signed(store, base, commit, self.signing)
            store.push(made, self.campaign.publishing.branch, seen)
            seen = made
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
