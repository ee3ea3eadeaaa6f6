"""Clients connected to servers that speak as their forges do, with a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from e2e.hosts import SECONDS
from forges.fake_forge import TOKEN, FakeForge, Fault
from forges.fake_forgejo import FakeForgejo
from forges.fake_github import FakeGitHub
from forges.fake_gitlab import FakeGitLab
from krm_merge.forges.hosted.forgejo import Forgejo
from krm_merge.forges.hosted.github import GitHub
from krm_merge.forges.hosted.gitlab import GitLab
from krm_merge.forges.hosted.transport import Connection
from krm_merge.forges.interface import Forge, ForgePullRequest, Pace, Patience
from krm_merge.git.program import Token

NOW = 1_767_323_045.0  # 2026-01-02 03:04:05Z
FEW = 3
REFUSED = Fault(403, body={"message": "Resource not accessible by personal access token"})
LIMITED = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 120)}


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = NOW
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


@dataclass(frozen=True)
class Hosted:
    """A forge over HTTP: its server, its client, and the beginning of its headers about limits."""

    name: str
    server: type[FakeForge]
    client: Callable[[Connection], Forge]
    host: str
    variable: str
    limits: str = "X-RateLimit-"


HOSTED = {
    "github": Hosted("GitHub", FakeGitHub, GitHub, "github.com", "GITHUB_TOKEN"),
    "gitlab": Hosted("GitLab", FakeGitLab, GitLab, "gitlab.com", "GITLAB_TOKEN", "RateLimit-"),
    "forgejo": Hosted("Forgejo", FakeForgejo, Forgejo, "codeberg.org", "FORGEJO_TOKEN"),
}
NO_PACE = Pace(0.0, 10_000)


def connect(
    server: FakeForge,
    time: Time,
    token: str = TOKEN,
    *,
    kind: str = "github",
    pace: Pace = NO_PACE,
    timeout: float = SECONDS,
    api: str = "",
    host: str = "",
) -> Any:
    hosted = HOSTED[kind]
    its_token = Token(token.strip(), hosted.variable)
    patience = Patience(attempts=FEW, timeout=timeout)
    where = host or hosted.host
    return hosted.client(Connection(where, its_token, api or server.api, patience, pace, time.sleep, time.clock))


URL = "https://github.com/acme/app.git"


def open_pull(forge: Forge, branch: str = "x", url: str = URL) -> ForgePullRequest:
    return forge.create(url, branch, "main", "Title", "Body", draft=True)
