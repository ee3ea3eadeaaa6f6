"""Merges pull requests in a repository that has no working tree."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Literal, TypeAlias

from krm_merge.forges.interface import ForgePullRequest
from krm_merge.git.store import Person, Stamp, Store

How: TypeAlias = Literal["merge", "squash", "rebase"]
KRM_MERGE = Person("krm-merge", "krm-merge@localhost")
"""Author of pull requests, comments and merges by default."""


@dataclass(frozen=True, slots=True)
class LocalMerge:
    """Merges with an author and a time. Everything raises GitError, including MergeConflictError."""

    store: Store
    person: Person
    at: datetime

    def made(self, how: How, pull: ForgePullRequest, target: str, source: str) -> str:
        """The new commit of the target branch."""
        if how == "rebase":
            listed = self.store.text("rev-list", "--reverse", "--topo-order", "--no-merges", f"{target}..{source}")
            return reduce(self._picked, listed.splitlines(), target)
        tree = self.store.merged(target, source)
        if how == "squash":
            return self._commit(tree, [target], f"{pull.title} (#{pull.number})\n\n{pull.body}".rstrip())
        message = f"Merge pull request #{pull.number} from {pull.source_branch}\n\n{pull.title}"
        return self._commit(tree, [target, source], message)

    def _picked(self, onto: str, commit: str) -> str:
        """A commit on top of another one; the other one if it has the change already."""
        tree = self.store.picked(onto, f"{commit}^", commit)
        if tree == self.store.tree(onto):
            return onto
        shown = self.store.output("show", "--no-patch", "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B", commit)
        name, mail, date, message = shown.split("\0", 3)
        return self._commit(tree, [onto], message.rstrip("\n"), Stamp(Person(name, mail), f"@{date}"))

    def _commit(self, tree: str, parents: list[str], message: str, author: Stamp | None = None) -> str:
        now = Stamp(self.person, f"@{int(self.at.timestamp())} +0000")
        return self.store.commit(tree, parents, f"{message}\n", author or now, now)
