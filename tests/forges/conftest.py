"""A server that speaks as GitHub does, for all tests of forges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forges.connected import TOKEN, Time, connected
from forges.fake_github import FakeGitHub, FakeRepository
from krm_merge.forges.github import GitHub


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with FakeGitHub(TOKEN) as server:
        server.repositories["acme/app"] = FakeRepository()
        yield server


@pytest.fixture
def app(server: FakeGitHub) -> FakeRepository:
    return server.repositories["acme/app"]


@pytest.fixture
def forge(server: FakeGitHub, time: Time) -> GitHub:
    return connected(server, time)
