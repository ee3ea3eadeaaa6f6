"""The repositories of an owner, on every forge."""

from __future__ import annotations

from pathlib import Path

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


def test_bare_repositories_in_a_directory(tmp_path: Path) -> None:
    for name in ("a.git", "b.git"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "c.git").mkdir()
    assert LocalForge().repositories(str(tmp_path)) == [f"{tmp_path}/a.git", f"{tmp_path}/b.git"]
    with pytest.raises(ForgeError, match="no topics"):
        LocalForge().repositories(str(tmp_path), "shop")
    with pytest.raises(ForgeError, match="no such directory"):
        LocalForge().repositories(f"{tmp_path}/nothing")
