"""Text that is safe to print: no control characters, no credentials; lists and numbers in messages, internal errors."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from krm_merge.startup import pattern

LONGEST_QUOTE: Final = 200
"""The most characters of a value that an error quotes."""

HIDDEN: Final = "***"

REDACTED: Final = "(redacted)"
"""Shown instead of a secret value."""

# C0 without the tab, C1, direction marks, line separators, and bytes of file names that are not UTF-8.
_UNSAFE_CHARACTERS = "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
# Commands to continuous integration (A16): `::` at the begin of a line to GitHub Actions, `##[` anywhere in it as well,
# `##vso[` to Azure Pipelines, `##teamcity[` to TeamCity.
_HASHES = r"#(?=#\w*\[)"
_HASH = pattern(_HASHES)
_COMMANDS = rf"|(?m:^[^\S\n]*:(?=:))|{_HASHES}"
_UNSAFE = pattern(_UNSAFE_CHARACTERS + _COMMANDS)
_UNSAFE_IN_LINES = pattern(_UNSAFE_CHARACTERS.replace("\x0a-\x1f", "\x0b-\x1f") + _COMMANDS)
_SHORT = {"\n": "\\n", "\r": "\\r"}
# Not everybody escapes a slash in a password: then no port follows the colon.
# Schemes are short: without a limit, matching would take quadratic time.
_USER = pattern(
    r"([a-zA-Z][a-zA-Z0-9+.-]{0,30})://"
    r"([^\s/?#'\"<>]*|[^\s/?#'\"<>:@\[]*:(?!\d*(?:[/?#\s'\"<>]|\Z))[^\s'\"<>]{0,200}?)@"
)
_FIELD = pattern(r"([?&](?:[\w-]*(?:token|password|secret|signature)|auth|key|sig)=)[^&\s#'\"]+", re.IGNORECASE)
_USER_IS_NO_SECRET = ("ssh", "git+ssh", "ssh+git", "sftp", "git")


def abridge(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first texts of a list, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{separator.join(texts[:most])}{more}"


def quantity(count: int, noun: str) -> str:
    """A number of things, whose plural ends in s or ies."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def line(text: str) -> str:
    """A text as one line, without credentials, and with escaped characters that would control a terminal."""
    return text if _is_plain(text) else _UNSAFE.sub(_escape, without_credentials(text))


def terminal_line(text: str) -> str:
    """A line of a file, in which only characters that would control a terminal are escaped."""
    return _UNSAFE.sub(_escape, text)


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value as JSON in ASCII: a terminal may be shown it, and no line of it is a command (A16)."""
    # Hardly any run of the function needs it.
    import json

    return _HASH.sub(r"\\u0023", json.dumps(value, indent=indent, default=str))


def lines(text: str) -> str:
    """As `line`, but line ends are kept: for messages of ours, which have several lines on purpose."""
    return text if _is_plain(text) else _UNSAFE_IN_LINES.sub(_escape, without_credentials(text))


def without_credentials(text: str) -> str:
    """Hides passwords and tokens in the URLs of a text. In http a user name may be a token, too."""
    if "://" not in text:
        return text
    return _FIELD.sub(rf"\1{HIDDEN}", _USER.sub(_hidden, text))


def bare_address(url: str) -> str:
    """A URL of a repository as files and reports have it: without user and password, if these are secrets."""
    match = _USER.match(url)
    if match is None or _hidden(match) == match[0]:
        return url
    user = f"{match[2].partition(':')[0]}@" if match[1].lower() in _USER_IS_NO_SECRET else ""
    return f"{match[1]}://{user}{url[match.end() :]}"


def quoted(value: str) -> str:
    """A value as errors quote it, shortened."""
    return value if len(value) <= LONGEST_QUOTE else f"{value[:LONGEST_QUOTE]}..."


def _is_plain(text: str) -> bool:
    return text.isprintable() and "::" not in text and "##" not in text and "://" not in text


def _hidden(match: re.Match[str]) -> str:
    scheme, user = match[1], match[2]
    name, colon, _ = user.partition(":")
    if scheme.lower() in _USER_IS_NO_SECRET:
        return f"{scheme}://{name}:{HIDDEN}@" if colon else match[0]
    return f"{scheme}://{HIDDEN}@"


def _escape(match: re.Match[str]) -> str:
    before, char = match[0][:-1], match[0][-1]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8 (PEP 383)
        code -= 0xDC00
    return before + (_SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"))


DEBUG: Final = "KRM_MERGE_DEBUG"
"""The environment variable that adds tracebacks."""
ISSUES: Final = "https://github.com/krm-merge/krm-merge/issues"


def let_go(error: BaseException | None) -> None:
    """Frees what the calls held in which memory ran out: there is too little left to say so."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def internal_error(error: Exception, consequence: str, size: int | None = None) -> str:
    """The message, with the traceback if DEBUG is set; `consequence` says what happened to the work.

    `size` is that of the input in bytes, if it is known.
    """
    if isinstance(error, MemoryError):
        size_note = "" if size is None else f" for an input of {size:,} bytes"
        return f"out of memory{size_note}, {consequence}; split the input, or give krm-merge more memory"
    what = quoted(line(f"{type(error).__name__}: {error}"))
    message = f"internal error, {consequence}: {what}; please report it with the output of {DEBUG}=1: {ISSUES}"
    if os.environ.get(DEBUG, "") in ("", "0"):
        return message
    import traceback

    return f"{message}\n{''.join(traceback.format_exception(error)).rstrip()}"
