"""Names and texts that show that a value is secret (rule M6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from krm_merge.startup import pattern

_KINDS = ("secret", "secretlist")
_ENDS = ("_password", "_token", "_secret", "_key")
_ALONE = ("password", "token", "secret")
"""Names of variables that need no word before them."""

_SECRET = pattern(
    r"""kind["']?\s*:\s*["']?Secret(?:List)?\b|\bsecretGenerator\b|last-applied-configuration|PRIVATE KEY-----""",
    re.IGNORECASE,
)
# A reference such as $NAME or {{ name }} is no value.
_ASSIGNMENT = pattern(
    r"""(?:^[ \t]*(?:-[ \t]+|export[ \t]+)*|["'])([\w./-]+)(?:["'][ \t]*:|[ \t]*:[ \t]|["']?[ \t]*=)[ \t]*"""
    r"""(?!["']{2}|["']?[{\[$<])["']?[^\s"']""",
    re.MULTILINE,
)
_DIVIDERS = str.maketrans("-./", "___")
_ELEMENT = pattern(
    r"""\b(?:name|key)["']?[ \t]*:[ \t]*["']?([\w./-]+)["']?[ \t]*(?:,|\r?\n)\s*["']?value["']?[ \t]*:""",
)


def is_secret_kind(kind: str) -> bool:
    """Whether resources of a kind are Secrets, in whatever case it is written."""
    return kind.strip().lower() in _KINDS


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a field of this name is secret where it holds a text or number."""
    return _normal(name).endswith(_ENDS)


def is_secret_variable(name: str, patterns: Sequence[str]) -> bool:
    """Whether a variable of this name is secret, by itself or by one of the user's patterns."""
    return is_secret_name(name) or _normal(name).strip("_") in _ALONE or fits(name, patterns)


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name fits one of the user's patterns."""
    return any(fnmatchcase(_normal(name), _normal(each)) for each in patterns)


def holds_secret(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether a Secret or a private key may be written in a part of a text."""
    return _SECRET.search(text, start, len(text) if end is None else end) is not None


def is_telling(text: str, patterns: Sequence[str] = ()) -> bool:
    """Whether a text holds a Secret, a private key, or a secret variable with its value."""
    if holds_secret(text):
        return True
    if ":" not in text and "=" not in text:
        return False
    names = {match[1] for expression in (_ASSIGNMENT, _ELEMENT) for match in expression.finditer(text)}
    return any(is_secret_variable(name, patterns) for name in names)


@lru_cache(maxsize=4096)
def _normal(name: str) -> str:
    """A name as patterns are compared with it: DB_TOKEN, db-token and db.token are one."""
    return name.lower().translate(_DIVIDERS)
