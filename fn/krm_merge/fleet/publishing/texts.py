"""Our part in the text of a pull request, between two marks; all around it belongs to people. Pure.

The first mark says what the request is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from krm_merge.report.forms.markdown import LONGEST

_PART = re.compile(r"<!-- krm-merge (?P<mark>\{[^\n]*\}) -->\n.*?<!-- /krm-merge -->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it."""

    version: str
    result: str
    title: str


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    found = _PART.search(text.replace("\r\n", "\n"))
    try:
        value = json.loads(found["mark"]) if found else {}
        return Mark(**{name: str(value[name]) for name in Mark.__slots__})
    except (ValueError, KeyError, TypeError):
        return None


def with_part(text: str, mark: Mark, body: str) -> str:
    """The text with our part replaced, or added at its end. A body that is too long for forges is cut."""
    said = json.dumps(asdict(mark)).replace(">", "\\u003e")
    if len(body) > LONGEST:
        kept = body[:LONGEST].rpartition("\n")[0]
        body = f"{kept}\n\n{len(body) - len(kept):,} more characters are in the report of the campaign."
    part = f"<!-- krm-merge {said} -->\n{body.replace('<!--', '&lt;!--').rstrip()}\n<!-- /krm-merge -->"
    text = text.replace("\r\n", "\n")
    found = _PART.search(text)
    if found:
        return text[: found.start()] + part + text[found.end() :]
    return f"{text.rstrip()}\n\n{part}".lstrip()
