"""How often forges are asked: publishing does not wait for looks."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from effort import SEED
from fleet.publish.hosted import HostedFleet
from fleet.world import World
from forges.connected import HOSTED
from forges.fake_forge import TOKEN, FakeForge, Quota


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def server(kind: str) -> Iterator[FakeForge]:
    with HOSTED[kind].server(TOKEN) as server:
        yield server


COUNT, AN_HOUR = 12, 10


# Forgejo is asked for each repository.
@pytest.mark.parametrize("kind", [*HOSTED] if SEED else ["forgejo"], indirect=True)
def test_publishing_goes_on_under_a_small_limit(
    world: World, server: FakeForge, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open pull requests are looked at, and others are opened all the same, each hour of ten requests."""
    fleet = HostedFleet.after_merge(world, server, kind, monkeypatch, COUNT)
    hours = 0
    server.quotas.append(Quota(AN_HOUR, 3600))
    server.clock = lambda: time.time() + hours * 3600
    opened: list[int] = []
    while hours < COUNT and COUNT not in opened:
        done = fleet.publish()
        assert done.returncode == 0, done.stderr
        opened.append(sum(len(fleet.pulls(number)) for number in range(COUNT)))
        hours += 1
    assert opened[-1] == COUNT
    assert opened == sorted(set(opened))
    assert fleet.publish().returncode == 0
