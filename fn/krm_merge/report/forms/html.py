"""Reports as one HTML file: no network, no scripts, readable in light and in dark."""

from __future__ import annotations

import base64
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby

from krm_merge.report.record import SIDES, VERSIONS, Context, DecisionRecord, MergeReport, SideName
from krm_merge.report.words import (
    CHOICES,
    CONFLICTS,
    NATURES,
    ChangedLine,
    address_of,
    changed_values,
    shorten,
    words_changed,
    yaml_text,
)

_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class Html(str):
    """Text that is HTML already. Every other text is content and gets escaped."""

    __slots__ = ()


def html(content: object) -> Html:
    """Content as HTML; characters that nobody sees, or that change the direction of writing, are shown by number."""
    if isinstance(content, Html):
        return content
    return Html(escape(_INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", str(content))))


def tag(name: str, *content: object, **attributes: str | bool) -> Html:
    """An element; `class_` is its class. An attribute that is True has no value, one that is False is left out."""
    named = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not False
    )
    return Html(f"<{name}{named}>{concat(*content)}</{name}>")


def concat(*content: object) -> Html:
    """Content one after the other."""
    return Html("".join(map(html, content)))


_MOST_CARDS = 1_500
"""Conflicts that have a card; the others are lines."""

_LONGEST_IN_CARD, _LONGEST_IN_LINE = 4_000, 120
"""Characters of a value."""

_MOST_CHANGED = 200
"""Changed lines of a side in a card."""

_MOST_CHARACTERS = 4_500_000
"""Of the whole page: what is beyond is counted."""


def render(report: MergeReport) -> str:
    """The page."""
    heading = report.package or "Merge"
    sides = [tag("span", tag("b", name), " ", str(side)) for name, side in report.sides.items()]
    tiles = [
        tag("li", tag("b", f"{count:,}"), " ", _TILES[name], class_=f"tile {name}{'' if count else ' none'}")
        for name, count in report.counts.items()
    ]
    header = _header(heading, Html(" ".join(sides)), tiles)
    return page(f"{heading}: {_summary(report)}", header, _main(_sections(report)))


def _header(heading: str, sides: Html, tiles: Sequence[Html], *sentences: Html) -> Html:
    """The head of a page: the versions, what there is to say of the whole, and numbers."""
    numbers = tag("ul", *tiles, class_="tiles") if tiles else ""
    return tag("header", tag("h1", heading), tag("p", sides, class_="refs"), *sentences, numbers)


def page(title: str, *body: Html) -> str:
    """A page of its own: the style is in it, and nothing else may be loaded."""
    style = _style()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = concat(
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("title", title),
        tag("style", Html(style)),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>{tag("body", *body)}</html>\n'


@cache
def _style() -> str:
    return files("krm_merge.report").joinpath("report.css").read_text(encoding="utf-8")


def _summary(report: MergeReport) -> str:
    opened, settled = report.counts["open"], report.counts["settled"]
    return f"{opened} open, {settled} settled" if opened or settled else "no conflicts"


_TILES = {
    "open": "conflicts open",
    "settled": "conflicts settled",
    "automatic": "taken automatically",
    "files": "files change",
}


# ---- sections --------------------------------------------------------------------------------------------------------


def _sections(report: MergeReport) -> Iterator[Html]:
    """The parts of the page, the most important first; a heading comes with what is below it."""
    for result in report.notices():
        yield tag("p", tag("b", f"{result.severity}:"), " ", result.message, class_=f"notice {result.severity}")
    cards = _MOST_CARDS
    for status, heading in CONFLICTS:
        records = report.with_status(status)
        if not records:
            continue
        yield tag("h2", heading, " ", tag("small", f"{len(records):,}"), id=status)
        for record in records[:cards]:
            yield card(record, report.contexts.get(record.id), report.rules)
        yield from _lines(records[cards:])
        cards = max(0, cards - len(records))
    automatic = report.with_status("automatic")
    if not report.with_status("open") and not report.with_status("settled"):
        yield tag("p", "No conflicts: nothing was changed on both sides in different ways.", class_="empty")
    if automatic:
        yield tag("h2", "Taken automatically ", tag("small", f"{len(automatic):,}"), id="automatic")
        yield from _lines(automatic)
    if report.rules:
        yield tag("h2", "Rules", id="rules")
    for number, text in sorted(report.rules.items()):
        title, _, explanation = text.partition("\n")
        yield tag("article", tag("h3", title), tag("pre", explanation.strip(), class_="rule"), id=f"rule-{number}")


def card(record: DecisionRecord, context: Context | None, rules: Container[str] = ()) -> Html:
    """A record with the values of its sides beside each other; `rules` are explained on the page."""
    address = f"#rule-{record.rule}" if record.rule in rules else address_of(record.docs)
    where = [str(record.resource)] if record.resource is not None else []
    place = tag("span", " · ".join([*where, *([record.file] if record.path else [])]), class_="where")
    rule = tag("a", record.rule, href=address, title="The rule")
    title = tag("h3", tag("code", record.path or record.file), " ", place, " ", rule)
    message = tag("p", tag("span", NATURES[record.nature], class_="nature"), " ", record.message, class_="why")
    changes = changed_values(record)
    columns = (_side(record, side, changes.get(side)) for side in (VERSIONS[1:] if changes else VERSIONS))
    sides = tag("div", *columns, class_="sides")
    return tag("article", title, message, sides, _result(record, context), class_=record.status, id=f"r{record.id}")


def _side(record: DecisionRecord, side: SideName, changes: Sequence[ChangedLine] | None) -> Html:
    is_chosen = record.chosen == side
    heading = tag("h4", side, tag("span", " kept", class_="kept") if is_chosen else "")
    value = _value(record, side) if changes is None else _changes(changes)
    return tag("div", heading, value, class_=f"side {side}{' picked' if is_chosen else ''}")


def _changes(changes: Sequence[ChangedLine]) -> Html:
    """The lines that a side changed."""
    if not changes:
        return tag("p", "the same values", class_="gone")
    lines = []
    for mark, pieces in changes[:_MOST_CHANGED]:
        words = (tag("mark", piece) if is_new else piece for piece, is_new in pieces)
        lines.append(tag("span", f"{mark} ", *words, class_={"-": "del", "+": "ins"}.get(mark, False)))
    more = [f"… {len(changes) - _MOST_CHANGED:,} more lines"] if len(changes) > _MOST_CHANGED else []
    return tag("pre", *lines, *more, class_="changes")


def _value(record: DecisionRecord, side: SideName) -> Html:
    if record.alike is not None:
        letter = record.alike.get(side)
        return tag("p", "nothing" if letter is None else f"secret value {letter}", class_="gone")
    if side not in record.values:
        return tag("p", "nothing", class_="gone")
    text = yaml_text(record.values[side])
    pieces: Iterable[tuple[str, bool]] = [(text, False)]
    if side in ("upstream", "local") and "original" in record.values:
        pieces = words_changed(yaml_text(record.values["original"]), text)
    if len(text) > _LONGEST_IN_CARD:
        pieces = [(shorten(text, _LONGEST_IN_CARD), False)]
    return tag("pre", *(tag("mark", piece) if changed else piece for piece, changed in pieces))


def _result(record: DecisionRecord, context: Context | None) -> Html:
    if record.status == "open":
        choices = ", ".join(CHOICES[choice] for choice in record.choices)
        return tag("p", f"Open. Choices: {choices}." if choices else "Open.", class_="result")
    by = tag("span", f"settled by {record.settled_by}", class_="by")
    if context is None:
        is_gone = record.alike is None and "result" not in record.values
        value = tag("p", "nothing remains here", class_="gone") if is_gone else _value(record, "result")
        return tag("div", tag("h4", "result ", by), value, class_="result")
    before, here, behind = (
        "\n".join(context.lines[start:stop])
        for start, stop in ((0, context.start), (context.start, context.stop), (context.stop, None))
    )
    parts = [f"{before}\n" if before else "", tag("span", here or " ", class_="here"), behind]
    return tag("div", tag("h4", "result ", by), tag("pre", *parts), class_="result")


def _lines(records: Iterable[DecisionRecord]) -> Iterator[Html]:
    """Records as lines, folded by file."""
    for file, group in groupby(sorted(records, key=lambda record: record.file), key=lambda record: record.file):
        lines = [_line(record) for record in group]
        # Long lists are cut into pieces, so that a page that is full ends in the middle of one.
        for at in range(0, len(lines), 200):
            part = lines[at : at + 200]
            more = f" {at + 1}-{at + len(part)}" if len(lines) > 200 else ""
            summary = tag("summary", tag("code", file), " ", tag("small", f"{len(lines):,}{more}"))
            yield tag("details", summary, tag("ul", *part))


def _line(record: DecisionRecord) -> Html:
    place = tag("code", record.path) if record.path else html(str(record.resource or record.file))
    if record.alike is not None:
        values = "secret value"
    elif record.status == "automatic":
        values = f"{_short(record, 'local')} → {_short(record, 'result')}" if record.path else ""
    else:
        values = ", ".join(f"{side} {_short(record, side)}" for side in SIDES)
    return tag("li", place, " ", tag("i", values), " ", tag("small", f"{record.message} ({record.rule})"))


def _short(record: DecisionRecord, side: SideName) -> str:
    if side not in record.values:
        return "nothing"
    return shorten(" ".join(yaml_text(record.values[side]).split()), _LONGEST_IN_LINE)


# ---- size ------------------------------------------------------------------------------------------------------------


def _main(parts: Iterable[Html]) -> Html:
    """The parts as far as the page has room for them, and a notice instead of those that are left out."""
    room, content = _MOST_CHARACTERS, []
    for part in parts:
        room -= len(part.encode())
        if room > 0:
            content.append(part)
    if room <= 0:
        notice = "This page does not show everything; the report as .json does."
        content.append(tag("p", notice, class_="notice warning"))
    return tag("main", *content, id="main")
