"""HTML as text: the one place where content is escaped."""

from __future__ import annotations

import re
from html import escape

_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class Html(str):
    """Text that is HTML already. Every other text is content and gets escaped."""

    __slots__ = ()


def html(content: object) -> Html:
    """Content as HTML; characters that nobody sees, or that change the direction of writing, are shown by number."""
    if isinstance(content, Html):
        return content
    return Html(escape(_INVISIBLE.sub(_by_number, str(content))))


def tag(name: str, *content: object, **attributes: str | bool) -> Html:
    """An element; `class_` is its class. An attribute that is True has no value, one that is False is left out."""
    named = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not False
    )
    return Html(f"<{name}{named}>{joined(*content)}</{name}>")


def joined(*content: object) -> Html:
    """Content one after the other."""
    return Html("".join(map(html, content)))


def _by_number(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
