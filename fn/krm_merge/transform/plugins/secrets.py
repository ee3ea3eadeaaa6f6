"""The values of Secrets that plugins received: messages of plugins must not disclose them."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from typing import Final

from krm_merge.harmless import REDACTED
from krm_merge.text.reading.values import Object

_SHORTEST: Final = 4
"""Least length of a hidden value: shorter ones also occur in unrelated words."""
_SHORTEST_END: Final = 7


class Secrets:
    """Values of Secrets, encoded and decoded."""

    def __init__(self) -> None:
        """Starts empty."""
        self._values: set[str] = set()

    def add(self, resource: Object) -> None:
        """Records the values of a Secret; ignores other resources."""
        if resource.get("kind") != "Secret":
            return
        for field in ("data", "stringData"):
            values = resource.get(field)
            for value in values.values() if isinstance(values, dict) else ():
                if isinstance(value, str):
                    self._values |= {part for text in _forms(value) for part in (text, *text.splitlines())}

    def hidden_in(self, text: str) -> str:
        """The text without these values, including the end of a value whose beginning was cut off."""
        for value in sorted(self._values, key=len, reverse=True):
            if len(value) >= _SHORTEST:
                text = text.replace(value, REDACTED)
            end = next((value[at:] for at in range(1, len(value) - _SHORTEST_END) if value[at:] in text), "")
            text = text.replace(end, REDACTED) if end else text
        return text


def _forms(value: str) -> list[str]:
    """A value, what it encodes, and its encoding."""
    forms = [value, value.strip(), base64.b64encode(value.encode()).decode()]
    with suppress(binascii.Error, UnicodeDecodeError, ValueError):
        decoded = base64.b64decode(value, validate=True).decode()
        forms += [decoded, decoded.strip()]
    return forms
