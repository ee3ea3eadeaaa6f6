"""A server in this process, and requests to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from e2e.hosts import SECONDS
from krm_merge.cli.help_pages import text_of_rule
from krm_merge.packages import state_file
from krm_merge.resolve.api import Api, Host
from krm_merge.resolve.choices import ChoiceJournal, ChoiceStep, Step
from krm_merge.resolve.interface import OF_PACKAGES, ConflictSession, Saved, SideLabels
from krm_merge.resolve.server import Server
from krm_merge.resolve.session import Session, Task


class Got(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass
class Client:
    """Asks as the page does, unless headers say otherwise."""

    address: str
    host: Host[Any]
    saved: list[Saved]

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def token(self) -> str:
        return urlsplit(self.address).fragment

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def headers(self, **other: str | None) -> dict[str, str]:
        """What the page sends, less what is None; `Sec_Fetch_Site` stands for the header of that name."""
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Origin": self.origin,
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
        }
        changes = {name.replace("_", "-"): value for name, value in other.items()}
        return {name: value for name, value in {**sent, **changes}.items() if value is not None}

    def ask(self, path: str, body: object = None, *, method: str = "", raw: bytes | None = None, **other: Any) -> Got:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        connection.request(method or ("GET" if data is None else "POST"), path, data, self.headers(**other))
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return Got(answer.status, dict(answer.getheaders()), json.loads(text) if is_json else text.decode())

    def report(self) -> Any:
        return self.ask("/api/report").body

    def view(self) -> Any:
        return self.ask("/api/view").body

    def choose(self, identifiers: list[str], choice: str, **more: object) -> Got:
        revision = self.host.session.revision
        return self.ask("/api/choose", {"revision": revision, "ids": identifiers, "choice": choice, **more})


@contextmanager
def serve(task: Task, journal: ChoiceJournal[ChoiceStep] | None = None) -> Iterator[Client]:
    """A server for a session about a package, until the end of the block."""
    with served_session(Session(task, journal.steps if journal else ()), journal, OF_PACKAGES) as client:
        yield client


def journal_of(task: Task, file: Path) -> ChoiceJournal[ChoiceStep]:
    """The choices of a session, kept in a file."""
    return ChoiceJournal(state_file(file, "choices"), partial(ChoiceStep.from_value, task.choices.package.target_file))


@contextmanager
def served_session(
    session: ConflictSession[Step], journal: ChoiceJournal[Step] | None, labels: SideLabels
) -> Iterator[Client]:
    """A server for a session, until the end of the block."""
    saved: list[Saved] = []
    host = Host(session, journal, saved.append)
    api = Api(host, labels, text_of_rule)
    server = Server(api)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield Client(server.address, host, saved)
    finally:
        api.is_over.set()
        thread.join(timeout=SECONDS)
        assert not thread.is_alive()
