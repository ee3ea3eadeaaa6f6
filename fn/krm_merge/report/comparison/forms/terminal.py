"""A comparison as lines for a terminal: the summary, then file by file, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from krm_merge.report.comparison.difference import Comparison, Difference
from krm_merge.report.comparison.words import HEADINGS, reported_by, summary, versions_by_value
from krm_merge.report.forms.shown import flow_text, shortened
from krm_merge.report.forms.terminal import Line, harmless_line

_LONGEST_VALUE = 400


def comparison_lines(comparison: Comparison) -> Iterator[Line]:
    """The lines of a whole comparison."""
    for sentence in summary(comparison):
        yield harmless_line(sentence, "heading")
    for file, in_file in groupby(comparison.differences, key=lambda difference: difference.file):
        yield Line("")
        yield harmless_line(file, "heading")
        for resource, of_resource in groupby(in_file, key=lambda difference: difference.resource):
            indent = "  "
            if resource is not None:
                yield harmless_line(f"{indent}{resource}")
                indent += "  "
            for difference in of_resource:
                yield from _of_difference(difference, indent)


def _of_difference(difference: Difference, indent: str) -> Iterator[Line]:
    place = f" {difference.path}:" if difference.path else ""
    secret = " (a secret value)" if difference.is_redacted else ""
    said = f"{difference.message}{secret}{reported_by(difference)}"
    yield harmless_line(f"{indent}{HEADINGS[difference.finding]}:{place} {said}")
    for names, text in versions_by_value(difference, flow_text):
        yield harmless_line(f"{indent}  {', '.join(names)}: {shortened(text, _LONGEST_VALUE)}")
