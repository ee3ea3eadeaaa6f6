"""Pull requests of a campaign: seen as the forge has them, opened once and kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from krm_merge.fleet.campaign.campaign import Campaign
from krm_merge.fleet.entry import LedgerEntry, LedgerRequest
from krm_merge.fleet.publishing.branches import NotPublishedError
from krm_merge.fleet.publishing.texts import Mark, mark_in, with_part
from krm_merge.forges.interface import Forge, ForgeError, ForgePullRequest


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """What a pull request says. `number` is the open one that is brought up to date, 0 for a new one."""

    address: str
    onto: str
    mark: Mark
    body: str
    number: int = 0
    is_draft: bool = False


@dataclass(slots=True)
class PullRequests:
    """Reads, opens and updates pull requests. `forge_of` gives the forge of a repository's address."""

    campaign: Campaign
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False

    def seen(self, addresses: Sequence[str]) -> Mapping[str, list[ForgePullRequest] | ForgeError]:
        """The pull requests from our branch in repositories of one host. Raises ForgeError if the host fails."""
        return self.forge_of(addresses[0]).pull_requests_in(addresses, self.campaign.publishing.branch)

    def missing(self, request: LedgerRequest) -> LedgerRequest:
        """A pull request that a list lacks, as it is now. Raises ForgeError."""
        found = self.forge_of(request.address).pull_request(request.address, request.number)
        return replace(request, state=found.state if found else "unknown", merged_at=found.merged_at if found else "")

    def opened(self, proposal: RequestDraft) -> ForgePullRequest | None:
        """The pull request with what is proposed, None in a dry run that would open it.

        People's title and what they wrote around our part are kept. Raises ForgeError and NotPublishedError.
        """
        forge, address, mark = self.forge_of(proposal.address), proposal.address, proposal.mark
        if proposal.number:
            found = forge.pull_request(address, proposal.number)
            if found is None or found.state != "open":
                raise NotPublishedError(f"#{proposal.number} ended meanwhile; publish again")
            pull = found
        elif self.is_dry_run:
            return None
        else:
            text = with_part("", mark, proposal.body)
            branch = self.campaign.publishing.branch
            pull = forge.create(address, branch, proposal.onto, mark.title, text, draft=proposal.is_draft)
        before = mark_in(pull.body)
        title = pull.title if before and pull.title != before.title else mark.title
        text = with_part(pull.body if before else "", mark, proposal.body)
        if self.is_dry_run:
            return pull
        if (pull.title, pull.body.strip()) != (title, text.strip()):
            forge.edit(address, pull.number, title, text)
        if pull.draft and not proposal.is_draft:
            forge.set_draft(address, pull.number, draft=False)
        return pull

    def title(self, packages: list[str]) -> str:
        """The title for packages."""
        name = packages[0] if len(packages) == 1 else f"{len(packages):,} packages"
        upstream = self.campaign.upstream
        return self.campaign.publishing.title.replace("{packages}", name).replace("{ref}", upstream.ref)


def packages_of(entry: LedgerEntry) -> list[str]:
    """The packages of a target, as a title names them."""
    own = entry.target.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return [package or own for package in entry.packages] or [own]


def observed(
    entry: LedgerEntry, address: str, pulls: Iterable[ForgePullRequest], at: str
) -> tuple[list[LedgerRequest], list[LedgerRequest]]:
    """The history of a target as the forge has it, and those of it that the forge did not list and may be open.

    What one was for is in its mark, or in the ledger. Others that ended are somebody else's.
    """
    known = {one.number: one for one in entry.requests if one.number}
    found: list[LedgerRequest] = []
    for pull in pulls:
        before, mark = known.pop(pull.number, None), mark_in(pull.body)
        if before is None:
            is_ours = bool(entry.made) and pull.head == entry.made
            if mark is None and pull.state != "open" and not is_ours:
                continue
            version, result = (entry.version, entry.result) if is_ours else ("", "")
            before = LedgerRequest(entry.target, pull.number, address, version, result, "", "open")
        if mark is not None:
            before = replace(before, version=mark.version, result=mark.result or before.result)
        found.append(replace(before, state=pull.state, merged_at=pull.merged_at, looked_at=at))
    return found, [one for one in known.values() if one.state in ("open", "unknown")]
