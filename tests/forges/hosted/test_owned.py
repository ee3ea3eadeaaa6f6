"""The repositories of an owner, on every forge."""

from __future__ import annotations

import pytest

from forges.connected import HOSTED, Time, connect
from forges.fake_forge import TOKEN, FakeForge, FakeRepository
from krm_merge.forges.interface import ForgeError, RefusedRequestError
from krm_merge.forges.local import LocalForge


@pytest.mark.parametrize("kind", list(HOSTED))
class TestHosted:
    def test_all_pages_without_archived_ones(self, server: FakeForge, time: Time, kind: str) -> None:
        del server.repositories["acme/app"]
        server.page = 2
        for number in range(5):
            server.repositories[f"acme/r{number}"] = FakeRepository(
                archived=number == 3, topics=["shop"] * (number % 2)
            )
        server.repositories["other/r"] = FakeRepository()
        forge = connect(server, time, kind=kind)
        assert forge.repositories("acme") == [f"{server.origin}/acme/r{number}.git" for number in (0, 1, 2, 4)]
        assert forge.repositories("acme", "shop") == [f"{server.origin}/acme/r1.git"]

    def test_an_owner_that_there_is_none_of(self, server: FakeForge, time: Time, kind: str) -> None:
        with pytest.raises(RefusedRequestError, match="nobody: listing the repositories"):
            connect(server, time, kind=kind).repositories("nobody")

    def test_the_token_is_sent(self, server: FakeForge, time: Time, kind: str) -> None:
        connect(server, time, kind=kind).repositories("acme")
        assert TOKEN in " ".join(server.seen[-1].headers.values())


def test_a_directory_has_no_owner() -> None:
    with pytest.raises(ForgeError, match="/srv: list bare repositories in a file, one on each line"):
        LocalForge().repositories("/srv")
