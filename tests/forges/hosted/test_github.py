"""GitHub, against a server that speaks as it does."""

from __future__ import annotations

import pytest

from forges.connected import URL, Time, connect, open_pull
from forges.fake_forge import TOKEN, FakeForge, FakeRepository, Fault
from forges.fake_github import FakeGitHub
from krm_merge.forges.hosted.github import GitHub, usual_api
from krm_merge.forges.hosted.transport import Connection
from krm_merge.forges.interface import Forge, ForgeError
from krm_merge.git.program import Token


class TestAddresses:
    @pytest.mark.parametrize(
        "url",
        [
            "https://github.com/acme/app",
            "https://github.com/acme/app.git/",
            "https://me:hidden@GitHub.com/acme/app",
            "git@github.com:acme/app.git",
            "ssh://git@github.com/acme/app.git",
            "ssh://git@ssh.github.com:443/acme/app.git",
        ],
    )
    def test_of_one_repository(self, forge: Forge, app: FakeRepository, url: str) -> None:
        app.push("x")
        open_pull(forge)
        assert [pull.number for pull in forge.pull_requests(url)] == [1]

    @pytest.mark.parametrize(
        "url",
        [
            "https://gitlab.com/acme/app",
            "https://me:hidden@gitlab.com/acme/app",
            "https://me:hid@hidden@gitlab.com/acme/app",
            "https://github.com/acme",
            "https://github.com/acme/app/pulls",
            "https://github.com/acme/..",
            "https://github.com/acme/app?x",
            "/srv/acme/app.git",
            "",
        ],
    )
    def test_of_others_are_refused(self, forge: Forge, server: FakeForge, url: str) -> None:
        with pytest.raises(ForgeError, match=r"is not a repository of github\.com; use an address like") as raised:
            forge.pull_requests(url)
        assert "hid" not in str(raised.value)
        assert not server.seen

    @pytest.mark.parametrize("prefix", ["", "/api/v3"])
    def test_of_an_enterprise(self, time: Time, prefix: str) -> None:
        with FakeGitHub(TOKEN, prefix) as server:
            server.repositories["acme/app"] = FakeRepository()
            server.repositories["acme/app"].push("x")
            forge = connect(server, time, api=server.api + "/", host="127.0.0.1")
            url = f"{server.origin}/acme/app.git"
            forge.create(url, "x", "main", "Title", "Body", draft=True)
            forge.set_draft(url, 1, draft=False)
            assert [pull.draft for pull in forge.pull_requests(url)] == [False]

    @pytest.mark.parametrize(
        ("host", "api"),
        [
            ("github.com", "https://api.github.com"),
            ("octo.ghe.com", "https://api.octo.ghe.com"),
            ("git.example.com", "https://git.example.com/api/v3"),
        ],
    )
    def test_of_the_api_follows_from_the_host(self, host: str, api: str) -> None:
        assert usual_api(host) == api

    @pytest.mark.parametrize(
        "api",
        [
            "http://api.github.com",
            "file:///etc/passwd",
            "api.github.com",
            "https://",
            "https://me:hidden@api.github.com",
            "https://api.github.com:x",
            "https://api.github.com?x=1",
            "https://[",
        ],
    )
    def test_of_an_api_must_be_safe(self, api: str) -> None:
        with pytest.raises(ForgeError, match="the address of the API must be like") as raised:
            GitHub(Connection("github.com", Token(TOKEN), api))
        assert "hidden" not in str(raised.value)


class TestReading:
    def test_an_owner_may_have_a_fork_of_its_own_repository(self, forge: Forge, app: FakeRepository) -> None:
        app.push("x")
        app.open_pull("x", "main", "", None, draft=False, fork="acme")
        assert open_pull(forge).number == 2

    def test_refuses_what_github_does_not_list(self, forge: Forge, server: FakeForge, app: FakeRepository) -> None:
        pull = app.open_pull("x", "main", "", None, draft=False)
        pull.files = [(f"{number}.yaml", "") for number in range(3000)]
        assert len(forge.changed_files(URL, 1)) == 3000
        listed = [{"filename": name} for name, _ in pull.files]
        server.faults.append(Fault(200, body=listed, path="/files"))
        pull.files.append(("more.yaml", ""))
        with pytest.raises(ForgeError, match="#1: there are more than the 3000 that GitHub lists"):
            forge.changed_files(URL, 1)

    def test_ends_where_pages_go_in_circles(self, forge: Forge, server: FakeForge) -> None:
        link = f'<{server.api}/repos/acme/app/pulls?page=1>; rel="next"'
        server.faults += [Fault(200, {"Link": link}, []) for _ in range(2)]
        assert forge.pull_requests(URL) == []

    def test_ends_where_redirects_go_in_circles(self, forge: Forge, server: FakeForge) -> None:
        server.moved["acme/app"] = "acme/app"
        with pytest.raises(ForgeError, match="redirects in a loop"):
            forge.pull_requests(URL)
