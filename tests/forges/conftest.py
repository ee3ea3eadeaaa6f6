"""Servers that speak as forges do, for all tests of forges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forges.connected import HOSTED, Time, connect
from forges.fake_forge import TOKEN, FakeForge, FakeRepository
from krm_merge.forges.interface import Forge


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def kind() -> str:
    """The forge of the server: GitHub, unless a test is for others as well."""
    return "github"


@pytest.fixture
def url(kind: str) -> str:
    return f"https://{HOSTED[kind].host}/acme/app.git"


@pytest.fixture
def server(kind: str) -> Iterator[FakeForge]:
    with HOSTED[kind].server(TOKEN) as server:
        server.repositories["acme/app"] = FakeRepository()
        yield server


@pytest.fixture
def app(server: FakeForge) -> FakeRepository:
    return server.repositories["acme/app"]


@pytest.fixture
def forge(server: FakeForge, time: Time, kind: str) -> Forge:
    client: Forge = connect(server, time, kind=kind)
    return client
