"""The secret values that plugins received: messages of plugins must not disclose them (M6)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from krm_merge.harmless import REDACTED
from krm_merge.schema.secrecy import hidden_in
from krm_merge.text.reading.values import Object, Value

_SHORTEST: Final = 4
"""Least length of a hidden value: shorter ones also occur in unrelated words."""
_SHORTEST_END: Final = 7


class Secrets:
    """Secret values, encoded and decoded."""

    def __init__(self) -> None:
        """Starts empty."""
        self._values: set[str] = set()

    def add(self, resource: Object) -> None:
        """Records the secret values of a resource."""
        for value in hidden_in(resource):
            for leaf in _texts(value):
                self._values |= {part for text in _forms(leaf) for part in (text, *text.splitlines())}

    def hidden_in(self, text: str) -> str:
        """The text without these values, including the end of a value whose beginning was cut off."""
        for value in sorted(self._values, key=len, reverse=True):
            if len(value) >= _SHORTEST:
                text = text.replace(value, REDACTED)
            end = next((value[at:] for at in range(1, len(value) - _SHORTEST_END) if value[at:] in text), "")
            text = text.replace(end, REDACTED) if end else text
        return text


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _forms(value: str) -> list[str]:
    """A value, what it encodes, and its encoding."""
    forms = [value, value.strip(), base64.b64encode(value.encode()).decode()]
    with suppress(binascii.Error, UnicodeDecodeError, ValueError):
        decoded = base64.b64decode(value, validate=True).decode()
        forms += [decoded, decoded.strip()]
    return forms
