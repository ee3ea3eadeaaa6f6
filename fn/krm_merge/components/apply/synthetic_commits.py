"""Copies what pull requests change in the dependants' directories to a branch, and keeps that up to date (R28)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from krm_merge.components.apply.repository import TRAILER, Repository
from krm_merge.components.konflux.contexts import touches
from krm_merge.components.plan.records.plan_file import Copy
from krm_merge.errors import KrmMergeError
from krm_merge.git.store import MergeConflictError

_COPIED = re.compile(r"^Synthetic-From: (.+) at ([0-9a-f]{40}|[0-9a-f]{64})$", re.MULTILINE)


class CopyConflictError(KrmMergeError):
    """Changes that do not go together with what is on the branch. `trailer` tells that it was done by hand."""

    def __init__(self, message: str, trailer: str) -> None:
        """Takes what cannot be done."""
        super().__init__(message)
        self.trailer = trailer


def copied_before(git: Repository, since: str, commit: str) -> dict[str, str]:
    """The heads that were copied between two commits, by pull request: what is said last.

    It counts whoever says it: people amend our commits and squash them, or copy by hand what cannot be merged.
    """
    return {name: head for message in git.store.messages(since, commit) for name, head in _COPIED.findall(message)}


def with_copy(git: Repository, commit: str, copy: Copy, before: str, contexts: Iterable[str]) -> str:
    """With a commit of what a pull request changes, since the head `before` where that was copied ('': none).

    Raises CopyConflictError.
    """
    if copy.head == before:
        # C4: whatever was done to the branch since, also by our own digests, it has been copied.
        return commit
    target = git.branches.get(copy.target_branch, "")
    git.remote.fetch(copy.head, target, before)
    fork = git.merge_base(target, copy.head) if target else copy.head
    paths = dict.fromkeys(copy.paths)
    if before:
        # What it changed then may be as it was, now.
        paths |= dict.fromkeys(_copied_paths(git, target, before, contexts))
    trailer = _trailer(copy.pull_request, copy.head)
    try:
        tree = git.store.picked(commit, before or fork, copy.head, paths)
    except MergeConflictError as conflict:
        raise CopyConflictError(f"what {copy.pull_request} changes cannot be copied: {conflict}", trailer) from None
    return _committed(git, commit, tree, f"Copy changes of {copy.pull_request}", trailer)


def without_copy(
    git: Repository, commit: str, pull_request: str, head: str, target: str, base: str, contexts: Iterable[str]
) -> str:
    """With a commit that takes out what was copied of a pull request at `head`, which was for the commit `target`.

    What the target of the branch, the commit `base`, has as well stays. Raises CopyConflictError.
    """
    git.remote.fetch(head, target)
    # Empty diff against the merge base: nothing to copy.
    fork = git.merge_base(target, head)
    differing = set(git.store.changed_paths(base, commit))
    paths = [path for path in _copied_paths(git, target, head, contexts) if path in differing]
    trailer = _trailer(pull_request, fork)
    try:
        tree = git.store.picked(commit, head, fork, paths)
    except MergeConflictError as conflict:
        raise CopyConflictError(f"what {pull_request} changes cannot be taken out: {conflict}", trailer) from None
    return _committed(git, commit, tree, f"Take out changes of {pull_request}", trailer)


def _copied_paths(git: Repository, target: str, head: str, contexts: Iterable[str]) -> list[str]:
    changed = git.store.changed_paths(git.merge_base(target, head), head) if target else []
    return [path for path in changed if any(touches(context, [path]) for context in contexts)]


def _committed(git: Repository, commit: str, tree: str, subject: str, trailer: str) -> str:
    if tree == git.store.tree(commit):
        return commit
    return git.commit(tree, commit, f"{subject}\n\n{trailer}\n{TRAILER}\n")


def _trailer(pull_request: str, head: str) -> str:
    return f"Synthetic-From: {pull_request} at {head}"
