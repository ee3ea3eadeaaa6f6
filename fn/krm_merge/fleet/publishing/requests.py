"""Pull requests of a campaign: one for each branch, opened once and kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from krm_merge.fleet.campaign.campaign import Campaign
from krm_merge.fleet.ledger import LedgerEntry
from krm_merge.forges.interface import Forge, ForgePullRequest


@dataclass(slots=True)
class PullRequests:
    """Opens and updates pull requests. `forge_of` gives the forge of a repository's address."""

    campaign: Campaign
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False

    def opened(
        self, address: str, target_branch: str, title: str, body: str, *, is_draft: bool = False
    ) -> ForgePullRequest | None:
        """The pull request of the campaign's branch, opened unless it is; None in a dry run that would open one.

        Raises ForgeError.
        """
        forge = self.forge_of(address)
        branch = self.campaign.publishing.branch
        for pull in forge.pull_requests_from(address, branch):
            if pull.state != "open":
                continue
            if (pull.title, pull.body.strip()) != (title, body.strip()) and not self.is_dry_run:
                forge.edit(address, pull.number, title, body)
            if pull.draft and not is_draft and not self.is_dry_run:
                forge.set_draft(address, pull.number, draft=False)
            return pull
        if self.is_dry_run:
            return None
        return forge.create(address, branch, target_branch, title, body, draft=is_draft)

    def state_of(self, address: str, number: int) -> str:
        """What became of a pull request: open, merged, closed. Raises ForgeError."""
        found = self.forge_of(address).pull_request(address, number)
        return "closed" if found is None else found.state

    def title(self, packages: list[str]) -> str:
        """The title for packages."""
        name = packages[0] if len(packages) == 1 else f"{len(packages):,} packages"
        upstream = self.campaign.upstream
        return self.campaign.publishing.title.replace("{packages}", name).replace("{ref}", upstream.ref)


def packages_of(entry: LedgerEntry) -> list[str]:
    """The packages of a target, as a title names them."""
    own = entry.target.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return [package or own for package in entry.packages] or [own]
