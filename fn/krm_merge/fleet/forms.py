"""An overview as a page, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from krm_merge.fleet.entry import LedgerEntry
from krm_merge.fleet.merging.job import NEED_ATTENTION
from krm_merge.fleet.overview import Overview
from krm_merge.report.forms.html import card, page
from krm_merge.report.forms.markdown import code, plain
from krm_merge.report.forms.markup import Html, tag

_MOST_GROUPS = 500
_LINES_IN_ONE = 500


def as_html(overview: Overview) -> str:
    """One page without network and scripts: tiles, waves, messages, groups of conflicts, and the targets folded."""
    campaign = overview.campaign
    upstream = campaign.upstream
    refs = tag("p", tag("span", f"{upstream.repository} {upstream.directory} to {upstream.ref}"), class_="refs")
    tiles = [
        tag("li", tag("b", f"{count:,}"), " ", state, class_=f"tile {'open' if state in NEED_ATTENTION else state}")
        for state, count in overview.counts().items()
    ]
    header = tag("header", tag("h1", campaign.name), refs, tag("ul", *tiles, class_="tiles"))
    return page(f"{campaign.name}: {len(campaign.targets):,} targets", header, tag("main", *_sections(overview)))


def _sections(overview: Overview) -> Iterator[Html]:
    for message in overview.messages:
        yield tag("p", str(message), class_="notice warning")
    if overview.waves:
        yield tag("h2", "Waves")
        yield tag("ul", *(tag("li", _wave_text(wave.name, overview)) for wave in overview.waves))
    if overview.groups:
        yield tag("h2", "Conflicts ", tag("small", f"{len(overview.groups):,} different"))
        yield from (card(group.record(), None) for group in overview.groups[:_MOST_GROUPS])
        if len(overview.groups) > _MOST_GROUPS:
            yield tag("p", f"{len(overview.groups) - _MOST_GROUPS:,} more: krm-merge fleet conflicts", class_="notice")
    yield tag("h2", "Targets")
    for state, entries in _by_state(overview).items():
        for at in range(0, len(entries), _LINES_IN_ONE):
            part = entries[at : at + _LINES_IN_ONE]
            more = f" {at + 1:,}-{at + len(part):,}" if len(entries) > _LINES_IN_ONE else ""
            summary = tag("summary", state, " ", tag("small", f"{len(entries):,}{more}"))
            yield tag("details", summary, tag("ul", *(_line(entry) for entry in part)))


def _line(entry: LedgerEntry) -> Html:
    number = f" #{entry.request.number}" if entry.request and entry.request.number else ""
    said = entry.problem or entry.message
    return tag("li", tag("code", entry.target), number, " ", tag("small", said))


def _by_state(overview: Overview) -> dict[str, list[LedgerEntry]]:
    found: dict[str, list[LedgerEntry]] = {}
    for entry in overview.entries.values():
        found.setdefault(entry.shown_state, []).append(entry)
    return {state: found[state] for state in overview.counts() if state in found}


def _wave_text(name: str, overview: Overview) -> str:
    wave = next(wave for wave in overview.waves if wave.name == name)
    of = wave.published + wave.to_publish
    return f"{name}: {len(wave.targets):,} targets, {wave.published:,} of {of:,} published, {wave.merged:,} merged"


def as_markdown(overview: Overview) -> str:
    """The same in short."""
    lines = [f"## {plain(overview.campaign.name)}", "", "| state | targets |", "|---|---:|"]
    lines += [f"| {state} | {count:,} |" for state, count in overview.counts().items()]
    lines += ["", *(f"- {plain(_wave_text(wave.name, overview))}" for wave in overview.waves)] if overview.waves else []
    lines += ["", *(f"- {plain(str(message), 400)}" for message in overview.messages)] if overview.messages else []
    if overview.groups:
        lines += ["", "| packages | conflict | what happened |", "|---:|---|---|"]
    lines += [
        f"| {len(group.packages):,} | {code(group.place)} | {plain(group.conflict.message)} |"
        for group in overview.groups[:_MOST_GROUPS]
    ]
    return "\n".join(lines) + "\n"


def as_json(overview: Overview) -> str:
    """Every target, for programs."""
    return json.dumps(overview.to_value(), indent=2) + "\n"


FORMS: Final[Mapping[str, Callable[[Overview], str]]] = {".html": as_html, ".md": as_markdown, ".json": as_json}
"""What an overview may be written as, by suffix."""
