"""What a campaign proposes: a commit on a branch, and a pull request for it. The edge to git and to forges.

The first mark in the text of a pull request says what it is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import Campaign
from krm_merge.fleet.repository import HEADS, remote_at, was_made_by
from krm_merge.forges.interface import Forge, ForgePullRequest
from krm_merge.git.program import GitError
from krm_merge.git.store import Remote
from krm_merge.posix import temporary_directory
from krm_merge.report import LONGEST


class NotPublishedError(KrmMergeError):
    """Why a result cannot be published, in words."""


_START: Final = "<!-- krm-merge {"
_HEAD_END: Final = "} -->\n"
_END: Final = "<!-- /krm-merge -->"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it.

    `reverse` is the number of the request that takes back what this one merged, 0 for none.
    """

    version: str
    result: str
    title: str
    reverse: int = 0


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    place = _place(text.replace("\r\n", "\n"))
    try:
        value = json.loads(place[1]) if place else {}
        return Mark(str(value["version"]), str(value["result"]), str(value["title"]), int(value.get("reverse", 0)))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _place(text: str) -> tuple[str, str, str, str] | None:
    """What is before our part, its mark, its body, and what is behind it; None without such a part."""
    before, start, rest = text.partition(_START)
    head, head_end, rest = rest.partition(_HEAD_END)
    body, end, behind = rest.partition(_END)
    return (before, f"{{{head}}}", body, behind) if start and head_end and end else None


def with_part(text: str, mark: Mark, body: str | None = None) -> str:
    """The text with our part replaced, or added at its end; without a body, its mark alone is replaced.

    A body that is too long for forges is cut.
    """
    text = text.replace("\r\n", "\n")
    place = _place(text)
    value = {name: field for name, field in asdict(mark).items() if field or name != "reverse"}
    # Nothing in it may end the comment.
    data = json.dumps(value).replace(">", "\\u003e")
    inner = place[2] if place and body is None else _inner(body or "")
    part = f"<!-- krm-merge {data} -->\n{inner}{_END}"
    return f"{place[0]}{part}{place[3]}" if place else f"{text.rstrip()}\n\n{part}".lstrip()


def _inner(body: str) -> str:
    if len(body) > LONGEST:
        shortened = body[:LONGEST].rpartition("\n")[0]
        body = f"{shortened}\n\n{len(body) - len(shortened):,} more characters are in the report of the campaign."
    return body.replace("<!--", "&lt;!--").rstrip() + "\n"


@dataclass(frozen=True, slots=True)
class RequestProposal:
    """What one pull request asks for: that the branch `onto` takes `commit`, which is on top of `base`.

    `seen` is where `branch` is now, `ours` are the commits that we pushed there. `number` is the open request that is
    brought up to date, 0 for a new one.
    """

    remote: Remote
    branch: str
    base: str
    commit: str
    seen: str = ""
    ours: Collection[str] = ()
    number: int = 0
    is_draft: bool = False


@dataclass(frozen=True, slots=True)
class Proposer:
    """Carries out proposals: pushes their branches, and opens their pull requests or brings them up to date.

    `forge_of` gives the forge of a repository's address.
    """

    campaign: Campaign
    forge_of: Callable[[str], Forge]
    is_dry_run: bool = False

    def push(self, proposal: RequestProposal) -> str:
        """Makes the branch the commit, and gives it. Raises NotPublishedError and GitError."""
        remote, seen = proposal.remote, proposal.seen
        if seen == proposal.commit:
            return seen
        if seen and seen not in proposal.ours:
            self.check_ours(remote, seen, proposal.branch)
        if self.is_dry_run:
            return seen
        remote.push(proposal.commit, proposal.branch, seen)
        return proposal.commit

    def check_ours(self, remote: Remote, head: str, branch: str) -> None:
        """Refuses to overwrite a commit that somebody else made, unless it is merged. Raises NotPublishedError."""
        try:
            # A working tree's own repository must not become a shallow one.
            remote.fetch_ref(f"{HEADS}{branch}", depth=0 if self.campaign.working_tree else 1)
            is_ours = was_made_by(remote.store, head, self.campaign.publishing.author)
            if is_ours or _is_merged(remote.url, head, branch):
                return
        except GitError as error:
            raise NotPublishedError(f"{branch} cannot be read: {error}") from None
        raise NotPublishedError(
            f"{branch} has the commit {head[:12]} of somebody else, which is kept; merge it, or remove the branch"
        )

    def request(self, proposal: RequestProposal, onto: str, mark: Mark, body: str) -> int:
        """The number of the pull request for a branch that was pushed, 0 in a dry run that would open it.

        People's title and what they wrote around our part are kept. Raises ForgeError and NotPublishedError.
        """
        address, number = proposal.remote.url, proposal.number
        forge = self.forge_of(address)
        if number:
            existing = forge.pull_request(address, number)
            if existing is None or existing.state != "open":
                raise NotPublishedError(f"#{number} was closed or merged meanwhile; publish again")
            if existing.source_branch != proposal.branch:
                was = f"#{number} is from the branch {existing.source_branch}"
                raise NotPublishedError(f"{was}, but {proposal.branch} is pushed now; close it, and publish again")
            pull = existing
        elif self.is_dry_run:
            return 0
        else:
            pull = self._open(forge, proposal, onto, mark, body)
        before = mark_in(pull.body)
        title = pull.title if before and pull.title != before.title else mark.title
        text = with_part(pull.body, mark, body)
        if self.is_dry_run:
            return pull.number
        if (pull.title, pull.body.strip()) != (title, text.strip()):
            forge.edit(address, pull.number, title, text)
        if pull.draft and not proposal.is_draft:
            forge.set_draft(address, pull.number, draft=False)
        return pull.number

    def _open(self, forge: Forge, proposal: RequestProposal, onto: str, mark: Mark, body: str) -> ForgePullRequest:
        address, attention = proposal.remote.url, self.campaign.publishing.attention
        text = with_part("", mark, body)
        pull = forge.create(address, proposal.branch, onto, mark.title, text, draft=proposal.is_draft)
        if attention:
            forge.request_attention(address, pull.number, attention)
        return pull


def _is_merged(address: str, head: str, branch: str) -> bool:
    """Whether the repository's own branch has a commit, which then is nobody's any more. Raises GitError."""
    with temporary_directory() as directory:
        remote = remote_at(address, Path(directory, "store.git"))
        remote.fetch_ref(f"{HEADS}{branch}", has_files=False)
        return remote.store.is_ancestor(head, remote.fetch_ref("HEAD", has_files=False))
