"""A git repository in which plans are applied, and our commits for it. The edge to git.

Equal parents and contents give equal commits, so that a second run changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from krm_merge.git.credentials import NO_CREDENTIALS, Credentials
from krm_merge.git.program import GitError
from krm_merge.git.remote import Remote
from krm_merge.git.store import MergeConflictError, Person, Stamp, Store

TRAILER = "Planned-By: krm-merge"
"""The last line of the messages of our commits."""
KRM_MERGE = Person("krm-merge", "krm-merge@users.noreply.github.com")
"""Author of our commits by default."""


@dataclass(slots=True)
class Repository:
    """A remote repository, and a bare one in which commits for it are made. Everything raises GitError."""

    remote: Remote
    author: Person = KRM_MERGE
    signing: tuple[str, ...] = ()
    """Settings of git with which our commits are signed, none for no signature."""
    _signed: dict[str, str] = field(default_factory=dict)
    """Signed commits by the ids that they would have without signature."""

    @classmethod
    def opened(
        cls,
        url: str,
        directory: Path,
        credentials: Credentials = NO_CREDENTIALS,
        author: Person = KRM_MERGE,
        signing: tuple[str, ...] = (),
    ) -> Repository:
        """Opens the repository and reads its current branches."""
        return cls(Remote.opened(url, Store.opened(directory), credentials), author, signing)

    @property
    def store(self) -> Store:
        """The object store that holds its commits."""
        return self.remote.store

    @property
    def branches(self) -> Mapping[str, str]:
        """The commits of all branches."""
        return self.remote.branches

    def merge_base(self, first: str, second: str) -> str:
        """The newest common ancestor of two commits."""
        found = self.store.merge_base(first, second)
        if not found:
            remedy = "they have no history in common; branch off the target"
            raise GitError(f"{self.remote.url}: {first[:12]} and {second[:12]}: {remedy}")
        return found

    def is_ours(self, since: str, commit: str) -> bool:
        """Whether krm-merge made all commits that `commit` has and `since` has not, and nobody changed them."""
        made = self.store.committers(since, commit)
        return all(
            mail in (self.author.mail, KRM_MERGE.mail) and TRAILER in message.splitlines() for mail, message in made
        )

    def conflict(self, target: str, commit: str) -> str:
        """Why a commit cannot be merged into the target, '' if it can."""
        try:
            self.store.merged(target, commit, renames=False)
        except MergeConflictError as conflict:
            return str(conflict)
        return ""

    def commit(self, tree: str, parent: str, message: str) -> str:
        """Makes a commit with the time of its parent, so that equal contents have equal ids. Signs each commit once."""
        stamp = Stamp(self.author, f"{self.store.committed_at(parent)} +0000")
        made = self.store.commit(tree, [parent], message, stamp)
        if not self.signing:
            return made
        if made not in self._signed:
            self._signed[made] = self.store.commit(tree, [parent], message, stamp, signing=self.signing)
        return self._signed[made]

    def keep_signatures(self, since: str, commit: str) -> None:
        """Remembers the signed commits that `commit` has and `since` has not, to reuse them for equal commits."""
        if self.signing:
            self._signed |= self.store.unsigned(since, commit)

    def push(self, commit: str, branch: str) -> None:
        """Pushes a commit to a branch if the branch is still at the observed commit."""
        self.remote.push(commit, branch)
