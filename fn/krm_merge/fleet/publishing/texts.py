"""Our part in the text of a pull request, between two marks; all around it belongs to people. Pure.

The first mark says what the request is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from krm_merge.report.forms.markdown import LONGEST

_START: Final = "<!-- krm-merge {"
_HEAD_END: Final = "} -->\n"
_END: Final = "<!-- /krm-merge -->"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it."""

    version: str
    result: str
    title: str


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    place = _place(text.replace("\r\n", "\n"))
    try:
        value = json.loads(place[1]) if place else {}
        return Mark(**{name: str(value[name]) for name in Mark.__slots__})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _place(text: str) -> tuple[str, str, str] | None:
    """What is before our part, its mark, and what is behind it; None without such a part."""
    before, start, rest = text.partition(_START)
    head, head_end, rest = rest.partition(_HEAD_END)
    _, end, behind = rest.partition(_END)
    return (before, f"{{{head}}}", behind) if start and head_end and end else None


def with_part(text: str, mark: Mark, body: str) -> str:
    """The text with our part replaced, or added at its end. A body that is too long for forges is cut."""
    said = json.dumps(asdict(mark)).replace(">", "\\u003e")
    if len(body) > LONGEST:
        kept = body[:LONGEST].rpartition("\n")[0]
        body = f"{kept}\n\n{len(body) - len(kept):,} more characters are in the report of the campaign."
    part = f"<!-- krm-merge {said} -->\n{body.replace('<!--', '&lt;!--').rstrip()}\n<!-- /krm-merge -->"
    text = text.replace("\r\n", "\n")
    if place := _place(text):
        return place[0] + part + place[2]
    return f"{text.rstrip()}\n\n{part}".lstrip()
