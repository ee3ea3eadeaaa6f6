"""What a campaign proposes: a commit on a branch, and a pull request for it. The edge to git and to forges.

The mark in the text of a pull request says what it is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import Campaign
from krm_merge.fleet.repository import TRAILER, default_branch, ref_of, remote_at
from krm_merge.forges.interface import Forge
from krm_merge.forges.proposals import MarkedPart, RequestProposal, carry_out, part_in
from krm_merge.git.program import GitError
from krm_merge.git.store import Person, Remote
from krm_merge.posix import temporary_directory
from krm_merge.report import LONGEST


class NotPublishedError(KrmMergeError):
    """Why a result cannot be published, in words."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it.

    `reverse` is the number of the request that takes back what this one merged, 0 for none.
    """

    version: str
    result: str
    title: str
    reverse: int = 0

    def part(self, body: str) -> MarkedPart:
        """Our part of the text of a pull request, which is cut where it is too long for forges."""
        value = {name: field for name, field in asdict(self).items() if field or name != "reverse"}
        # Nothing in it may begin or end a comment.
        data = json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e")
        if len(body) > LONGEST:
            shortened = body[:LONGEST].rpartition("\n")[0]
            body = f"{shortened}\n\n{len(body) - len(shortened):,} more characters are in the report of the campaign."
        return MarkedPart(data, body.replace("<!--", "&lt;!--"))


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    part = part_in(text)
    try:
        value = json.loads(part.mark) if part is not None else {}
        return Mark(str(value["version"]), str(value["result"]), str(value["title"]), int(value.get("reverse", 0)))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class BranchUpdate:
    """That a branch of a repository becomes `commit`, which is proposed for the branch `onto`, '' for the default one.

    `seen` is where it is now, `ours` are the commits that we pushed there.
    """

    remote: Remote
    branch: str
    onto: str
    commit: str
    seen: str = ""
    ours: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Proposer:
    """Pushes branches, and opens their pull requests or brings them up to date.

    `forge_of` gives the forge of a repository's address.
    """

    campaign: Campaign
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False

    def push(self, update: BranchUpdate) -> str:
        """Makes the branch the commit, and gives it. Raises NotPublishedError and GitError."""
        remote, seen = update.remote, update.seen
        if seen == update.commit:
            return seen
        if seen and seen not in update.ours:
            self.check_ours(remote.url, update.branch, seen, update.onto)
        if self.is_dry_run:
            return seen
        remote.push(update.commit, update.branch, seen)
        return update.commit

    def check_ours(self, address: str, branch: str, head: str, onto: str) -> None:
        """Refuses to overwrite commits that somebody else made, unless they are merged. Raises NotPublishedError."""
        author = Person.parse(self.campaign.publishing.author)
        try:
            # A working tree's own repository must not become a shallow one.
            with temporary_directory() as directory:
                remote = remote_at(address, Path(directory, "store.git"))
                since = remote.fetch_ref(ref_of(onto), has_files=False)
                remote.fetch_ref(ref_of(branch), has_files=False)
                if remote.store.are_made_by(author, f"{TRAILER}: ", since, head):
                    return
        except GitError as error:
            raise NotPublishedError(f"{branch} cannot be read: {error}") from None
        raise NotPublishedError(
            f"{branch} has the commit {head[:12]} of somebody else, which is kept; merge it, or remove the branch"
        )

    def request(self, update: BranchUpdate, number: int, mark: Mark, body: str, *, is_draft: bool) -> int:
        """The number of the pull request for a branch that was pushed, 0 in a dry run that would open it.

        `number` is the open request that is brought up to date, 0 for a new one. People's title and what they wrote
        around our part are kept. Raises ForgeError, GitError and NotPublishedError.
        """
        address, publishing = update.remote.url, self.campaign.publishing
        forge = self.forge_of(address)
        pull, title = None, mark.title
        if number:
            pull = forge.pull_request(address, number)
            if pull is None or pull.state != "open":
                raise NotPublishedError(f"#{number} was closed or merged meanwhile; publish again")
            if pull.source_branch != update.branch:
                was = f"#{number} is from the branch {pull.source_branch}"
                raise NotPublishedError(f"{was}, but {update.branch} is pushed now; close it, and publish again")
            before = mark_in(pull.body)
            title = pull.title if before and pull.title != before.title else title
            # People may have taken it out of draft.
            is_draft = is_draft and pull.draft
        if self.is_dry_run:
            return number
        onto = update.onto or default_branch(address)
        proposal = RequestProposal(update.branch, onto, title, mark.part(body), is_draft, publishing.attention)
        return carry_out(forge, address, proposal, pull).number
