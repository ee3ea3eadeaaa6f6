"""Text from packages, programs and servers made harmless: for a terminal, and without anybody's credentials."""

from __future__ import annotations

import re
from typing import Final

from krm_merge.startup import pattern

LONGEST_QUOTE: Final = 200
"""Characters of a value that an error quotes."""

HIDDEN: Final = "***"

REDACTED: Final = "(redacted)"
"""What is shown in the place of a Secret's value."""

# C0 but the tab, C1, marks of direction, separators of lines, and bytes of file names that are no UTF-8.
_UNSAFE_CHARACTERS = "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_UNSAFE = pattern(_UNSAFE_CHARACTERS)
_UNSAFE_IN_LINES = pattern(_UNSAFE_CHARACTERS.replace("\x0a-\x1f", "\x0b-\x1f"))
_SHORT = {"\n": "\\n", "\r": "\\r"}
# A password with a slash should be escaped; some people's is not, and what follows the colon is no port then.
# Schemes are short: with one of any length, the time would grow with the square of the text's.
_USER = pattern(
    r"([a-zA-Z][a-zA-Z0-9+.-]{0,30})://"
    r"([^\s/?#'\"<>]*|[^\s/?#'\"<>:@\[]*:(?!\d*(?:[/?#\s'\"<>]|\Z))[^\s'\"<>]{0,200}?)@"
)
_FIELD = pattern(r"([?&](?:[\w-]*(?:token|password|secret|signature)|auth|key|sig)=)[^&\s#'\"]+", re.IGNORECASE)
_USER_IS_NO_SECRET = ("ssh", "git+ssh", "ssh+git", "sftp", "git")


def line(text: str) -> str:
    """A text as one line that a terminal only shows: what it would obey is escaped; without credentials."""
    return text if _is_plain(text) else _UNSAFE.sub(_escaped, without_credentials(text))


def terminal_line(text: str) -> str:
    """A line of somebody's file as a terminal shows it: what it would obey is escaped, all else as it is."""
    return _UNSAFE.sub(_escaped, text)


def lines(text: str) -> str:
    """As `line`, but line ends stay: they are the writer's own."""
    return text if _is_plain(text) else _UNSAFE_IN_LINES.sub(_escaped, without_credentials(text))


def without_credentials(text: str) -> str:
    """The text with passwords and tokens in its URLs hidden. In http a user name may be a token, too."""
    if "://" not in text:
        return text
    return _FIELD.sub(rf"\1{HIDDEN}", _USER.sub(_hidden, text))


def bare_address(url: str) -> str:
    """A URL of a repository without user and password, where these are secrets: what is written down for others."""
    match = _USER.match(url)
    if match is None or _hidden(match) == match[0]:
        return url
    user = f"{match[2].partition(':')[0]}@" if match[1].lower() in _USER_IS_NO_SECRET else ""
    return f"{match[1]}://{user}{url[match.end() :]}"


def quoted(value: str) -> str:
    """A value as an error quotes it: not at any length."""
    return value if len(value) <= LONGEST_QUOTE else f"{value[:LONGEST_QUOTE]}..."


def _is_plain(text: str) -> bool:
    return text.isprintable() and "://" not in text


def _hidden(match: re.Match[str]) -> str:
    scheme, user = match[1], match[2]
    name, colon, _ = user.partition(":")
    if scheme.lower() in _USER_IS_NO_SECRET:
        return f"{scheme}://{name}:{HIDDEN}@" if colon else match[0]
    return f"{scheme}://{HIDDEN}@"


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8 (PEP 383)
        code -= 0xDC00
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
