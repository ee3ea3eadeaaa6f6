"""A remote git repository, and the store in which commits for it are made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from krm_merge.git.credentials import NO_CREDENTIALS, Credentials
from krm_merge.git.program import GitError, complaint, output, run
from krm_merge.git.store import Store

_HEADS = "refs/heads/"
# Pull requests of forks have no branch here: GitHub and Forgejo keep them below refs/pull, GitLab below merge-requests.
_EVERYTHING = (
    "+refs/heads/*:refs/remote/heads/*",
    "+refs/pull/*/head:refs/remote/pull/*",
    "+refs/merge-requests/*/head:refs/remote/pull/*",
)
_LINES = 3
_REFUSED = re.compile(rb"^[ \t]*! \[(?:remote )?rejected\].*\(([^()\n]*)\)", re.MULTILINE)


def refusal(stderr: bytes) -> str:
    """The reason for which a branch was not pushed, in git's words, and the server's where it has a rule of its own."""
    refused = _REFUSED.search(stderr)
    if refused is None:
        return complaint(stderr)
    reason = refused[1].decode(errors="replace")
    lines = stderr.decode(errors="replace").splitlines()
    said = [
        line.removeprefix("remote: ").removeprefix("error: ").strip() for line in lines if line.startswith("remote: ")
    ]
    said = [line for line in said if line]
    return f"{reason}: {'; '.join(said[:_LINES])}" if said and reason.endswith("declined") else reason


@dataclass(slots=True)
class Remote:
    """A remote repository with its branches as last observed. Everything raises GitError."""

    url: str
    store: Store
    credentials: Credentials = NO_CREDENTIALS
    branches: Mapping[str, str] = field(default_factory=dict)
    """The commits of all branches."""
    default_branch: str = "main"
    """The default branch of the repository."""

    @classmethod
    def opened(cls, url: str, store: Store, credentials: Credentials = NO_CREDENTIALS) -> Remote:
        """Opens the repository and reads its current branches."""
        if url.startswith("-"):
            raise GitError(f"{url} is no address of a git repository")
        opened = cls(url, store, credentials)
        opened.refresh()
        return opened

    def refresh(self) -> None:
        """Reads the branches again."""
        asked = ["ls-remote", "--quiet", "--symref", "--end-of-options", self.url, "HEAD", f"{_HEADS}*"]
        answer = output([*self.credentials.options, *asked], environment=self.credentials.environment)
        found = [(what, name) for what, _, name in (line.partition("\t") for line in answer.decode().splitlines())]
        self.branches = {name.removeprefix(_HEADS): what for what, name in found if name.startswith(_HEADS)}
        heads = [what.removeprefix(f"ref: {_HEADS}") for what, name in found if name == "HEAD" and " " in what]
        self.default_branch = heads[0] if heads else "main"

    def fetch(self, *commits: str, depth: int = 0) -> None:
        """Fetches the missing commits with their history, or with `depth` commits of it."""
        missing = [commit for commit in dict.fromkeys(commits) if commit and not self.store.has(commit)]
        if not missing:
            return
        shallow = [f"--depth={depth}"] if depth else []
        fetch = [*self.credentials.options, "fetch", "--progress", "--no-tags", *shallow, "--end-of-options", self.url]
        if run([*fetch, *missing], self.store.directory, environment=self.credentials.environment).returncode != 0:
            # Some servers refuse to send commits by their ids.
            output([*fetch, *_EVERYTHING], self.store.directory, environment=self.credentials.environment)
        for commit in missing:
            if not self.store.has(commit):
                raise GitError(f"{self.url} has no commit {commit}")

    def push(self, commit: str, branch: str) -> None:
        """Pushes a commit to a branch, if the branch is still as observed: other people's pushes are never lost."""
        seen = self.branches.get(branch, "")
        lease = f"--force-with-lease={_HEADS}{branch}:{seen}"
        push = ["push", "--progress", lease, "--end-of-options", self.url, f"{commit}:{_HEADS}{branch}"]
        done = run([*self.credentials.options, *push], self.store.directory, environment=self.credentials.environment)
        if done.returncode != 0 and not self._has_arrived(commit, branch):
            why = refusal(done.stderr)
            why = "somebody pushed to it since; observe and plan again" if why == "stale info" else why
            raise GitError(f"{self.url}: {branch} cannot be pushed: {why}")
        self.branches = {**self.branches, branch: commit}

    def _has_arrived(self, commit: str, branch: str) -> bool:
        """Whether the repository has the commit all the same: the git of a killed command goes on for a moment."""
        with suppress(GitError):
            return Remote.opened(self.url, self.store, self.credentials).branches.get(branch) == commit
        return False
