"""GitHub connected to a server that speaks as it does, with a clock of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from forges.fake_github import FakeGitHub, Fault
from krm_merge.forges.github import GitHub
from krm_merge.forges.github_http import Patience
from krm_merge.forges.interface import Forge, ForgePullRequest

TOKEN = "s3cret-t0ken"
NOW = 1_767_323_045.0  # 2026-01-02 03:04:05Z
FEW = 3
LIMITED = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 120)}
REFUSED = Fault(403, body={"message": "Resource not accessible by personal access token"})


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


def connected(server: FakeGitHub, time: Time, token: str = TOKEN, **more: Any) -> GitHub:
    patience = Patience(attempts=FEW, timeout=more.pop("timeout", 10.0))
    return GitHub(token, server.api, host="github.com", patience=patience, sleep=time.sleep, clock=time.clock, **more)


URL = "https://github.com/acme/app.git"


def opened(forge: Forge, branch: str = "x") -> ForgePullRequest:
    return forge.create(URL, branch, "main", "Title", "Body", draft=True)
