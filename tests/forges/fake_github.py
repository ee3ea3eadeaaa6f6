"""A small GitHub on the loopback: repositories and pull requests in memory, and faults on demand."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qs, urlencode, urlsplit

Json = dict[str, Any]
Broken = Literal["reset", "hang", "cut", "garbage", "deep", "large"]


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
    fork: str | None = None
    """Whose fork it is from, '' where that was deleted."""
    comments: list[str] = field(default_factory=list)
    author: str | None = "bot"


@dataclass
class FakeRepository:
    branches: dict[str, tuple[str, list[str]]] = field(default_factory=lambda: {"main": ("0" * 40, [])})
    """Their commits, and the files in which they differ from main."""
    pulls: list[Pull] = field(default_factory=list)
    drafts: bool = True

    def refresh(self) -> None:
        """Comes before each request."""

    def push(self, branch: str, *files: str) -> str:
        commit = f"{len(self.branches):040x}"
        self.branches[branch] = (commit, list(files))
        return commit

    def opened(self, source: str, target: str, title: str, body: str | None, *, draft: bool, **more: Any) -> Pull:
        commit, files = self.branches.get(source, ("f" * 40, []))
        renames = [(file, "") for file in files]
        pull = Pull(len(self.pulls) + 1, source, target, title, body, draft, commit, renames, **more)
        self.pulls.append(pull)
        return pull


class Refusal(Exception):
    def __init__(self, status: int, body: Json) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class FakeGitHub:
    """Use it as a context. `prefix` is /api/v3 for one that is an Enterprise."""

    def __init__(self, token: str = "s3cret-t0ken", prefix: str = "", page: int = 100) -> None:
        self.token = token
        self.prefix = prefix
        self.page = page
        self.repositories: dict[str, FakeRepository] = {}
        self.moved: dict[str, str] = {}
        self.elsewhere = ""
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
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

    def asked(self, method: str, path: str = "") -> list[Seen]:
        return [each for each in self.seen if each.method == method and path in each.path]

    def answer(self, seen: Seen) -> tuple[int, dict[str, str], Any]:
        """Carries out a request: status, headers and what is said."""
        with self._lock:
            if seen.headers.get("Authorization") != f"Bearer {self.token}":
                return 401, {}, {"message": "Bad credentials"}
            try:
                return self._answer(seen)
            except Refusal as refusal:
                return refusal.status, {}, refusal.body

    def _answer(self, seen: Seen) -> tuple[int, dict[str, str], Any]:
        if seen.path == f"{self.prefix.removesuffix('/v3')}/graphql":
            return 200, {}, self._graphql(seen.body)
        found = re.fullmatch(re.escape(self.prefix) + r"/repos/([^/]+/[^/]+)/(.*)", seen.path)
        if found is None:
            raise Refusal(404, {"message": "Not Found"})
        name, rest = found.groups()
        if name in self.moved or self.elsewhere:
            base = f"{self.elsewhere or self.api}/repos/{self.moved.get(name, name)}/{rest}"
            where = f"{base}?{urlencode(seen.query)}" if seen.query else base
            return 301 if seen.method == "GET" else 307, {"Location": where}, {"message": "Moved Permanently"}
        if name not in self.repositories:
            raise Refusal(404, {"message": "Not Found"})
        self.repositories[name].refresh()
        return self._on(name, self.repositories[name], rest, seen)

    def _on(self, name: str, repository: FakeRepository, rest: str, seen: Seen) -> tuple[int, dict[str, str], Any]:
        if rest == "pulls" and seen.method == "POST":
            return 201, {}, self._shown(name, self._create(name, repository, seen.body))
        if rest == "pulls":
            owner = name.partition("/")[0]
            wanted = [pull for pull in repository.pulls if _is_wanted(pull, owner, seen.query)]
            newest_first = seen.query.get("direction", "desc") == "desc"
            shown = [self._shown(name, pull) for pull in (reversed(wanted) if newest_first else wanted)]
            return self._paged(seen, shown)
        found = re.fullmatch(r"(pulls|issues)/(\d+)(/\w+)?", rest)
        pull = next((each for each in repository.pulls if found and each.number == int(found[2])), None)
        if found is None or pull is None:
            raise Refusal(404, {"message": "Not Found"})
        match seen.method, found[1], found[3]:
            case "GET", "pulls", None:
                return 200, {}, self._shown(name, pull)
            case "PATCH", "pulls", None:
                for field_name in seen.body.keys() & {"title", "body", "state"}:
                    setattr(pull, field_name, seen.body[field_name])
                return 200, {}, self._shown(name, pull)
            case "GET", "pulls", "/files":
                listed = [{"filename": new, **({"previous_filename": old} if old else {})} for new, old in pull.files]
                return self._paged(seen, listed)
            case "GET", "issues", "/comments":
                return self._paged(seen, [{"body": text} for text in pull.comments])
            case "POST", "issues", "/comments":
                pull.comments.append(seen.body["body"])
                return 201, {}, {"body": seen.body["body"]}
        raise Refusal(404, {"message": "Not Found"})

    def _create(self, name: str, repository: FakeRepository, asked: Json) -> Pull:
        if asked["draft"] and not repository.drafts:
            raise Refusal(422, {"message": "Draft pull requests are not supported in this repository."})
        source, target = asked["head"], asked["base"]
        for place, branch in (("head", source), ("base", target)):
            if branch not in repository.branches:
                flaw = {"resource": "PullRequest", "field": place, "code": "invalid"}
                raise Refusal(422, {"message": "Validation Failed", "errors": [flaw]})
        problem = ""
        if repository.branches[source][0] == repository.branches[target][0]:
            problem = f"No commits between {target} and {source}"
        elif any(
            (each.source, each.target, each.state, each.fork) == (source, target, "open", None)
            for each in repository.pulls
        ):
            problem = f"A pull request already exists for {name.partition('/')[0]}:{source}."
        if problem:
            said = {"resource": "PullRequest", "code": "custom", "message": problem}
            raise Refusal(422, {"message": "Validation Failed", "errors": [said]})
        return repository.opened(source, target, asked["title"], asked["body"], draft=asked["draft"])

    def _graphql(self, asked: Json) -> Json:
        name, _, number = asked["variables"]["id"].removeprefix("PR_").partition("#")
        pull = self.repositories[name].pulls[int(number) - 1]
        operation = "convertPullRequestToDraft"
        to_draft = operation in asked["query"]
        if not to_draft and "markPullRequestReadyForReview" not in asked["query"]:
            return {"errors": [{"message": "Field does not exist on type 'Mutation'"}]}
        if pull.state != "open":
            return {"data": None, "errors": [{"type": "UNPROCESSABLE", "message": "Pull request is closed"}]}
        pull.draft = to_draft
        return {"data": {operation: {"clientMutationId": None}}}

    def _paged(self, seen: Seen, entries: list[Json]) -> tuple[int, dict[str, str], Any]:
        size, number = min(int(seen.query.get("per_page", 30)), self.page), int(seen.query.get("page", 1))
        headers = {}
        if number * size < len(entries):
            following = f"{self.origin}{seen.path}?{urlencode({**seen.query, 'page': number + 1})}"
            headers["Link"] = f'<{self.origin}{seen.path}?page=1>; rel="first", <{following}>; rel="next"'
        return 200, headers, entries[(number - 1) * size : number * size]

    def _shown(self, name: str, pull: Pull) -> Json:
        of_fork = None if pull.fork == "" else {"full_name": f"{pull.fork}/fork"}
        head_repository = {"full_name": name} if pull.fork is None else of_fork
        return {
            "number": pull.number,
            "node_id": f"PR_{name}#{pull.number}",
            "state": pull.state,
            "draft": pull.draft,
            "title": pull.title,
            "body": pull.body,
            "user": None if pull.author is None else {"login": pull.author},
            "merged_at": "2026-01-02T03:04:05Z" if pull.merged else None,
            # Of what is not merged, GitHub shows a commit that was made to try it.
            "merge_commit_sha": pull.merged or "e" * 40,
            "changed_files": len(pull.files),
            "head": {
                "ref": pull.source,
                "sha": pull.head,
                "repo": head_repository,
                "user": {"login": pull.fork} if pull.fork else None,
            },
            "base": {"ref": pull.target, "sha": "0" * 40, "repo": {"full_name": name}},
        }


def _is_wanted(pull: Pull, owner: str, query: dict[str, str]) -> bool:
    state, head, base = query.get("state", "open"), query.get("head", ""), query.get("base", "")
    whose = owner if pull.fork is None else pull.fork
    return state in ("all", pull.state) and head in ("", f"{whose}:{pull.source}") and base in ("", pull.target)


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, github: FakeGitHub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.github = github

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
        github = self.server.github
        address = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        seen = Seen(self.command, address.path, query, dict(self.headers), json.loads(data) if data else None)
        github.seen.append(seen)
        fault = next(
            (each for each in github.faults if each.method in ("", self.command) and each.path in self.path), None
        )
        if fault is None:
            self._send(*github.answer(seen))
            return
        github.faults.remove(fault)
        if fault.done:
            github.answer(seen)
        if fault.broken is None:
            self._send(fault.status, fault.headers, fault.body)
        else:
            self._break(fault.broken)

    do_GET = do_POST = do_PATCH = _handle

    def _send(self, status: int, headers: dict[str, str], said: Any) -> None:
        self._send_bytes(status, headers, json.dumps(said).encode())

    def _send_bytes(self, status: int, headers: dict[str, str], body: bytes, missing: int = 0) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + missing))
        self.end_headers()
        self.wfile.write(body)

    def _break(self, how: Broken) -> None:
        ways: dict[Broken, Callable[[], object]] = {
            "reset": self._reset,
            "hang": lambda: self.server.github.released.wait(10),
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
