"""A world for plans whose pull requests are on a forge over HTTP, its branches in real git repositories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from components.world import World, branches_of
from e2e.hosts import git
from forges.connected import Time as Clock
from forges.connected import connect
from forges.fake_forge import FakeForge, FakeRepository, Pull
from forges.fake_github import FakeGitHub
from krm_merge.forges.interface import ForgePullRequest
from krm_merge.forges.local import BareRepository, How, merge_commit

OWNER = "https://127.0.0.1/acme/"
"""Where the API is, the repositories are: GitHub Enterprise has both at one host."""


@dataclass
class GitRepository(FakeRepository):
    """A repository with the branches of a bare git repository, which open pull requests follow."""

    bare: Path = Path()
    listed: dict[str, str] = field(default_factory=dict)

    def refresh(self) -> None:
        before, self.listed = self.listed, branches_of(self.bare)
        if self.listed == before:
            return
        was_main, main = before.get("main"), self.listed.get("main")
        self.branches = {
            branch: self.branches[branch]
            if (was_main, before.get(branch)) == (main, commit)
            else (commit, git(self.bare, "diff", "--name-only", f"main...{commit}").split())
            for branch, commit in self.listed.items()
        }
        for pull in self.pulls:
            if pull.state == "open" and pull.fork is None:
                pull.head, files = self.branches[pull.source]
                pull.files = [(name, "") for name in files]


@dataclass
class HostedWorld(World):
    """Its pull requests are in the server, its repositories belong to an owner there."""

    server: FakeForge = field(default_factory=FakeGitHub)
    kind: str = "github"

    def address(self, name: str) -> str:
        return f"{OWNER}{name}.git"

    def on_server(self, name: str) -> FakeRepository:
        repository = self.server.repositories[f"acme/{name}"]
        repository.refresh()
        return repository

    def repository(self, name: str, files: Mapping[str, str]) -> None:
        super().repository(name, files)
        self.server.repositories[f"acme/{name}"] = GitRepository(bare=Path(self.url(name)))

    def open(self, name: str, branch: str, base: str = "main") -> int:
        return self.on_server(name).open_pull(branch, base, branch, "by a person", draft=False).number

    def open_from_fork(self, name: str, owner: str, branch: str, body: str = "") -> Pull:
        """As on GitHub: the repository has the commit, below refs/pull, and no branch for it."""
        commit = self.commit(name, "of-fork", {"README": f"by {owner}\n"})
        git(Path(self.url(name)), "update-ref", "-d", "refs/heads/of-fork")
        pull = self.on_server(name).open_pull(branch, "main", branch, body, draft=False, fork=owner)
        folder = "merge-requests" if self.kind == "gitlab" else "pull"
        git(Path(self.url(name)), "update-ref", f"refs/{folder}/{pull.number}/head", commit)
        pull.head = commit
        return pull

    def merge(self, name: str, number: int, how: How = "merge") -> str:
        place, pull = BareRepository(Path(self.url(name))), self.on_server(name).pulls[number - 1]
        target = place.branches()["main"]
        pull.merged = merge_commit(place.store, how, self.pull(name, number), target, pull.head)
        pull.state = "closed"
        place.store.text("update-ref", "refs/heads/main", pull.merged, target)
        return pull.merged

    def pulls(self, name: str) -> list[ForgePullRequest]:
        client = connect(self.server, Clock(), kind=self.kind, host="127.0.0.1")
        pulls: list[ForgePullRequest] = client.pull_requests(self.address(name))
        return pulls

    def writes(self) -> list[str]:
        """The requests to the server that change something."""
        return [f"{each.method} {each.path} {each.body}" for each in self.server.seen if each.method != "GET"]

    def heads(self) -> dict[str, str]:
        return {**super().heads(), "requests": str(self.writes())}


def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of our own, no proxy, and git finds the owner's repositories on the disk."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    redirection = {"COUNT": "1", "KEY_0": f"url.{tmp_path}/.insteadOf", "VALUE_0": OWNER}
    for name, value in redirection.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
