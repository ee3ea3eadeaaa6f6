"""Replies of forges, successful or not: status and error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

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
        given = self.headers.get(header, "")
        return float(given) if re.fullmatch("[0-9]{1,10}", given) else None


def messages_in(value: object) -> Iterator[str]:
    """The messages in an answer: texts, lists of them, or by field as GitLab has them."""
    found = value if isinstance(value, dict) else {"errors": value}
    for each in [*_flat(found.get("message")), found.get("error"), *_flat(found.get("errors"))]:
        text = each
        if isinstance(each, dict):
            field, code = each.get("field"), each.get("code")
            text = each.get("message", f"{field}: {code}" if isinstance(field, str) and isinstance(code, str) else None)
        if isinstance(text, str):
            yield text


def _flat(found: object) -> Iterator[object]:
    """One message or many, in lists, or by the names of fields (`{"base": ["is missing"]}`)."""
    if isinstance(found, list):
        yield from found
    elif isinstance(found, dict):
        for name, problems in found.items():
            yield from (f"{name}: {problem}" for problem in _flat(problems))
    else:
        yield found
