"""The forms of reports, by the suffix of the file that one is written to."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from krm_merge.report.record import MergeReport
from krm_merge.safe_text import json_text

FORMS: Final[Mapping[str, str]] = {".html": "html", ".md": "markdown", ".json": "json", ".sarif": "sarif"}
"""The forms of a report, by suffix."""


def render_document(report: MergeReport, suffix: str) -> str:
    """The report in the form that a suffix names. Raises KeyError for one that is not among FORMS."""
    form = FORMS[suffix]
    if form == "json":
        return as_json(report)
    # Each form is a module of its own, imported when it is asked for.
    module = import_module(f"krm_merge.report.forms.{form}")
    text: str = module.render(report)
    return text


def as_json(report: MergeReport) -> str:
    """The report itself, in ASCII: not every name of a file is UTF-8."""
    return json_text(report.to_value(), indent=2) + "\n"
