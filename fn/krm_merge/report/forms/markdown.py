"""Reports as Markdown for a pull request: short, the most important first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from krm_merge.report.record import SIDES, DecisionRecord, MergeReport, SideName
from krm_merge.report.words import CHOICES, CONFLICTS, NATURES, yaml_text

LONGEST = 60_000
"""Characters at most: GitHub takes 65,536 for a pull request, and somebody may want to write something, too."""

_LONGEST_VALUE = 80
_LONGEST_MESSAGE = 400
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~!])")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def render(report: MergeReport) -> str:
    """The text, cut with a count where it would be too long."""
    rest = "decisions are not shown; the report as `.json` or `.html` has all of them."
    return _cut(_head(report), list(_parts(report)), rest)


def _cut(text: str, parts: Sequence[tuple[str, int]], rest: str) -> str:
    """The text with the parts that fit; behind them how many there are of the `rest`."""
    for number, (part, _) in enumerate(parts):
        # The count has room behind whatever is kept.
        if len(text) + len(part) > LONGEST - 500:
            return f"{text}\n{sum(count for _, count in parts[number:]):,} more {rest}\n"
        text += part
    return text


def _head(report: MergeReport) -> str:
    counts = " | ".join(f"{count:,}" for count in report.counts.values())
    sides = [f"{name} {plain(str(side))}" for name, side in report.sides.items()]
    head = f"## {plain(report.package or 'Merge')}\n\n"
    head += f"{', '.join(sides)}\n\n" if sides else ""
    head += "| conflicts open | conflicts settled | taken automatically | files |\n|---:|---:|---:|---:|\n"
    return f"{head}| {counts} |\n"


def _parts(report: MergeReport) -> Iterator[tuple[str, int]]:
    """Pieces of text, and how many records each is about."""
    notices = report.notices()
    if notices:
        yield "\n", 0
    for result in notices:
        yield f"- **{result.severity}** {plain(result.message, _LONGEST_MESSAGE)}\n", 0
    for status, heading in CONFLICTS:
        records = report.with_status(status)
        if records:
            yield (
                f"\n### {heading}\n\n| place | what happened | original | upstream | local | result |\n{'|---' * 6}|\n",
                0,
            )
        for record in records:
            yield _row(record), 1
    automatic = report.with_status("automatic")
    if automatic:
        yield "\n### Taken automatically\n\n", 0
    for file, count in Counter(record.file for record in automatic).items():
        yield f"- {plain(file)}: {count:,}\n", count


def _row(record: DecisionRecord) -> str:
    place = " ".join(part for part in (code(record.path), plain(str(record.resource or ""))) if part)
    where = f"{place}<br>{plain(record.file)}" if place else plain(record.file)
    message = f"{NATURES[record.nature]}: {plain(record.message, _LONGEST_MESSAGE)} ({record.rule})"
    if record.status == "open" and record.choices:
        message += f". Choices: {', '.join(CHOICES[choice] for choice in record.choices)}"
    values = [_value(record, side) for side in SIDES]
    return f"| {where} | {message} | {' | '.join(values)} |\n"


def _value(record: DecisionRecord, side: SideName) -> str:
    if record.alike is not None:
        return f"secret {record.alike[side]}" if side in record.alike else "*nothing*"
    if side not in record.values:
        return "*nothing*" if side != "result" or record.status != "open" else "*open*"
    return _cell(" ".join(yaml_text(record.values[side]).split()))


def plain(text: str, longest: int = 200) -> str:
    """Text without a meaning of its own in Markdown, on one line: nobody is mentioned, nothing is linked."""
    line = _CONTROL.sub(" ", text if len(text) <= longest else f"{text[: longest - 1]}…")
    escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", escaped).replace("@", "@\u200b").replace("://", ":\u200b//")


def code(text: str) -> str:
    """Text as code in a cell of a table."""
    line = _CONTROL.sub(" ", text).replace("|", "\\|")
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _cell(text: str) -> str:
    return code(text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…") or '`""`'
