"""Merges pull requests in a repository that has no working tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Final, Literal, TypeAlias

from krm_merge.forges.interface import ForgePullRequest
from krm_merge.forges.local_repository import BareRepository

_GIT_USAGE: Final = 129

How: TypeAlias = Literal["merge", "squash", "rebase"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who opens, comments and merges."""

    name: str = "krm-merge"
    email: str = "krm-merge@localhost"


@dataclass(frozen=True, slots=True)
class Merge:
    """Merging in a repository that has no working tree."""

    place: BareRepository
    identity: Identity
    at: datetime

    def made(self, how: How, pull: ForgePullRequest, target: str, source: str) -> str:
        """The commit that the target branch shall be at."""
        if how == "rebase":
            listed = self.place.git("rev-list", "--reverse", "--topo-order", "--no-merges", f"{target}..{source}")
            return reduce(self._picked, listed.splitlines(), target)
        tree = self._tree(target, source)
        if how == "squash":
            return self._commit(tree, [target], f"{pull.title} (#{pull.number})\n\n{pull.body}".rstrip())
        message = f"Merge pull request #{pull.number} from {pull.source_branch}\n\n{pull.title}"
        return self._commit(tree, [target, source], message)

    def _picked(self, onto: str, commit: str) -> str:
        """A commit on top of another one; that other one where it has the change already."""
        # What merges `onto` and the commit as if they had parted at the commit's parent, which git before 2.40
        # cannot be told.
        beside = self._commit(f"{onto}^{{tree}}", [f"{commit}^"], "beside")
        tree = self._tree(beside, commit)
        if tree == self.place.git("rev-parse", f"{onto}^{{tree}}"):
            return onto
        shown = self.place.git("show", "--no-patch", "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B", commit)
        name, email, date, message = shown.split("\0", 3)
        author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": f"@{date}"}
        return self._commit(tree, [onto], message.rstrip("\n"), author)

    def _tree(self, ours: str, theirs: str) -> str:
        done = self.place.run(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs])
        if done.status == 1:
            conflicts = ", ".join(filter(None, done.output.split("\0")[1:]))
            raise self.place.error(f"the merge conflicts in {conflicts}; rebase the branch on its target")
        if done.status == _GIT_USAGE:
            raise self.place.error("this git cannot merge without a working tree; install git 2.38 or later")
        return self.place.output(done).rstrip("\0")

    def _commit(self, tree: str, parents: Sequence[str], message: str, author: Mapping[str, str] | None = None) -> str:
        date = f"@{int(self.at.timestamp())} +0000"
        people = {
            f"GIT_{role}_{field}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", self.identity.name), ("EMAIL", self.identity.email), ("DATE", date))
        }
        of_parents = [word for parent in parents for word in ("-p", parent)]
        return self.place.git(
            "commit-tree", tree, *of_parents, "-F", "-", data=f"{message}\n", environment=people | dict(author or {})
        )
