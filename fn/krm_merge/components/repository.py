"""The repositories and pull requests that plans are applied to (rule CR28). The edge to git and to forges.

Equal parents and contents give equal commits, so that a second run changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass

from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.plan.model import Copy, parse_description
from krm_merge.errors import KrmMergeError
from krm_merge.forges.interface import Forge, ForgePullRequest
from krm_merge.forges.proposals import RequestProposal, carry_out
from krm_merge.git.program import GitError
from krm_merge.git.store import MergeConflictError, Person, Remote, Stamp

TRAILER = "Planned-By: krm-merge"
"""The last line of the messages of our commits."""
KRM_MERGE = Person("krm-merge", "krm-merge@users.noreply.github.com")
"""Author of our commits."""


@dataclass(slots=True)
class Repository(Remote):
    """A remote repository, and a bare one in which commits for it are made. Everything raises GitError."""

    def merge_base(self, first: str, second: str) -> str:
        """The newest common ancestor of two commits."""
        base = self.store.merge_base(first, second)
        if not base:
            remedy = "they have no history in common; branch off the target"
            raise GitError(f"{self.url}: {first[:12]} and {second[:12]}: {remedy}")
        return base

    def is_ours(self, since: str, commit: str) -> bool:
        """Whether krm-merge made all commits that `commit` has and `since` has not, and nobody changed them."""
        return self.store.are_made_by(KRM_MERGE, TRAILER, since, commit)

    def conflict(self, target: str, commit: str) -> str:
        """Why a commit cannot be merged into the target, '' if it can."""
        try:
            self.store.merge_trees(target, commit, renames=False)
        except MergeConflictError as conflict:
            return str(conflict)
        return ""

    def commit(self, tree: str, parent: str, message: str) -> str:
        """Makes a commit with the time of its parent, so that equal contents have equal ids."""
        stamp = Stamp(KRM_MERGE, f"{self.store.committed_at(parent)} +0000")
        return self.store.commit(tree, [parent], message, stamp)


_COPIED = re.compile(r"^Synthetic-From: (.+) at ([0-9a-f]{40}|[0-9a-f]{64})$", re.MULTILINE)


class CopyConflictError(KrmMergeError):
    """Changes of a pull request that conflict with the branch."""


def copied_before(git: Repository, since: str, commit: str) -> dict[str, str]:
    """The heads that were copied between two commits, by pull request; the newest trailer counts.

    Trailers in anybody's commits count: people amend and squash our commits, or copy changes by hand.
    """
    return {name: head for message in git.store.messages(since, commit) for name, head in _COPIED.findall(message)}


def with_copy(git: Repository, commit: str, copy: Copy) -> str:
    """Adds a commit with the changes of a pull request. Raises CopyConflictError."""
    target = git.branches.get(copy.target_branch, "")
    git.fetch(copy.head, target)
    fork = git.merge_base(target, copy.head) if target else copy.head
    try:
        tree = git.store.pick_changes(commit, fork, copy.head, copy.paths)
    except MergeConflictError as conflict:
        raise CopyConflictError(f"the changes of {copy.pull_request} cannot be copied: {conflict}") from None
    if tree == git.store.tree(commit):
        return commit
    trailers = f"{copy_trailer(copy.pull_request, copy.head)}\n{TRAILER}\n"
    return git.commit(tree, commit, f"Copy changes of {copy.pull_request}\n\n{trailers}")


def copy_trailer(pull_request: str, head: str) -> str:
    """The line of a commit that says to which commit of a pull request its changes are copied."""
    return f"Synthetic-From: {pull_request} at {head}"


class RepositoryPullRequests:
    """The pull requests of a repository. Everything raises ForgeError."""

    def __init__(self, forge: Forge, url: str) -> None:
        """Fetches nothing yet."""
        self._forge = forge
        self._url = url
        self._open: dict[int, ForgePullRequest] | None = None

    @property
    def open(self) -> Collection[ForgePullRequest]:
        """The open pull requests, by number."""
        return self._open_pulls().values()

    def ended_from(self, branch: str) -> list[ForgePullRequest]:
        """The merged and closed pull requests from a branch."""
        return [pull for pull in self._forge.pull_requests_from(self._url, branch) if pull.state != "open"]

    def find(self, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        pull = self._open_pulls().get(number)
        return pull if pull is not None else self._forge.pull_request(self._url, number)

    def carry_out(self, proposal: RequestProposal, pull: ForgePullRequest | None) -> ForgePullRequest:
        """Opens a pull request, or brings the open one, `pull`, up to date."""
        pull = carry_out(self._forge, self._url, proposal, pull)
        self._open_pulls()[pull.number] = pull
        return pull

    def close(self, pull: ForgePullRequest, comment: str) -> None:
        """Closes a pull request without merging it, with the reason as a comment."""
        self._forge.close(self._url, pull.number)
        self._open_pulls().pop(pull.number, None)
        self._forge.comment(self._url, pull.number, comment)

    def _open_pulls(self) -> dict[int, ForgePullRequest]:
        if self._open is None:
            self._open = {pull.number: pull for pull in self._forge.open_pull_requests(self._url)}
        return self._open


def observe_pull_requests(url: str, repository: Repository, forge: Forge) -> Iterator[PullRequest]:
    """The pull requests of a repository, by number. Raises GitError and ForgeError."""
    branches = tuple(sorted(repository.branches))
    for pull in forge.pull_requests(url):
        yield PullRequest(
            **asdict(pull),
            name="",
            repository=url,
            changed=tuple(sorted(forge.changed_files(url, pull.number))) if pull.state == "open" else None,
            user_commits=_has_user_commits(pull, repository),
            planned_digests=tuple(planned_digests(pull, repository).items()),
            branches=branches if pull.state == "open" else None,
            default_branch=repository.default_branch,
        )


_DIGEST = re.compile(r"^Component: (.+)\nImage: .+\nDigest: (sha256:[0-9a-f]{64})$", re.MULTILINE)


def planned_digests(pull: ForgePullRequest, repository: Repository) -> dict[str, str]:
    """The digests that our commits on the branch of an open pull request set, by Component, if it has no block.

    Forks have no branches of ours. Raises GitError.
    """
    is_possible = pull.source_branch in repository.branches and re.search("[/@]", pull.source_branch)
    target = repository.branches.get(pull.target_branch, "")
    if pull.state != "open" or not is_possible or not target or parse_description(pull.body) is not None:
        return {}
    repository.fetch(pull.head, target)
    messages = repository.store.messages(repository.store.merge_base(target, pull.head) or target, pull.head)
    return {name: digest for message in messages if TRAILER in message for name, digest in _DIGEST.findall(message)}


def _has_user_commits(pull: ForgePullRequest, repository: Repository) -> bool:
    """Whether people added commits to a branch of ours. Branches of forks are never ours, whatever they are named."""
    target = repository.branches.get(pull.target_branch, "")
    is_planned = parse_description(pull.body) is not None or planned_digests(pull, repository)
    is_ours = pull.source_branch in repository.branches and is_planned
    if pull.state != "open" or not is_ours or not target or not pull.head:
        return False
    repository.fetch(pull.head, target)
    return not repository.is_ours(repository.merge_base(target, pull.head), pull.head)
