"""How often forges are asked: looks at ten thousand pull requests, and publishing that does not wait for looks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.groups import campaign
from fleet.publish.hosted import HostedFleet
from fleet.world import World
from forges.connected import HOSTED, Time, connect
from forges.fake_forge import TOKEN, FakeForge, FakeRepository, Quota
from krm_merge.fleet.ledger import Ledger, LedgerRequest
from krm_merge.fleet.requests import Hosts, Mark, PullRequests, RequestChecks, with_part

MANY = 10_000
BRANCH = "krm-merge/web-v2"
LOOKED_AT = "2026-01-01T00:00:00.000+00:00"


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def server(kind: str) -> Iterator[FakeForge]:
    with HOSTED[kind].server(TOKEN) as server:
        yield server


@pytest.mark.parametrize(
    ("kind", "is_known"),
    [("github", True), ("gitlab", True), ("gitlab", False)],
    indirect=["kind"],
)
def test_ten_thousand_are_looked_at_with_few_reads(
    server: FakeForge, kind: str, tmp_path: Path, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a year of history behind each: on GitLab what ended long ago is not listed again."""
    body = with_part("", Mark("v", "r", "t"), "")
    names = [f"https://{HOSTED[kind].host}/acme/r{number}.git" for number in range(MANY)]
    for number in range(MANY):
        repository = server.repositories[f"acme/r{number}"] = FakeRepository()
        repository.push(BRANCH, "a.yaml")
        repository.open_pull(BRANCH, "main", "t", body, draft=False)
        if is_known:
            old = repository.open_pull(BRANCH, "main", "t", body, draft=False)
            old.state = "closed"
            object.__setattr__(old, "updated", 0.0)
    requests = PullRequests(campaign(), lambda url: connect(server, Time(), kind=kind))
    client = connect(server, Time(), kind=kind)
    monkeypatch.setattr(requests, "forge_of", lambda url: client)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.follow(names)
        if is_known:
            rows = (LedgerRequest(name, 1, name, "v", "r", "c", "open", looked_at=LOOKED_AT) for name in names)
            ledger.put_requests(rows)
        checks = RequestChecks(requests, ledger, Hosts())
        places = [(entry, HOSTED[kind].host, entry.target, BRANCH) for entry in ledger.entries().values()]
        assert list(checks.at(places)) == []
        assert checks.seen == set(names)
        assert {entry.requests[0].state for entry in ledger.entries().values()} == {"open"}
    assert len(server.seen) < 300


COUNT, AN_HOUR = 12, 10


@pytest.mark.parametrize("kind", [*HOSTED], indirect=True)
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
