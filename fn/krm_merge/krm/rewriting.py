"""Reports resources whose text was rewritten as a whole (rule W2)."""

from __future__ import annotations

from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results


def report_rewriting(resource: Resource, results: Results, file: str | None = None) -> None:
    """Adds a warning where the edits of a resource could not be made in its text, after that was written."""
    if resource.used_fallback:
        lost = "comments and layout of this resource may have changed"
        results.warning(
            f"{resource.ref}: edited beyond what can be done in its text; {lost}",
            resource=resource.ref,
            file=file or resource.file,
            rule="W2",
        )
