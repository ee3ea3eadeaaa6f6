"""The forms of reports and comparisons, by the suffix of the file that one is written to."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from krm_merge.report.record import MergeReport
from krm_merge.safe_text import json_text

if TYPE_CHECKING:
    from krm_merge.report.comparison.difference import Comparison

FORMS: Final[Mapping[str, str]] = {".html": "html", ".md": "markdown", ".json": "json", ".sarif": "sarif"}
"""The forms of a report or comparison, by suffix."""


def render_document(document: MergeReport | Comparison, suffix: str) -> str:
    """The document in the form that a suffix names. Raises KeyError for one that is not among FORMS."""
    form = FORMS[suffix]
    if form == "json":
        return as_json(document)
    # Each form is a module of its own, imported when it is asked for.
    module = import_module(f"krm_merge.report.forms.{form}")
    text: str = module.render(document) if isinstance(document, MergeReport) else module.render_comparison(document)
    return text


def as_json(document: MergeReport | Comparison) -> str:
    """The document itself, in ASCII: not every name of a file is UTF-8."""
    return json_text(document.to_value(), indent=2) + "\n"
