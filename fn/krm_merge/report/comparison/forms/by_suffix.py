"""The forms of a comparison, by the suffix of the file that it is written to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from krm_merge.report.comparison.difference import Comparison

FORMS: Final[Mapping[str, str]] = {".html": "html", ".md": "markdown", ".json": "json", ".sarif": "sarif"}
"""What a comparison may be written as, by suffix."""


def rendered(comparison: Comparison, suffix: str) -> str:
    """The comparison in the form that a suffix names. Raises KeyError for one that is not among FORMS."""
    form = FORMS[suffix]
    if form == "json":
        return as_json(comparison)
    # Each form is a module of its own, imported when it is asked for.
    render: Callable[[Comparison], str] = import_module(f"krm_merge.report.comparison.forms.{form}").render
    return render(comparison)


def as_json(comparison: Comparison) -> str:
    """The document itself, in ASCII: a terminal may be shown it, and not every name of a file is UTF-8."""
    return json.dumps(comparison.to_value(), indent=2) + "\n"
