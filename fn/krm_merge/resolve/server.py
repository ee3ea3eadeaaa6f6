"""Serves the page of one session on 127.0.0.1, to the one who started it, until it is saved or closed."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from email.message import Message
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from time import monotonic
from typing import Final
from urllib.parse import SplitResult, parse_qs, urlsplit

from krm_merge.resolve.api import Api, Reply
from krm_merge.safe_text import internal_error

LONGEST_BODY: Final = 1_000_000
"""Bytes."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _RefusalError(Exception):
    """Why a request is not heard."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Guard:
    """Knows the address that the page has, and the token that its first page was given; raises _RefusalError."""

    def __init__(self, port: int, token: str) -> None:
        """For a server on this port of 127.0.0.1."""
        self._host = f"127.0.0.1:{port}"
        self._token = token

    def of_any(self, headers: Message) -> None:
        """What is asked of every request: that it names this server (against DNS that is rebound)."""
        if headers.get_all("Host") != [self._host]:
            raise _RefusalError(421, f"this server is {self._host}")

    def of_page(self, headers: Message) -> None:
        """What is asked of a request for the page and its parts, which hold no data: it is shown to nobody else."""
        site, destination = headers.get("Sec-Fetch-Site"), headers.get("Sec-Fetch-Dest")
        if site not in (None, "same-origin", "none") and destination != "document":
            raise _RefusalError(403, "the page is for this page alone")

    def of_data(self, headers: Message) -> None:
        """What is asked of a request for data: the token, and that no other page sent it."""
        scheme, _, token = headers.get("Authorization", "").strip().rpartition(" ")
        if scheme.lower() not in ("bearer", "") or not compare_digest(token.encode(), self._token.encode()):
            raise _RefusalError(401, "the token is missing or wrong; open the address that the terminal shows")
        origin, site = headers.get("Origin", f"http://{self._host}"), headers.get("Sec-Fetch-Site", "same-origin")
        if origin != f"http://{self._host}" or site != "same-origin":
            raise _RefusalError(403, "the request comes from another page")


def length_of(headers: Message) -> int:
    """How long the body of a request is. Raises _RefusalError where it does not say so, or is not to be read."""
    if headers.get("Transfer-Encoding") is not None:
        raise _RefusalError(411, "a body has Content-Length and no Transfer-Encoding here")
    lengths = headers.get_all("Content-Length") or ["0"]
    if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdecimal()):
        raise _RefusalError(400, "Content-Length is not a number")
    if len(lengths[0]) > 9 or int(lengths[0]) > LONGEST_BODY:
        raise _RefusalError(413, f"a body has at most {LONGEST_BODY} bytes")
    return int(lengths[0])


def is_json(headers: Message) -> bool:
    """Whether a body says that it is JSON; no form of another page can say so."""
    return headers.get_content_type() == "application/json" and headers.get("Content-Type") is not None


IDLE_SECONDS: Final = 30 * 60
_AFTER_SAVING: Final = 2.0
"""Seconds in which the page may still ask for something."""

_TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Server(ThreadingHTTPServer):
    """The server of one page. `address` has the token in its fragment, which browsers do not send.

    `last_request` is when something was asked or answered last, `is_saved` whether the page knows that all is written.
    """

    # A browser keeps connections open on which it asks for nothing.
    daemon_threads = True

    def __init__(self, api: Api) -> None:
        """Listens on a port that is free. Raises OSError."""
        super().__init__(("127.0.0.1", 0), _Handler)
        token = secrets.token_urlsafe(32)
        self.last_request = monotonic()
        self.is_saved = False
        # Now, not in run(): the program that reads the address may end as soon as it has it.
        self._parent = os.getppid()
        self.api = api
        self.assets = _assets()
        self.guard = Guard(self.server_port, token)
        self.address = f"http://127.0.0.1:{self.server_port}/#{token}"

    def run(self) -> None:
        """Serves until the page is closed, or nobody asks any more, or who started it is gone."""
        thread = Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            while not self.api.is_over.wait(0.2):
                most = _AFTER_SAVING if self.is_saved else IDLE_SECONDS
                if monotonic() - self.last_request > most or os.getppid() != self._parent:
                    break
        finally:
            self.api.is_over.set()
            self.shutdown()
            self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that is closed is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    server: Server

    def do_GET(self) -> None:
        """The page, its parts, and data."""
        self._handle(self._get)

    def do_POST(self) -> None:
        """What changes something."""
        self._handle(self._post)

    def _handle(self, answer: Callable[[SplitResult], Reply | tuple[str, bytes]]) -> None:
        if self.server.api.is_over.is_set():
            # On a connection that was open before the end.
            self.close_connection = True
            return
        self.server.last_request = monotonic()
        try:
            self.server.guard.of_any(self.headers)
            response = answer(urlsplit(self.path))
        except _RefusalError as refusal:
            self._refuse(refusal.status, str(refusal))
        except ValueError:
            self._refuse(400, "this is not an address of this page")
        except Exception as error:
            print(internal_error(error, "nothing was changed"), file=sys.stderr)
            self._refuse(500, "internal error; see the terminal")
        else:
            self._answer(response)

    def _answer(self, response: Reply | tuple[str, bytes]) -> None:
        if not isinstance(response, Reply):
            self._send(200, *response)
            return
        is_saved = self.server.api.is_saved
        self._send(response.status, "application/json", json.dumps(response.value).encode())
        # Saving may have taken long: only now the page knows.
        self.server.last_request = monotonic()
        self.server.is_saved |= is_saved
        if response.is_last:
            self.server.api.is_over.set()

    def _get(self, url: SplitResult) -> Reply | tuple[str, bytes]:
        guard, headers = self.server.guard, self.headers
        if length_of(headers):
            raise _RefusalError(400, "a GET has no body")
        if url.path in self.server.assets:
            guard.of_page(headers)
            return self.server.assets[url.path]
        if not url.path.startswith("/api/"):
            raise _RefusalError(404, "there is no such page")
        guard.of_data(headers)
        api, asked = self.server.api, parse_qs(url.query)
        if url.path in api.documents:
            return "application/json", api.documents[url.path]()
        if url.path in api.questions:
            return api.ask(url.path, asked.get(api.questions[url.path][0], [""])[0])
        raise _RefusalError(405 if url.path in self.server.api.posts else 404, "there is no such page")

    def _post(self, url: SplitResult) -> Reply:
        self.server.guard.of_data(self.headers)
        if url.path not in self.server.api.posts:
            api = self.server.api
            is_known = url.path in (*self.server.assets, *api.documents, *api.questions)
            raise _RefusalError(405 if is_known else 404, "there is nothing to post to")
        if not is_json(self.headers):
            raise _RefusalError(415, "application/json is expected")
        length = length_of(self.headers)
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
        except (ValueError, RecursionError):
            raise _RefusalError(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise _RefusalError(400, "the body is not a JSON object")
        return self.server.api.post(url.path, body)

    def _refuse(self, status: int, reason: str) -> None:
        """A body that was not read would be taken for the next request: the connection ends."""
        self.close_connection = True
        self._send(status, "application/json", json.dumps({"error": reason}).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response_only(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What cannot be read as a request, or has a method that nothing here answers."""
        self._refuse(405 if code == 501 else code, message or "this is not a valid request")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: addresses may hold what is nobody else's business."""


def _assets() -> Mapping[str, tuple[str, bytes]]:
    """The page and its parts by path: these, and no other file, are ever read."""
    assets: dict[str, tuple[str, bytes]] = {}
    for entry in files("krm_merge.resolve").joinpath("page").iterdir():
        kind = _TYPES.get(os.path.splitext(entry.name)[1])
        if kind is not None:
            assets[f"/{entry.name}"] = kind, entry.read_bytes()
    assets["/"] = assets.pop("/index.html")
    return assets
