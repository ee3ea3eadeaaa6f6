"""How fast a host is asked for changes."""

from __future__ import annotations

import pytest

from forges.connected import HOSTED, NOW, Time, connect
from forges.fake_forge import FakeForge, FakeRepository, Fault
from krm_merge.forges.interface import Pace, UnavailableForgeError


@pytest.fixture(params=[*HOSTED])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_changes_are_a_second_apart_and_reading_is_not(
    server: FakeForge, app: FakeRepository, time: Time, kind: str, url: str
) -> None:
    app.open_pull("x", "main", "Title", "", draft=False)
    forge = connect(server, time, kind=kind, pace=Pace())
    for text in ("1", "2", "3"):
        forge.comment(url, 1, text)
        forge.pull_requests(url)
    assert time.slept == [1, 1]
    time.now += 0.75
    forge.close(url, 1)
    assert time.slept == [1, 1, 0.25]


def test_a_change_that_is_tried_again_counts(
    server: FakeForge, app: FakeRepository, time: Time, kind: str, url: str
) -> None:
    app.open_pull("x", "main", "Title", "", draft=False)
    server.faults.append(Fault(429, {"Retry-After": "0"}, method="POST"))
    forge = connect(server, time, kind=kind, pace=Pace(2.0, 400))
    forge.comment(url, 1, "1")
    assert time.slept == [0, 2]


def test_an_hour_has_a_limit(server: FakeForge, app: FakeRepository, time: Time, kind: str, url: str) -> None:
    app.open_pull("x", "main", "Title", "", draft=False)
    forge = connect(server, time, kind=kind, pace=Pace(0.0, 2))
    forge.comment(url, 1, "1")
    time.now += 100
    forge.comment(url, 1, "2")
    used = (
        "commenting on pull request #1: all 2 changes of this hour are used up until 2026-01-02 04:04:05Z; run it again"
    )
    with pytest.raises(UnavailableForgeError, match=used) as raised:
        forge.comment(url, 1, "3")
    assert raised.value.until == NOW + 3600
    assert (app.pulls[0].comments, time.slept) == (["1", "2"], [])
    # What is over soon is waited for.
    time.now = NOW + 3500
    forge.comment(url, 1, "3")
    assert (app.pulls[0].comments, time.slept) == (["1", "2", "3"], [100])
