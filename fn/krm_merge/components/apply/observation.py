"""Reads the pull requests that plans need from a forge, and the rest of their data from git."""

from __future__ import annotations

from collections.abc import Iterator

from krm_merge.components.apply.pull_requests import as_draft
from krm_merge.components.apply.repository import Repository
from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.plan.description import parse_description
from krm_merge.forges.interface import Forge, ForgePullRequest


def observe_pull_requests(url: str, repository: Repository, forge: Forge) -> Iterator[PullRequest]:
    """The pull requests of a repository, by number. Raises GitError and ForgeError."""
    branches = tuple(sorted(repository.branches))
    for one in map(as_draft, forge.pull_requests(url)):
        yield PullRequest(
            "",
            url,
            one.number,
            one.source_branch,
            one.target_branch,
            one.state,
            one.draft,
            one.head,
            one.merge_commit,
            one.title,
            one.body,
            one.author,
            tuple(sorted(forge.changed_files(url, one.number))) if one.state == "open" else None,
            _has_user_commits(one, repository),
            branches if one.state == "open" else None,
            one.merged_at,
            repository.remote.default_branch,
        )


def _has_user_commits(one: ForgePullRequest, repository: Repository) -> bool:
    """Whether people added commits to a branch of ours. Branches of forks are never ours, whatever they are named."""
    target = repository.branches.get(one.target_branch, "")
    is_ours = one.source_branch in repository.branches and parse_description(one.body) is not None
    if one.state != "open" or not is_ours or not target or not one.head:
        return False
    repository.remote.fetch(one.head, target)
    return not repository.is_ours(repository.merge_base(target, one.head), one.head)
