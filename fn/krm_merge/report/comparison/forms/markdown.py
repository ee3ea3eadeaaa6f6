"""A comparison as Markdown for the text of a pull request: short, the most important first."""

from __future__ import annotations

from itertools import groupby

from krm_merge.report.comparison.difference import Comparison, Difference
from krm_merge.report.comparison.words import HEADINGS, reported_by, summary, versions_by_value
from krm_merge.report.forms.markdown import LONGEST, code, plain
from krm_merge.report.forms.shown import flow_text

_LONGEST_VALUE = 80
_LONGEST_MESSAGE = 400


def render(comparison: Comparison) -> str:
    """The text, cut with a count where it would be too long."""
    sides = ", ".join(f"{name} {plain(str(side))}" for name, side in comparison.sides.items())
    text = f"## {plain(comparison.package)}: kpt beside krm-merge\n\n"
    text += f"{sides}\n\n" if sides else ""
    text += "\n".join(f"- {plain(sentence, _LONGEST_MESSAGE)}" for sentence in summary(comparison)) + "\n"
    done = 0
    for file, in_file in groupby(comparison.differences, key=lambda difference: difference.file):
        heading = f"\n### {plain(file)}\n\n| place | finding | values |\n|---|---|---|\n"
        for difference in in_file:
            row = f"{heading}{_row(difference)}"
            # What is cut is counted; the count has room behind whatever is kept.
            if len(text) + len(row) > LONGEST - 500:
                left = len(comparison.differences) - done
                return f"{text}\n{left:,} more differences are not shown; the report as `.json` has all of them.\n"
            text, heading, done = text + row, "", done + 1
    return text


def _row(difference: Difference) -> str:
    place = " ".join(part for part in (code(difference.path), plain(str(difference.resource or ""))) if part)
    said = f"{HEADINGS[difference.finding]}: {plain(difference.message, _LONGEST_MESSAGE)}{reported_by(difference)}"
    values = [f"{', '.join(names)} {_value(text)}" for names, text in versions_by_value(difference, flow_text)]
    shown = "*secret*" if difference.is_redacted else "<br>".join(values)
    return f"| {place or plain(difference.file)} | {said} | {shown} |\n"


def _value(text: str) -> str:
    return code(text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…") or '`""`'
