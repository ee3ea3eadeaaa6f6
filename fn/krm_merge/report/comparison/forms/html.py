"""A comparison as one HTML file: no network, no scripts, readable in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from krm_merge.report.comparison.difference import Comparison, Difference
from krm_merge.report.comparison.words import HEADINGS, reported_by, summary, versions_by_value
from krm_merge.report.forms.html import Limited, page
from krm_merge.report.forms.markup import Html, tag
from krm_merge.report.forms.shown import shortened, yaml_text

_LONGEST_VALUE = 4_000
_MOST_CHARACTERS = 4_500_000
"""Of the whole page: what is beyond is counted."""


def render(comparison: Comparison) -> str:
    """The page."""
    title = f"{comparison.package}: kpt beside krm-merge"
    main = tag("main", *Limited(_MOST_CHARACTERS).of(_sections(comparison)), id="main")
    return page(title, _header(comparison), main)


def _header(comparison: Comparison) -> Html:
    sides = [tag("span", tag("b", name), " ", str(side), " ") for name, side in comparison.sides.items()]
    counts = comparison.counts
    tiles = [
        tag("li", tag("b", f"{counts[finding]:,}"), " ", heading, class_="tile")
        for finding, heading in HEADINGS.items()
        if counts[finding]
    ]
    return tag(
        "header",
        tag("h1", comparison.package, ": kpt beside krm-merge"),
        tag("p", *sides, class_="refs"),
        *[tag("p", sentence, ".") for sentence in summary(comparison)],
        tag("ul", *tiles, class_="tiles") if tiles else "",
    )


def _sections(comparison: Comparison) -> Iterator[Html]:
    """The differences by file; a heading comes with what is below it."""
    for file, in_file in groupby(comparison.differences, key=lambda difference: difference.file):
        yield tag("h2", tag("code", file))
        for difference in in_file:
            yield _card(difference)


def _card(difference: Difference) -> Html:
    about = tag("span", str(difference.resource or ""), class_="where")
    title = tag("h3", tag("code", difference.path or difference.file), " ", about)
    secret = " (a secret value)" if difference.is_redacted else ""
    said = f"{difference.message}{secret}{reported_by(difference)}"
    why = tag("p", tag("span", HEADINGS[difference.finding], class_="nature"), " ", said, class_="why")
    values = [
        tag("div", tag("h4", ", ".join(names)), tag("pre", shortened(text, _LONGEST_VALUE)), class_="side")
        for names, text in versions_by_value(difference, yaml_text)
    ]
    return tag("article", title, why, tag("div", *values, class_="sides") if values else "")
