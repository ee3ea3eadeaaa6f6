"""Copies the changes of pull requests in the dependants' directories to a branch, and keeps them up to date (R28)."""

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
    """Changes that conflict with the branch. `trailer` marks a commit in which somebody copied them by hand."""

    def __init__(self, message: str, trailer: str) -> None:
        """`message` names the pull request and the conflict."""
        super().__init__(message)
        self.trailer = trailer


def copied_before(git: Repository, since: str, commit: str) -> dict[str, str]:
    """The heads that were copied between two commits, by pull request; the newest trailer counts.

    Trailers in anybody's commits count: people amend and squash our commits, or copy conflicting changes by hand.
    """
    return {name: head for message in git.store.messages(since, commit) for name, head in _COPIED.findall(message)}


def with_copy(git: Repository, commit: str, copy: Copy, before: str, contexts: Iterable[str]) -> str:
    """Adds a commit with the changes of a pull request since the head `before`, which was copied last ('': none).

    Raises CopyConflictError.
    """
    if copy.head == before:
        # C4: this head is copied already, even if later commits changed the same files.
        return commit
    target = git.branches.get(copy.target_branch, "")
    git.remote.fetch(copy.head, target, before)
    fork = git.merge_base(target, copy.head) if target else copy.head
    paths = dict.fromkeys(copy.paths)
    if before:
        # A file that the earlier head changed may be unchanged again.
        paths |= dict.fromkeys(_copied_paths(git, target, before, contexts))
    trailer = _trailer(copy.pull_request, copy.head)
    try:
        tree = git.store.picked(commit, before or fork, copy.head, paths)
    except MergeConflictError as conflict:
        raise CopyConflictError(f"the changes of {copy.pull_request} cannot be copied: {conflict}", trailer) from None
    return _committed(git, commit, tree, f"Copy changes of {copy.pull_request}", trailer)


def without_copy(
    git: Repository, commit: str, pull_request: str, head: str, target: str, base: str, contexts: Iterable[str]
) -> str:
    """Adds a commit that reverts the copy of a pull request at `head`, which was based on the commit `target`.

    Changes that the target of the branch, the commit `base`, has too are kept. Raises CopyConflictError.
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
        raise CopyConflictError(f"the changes of {pull_request} cannot be reverted: {conflict}", trailer) from None
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
