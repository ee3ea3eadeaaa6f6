"""Checks values of plugins: JSON, nested no deeper than the readers' limit."""

from __future__ import annotations

import math
from typing import Final

DEPTH_LIMIT: Final = 126
"""Maps and lists in each other. YAML is read to 128 levels; two of them surround an item of a ResourceList."""


# No subclasses: comparing and writing values depends on the exact type.
_TYPES: Final = frozenset((dict, list, str, int, float, bool, type(None)))


def flaw_of_value(value: object, depth: int = 0) -> str:
    """Why a value cannot be written, or ''. `depth` maps and lists surround it."""
    if type(value) not in _TYPES:
        return f"has a value of type {type(value).__name__}; JSON has dict, list, str, int, float, bool and None"
    if isinstance(value, str):
        return "" if is_text(value) else "has a lone surrogate"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"has {value}, which JSON does not have"
    if not isinstance(value, dict | list):
        return ""
    if depth >= DEPTH_LIMIT:
        return f"is nested deeper than {DEPTH_LIMIT} levels"
    if isinstance(value, dict) and not all(map(is_text, value)):
        return "has a key that is not text"
    inner = value.values() if isinstance(value, dict) else value
    return next(filter(None, (flaw_of_value(one, depth + 1) for one in inner)), "")


def is_text(value: object) -> bool:
    """Whether it is a text that UTF-8 can encode."""
    if type(value) is not str:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False
