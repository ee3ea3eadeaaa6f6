"""Which requests are heard: those of the one page, in the browser of the one who started it."""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message
from hmac import compare_digest
from typing import Final, NamedTuple

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


class Refusal(NamedTuple):
    """Why a request is not heard."""

    status: int
    reason: str


class Guard:
    """Knows the address that the page has, and the token that its first page was given."""

    def __init__(self, port: int, token: str) -> None:
        """For a server on this port of 127.0.0.1."""
        self._host = f"127.0.0.1:{port}"
        self._token = token

    def of_any(self, headers: Message) -> Refusal | None:
        """What is asked of every request: that it names this server (against DNS that is rebound)."""
        if headers.get_all("Host") != [self._host]:
            return Refusal(421, f"this server is {self._host}")
        return None

    def of_page(self, headers: Message) -> Refusal | None:
        """What is asked of a request for the page and its parts, which hold no data: it is shown to nobody else."""
        site, wanted = headers.get("Sec-Fetch-Site"), headers.get("Sec-Fetch-Dest")
        if site not in (None, "same-origin", "none") and wanted != "document":
            return Refusal(403, "the page is for nobody else's page")
        return None

    def of_data(self, headers: Message) -> Refusal | None:
        """What is asked of a request for data: the token, and that no other page sent it."""
        scheme, _, token = headers.get("Authorization", "").strip().rpartition(" ")
        if scheme.lower() not in ("bearer", "") or not compare_digest(token.encode(), self._token.encode()):
            return Refusal(401, "the token is missing or wrong; open the address that the terminal shows")
        if headers.get("Origin", f"http://{self._host}") != f"http://{self._host}":
            return Refusal(403, "the request comes from another page")
        if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return Refusal(403, "the request comes from another page")
        return None


def length_of(headers: Message) -> int | Refusal:
    """How long the body of a request is, where it says so and it is to be read."""
    if headers.get("Transfer-Encoding") is not None:
        return Refusal(411, "a body has Content-Length and no Transfer-Encoding here")
    lengths = headers.get_all("Content-Length") or ["0"]
    if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdecimal()):
        return Refusal(400, "Content-Length is no number")
    if len(lengths[0]) > 9 or int(lengths[0]) > LONGEST_BODY:
        return Refusal(413, f"a body has at most {LONGEST_BODY} bytes")
    return int(lengths[0])


def is_json(headers: Message) -> bool:
    """Whether a body says that it is JSON; no form of another page can say so."""
    return headers.get_content_type() == "application/json" and headers.get("Content-Type") is not None
