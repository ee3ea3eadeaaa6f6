"""A small forge on the loopback: repositories and pull requests in memory, and faults on demand."""

from __future__ import annotations

import json
import math
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, ClassVar, Literal, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from e2e.hosts import SECONDS

Json = dict[str, Any]
Answer = tuple[int, dict[str, str], Any]
Broken = Literal["reset", "hang", "cut", "garbage", "deep", "large"]
TOKEN = "s3cret-t0ken"


@dataclass
class Fault:
    """What goes wrong with one request: an answer with a status, or a broken one.

    With `done`, what was asked is carried out all the same. It waits for a request of `method` and with `path` in it.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    broken: Broken | None = None
    done: bool = False
    method: str = ""
    path: str = ""


@dataclass
class Seen:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Pull:
    number: int
    source: str
    target: str
    title: str
    body: str | None
    draft: bool
    head: str
    files: list[tuple[str, str]]
    """New and former name, '' where it has the same."""
    state: str = "open"
    merged: str = ""
    merged_at: str = "2026-01-02T03:04:05Z"
    fork: str | None = None
    """Whose fork it is from, '' where that was deleted."""
    comments: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    reviewers: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    checks: str = ""
    """As the forge calls it, '' for none."""
    author: str | None = "bot"


@dataclass
class FakeRepository:
    branches: dict[str, tuple[str, list[str]]] = field(default_factory=lambda: {"main": ("0" * 40, [])})
    """Their commits, and the files in which they differ from main."""
    pulls: list[Pull] = field(default_factory=list)
    drafts: bool = True
    archived: bool = False
    topics: list[str] = field(default_factory=list)

    def refresh(self) -> None:
        """Comes before each request."""

    def push(self, branch: str, *files: str) -> str:
        commit = f"{len(self.branches):040x}"
        self.branches[branch] = (commit, list(files))
        return commit

    def open_pull(self, source: str, target: str, title: str, body: str | None, *, draft: bool, **more: Any) -> Pull:
        commit, files = self.branches.get(source, ("f" * 40, []))
        renames = [(file, "") for file in files]
        pull = Pull(len(self.pulls) + 1, source, target, title, body, draft, commit, renames, **more)
        self.pulls.append(pull)
        return pull

    def existing(self, source: str, target: str) -> Pull | None:
        """The open one that is in the way of another one for the same branches."""
        properties = (source, target, "open", None)
        return next(
            (pull for pull in self.pulls if (pull.source, pull.target, pull.state, pull.fork) == properties), None
        )


@dataclass
class Quota:
    """At most so many requests in a window of time; of those that a forge counts apart from others if `counts` says so.

    `is_secondary` is one that no header announces.
    """

    most: int
    seconds: float
    counts: Callable[[Seen], bool] = lambda seen: True
    is_secondary: bool = False
    began: float = 0.0
    used: int = 0

    def take(self, now: float) -> bool:
        """Counts a request; gives whether it was one too many."""
        if now >= self.began + self.seconds:
            self.began, self.used = now, 0
        self.used += 1
        return self.used > self.most

    def headers(self, prefix: str, now: float) -> dict[str, str]:
        """What the forge says of it."""
        end = math.ceil(self.began + self.seconds)
        if self.is_secondary:
            return {"Retry-After": str(max(math.ceil(end - now), 1))} if self.used > self.most else {}
        return {f"{prefix}Remaining": str(max(self.most - self.used, 0)), f"{prefix}Reset": str(end)}


def is_change(seen: Seen) -> bool:
    return seen.method != "GET"


class Refusal(Exception):
    def __init__(self, status: int, body: Json) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


NOT_FOUND = Refusal(404, {"message": "Not Found"})


class FakeForge:
    """Use it as a context. `prefix` is where its API is."""

    page_parameter: ClassVar = "per_page"
    limit_header: ClassVar = "X-RateLimit-"

    def __init__(self, token: str = TOKEN, prefix: str = "", page: int = 100) -> None:
        self.token = token
        self.prefix = prefix
        self.page = page
        self.repositories: dict[str, FakeRepository] = {}
        self.moved: dict[str, str] = {}
        self.elsewhere = ""
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.limits: dict[str, str] = {}
        self.quotas: list[Quota] = []
        self.clock: Callable[[], float] = time.time
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._choosing = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def api(self) -> str:
        return self.origin + self.prefix

    def requests(self, method: str, path: str = "") -> list[Seen]:
        return [each for each in self.seen if each.method == method and path in each.path]

    def fault_of(self, seen: Seen) -> Fault | None:
        """What goes wrong with a request. A fault that is not there any more has done what it does."""
        with self._choosing:
            for fault in self.faults:
                if fault.method in ("", seen.method) and fault.path in self._by_name(seen.path):
                    if fault.done:
                        self.answer(seen)
                    self.faults.remove(fault)
                    return fault
        return None

    def answer(self, seen: Seen) -> Answer:
        """Carries out a request: status, headers and what is said."""
        with self._lock:
            if seen.headers.get("Authorization") != f"Bearer {self.token}":
                return 401, {}, {"message": "Bad credentials"}
            limits, is_too_much = self._count(seen)
            if is_too_much:
                return 429, limits, {"message": "API rate limit exceeded"}
            try:
                status, headers, body = self._answer(seen)
                return status, {**self.limits, **limits, **headers}, body
            except Refusal as refusal:
                return refusal.status, limits, refusal.body

    def _count(self, seen: Seen) -> tuple[dict[str, str], bool]:
        """The headers about limits, and whether one of them is reached."""
        now, is_too_much = self.clock(), False
        headers: dict[str, str] = {}
        for quota in self.quotas:
            if quota.counts(seen):
                is_too_much |= quota.take(now)
                headers |= quota.headers(self.limit_header, now)
        return headers, is_too_much

    def usual_quotas(self) -> list[Quota]:
        """The limits that the forge has by default."""
        return []

    def _answer(self, seen: Seen) -> Answer:
        raise NotImplementedError

    def _redirect(self, seen: Seen, path: str) -> Answer:
        base = f"{self.elsewhere or self.api}{path}"
        where = f"{base}?{urlencode(seen.query)}" if seen.query else base
        return 301 if seen.method == "GET" else 307, {"Location": where}, {"message": "Moved Permanently"}

    def move(self, name: str, new_name: str) -> None:
        """People rename a repository, or give it to another owner."""
        self.repositories[new_name] = self.repositories.pop(name)
        self.moved[name] = new_name

    def _by_name(self, path: str) -> str:
        """A path that names a repository by its number, with its name instead."""
        return re.sub(r"(?<=/projects/)\d+(?=/|$)", lambda number: self._numbered(number[0]), path)

    def _number_of(self, name: str) -> int:
        """The number of a repository, wherever it is now; 0 for none."""
        name = self.moved.get(name, name)
        return 1 + [*self.repositories].index(name) if name in self.repositories else 0

    def _numbered(self, number: str) -> str:
        """The name of the repository of a number."""
        return [*self.repositories][int(number) - 1]

    def _repositories_of(self, seen: Seen, path: str, address: str) -> Answer | None:
        """The repositories of the owner that a path is about, where it is about one."""
        match = re.fullmatch(re.escape(self.prefix) + path, seen.path)
        if match is None:
            return None
        names = [name for name in self.repositories if name.startswith(f"{match[1]}/")]
        if not names:
            raise NOT_FOUND
        listed = [
            {
                address: f"{self.origin}/{name}.git",
                "archived": self.repositories[name].archived,
                "topics": self.repositories[name].topics,
            }
            for name in names
        ]
        return self._page(seen, listed)

    def _page(self, seen: Seen, entries: Sequence[Any], show: Callable[[Any], Json] = lambda entry: entry) -> Answer:
        size = min(int(seen.query.get(self.page_parameter, 30)), self.page)
        number = int(seen.query.get("page", 1))
        headers = {}
        if number * size < len(entries):
            following = f"{self.origin}{seen.path}?{urlencode({**seen.query, 'page': number + 1})}"
            headers["Link"] = f'<{self.origin}{seen.path}?page=1>; rel="first", <{following}>; rel="next"'
        return 200, headers, [show(entry) for entry in entries[(number - 1) * size : number * size]]


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, forge: FakeForge) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.forge = forge

    def server_bind(self) -> None:
        # Without the name of the host, which would be looked up.
        TCPServer.server_bind(self)
        self.server_port = self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left does not matter."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    def _handle(self) -> None:
        forge = self.server.forge
        address = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        seen = Seen(self.command, address.path, query, dict(self.headers), json.loads(data) if data else None)
        forge.seen.append(seen)
        fault = forge.fault_of(seen)
        if fault is None:
            self._send(*forge.answer(seen))
        elif fault.broken is None:
            self._send(fault.status, fault.headers, fault.body)
        else:
            self._break(fault.broken)

    do_GET = do_POST = do_PATCH = do_PUT = _handle

    def _send(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        self._send_bytes(status, {"Content-Type": "application/json", **headers}, json.dumps(body).encode())

    def _send_bytes(self, status: int, headers: Mapping[str, str], body: bytes, missing: int = 0) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + missing))
        self.end_headers()
        self.wfile.write(body)

    def _break(self, how: Broken) -> None:
        ways: dict[Broken, Callable[[], object]] = {
            "reset": self._reset,
            "hang": lambda: self.server.forge.released.wait(SECONDS),
            "cut": lambda: self._send_bytes(200, {}, b'[{"number":', missing=100),
            "garbage": lambda: self._send_bytes(200, {}, b"<html>Welcome</html>"),
            "deep": lambda: self._send_bytes(200, {}, b"[" * 200_000),
            "large": lambda: self._send_bytes(200, {}, b" " * (33 * 1024 * 1024)),
        }
        ways[how]()

    def _reset(self) -> None:
        # Closing without lingering sends a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.wfile.close()
        self.connection.close()
