"""Requests to a forge: repetitions, its limits, our pace, replies, and a token that is sent only to one origin."""

from __future__ import annotations

import json
import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPResponse, responses
from io import BufferedReader, BytesIO, RawIOBase
from itertools import count
from socket import socket
from threading import Lock
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError

from krm_merge import __version__
from krm_merge.forges.interface import ForgeError, Pace, Patience, RefusedRequestError, UnavailableForgeError
from krm_merge.git.program import Token

_HOUR = 3600.0


class Throttle:
    """The changing requests to one host in the last hour. Several threads may share it."""

    def __init__(self, pace: Pace, limit: float, sleep: Callable[[float], None], clock: Callable[[], float]) -> None:
        """Waits at most `limit` seconds at a time."""
        self._pace = pace
        self._limit = limit
        self._sleep = sleep
        self._clock = clock
        self._changes: deque[float] = deque()
        self._lock = Lock()

    def wait(self) -> None:
        """Waits until the next changing request is allowed. Raises UnavailableForgeError if that takes too long."""
        with self._lock:
            if self._left() == 0:
                until = self._changes[0] + _HOUR
                if until - self._clock() > self._limit:
                    when = f"{datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M:%SZ}"
                    used = f"all {self._pace.changes_an_hour} changes of this hour are used up until {when}"
                    raise UnavailableForgeError(f"{used}; run it again then, or allow more per hour", until)
                self._sleep(until - self._clock())
            if self._changes:
                pause = self._changes[-1] + self._pace.seconds_between_changes - self._clock()
                if pause > 0:
                    self._sleep(pause)
            self._changes.append(self._clock())

    def _left(self) -> int:
        while self._changes and self._changes[0] + _HOUR <= self._clock():
            self._changes.popleft()
        return max(self._pace.changes_an_hour - len(self._changes), 0)


_OF_GRAPHQL: Final = {
    "FORBIDDEN": HTTPStatus.FORBIDDEN,
    "INSUFFICIENT_SCOPES": HTTPStatus.FORBIDDEN,
    "NOT_FOUND": HTTPStatus.NOT_FOUND,
    "RATE_LIMITED": HTTPStatus.TOO_MANY_REQUESTS,
}


@dataclass(frozen=True, slots=True)
class ForgeReply:
    """A reply, successful or not. `flaw` says why its body is not JSON."""

    status: int
    headers: Mapping[str, str]
    value: Any
    flaw: str = ""

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: bytes) -> ForgeReply:
        """Parses a body."""
        try:
            return cls(status, headers, json.loads(body))
        except RecursionError:
            return cls(status, headers, None, "nested too deeply")
        except ValueError as error:
            return cls(status, headers, None, str(error))

    @property
    def errors(self) -> list[Any]:
        """The errors of GraphQL, which come with the status of a success."""
        errors = self.value.get("errors") if isinstance(self.value, dict) else None
        return errors if isinstance(errors, list) else []

    @property
    def meaning(self) -> int:
        """The status; for an error of GraphQL the status that REST would have."""
        if self.status != HTTPStatus.OK:
            return self.status
        kinds = [each.get("type") for each in self.errors if isinstance(each, dict)]
        return next((status for kind, status in _OF_GRAPHQL.items() if kind in kinds), self.status)

    def seconds(self, header: str) -> float | None:
        """The number in a header, None if it is missing."""
        text = self.headers.get(header, "")
        return float(text) if re.fullmatch("[0-9]{1,10}", text) else None


def messages_in(value: object) -> Iterator[str]:
    """The messages in an answer: texts, lists of them, or by field as GitLab has them."""
    fields = value if isinstance(value, dict) else {"errors": value}
    for each in [*_flat(fields.get("message")), fields.get("error"), *_flat(fields.get("errors"))]:
        text = each
        if isinstance(each, dict):
            field, code = each.get("field"), each.get("code")
            text = each.get("message", f"{field}: {code}" if isinstance(field, str) and isinstance(code, str) else None)
        if isinstance(text, str):
            yield text


def _flat(value: object) -> Iterator[object]:
    """One message or many, in lists, or by the names of fields (`{"base": ["is missing"]}`)."""
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        for name, problems in value.items():
            yield from (f"{name}: {problem}" for problem in _flat(problems))
    else:
        yield value


_SIZE_LIMIT: Final = 32 * 1024 * 1024
_REDIRECTS: Final = 5
_LIMITED: Final = 60.0  # the least wait that GitHub asks for if a reply names no time
_SAID: Final = 400
_READ_AT_ONCE: Final = 1 << 16
_LOOPBACK = frozenset(("localhost", "127.0.0.1"))
_SAME_VERB = frozenset((HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT))
_ANY_REDIRECT = _SAME_VERB | {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND}
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences of forges: their names, headers, and the rights that a token needs."""

    name: str
    limits: str
    """Prefix of the headers about limits."""
    rights: str
    api: str
    """An example of an API's address."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The settings of a client of a forge.

    `host` is the one in the addresses of repositories; `api` the address of its REST interface, where that does not
    follow from the host. `clock` gives the seconds since 1970.
    """

    host: str
    token: Token
    api: str = ""
    patience: Patience = field(default_factory=Patience)
    pace: Pace = field(default_factory=Pace)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time


class LostAnswerError(UnavailableForgeError):
    """A request that must not be repeated may have been carried out; wait `wait` seconds, then check."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class _Trouble:
    """A failed attempt that may succeed after `wait` seconds; `unsure` if it may have been carried out."""

    what: str
    wait: float
    unsure: bool
    remedy: str = "try again later"


class _NoAnswerError(Exception):
    """The answer is missing or incomplete."""


class _BoundedStream(RawIOBase):
    """What a server answers, headers included, until a moment (A16): a timeout of a socket is for each read alone."""

    def __init__(self, connection: socket, check: Callable[[], float]) -> None:
        """Takes the function that gives the seconds that are left, or raises where none are."""
        self._connection = connection
        self._stream = connection.makefile("rb", buffering=0)
        self._check = check

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        self._connection.settimeout(self._check())
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class Transport(HTTPAdapter):
    """Sends the requests of a forge's client. The token is sent only to one origin, and is in no message."""

    def __init__(self, dialect: Dialect, connection: Connection, usual_api: str) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        token = connection.token
        if not re.fullmatch(r"[!-~]*", token.secret):
            # requests would refuse it with an error that quotes it.
            raise ForgeError(f"the token has invalid characters; correct {token.source}")
        self.dialect = dialect
        self.address = _checked_address((connection.api or usual_api).rstrip("/"), dialect)
        self._token = token
        self._origin = _origin(self.address)
        self._patience = connection.patience
        self._sleep = connection.sleep
        self._clock = connection.clock
        self._throttle = Throttle(connection.pace, self._patience.limit, self._sleep, self._clock)
        self.requests_left: int | None = None
        """What the forge grants until its limit is reset, by its last answer."""
        super().__init__()

    def session(self) -> requests.Session:
        """A session that sends every request through this transport."""
        session = requests.Session()
        session.headers["User-Agent"] = f"krm-merge/{__version__}"
        # Otherwise requests uses a password of ~/.netrc instead of the token.
        session.auth = lambda request: request
        for scheme in ("https://", "http://"):
            session.mount(scheme, self)
        return session

    @property
    def secret(self) -> str:
        """The token, '' if it is missing."""
        return self._token.secret

    def once(self, ask: Callable[[], Found], find: Callable[[], Found | None]) -> Found:
        """The result of a request that must not be repeated; `find` returns it if it was carried out, else None.

        Raises ForgeError.
        """
        for attempt in count(1):
            try:
                return ask()
            except LostAnswerError as lost:
                if attempt >= self._patience.attempts:
                    raise UnavailableForgeError(f"{lost}, {attempt} times; try again later") from None
                self._sleep(min(max(lost.wait, _backoff(attempt)), self._patience.limit))
            if (result := find()) is not None:
                return result
        raise AssertionError

    # ---- one request -------------------------------------------------------------------------------------------

    def init_poolmanager(self, *arguments: Any, **settings: Any) -> None:
        """With the certificates of the system beside those of requests: SSL_CERT_FILE counts."""
        if self.address.scheme == "https":
            # Reading them takes longer than all else that a client needs to begin.
            settings["ssl_context"] = ssl.create_default_context()
        super().init_poolmanager(*arguments, **settings)
        pools = self.poolmanager.pool_classes_by_scheme
        self.poolmanager.pool_classes_by_scheme = {
            scheme: type(pool.__name__, (pool,), {"ConnectionCls": self._bounded(pool.ConnectionCls)})
            for scheme, pool in pools.items()
        }

    def _bounded(self, connection: type[HTTPConnection]) -> type[HTTPConnection]:
        """Connections whose answers end in time."""
        return type(connection.__name__, (connection,), {"response_class": staticmethod(self._begin_answer)})

    def _begin_answer(self, connection: socket, *arguments: Any, **settings: Any) -> HTTPResponse:
        answer = HTTPResponse(connection, *arguments, **settings)
        end = self._clock() + self._patience.timeout

        def check() -> float:
            left = end - self._clock()
            if left <= 0:
                raise _NoAnswerError(f"the answer of {self._origin[1]} took longer than {self._patience.timeout:g} s")
            return left

        answer.fp.close()
        answer.fp = BufferedReader(_BoundedStream(connection, check))
        return answer

    def send(self, request: requests.PreparedRequest, *arguments: Any, **settings: Any) -> requests.Response:
        """The successful answer to a request. Raises ForgeError, including RefusedError and LostAnswerError."""
        end = self._clock() + self._patience.limit
        for attempt in count(1):
            if request.method != "GET":
                self._throttle.wait()
            try:
                response, reply = self._exchange(request, settings)
                trouble = self._trouble(reply, attempt)
                if trouble is None:
                    self._check(request, reply)
                    return response
            except _NoAnswerError as lost:
                trouble = _Trouble(str(lost), _backoff(attempt), unsure=True)
            if trouble.unsure and request.method == "POST":
                raise LostAnswerError(trouble.what, trouble.wait)
            if attempt >= self._patience.attempts:
                raise UnavailableForgeError(f"{trouble.what}, {attempt} times; {trouble.remedy}")
            until = self._clock() + trouble.wait
            if until > end:
                when = f"{datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M:%SZ}"
                raise UnavailableForgeError(f"{trouble.what} and may work at {when}; {trouble.remedy}", until)
            self._sleep(trouble.wait)
        raise AssertionError

    def _exchange(
        self, request: requests.PreparedRequest, settings: Mapping[str, Any]
    ) -> tuple[requests.Response, ForgeReply]:
        """One request, with the redirects of a renamed repository. Raises ForgeError."""
        request = request.copy()
        for _ in range(_REDIRECTS):
            self._check_origin(request.url or "")
            response, body = self._once(request, settings)
            reply = ForgeReply.read(response.status_code, response.headers, body)
            if (left := reply.seconds(f"{self.dialect.limits}Remaining")) is not None:
                self.requests_left = int(left)
            if reply.status not in (_ANY_REDIRECT if request.method == "GET" else _SAME_VERB):
                return response, reply
            request.url = _join(request.url or "", response.headers.get("Location", ""))
        raise ForgeError("the API redirects in a loop; correct its address")

    def _check_origin(self, url: str) -> None:
        address = urlsplit(url)
        if _origin(address) != self._origin:
            where = self._clean(f"{address.scheme}://{address.hostname}")
            raise ForgeError(f"the API redirects to {where}, which is not sent the token; correct its address")

    def _once(self, request: requests.PreparedRequest, settings: Mapping[str, Any]) -> tuple[requests.Response, bytes]:
        if self.secret:
            request.headers["Authorization"] = f"Bearer {self.secret}"
        try:
            response = super().send(request, **{**settings, "stream": True, "timeout": self._patience.timeout})
            body = self._read_body(response)
            response.raw.release_conn()
        except (requests.RequestException, HTTPError, OSError) as error:
            raise self._connection_error(error) from None
        if len(body) > _SIZE_LIMIT:
            raise ForgeError(f"the answer is larger than {_SIZE_LIMIT} bytes; correct the address of the API")
        response.raw = BytesIO(body)
        return response, body

    def _read_body(self, response: requests.Response) -> bytes:
        body = bytearray()
        while len(body) <= _SIZE_LIMIT and (part := response.raw.read1(_READ_AT_ONCE, decode_content=True)):
            body += part
        return bytes(body)

    def _connection_error(self, error: Exception) -> Exception:
        causes = list(_causes(error))
        host = self._origin[1]
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                why = f"the certificate of {host} is not trusted ({cause.verify_message})"
                return ForgeError(f"{why}; add its issuer with SSL_CERT_FILE")
        if any(type(cause).__name__ == "IncompleteRead" for cause in causes):
            return _NoAnswerError("the answer was cut off")
        cause = causes[-1]
        return _NoAnswerError(f"no answer from {host} ({self._clean(str(cause)) or type(cause).__name__})")

    def _trouble(self, reply: ForgeReply, attempt: int) -> _Trouble | None:
        """Temporary failures: faults of the server, and limits."""
        name = self.dialect.name
        wait = reply.seconds("Retry-After")
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            wait = _backoff(attempt) if wait is None else wait
            return _Trouble(f"{name} fails with {reply.status}", wait, unsure=True)
        is_used_up = reply.seconds(f"{self.dialect.limits}Remaining") == 0
        is_limit = reply.meaning == HTTPStatus.TOO_MANY_REQUESTS
        if reply.status == HTTPStatus.FORBIDDEN:
            # Of a secondary limit GitHub may send its message alone: "Rate limits for the REST API" in its docs.
            text = " ".join(messages_in(reply.value)).lower()
            is_limit = is_used_up or wait is not None or "secondary rate limit" in text
        if not is_limit:
            return None
        reset = reply.seconds(f"{self.dialect.limits}Reset")
        if wait is None and is_used_up and reset is not None:
            wait = max(reset - self._clock(), 0.0) + 1.0
        remedy = "try again then" if self.secret else f"set {self._token.source}, with which the limit is higher"
        wait = _LIMITED * 2 ** (attempt - 1) if wait is None else wait
        return _Trouble(f"the rate limit of {name} is reached", wait, unsure=False, remedy=remedy)

    def _check(self, request: requests.PreparedRequest, reply: ForgeReply) -> None:
        """Raises ForgeError if an answer has not the expected form."""
        is_good = reply.status < HTTPStatus.MULTIPLE_CHOICES
        if is_good and reply.flaw:
            raise ForgeError(f"the answer is not JSON ({reply.flaw}); correct the address of the API")
        if is_good and reply.value is None and request.method == "GET":
            raise ForgeError("the answer is not what is documented: it is null; correct the address of the API")
        is_graphql = (request.url or "").endswith("/graphql")
        if is_good and not (is_graphql and reply.errors):
            return
        message = self._clean("; ".join(messages_in(reply.value))) or responses.get(reply.status, "nothing")
        raise RefusedRequestError(
            f"{self.dialect.name} says: {message} ({reply.status})", reply.status, self._remedy(reply)
        )

    def _remedy(self, reply: ForgeReply) -> str:
        """The remedy for a refusal of this kind, '' if it depends on the request."""
        source = self._token.source
        sign_on = self._clean(reply.headers.get("X-GitHub-SSO", "")).partition("url=")[2]
        if reply.meaning == HTTPStatus.NOT_FOUND:
            return f"correct the address, or {'give the token access to it' if self.secret else f'set {source}'}"
        if reply.meaning not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return ""
        if not self.secret:
            return f"set {source}"
        if reply.meaning == HTTPStatus.UNAUTHORIZED:
            return f"{source} has expired or is wrong; make a new one"
        if sign_on:
            return f"authorize the token for the organization: {sign_on}"
        needs = self._clean(reply.headers.get("X-Accepted-GitHub-Permissions", ""))
        return f"give the token the right {needs or self.dialect.rights}"

    def _clean(self, text: str) -> str:
        """Untrusted text, made safe for a line of a message."""
        line = " ".join(re.sub(r"[\x00-\x20\x7f-\x9f]+", " ", text).split())
        return (line.replace(self.secret, "***") if self.secret else line)[:_SAID].rstrip()


@contextmanager
def about(what: str) -> Iterator[None]:
    """Adds the request to the messages of errors."""
    try:
        yield
    except ForgeError as error:
        error.args = (f"{what}: {error}", *error.args[1:])
        raise


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, the first cause last."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _backoff(attempt: int) -> float:
    return float(min(2 ** (attempt - 1), 60))


def _checked_address(api: str, dialect: Dialect) -> SplitResult:
    """The address of an API. Raises ForgeError if a token must not be sent there."""
    try:
        address = urlsplit(api)
        has_port = address.port is None or address.port > 0
    except ValueError:
        address, has_port = SplitResult("", "", "", "", ""), False
    is_safe = address.scheme == "https" or (address.scheme == "http" and address.hostname in _LOOPBACK)
    is_plain = not (address.username or address.password or address.query or address.fragment)
    if not (has_port and address.hostname and is_safe and is_plain):
        raise ForgeError(f"the address of the API must be like {dialect.api}; correct it")
    return address


def _join(url: str, reference: str) -> str:
    """The address that an answer refers to; if it is malformed, an address of another origin."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return "about:blank"


def _origin(address: SplitResult) -> tuple[str, str, int]:
    try:
        port = address.port
    except ValueError:
        port = -1
    scheme = address.scheme.lower()
    return scheme, (address.hostname or "").lower(), port or (443 if scheme == "https" else 80)
