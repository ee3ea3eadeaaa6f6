"""Faults of forges and of the way to them: what is waited for, what is reported, and that nothing is done twice."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from e2e.hosts import SECONDS
from forges.connected import FEW, HOSTED, LIMITED, NOW, Time, connect, open_pull
from forges.fake_forge import Broken, FakeForge, FakeRepository, Fault
from krm_merge.forges.interface import Forge, ForgeError, UnavailableForgeError


@pytest.fixture(params=[*HOSTED])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def of(kind: str, fault: Fault, **more: object) -> Fault:
    """A fault as the forge of this kind has it: its headers about limits, and PUT where others have PATCH."""
    headers = {name.replace("X-RateLimit-", HOSTED[kind].limits): text for name, text in fault.headers.items()}
    result = Fault(**{**vars(fault), "headers": headers, **more})
    result.method = "PUT" if (kind, result.method) == ("gitlab", "PATCH") else result.method
    return result


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
        forge: Forge,
        server: FakeForge,
        app: FakeRepository,
        time: Time,
        method: str,
        fault: Fault,
        waits: list[int],
        kind: str,
        url: str,
    ) -> None:
        app.push("x")
        app.push("y")
        open_pull(forge, "y", url)
        server.faults += [of(kind, fault, method=method) for _ in range(FEW - 1)]
        calls: dict[str, Callable[[], object]] = {
            "GET": lambda: forge.pull_requests(url),
            "POST": lambda: open_pull(forge, url=url),
            "PATCH": lambda: forge.edit(url, 1, "Other", ""),
        }
        calls[method]()
        assert time.slept == waits
        assert len(forge.pull_requests(url)) == (2 if method == "POST" else 1)

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            (Fault(502), "NAME fails with 502, 3 times; try again later"),
            (Fault(broken="reset"), r"no answer from 127\.0\.0\.1 \(.+\), 3 times; try again later"),
            (Fault(broken="cut"), "the answer was cut off, 3 times; try again later"),
            (Fault(429, {"Retry-After": "1"}), "the rate limit of NAME is reached, 3 times; try again then"),
        ],
    )
    def test_that_stay_are_reported(
        self, forge: Forge, server: FakeForge, kind: str, url: str, fault: Fault, message: str
    ) -> None:
        server.faults += [fault] * FEW
        expected = f"^acme/app: listing the pull requests: {message.replace('NAME', HOSTED[kind].name)}"
        with pytest.raises(UnavailableForgeError, match=expected):
            forge.pull_requests(url)
        assert len(server.seen) == FEW

    @pytest.mark.parametrize(
        "headers", [{"Retry-After": "3600"}, {**LIMITED, "X-RateLimit-Reset": str(int(NOW) + 3599)}]
    )
    def test_that_last_too_long_are_reported_at_once(
        self, server: FakeForge, time: Time, kind: str, url: str, headers: dict[str, str]
    ) -> None:
        server.faults += [of(kind, Fault(403, headers, {"message": "API rate limit exceeded"}))] * 2
        with pytest.raises(UnavailableForgeError, match="reached and may work at 2026-01-02 04:04:05Z; try") as raised:
            connect(server, time, kind=kind).pull_requests(url)
        assert raised.value.until == NOW + 3600
        remedy = f"set {HOSTED[kind].variable}, with which the limit is higher"
        with pytest.raises(UnavailableForgeError, match=f"04:04:05Z; {remedy}"):
            connect(server, time, token="", kind=kind).pull_requests(url)
        assert time.slept == []

    @pytest.mark.parametrize("seconds", ["9" * 400, "-1", "soon", "Fri, 02 Jan 2026 03:04:05 GMT"])
    def test_with_nonsense_in_the_headers(
        self, forge: Forge, server: FakeForge, time: Time, kind: str, url: str, seconds: str
    ) -> None:
        headers = {"Retry-After": seconds, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": seconds}
        server.faults.append(of(kind, Fault(429, headers)))
        forge.pull_requests(url)
        assert time.slept == [60]

    def test_nobody_there(self, server: FakeForge, time: Time, kind: str, url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        forge = connect(server, time, kind=kind, api=f"http://127.0.0.1:{port}{server.prefix}")
        with pytest.raises(UnavailableForgeError, match=r"no answer from 127\.0\.0\.1 \(.*refused\), 3 times"):
            forge.pull_requests(url)

    def test_no_answer_in_time(
        self, server: FakeForge, time: Time, kind: str, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limits: list[float] = []

        def sent(adapter: HTTPAdapter, request: PreparedRequest, **settings: Any) -> Response:
            limits.append(settings["timeout"])
            # The second one is answered, however long that takes here.
            return send(adapter, request, **(settings if len(limits) == 1 else {**settings, "timeout": SECONDS}))

        send = HTTPAdapter.send
        monkeypatch.setattr(HTTPAdapter, "send", sent)
        server.faults.append(Fault(broken="hang"))
        assert connect(server, time, timeout=0.1, kind=kind).pull_requests(url) == []
        assert (time.slept, set(limits)) == ([1], {0.1})

    @pytest.mark.parametrize(
        ("broken", "message"),
        [
            ("garbage", "the answer is not JSON"),
            ("deep", "the answer is not JSON"),
            ("large", "the answer is larger than 33554432 bytes"),
        ],
    )
    def test_answers_that_are_none(
        self, forge: Forge, server: FakeForge, url: str, broken: Broken, message: str
    ) -> None:
        server.faults.append(Fault(broken=broken))
        with pytest.raises(ForgeError, match=f"^acme/app: listing the pull requests: {message}.*; correct the"):
            forge.pull_requests(url)
        assert len(server.seen) == 1


class TestDoneOnce:
    """What was lost on the way back is not done a second time."""

    @pytest.mark.parametrize("lost", [Fault(502), Fault(broken="reset"), Fault(broken="cut")])
    def test_opening(self, forge: Forge, server: FakeForge, app: FakeRepository, url: str, lost: Fault) -> None:
        app.push("x")
        server.faults.append(Fault(**{**vars(lost), "method": "POST", "done": True}))
        assert open_pull(forge, url=url).number == 1
        assert len(app.pulls) == len(server.requests("POST")) == 1

    @pytest.mark.parametrize("lost", [Fault(502), Fault(broken="reset"), Fault(broken="cut")])
    @pytest.mark.parametrize("is_done", [True, False])
    def test_commenting(
        self, forge: Forge, server: FakeForge, app: FakeRepository, url: str, lost: Fault, *, is_done: bool
    ) -> None:
        server.page = 1
        app.open_pull("x", "main", "", None, draft=False).comments += ["Again", "Other"]
        server.faults.append(Fault(**{**vars(lost), "method": "POST", "done": is_done}))
        forge.comment(url, 1, "Again")
        assert app.pulls[0].comments == ["Again", "Other", "Again"]

    @pytest.mark.parametrize("is_done", [True, False])
    @pytest.mark.parametrize("draft", [True, False])
    def test_drafting(
        self, forge: Forge, server: FakeForge, app: FakeRepository, kind: str, url: str, *, draft: bool, is_done: bool
    ) -> None:
        app.open_pull("x", "main", "Title", None, draft=not draft)
        method = {"github": "POST", "gitlab": "PUT", "forgejo": "PATCH"}[kind]
        server.faults.append(Fault(broken="reset", method=method, done=is_done))
        forge.set_draft(url, 1, draft=draft)
        assert (app.pulls[0].draft, app.pulls[0].title) == (draft, "Title")
        # Only GitHub has drafts that are asked for apart; the same title twice is the same title.
        assert len(server.requests(method)) == (1 if is_done and kind == "github" else 2)

    def test_drafting_what_is_one(self, forge: Forge, server: FakeForge, app: FakeRepository, url: str) -> None:
        app.open_pull("x", "main", "", None, draft=True)
        forge.set_draft(url, 1, draft=True)
        assert {seen.method for seen in server.seen} == {"GET"}


class Ticking(Time):
    """A clock that moves whenever somebody looks at it."""

    def clock(self) -> float:
        self.now += 11
        return self.now


def test_a_whole_answer_is_bounded(server: FakeForge, app: FakeRepository, kind: str, url: str) -> None:
    """Not each read alone: a forge that sends a few bytes a second would hold us for hours."""
    server.faults += [Fault(200, body="x" * 2_000_000) for _ in range(FEW)]
    forge = connect(server, Ticking(), kind=kind, timeout=30)
    with pytest.raises(UnavailableForgeError, match=r"took longer than 30 s, 3 times; try again later"):
        forge.pull_requests(url)


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"])
def test_an_answer_that_trickles_ends(server: FakeForge, kind: str, url: str, begin: bytes) -> None:
    """In its first line, in its headers and in its body."""

    def answer() -> None:
        while not over.is_set():
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(begin)
                while not over.wait(0.05):
                    connection.sendall(b"a")

    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=answer, daemon=True)
        thread.start()
        api = f"http://127.0.0.1:{listener.getsockname()[1]}{server.prefix}"
        forge = connect(server, Trying(), kind=kind, api=api, timeout=0.5)
        with pytest.raises(UnavailableForgeError, match=r"no answer|took longer than 0\.5 s"):
            forge.pull_requests(url)
        over.set()


class Trying(Time):
    """The clock of the machine; nothing is waited for between attempts."""

    def clock(self) -> float:
        return monotonic()
