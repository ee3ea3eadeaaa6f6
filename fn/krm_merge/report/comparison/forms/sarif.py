"""A comparison as SARIF 2.1.0, for code scanning: one rule for each finding, one result for each difference."""

from __future__ import annotations

from typing import Any

from krm_merge.report.comparison.difference import Comparison, Difference, FindingName
from krm_merge.report.comparison.words import HEADINGS, reported_by
from krm_merge.report.forms.sarif import MOST_RESULTS, location, log_text
from krm_merge.report.words import address_of

_PAGE = "docs/differences-from-kpt.md"
_NOTES: tuple[FindingName, ...] = (
    "order",
    "changed-alone",
    "layout",
    "notes",
    "comments-differ",
    "conflict-unreported",
)


def render(comparison: Comparison) -> str:
    """The log; where kpt refuses the update, that is its only result."""
    if comparison.refusal:
        refused = {"level": "warning", "message": {"text": f"kpt stops with an error: {comparison.refusal}"}}
        return log_text([], [refused])
    results = [_result(difference, comparison.package) for difference in comparison.differences[:MOST_RESULTS]]
    used = sorted({result["ruleId"] for result in results})
    rules = [{"id": rule, "shortDescription": {"text": HEADINGS[rule]}, "helpUri": address_of(_PAGE)} for rule in used]
    return log_text(rules, results)


def _result(difference: Difference, package: str) -> dict[str, Any]:
    place = " ".join(part for part in (str(difference.resource or ""), difference.path) if part)
    text = f"{place or difference.file}: {difference.message}{reported_by(difference)}"
    return {
        "ruleId": difference.finding,
        "level": "note" if difference.finding in _NOTES else "warning",
        "message": {"text": text},
        "locations": [location(package, difference.file, place)],
    }
