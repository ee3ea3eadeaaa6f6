"""Our part in the text of a pull request, between two marks; all around it belongs to people. Pure.

The first mark says what the request is for, so that the forge alone has the whole history.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from krm_merge.report.forms.markdown import LONGEST

_BEGIN, _END = "<!-- krm-merge ", "<!-- /krm-merge -->"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pull request is for: the commit of upstream, the merged result, and the title that we gave it."""

    version: str
    result: str
    title: str


def mark_in(text: str) -> Mark | None:
    """The mark in the text of a pull request, None where people removed it."""
    text = text.replace("\r\n", "\n")
    start, stop = _part(text)
    try:
        value = json.loads(text[start:stop].partition("\n")[0].removeprefix(_BEGIN).removesuffix(" -->") or "{}")
        return Mark(**{name: str(value[name]) for name in Mark.__slots__})
    except (ValueError, KeyError, TypeError):
        return None


def with_part(text: str, mark: Mark, body: str) -> str:
    """The text with our part replaced, or added at its end. A body that is too long for forges is cut."""
    said = json.dumps(asdict(mark)).replace(">", "\\u003e")
    if len(body) > LONGEST:
        kept = body[:LONGEST].rpartition("\n")[0]
        body = f"{kept}\n\n{len(body) - len(kept):,} more characters are in the report of the campaign."
    part = f"{_BEGIN}{said} -->\n{body.replace('<!--', '&lt;!--').rstrip()}\n{_END}"
    text = text.replace("\r\n", "\n")
    start, stop = _part(text)
    if stop:
        return text[:start] + part + text[stop:]
    return f"{text.rstrip()}\n\n{part}".lstrip()


def _part(text: str) -> tuple[int, int]:
    """From where to where our part is; (0, 0) where there is none."""
    start = text.find(f"{_BEGIN}{{")
    end = text.find(_END, start)
    return (start, end + len(_END)) if min(start, end) >= 0 else (0, 0)
