"""Requests to GitHub, with their repetitions, its limits, and a token that goes to one origin alone."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, responses
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from krm_merge import __version__
from krm_merge.forges.github_replies import Reply, messages_in
from krm_merge.forges.interface import ForgeError

API: Final = "https://api.github.com"
_SIZE_LIMIT: Final = 32 * 1024 * 1024
_REDIRECTS: Final = 5
_LIMITED: Final = 60.0  # what GitHub wants to be waited at least where it does not say how long
_SAID: Final = 400
_NEXT = re.compile(r'<([^<>]*)>[^,]*;\s*rel="?next"?')
_LOOPBACK = frozenset(("localhost", "127.0.0.1"))
_SAME_VERB = frozenset((HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT))
_ANY_REDIRECT = _SAME_VERB | {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try what may work later. `timeout` is for one answer, `limit` for all attempts, both in seconds."""

    attempts: int = 5
    limit: float = 300.0
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and what it is about."""

    method: str
    url: str
    about: str
    payload: Mapping[str, Any] | None = None
    remedy: str = "correct what GitHub complains about"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked for, and the address of the next page."""

    value: Any
    next: str = ""


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why an attempt failed that may succeed after `wait` seconds; `unsure` that nothing was done."""

    what: str
    wait: float
    unsure: bool
    remedy: str = "try again later"


class Refused(ForgeError):
    """A request that GitHub understood and did not carry out."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Lost(Exception):
    """No whole answer came."""


class Http:
    """Requests with their repetitions. The token goes to one origin alone, and into no message."""

    def __init__(
        self,
        token: str,
        api: SplitResult,
        patience: Patience,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        if not re.fullmatch(r"[!-~]*", token):
            # http.client would refuse it with an error that quotes it.
            raise ForgeError("the token has characters that no token has; correct GITHUB_TOKEN")
        self._token = token
        self._origin = _origin(api)
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        # Not the usual opener: that one follows redirects with the token, and takes file: addresses.
        self._opener = OpenerDirector()
        self._opener.add_handler(ProxyHandler())
        is_safe = api.scheme == "https"
        self._opener.add_handler(HTTPSHandler(context=ssl.create_default_context()) if is_safe else HTTPHandler())

    def send(self, asked: Asked, carried_out: Callable[[], Any] | None = None) -> Answer:
        """The answer. What must not be done twice comes with `carried_out`: what was done, None for nothing.

        Raises ForgeError, of them Refused where there is no use in asking again.
        """
        end = self._clock() + self._patience.limit
        unsure = False
        attempt = 1
        while True:
            if unsure and carried_out is not None and (done := carried_out()) is not None:
                return Answer(done)
            try:
                reply = self._exchange(asked)
                trouble = self._trouble(reply, attempt)
                if trouble is None:
                    return self._answer(asked, reply)
            except _Lost as lost:
                trouble = _Trouble(str(lost), _backoff(attempt), unsure=True)
            if attempt >= self._patience.attempts:
                raise ForgeError(f"{asked.about}: {trouble.what}, {attempt} times; {trouble.remedy}")
            if self._clock() + trouble.wait > end:
                until = f"{datetime.fromtimestamp(self._clock() + trouble.wait, UTC):%Y-%m-%d %H:%M:%SZ}"
                raise ForgeError(f"{asked.about}: {trouble.what} and may work at {until}; {trouble.remedy}")
            self._sleep(trouble.wait)
            unsure = unsure or trouble.unsure
            attempt += 1

    def _exchange(self, asked: Asked) -> Reply:
        """One request, with the redirects of a repository that has another name now. Raises _Lost, ForgeError."""
        url = asked.url
        for _ in range(_REDIRECTS):
            self._check_origin(url, asked.about)
            reply = self._once(asked, url)
            if reply.status not in (_ANY_REDIRECT if asked.method == "GET" else _SAME_VERB):
                return reply
            url = _joined(url, reply.headers.get("Location", ""))
        raise ForgeError(f"{asked.about}: the API redirects in circles; correct its address")

    def _check_origin(self, url: str, about: str) -> None:
        address = urlsplit(url)
        if _origin(address) != self._origin:
            where = self._clean(f"{address.scheme}://{address.hostname}")
            raise ForgeError(f"{about}: the API sends us to {where}, which gets no token; correct its address")

    def _once(self, asked: Asked, url: str) -> Reply:
        data = None if asked.payload is None else json.dumps(asked.payload).encode()
        request = Request(url, data, method=asked.method)
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("User-Agent", f"krm-merge/{__version__}")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            response: HTTPResponse = self._opener.open(request, timeout=self._patience.timeout)
            with response:
                body = response.read(_SIZE_LIMIT + 1)
                # http.client does not mind a body that ends too early.
                if len(body) <= _SIZE_LIMIT and response.length:
                    raise _Lost("the answer was cut off")
        except (OSError, HTTPException) as error:
            cause = error.reason if isinstance(error, URLError) else error
            if isinstance(cause, ssl.SSLCertVerificationError):
                why = f"the certificate of {self._origin[1]} is not trusted ({cause.verify_message})"
                raise ForgeError(f"{asked.about}: {why}; add its issuer with SSL_CERT_FILE") from None
            raise _Lost(
                f"no answer from {self._origin[1]} ({self._clean(str(cause)) or type(cause).__name__})"
            ) from None
        if len(body) > _SIZE_LIMIT:
            raise ForgeError(f"{asked.about}: the answer is larger than {_SIZE_LIMIT} bytes; correct the API's address")
        return Reply.read(response.status, response.headers, body)

    def _trouble(self, reply: Reply, attempt: int) -> _Trouble | None:
        """What may be over after a while: faults of the server, and limits."""
        wait = reply.seconds("Retry-After")
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            wait = _backoff(attempt) if wait is None else wait
            return _Trouble(f"GitHub fails with {reply.status}", wait, unsure=True)
        is_used_up = reply.seconds("X-RateLimit-Remaining") == 0
        is_limit = reply.meaning == HTTPStatus.TOO_MANY_REQUESTS
        if reply.status == HTTPStatus.FORBIDDEN:
            is_limit = is_used_up or wait is not None or "rate limit" in " ".join(messages_in(reply.value)).lower()
        if not is_limit:
            return None
        reset = reply.seconds("X-RateLimit-Reset")
        if wait is None and is_used_up and reset is not None:
            wait = max(reset - self._clock(), 0.0) + 1.0
        remedy = "try again then" if self._token else "set GITHUB_TOKEN, with which the limit is higher"
        wait = _LIMITED * 2 ** (attempt - 1) if wait is None else wait
        return _Trouble("the rate limit of GitHub is reached", wait, unsure=False, remedy=remedy)

    def _answer(self, asked: Asked, reply: Reply) -> Answer:
        is_good = reply.status < HTTPStatus.MULTIPLE_CHOICES
        if is_good and reply.flaw:
            why = f"the answer is no JSON ({reply.flaw})"
            raise ForgeError(f"{asked.about}: {why}; correct the address of the API")
        if is_good and not reply.errors:
            following = _NEXT.search(reply.headers.get("Link", ""))
            return Answer(reply.value, _joined(asked.url, following[1]) if following else "")
        said = self._clean("; ".join(messages_in(reply.value))) or responses.get(reply.status, "nothing")
        remedy = self._remedy(reply) or asked.remedy
        raise Refused(f"{asked.about}: GitHub says: {said} ({reply.status}); {remedy}", reply.status)

    def _remedy(self, reply: Reply) -> str:
        """What helps against a refusal of this kind, '' where that depends on what was asked."""
        sign_on = self._clean(reply.headers.get("X-GitHub-SSO", "")).partition("url=")[2]
        if reply.meaning == HTTPStatus.NOT_FOUND:
            return f"correct the address, or {'give the token access to it' if self._token else 'set GITHUB_TOKEN'}"
        if reply.meaning not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return ""
        if not self._token:
            return "set GITHUB_TOKEN"
        if reply.meaning == HTTPStatus.UNAUTHORIZED:
            return "GITHUB_TOKEN has expired or is wrong; make a new one"
        if sign_on:
            return f"authorize the token for the organization: {sign_on}"
        needs = self._clean(reply.headers.get("X-Accepted-GitHub-Permissions", ""))
        wanted = needs or "to read and write pull requests (a classic token: the scope repo)"
        return f"give the token the right {wanted}"

    def _clean(self, text: str) -> str:
        """What somebody else wrote, as part of a line of ours."""
        line = " ".join(re.sub(r"[\x00-\x20\x7f-\x9f]+", " ", text).split())
        return (line.replace(self._token, "***") if self._token else line)[:_SAID].rstrip()


def _backoff(attempt: int) -> float:
    return float(min(2 ** (attempt - 1), 60))


def checked_address(api: str) -> SplitResult:
    """The address of an API. Raises ForgeError where a token must not go there."""
    try:
        address = urlsplit(api)
        has_port = address.port is None or address.port > 0
    except ValueError:
        address, has_port = SplitResult("", "", "", "", ""), False
    is_safe = address.scheme == "https" or (address.scheme == "http" and address.hostname in _LOOPBACK)
    is_plain = not (address.username or address.password or address.query or address.fragment)
    if not (has_port and address.hostname and is_safe and is_plain):
        raise ForgeError(f"the address of the API must be like {API} or https://HOST/api/v3; correct it")
    return address


def _joined(url: str, reference: str) -> str:
    """What an address in an answer stands for; of one that is none, something that is no origin of ours."""
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
