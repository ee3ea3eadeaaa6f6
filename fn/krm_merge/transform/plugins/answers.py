"""Parses the answers of programs: JSON, and errors in crane's format."""

from __future__ import annotations

import json
import math
import re

from krm_merge.text.reading.values import Value
from krm_merge.transform.protocol.plugin import PluginError

# An escaped lone surrogate.
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")


def read_answer(answer: bytes) -> Value:
    """The JSON that a plugin answered. Raises PluginError."""
    try:
        value: Value = json.loads(answer, parse_constant=_no_json, parse_float=_finite)
        if _SURROGATE.search(answer):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        # The answer may quote the resource, which may be a Secret.
        raise PluginError(f"answered with {'invalid JSON' if answer.strip() else 'nothing'}") from None
    return value


def _no_json(text: str) -> Value:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else float(_no_json(text))  # type: ignore[arg-type]


def reported_error(value: Value) -> PluginError | None:
    """The error of a plugin in crane's format."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    type_, message, detail = (str(value.get(name) or "") for name in ("type", "message", "error"))
    return PluginError(message, type_, detail)
