"""GitHub, against a server that speaks as it does; and what all forges have in common."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Protocol

import pytest

from forges.connected import FEW, LIMITED, NOW, TOKEN, URL, Time, connected, opened
from forges.fake_github import Broken, FakeGitHub, FakeRepository, Fault
from forges.test_local_forge import Origin
from krm_merge.forges.github import GitHub
from krm_merge.forges.github_http import Patience
from krm_merge.forges.interface import Forge, ForgeError, ForgePullRequest
from krm_merge.forges.local_forge import LocalForge

# ---- what all forges have in common ----------------------------------------------------------------------------


class World(Protocol):
    """A forge with one repository."""

    url: str

    @property
    def forge(self) -> Forge: ...

    def push(self, branch: str, file: str) -> str:
        """A branch off main that changes a file."""
        ...

    def comments(self, number: int) -> list[str]: ...


class LocalWorld:
    def __init__(self, place: Path) -> None:
        self.origin = Origin(place)
        self.url = self.origin.url
        self.forge = LocalForge()

    def push(self, branch: str, file: str) -> str:
        return self.origin.push(branch, {file: f"branch: {branch}\n"})

    def comments(self, number: int) -> list[str]:
        return [comment.text for comment in self.forge.comments(self.url, number)]


class GitHubWorld:
    url = URL

    def __init__(self, app: FakeRepository, forge: GitHub) -> None:
        self.app = app
        self.forge = forge

    def push(self, branch: str, file: str) -> str:
        return self.app.push(branch, file)

    def comments(self, number: int) -> list[str]:
        return self.app.pulls[number - 1].comments


@pytest.fixture(params=["local", "github"])
def world(request: pytest.FixtureRequest, tmp_path: Path, app: FakeRepository, forge: GitHub) -> World:
    return LocalWorld(tmp_path) if request.param == "local" else GitHubWorld(app, forge)


class TestAllForges:
    def test_have_no_pull_requests_at_first(self, world: World) -> None:
        assert world.forge.pull_requests(world.url) == []

    def test_list_what_was_opened(self, world: World) -> None:
        head = world.push("x/child", "a.yaml")
        pull = world.forge.create(world.url, "x/child", "main", "Title", "Body\n", draft=True)
        assert pull == ForgePullRequest(
            1, "x/child", "main", "Title", "Body\n", True, "open", head=head, author=pull.author
        )
        assert world.forge.pull_requests(world.url) == [pull]
        assert world.forge.changed_files(world.url, 1) == ["a.yaml"]

    def test_give_the_one_that_is_open_for_a_branch(self, world: World) -> None:
        world.push("x", "a.yaml")
        first = world.forge.create(world.url, "x", "main", "Title", "Body", draft=True)
        assert world.forge.create(world.url, "x", "main", "Other", "Other", draft=False) == first
        assert world.forge.pull_requests(world.url) == [first]

    def test_open_another_one_for_another_target(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.push("stable", "b.yaml")
        numbers = [
            world.forge.create(world.url, "x", target, "Title", "Body", draft=False).number
            for target in ("main", "stable")
        ]
        assert numbers == [1, 2]

    def test_open_another_one_after_closing(self, world: World) -> None:
        world.push("x", "a.yaml")
        for number in (1, 2):
            assert world.forge.create(world.url, "x", "main", "Title", "Body", draft=False).number == number
            world.forge.close(world.url, number)
            world.forge.close(world.url, number)
        assert [pull.state for pull in world.forge.pull_requests(world.url)] == ["closed", "closed"]

    def test_edit(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=True)
        world.forge.edit(world.url, 1, "Größe", "")
        [pull] = world.forge.pull_requests(world.url)
        assert (pull.title, pull.body, pull.draft) == ("Größe", "", True)

    def test_draft_and_back(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        for draft in (True, True, False, False):
            world.forge.set_draft(world.url, 1, draft=draft)
            assert [pull.draft for pull in world.forge.pull_requests(world.url)] == [draft]

    def test_draft_nothing_that_is_closed(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        world.forge.close(world.url, 1)
        with pytest.raises(ForgeError, match="#1"):
            world.forge.set_draft(world.url, 1, draft=True)

    def test_comment_on_all(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        world.forge.comment(world.url, 1, "First")
        world.forge.close(world.url, 1)
        world.forge.comment(world.url, 1, "Größe\n\n- again")
        assert world.comments(1) == ["First", "Größe\n\n- again"]

    def test_refuse_what_is_not_there(self, world: World) -> None:
        world.push("x", "a.yaml")
        asked: list[Callable[[], object]] = [
            lambda: world.forge.create(world.url, "y", "main", "", "", draft=False),
            lambda: world.forge.create(world.url, "x", "y", "", "", draft=False),
            lambda: world.forge.create(world.url, "main", "main", "", "", draft=False),
            lambda: world.forge.edit(world.url, 7, "", ""),
            lambda: world.forge.set_draft(world.url, 7, draft=True),
            lambda: world.forge.close(world.url, 7),
            lambda: world.forge.comment(world.url, 7, ""),
            lambda: world.forge.changed_files(world.url, 7),
        ]
        for ask in asked:
            with pytest.raises(ForgeError, match=r"app.*; |no pull request #7"):
                ask()
        assert world.forge.pull_requests(world.url) == []


# ---- GitHub ----------------------------------------------------------------------------------------------------


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
    def test_of_one_repository(self, forge: GitHub, app: FakeRepository, url: str) -> None:
        app.push("x")
        opened(forge)
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
    def test_of_others_are_refused(self, forge: GitHub, server: FakeGitHub, url: str) -> None:
        with pytest.raises(ForgeError, match=r"is no repository of github\.com; correct its address") as raised:
            forge.pull_requests(url)
        assert "hid" not in str(raised.value)
        assert not server.seen

    @pytest.mark.parametrize("prefix", ["", "/api/v3"])
    def test_of_an_enterprise(self, time: Time, prefix: str) -> None:
        with FakeGitHub(TOKEN, prefix) as server:
            server.repositories["acme/app"] = FakeRepository()
            server.repositories["acme/app"].push("x")
            forge = GitHub(TOKEN, server.api + "/", sleep=time.sleep, clock=time.clock)
            url = f"{server.origin}/acme/app.git"
            forge.create(url, "x", "main", "Title", "Body", draft=True)
            forge.set_draft(url, 1, draft=False)
            assert [pull.draft for pull in forge.pull_requests(url)] == [False]

    @pytest.mark.parametrize(
        ("api", "url"),
        [
            ("https://api.github.com", "https://github.com/acme/app"),
            ("https://api.octo.ghe.com", "https://octo.ghe.com/acme/app"),
            ("https://git.example.com/api/v3", "git@git.example.com:acme/app"),
            ("https://api.example.com/api/v3/", "git@api.example.com:acme/app"),
        ],
    )
    def test_follow_from_that_of_the_api(self, api: str, url: str) -> None:
        with pytest.raises(ForgeError, match="no repository of") as raised:
            GitHub(api=api).pull_requests("https://elsewhere.example.com/a/b")
        assert url.partition("://")[2].partition("/")[0] in str(raised.value) or "git@" in url
        host = url.removeprefix("https://").removeprefix("git@").replace(":", "/").partition("/")[0]
        assert f"https://{host}/OWNER/NAME" in str(raised.value)

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
            "",
        ],
    )
    def test_of_an_api_must_be_safe(self, api: str) -> None:
        with pytest.raises(ForgeError, match="the address of the API must be like") as raised:
            GitHub(TOKEN, api)
        assert "hidden" not in str(raised.value)


class TestReading:
    @pytest.mark.parametrize("page", [1, 2, 3, 100])
    def test_reads_all_pages(self, forge: GitHub, server: FakeGitHub, app: FakeRepository, page: int) -> None:
        server.page = page
        app.push("x", *(f"{number}.yaml" for number in range(7)))
        for number in range(5):
            app.opened("x", f"target-{number}", "", None, draft=False)
        assert [pull.number for pull in forge.pull_requests(URL)] == [1, 2, 3, 4, 5]
        assert forge.changed_files(URL, 1) == [f"{number}.yaml" for number in range(7)]

    def test_tells_open_closed_and_merged(self, forge: GitHub, app: FakeRepository) -> None:
        app.opened("x", "main", "", None, draft=False)
        app.opened("x", "main", "", None, draft=False, state="closed")
        app.opened("x", "main", "", None, draft=False, state="closed", merged="a" * 40)
        pulls = forge.pull_requests(URL)
        assert [(pull.state, pull.merge_commit) for pull in pulls] == [
            ("open", ""),
            ("closed", ""),
            ("merged", "a" * 40),
        ]

    def test_tells_branches_of_forks_from_ours(self, forge: GitHub, app: FakeRepository) -> None:
        app.push("x")
        app.opened("x", "main", "", None, draft=False, fork="eve", author=None)
        app.opened("x", "main", "", None, draft=False, fork="")
        assert [pull.source_branch for pull in forge.pull_requests(URL)] == ["eve:x", "unknown:x"]
        assert forge.pull_requests(URL)[0].author == ""
        # GitHub tells forks apart by their owners, and an owner may have a fork of its own repository.
        app.opened("x", "main", "", None, draft=False, fork="acme")
        assert opened(forge).number == 4

    def test_gives_both_names_of_what_was_renamed(self, forge: GitHub, app: FakeRepository) -> None:
        pull = app.opened("x", "main", "", None, draft=False)
        pull.files = [("new.yaml", "old.yaml"), ("b.yaml", ""), ("old.yaml", "")]
        assert forge.changed_files(URL, 1) == ["b.yaml", "new.yaml", "old.yaml"]

    def test_refuses_what_github_does_not_list(self, forge: GitHub, server: FakeGitHub, app: FakeRepository) -> None:
        pull = app.opened("x", "main", "", None, draft=False)
        pull.files = [(f"{number}.yaml", "") for number in range(3000)]
        assert len(forge.changed_files(URL, 1)) == 3000
        listed = [{"filename": name} for name, _ in pull.files]
        server.faults.append(Fault(200, body=listed, path="/files"))
        pull.files.append(("more.yaml", ""))
        with pytest.raises(ForgeError, match="#1: there are more than the 3000 that GitHub lists"):
            forge.changed_files(URL, 1)

    def test_ends_where_pages_go_in_circles(self, forge: GitHub, server: FakeGitHub) -> None:
        link = f'<{server.api}/repos/acme/app/pulls?page=1>; rel="next"'
        server.faults += [Fault(200, {"Link": link}, []) for _ in range(2)]
        assert forge.pull_requests(URL) == []

    @pytest.mark.parametrize(
        "body",
        [
            None,
            {},
            {"message": "hello"},
            [7],
            [{}],
            [
                {
                    "number": "1",
                    "state": "open",
                    "head": {"ref": "x", "sha": ""},
                    "base": {"ref": "x"},
                    "title": "",
                    "body": "",
                }
            ],
            [{"number": 1, "state": "open", "head": None, "base": {"ref": "x"}, "title": "", "body": ""}],
            [{"number": 1, "state": "open", "head": {"ref": 5}, "base": {"ref": "x"}, "title": "", "body": ""}],
        ],
    )
    def test_an_answer_of_another_shape(self, forge: GitHub, server: FakeGitHub, body: Any) -> None:
        server.faults.append(Fault(200, body=body))
        with pytest.raises(ForgeError, match=r"^acme/app: listing .* the answer has not .*; correct the address"):
            forge.pull_requests(URL)

    def test_follows_a_repository_that_was_renamed(self, forge: GitHub, server: FakeGitHub) -> None:
        server.moved["acme/app"] = "acme/renamed"
        server.repositories["acme/renamed"] = renamed = FakeRepository()
        renamed.push("x", "a.yaml")
        assert opened(forge) == forge.pull_requests(URL)[0]
        forge.edit(URL, 1, "Other", "")
        assert renamed.pulls[0].title == "Other"

    def test_ends_where_redirects_go_in_circles(self, forge: GitHub, server: FakeGitHub) -> None:
        server.moved["acme/app"] = "acme/app"
        with pytest.raises(ForgeError, match="redirects in circles"):
            forge.pull_requests(URL)


class TestFaults:
    @pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
    @pytest.mark.parametrize(
        ("fault", "waits"),
        [
            (Fault(500, body={"message": "oops"}), [1, 2]),
            (Fault(503, {"Retry-After": "7"}), [7, 7]),
            (Fault(broken="reset"), [1, 2]),
            (Fault(broken="cut"), [1, 2]),
            (Fault(403, {"Retry-After": "30"}, {"message": "You have exceeded a secondary rate limit"}), [30, 30]),
            (Fault(403, {}, {"message": "You have exceeded a secondary rate limit"}), [60, 120]),
            (Fault(429, {}, "<html>"), [60, 120]),
            (Fault(403, LIMITED, {"message": "API rate limit exceeded"}), [121, 1]),
            (Fault(429, LIMITED, {"message": "API rate limit exceeded"}), [121, 1]),
        ],
    )
    def test_are_waited_for(
        self,
        forge: GitHub,
        server: FakeGitHub,
        app: FakeRepository,
        time: Time,
        method: str,
        fault: Fault,
        waits: list[int],
    ) -> None:
        app.push("x")
        app.push("y")
        opened(forge, "y")
        for _ in range(FEW - 1):
            server.faults.append(Fault(**{**vars(fault), "method": method}))
        asked: dict[str, Callable[[], object]] = {
            "GET": lambda: forge.pull_requests(URL),
            "POST": lambda: opened(forge),
            "PATCH": lambda: forge.edit(URL, 1, "Other", ""),
        }
        asked[method]()
        assert time.slept == waits
        assert len(forge.pull_requests(URL)) == (2 if method == "POST" else 1)

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            (Fault(502), "GitHub fails with 502, 3 times; try again later"),
            (Fault(broken="reset"), r"no answer from 127\.0\.0\.1 \(.+\), 3 times; try again later"),
            (Fault(broken="cut"), "the answer was cut off, 3 times; try again later"),
            (Fault(429, {"Retry-After": "1"}), "the rate limit of GitHub is reached, 3 times; try again then"),
        ],
    )
    def test_that_stay_are_reported(self, forge: GitHub, server: FakeGitHub, fault: Fault, message: str) -> None:
        server.faults += [fault] * FEW
        with pytest.raises(ForgeError, match=f"^acme/app: listing the pull requests: {message}"):
            forge.pull_requests(URL)
        assert len(server.seen) == FEW

    @pytest.mark.parametrize(
        "headers", [{"Retry-After": "3600"}, {**LIMITED, "X-RateLimit-Reset": str(int(NOW) + 3599)}]
    )
    def test_that_last_too_long_are_reported_at_once(
        self, server: FakeGitHub, time: Time, headers: dict[str, str]
    ) -> None:
        server.faults += [Fault(403, headers, {"message": "API rate limit exceeded"})] * 2
        with pytest.raises(ForgeError, match="reached and may work at 2026-01-02 04:04:05Z; try again then"):
            connected(server, time).pull_requests(URL)
        with pytest.raises(ForgeError, match="04:04:05Z; set GITHUB_TOKEN, with which the limit is higher"):
            connected(server, time, token="").pull_requests(URL)
        assert time.slept == []

    @pytest.mark.parametrize("told", ["9" * 400, "-1", "soon", "Fri, 02 Jan 2026 03:04:05 GMT"])
    def test_with_nonsense_in_the_headers(self, forge: GitHub, server: FakeGitHub, time: Time, told: str) -> None:
        headers = {"Retry-After": told, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": told}
        server.faults.append(Fault(429, headers))
        forge.pull_requests(URL)
        assert time.slept == [60]

    def test_nobody_there(self, time: Time) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        patience = Patience(attempts=2)
        forge = GitHub(TOKEN, f"http://127.0.0.1:{port}", patience=patience, sleep=time.sleep, clock=time.clock)
        with pytest.raises(ForgeError, match=r"no answer from 127\.0\.0\.1 \(.*refused\), 2 times"):
            forge.pull_requests("http://127.0.0.1/acme/app")

    def test_no_answer_in_time(self, server: FakeGitHub, time: Time) -> None:
        server.faults.append(Fault(broken="hang"))
        assert connected(server, time, timeout=0.1).pull_requests(URL) == []
        assert time.slept == [1]

    @pytest.mark.parametrize(
        ("broken", "message"),
        [
            ("garbage", "the answer is no JSON"),
            ("deep", "the answer is no JSON"),
            ("large", "the answer is larger than 33554432 bytes"),
        ],
    )
    def test_answers_that_are_none(self, forge: GitHub, server: FakeGitHub, broken: Broken, message: str) -> None:
        server.faults.append(Fault(broken=broken))
        with pytest.raises(ForgeError, match=f"^acme/app: listing the pull requests: {message}.*; correct the"):
            forge.pull_requests(URL)
        assert len(server.seen) == 1


class TestDoneOnce:
    """What was lost on the way back is not done a second time."""

    @pytest.mark.parametrize("lost", [Fault(502), Fault(broken="reset"), Fault(broken="cut")])
    def test_opening(self, forge: GitHub, server: FakeGitHub, app: FakeRepository, lost: Fault) -> None:
        app.push("x")
        server.faults.append(Fault(**{**vars(lost), "method": "POST", "done": True}))
        assert opened(forge).number == 1
        assert len(app.pulls) == len(server.asked("POST")) == 1

    @pytest.mark.parametrize("lost", [Fault(502), Fault(broken="reset"), Fault(broken="cut")])
    @pytest.mark.parametrize("is_done", [True, False])
    def test_commenting(
        self, forge: GitHub, server: FakeGitHub, app: FakeRepository, lost: Fault, *, is_done: bool
    ) -> None:
        server.page = 1
        app.opened("x", "main", "", None, draft=False).comments += ["Again", "Other"]
        server.faults.append(Fault(**{**vars(lost), "method": "POST", "done": is_done}))
        forge.comment(URL, 1, "Again")
        assert app.pulls[0].comments == ["Again", "Other", "Again"]

    @pytest.mark.parametrize("is_done", [True, False])
    @pytest.mark.parametrize("draft", [True, False])
    def test_drafting(
        self, forge: GitHub, server: FakeGitHub, app: FakeRepository, *, draft: bool, is_done: bool
    ) -> None:
        app.opened("x", "main", "", None, draft=not draft)
        server.faults.append(Fault(broken="reset", method="POST", done=is_done))
        forge.set_draft(URL, 1, draft=draft)
        assert app.pulls[0].draft == draft
        assert len(server.asked("POST", "/graphql")) == (1 if is_done else 2)

    def test_drafting_what_is_one(self, forge: GitHub, server: FakeGitHub, app: FakeRepository) -> None:
        app.opened("x", "main", "", None, draft=True)
        forge.set_draft(URL, 1, draft=True)
        assert not server.asked("POST")


class Greeter:
    """A server with TLS that answers everything with an empty list."""

    def __init__(self, context: ssl.SSLContext) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"[]")

            def log_message(self, format: str, *arguments: Any) -> None:
                """Says nothing."""

        class Server(HTTPServer):
            def get_request(self) -> tuple[socket.socket, Any]:
                plain, address = super().get_request()
                try:
                    return context.wrap_socket(plain, server_side=True), address
                except OSError:
                    plain.close()
                    raise

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> int:
        self._thread.start()
        return self._server.server_port

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
