"""The forms of a report, by the suffix of the file that it is written to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from krm_merge.report.record import MergeReport

FORMS: Final[Mapping[str, str]] = {".html": "html", ".md": "markdown", ".json": "json", ".sarif": "sarif"}
"""What a report may be written as, by suffix."""


def rendered(report: MergeReport, suffix: str) -> str:
    """The report in the form that a suffix names. Raises KeyError for one that is not among FORMS."""
    form = FORMS[suffix]
    if form == "json":
        return as_json(report)
    # Each form is a module of its own, imported when it is asked for.
    render: Callable[[MergeReport], str] = import_module(f"krm_merge.report.forms.{form}").render
    return render(report)


def as_json(report: MergeReport) -> str:
    """The document itself, in ASCII: a terminal may be shown it, and not every name of a file is UTF-8."""
    return json.dumps(report.to_value(), indent=2) + "\n"
