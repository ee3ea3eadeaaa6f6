"""Repositories of a fleet on a forge over HTTP: pull requests in a server, branches in real git repositories."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from components.hosted_world import OWNER, GitRepository
from e2e.hosts import git, installed_program, run
from fleet.world import World
from forges.fake_forge import TOKEN, FakeForge, Pull

BRANCH = "krm-merge/shop-v2"
TOKEN_VARIABLE = "KRM_MERGE_TOKEN_127_0_0_1"


@dataclass(frozen=True)
class HostedFleet:
    """A campaign for repositories of an owner on a server."""

    world: World
    server: FakeForge
    kind: str
    places: list[Path] = field(default_factory=list)

    @classmethod
    def after_merge(
        cls, world: World, server: FakeForge, kind: str, monkeypatch: pytest.MonkeyPatch, count: int, owner: str = OWNER
    ) -> HostedFleet:
        """One whose repositories have been merged, and none published."""
        for name, value in {
            "no_proxy": "*",
            TOKEN_VARIABLE: TOKEN,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{world.place}/forge/.insteadOf",
            "GIT_CONFIG_VALUE_0": OWNER,
        }.items():
            monkeypatch.setenv(name, value)
        fleet = cls(world, server, kind, world.repositories(count))
        for place in fleet.places:
            server.repositories[f"acme/{place.stem}"] = GitRepository(bare=place)
        (world.place / "repositories.txt").write_text("".join(f"{owner}{place.name}\n" for place in fleet.places))
        world.plan("--repositories", "repositories.txt")
        done = fleet.run()
        assert done.returncode == 0, done.stdout + done.stderr
        return fleet

    def run(self) -> subprocess.CompletedProcess[str]:
        """Merges. In a process of its own: servers of forks keep the environment of the test that started them."""
        return run(installed_program(), "fleet", "run", "campaign", cwd=self.world.place)

    @property
    def options(self) -> list[str]:
        return ["--forge", f"127.0.0.1={self.kind}", "--api", f"127.0.0.1={self.server.api}", "--pace", "0"]

    def publish(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.world.fleet("publish", "campaign", *self.options, *options)

    def withdraw(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Runs `close` or `rollback`."""
        return self.world.fleet(command, "campaign", *self.options, *options)

    def start(self) -> subprocess.Popen[bytes]:
        """A publish in a group of processes of its own, which can be killed."""
        command = [installed_program(), "fleet", "publish", "campaign", *self.options]
        return subprocess.Popen(
            command, cwd=self.world.place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def pulls(self, number: int = 0) -> list[Pull]:
        return self.server.repositories[f"acme/{self.places[number].stem}"].pulls

    def head(self, number: int = 0) -> str:
        return git(self.places[number], "for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}").strip()

    def changes(self) -> list[str]:
        """What the server was asked for that changes something."""
        requests = [f"{seen.method} {seen.path}" for seen in self.server.seen if seen.method != "GET"]
        return [request for request in requests if not request.endswith("graphql")]
