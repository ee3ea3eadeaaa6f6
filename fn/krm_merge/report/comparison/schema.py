"""The JSON schema of a comparison (docs/schemas/comparison.json)."""

from __future__ import annotations

from krm_merge.report.comparison.difference import KIND, VERSIONS
from krm_merge.report.comparison.words import HEADINGS
from krm_merge.report.record import API_VERSION
from krm_merge.report.schema import Schema, closed, files_schema, resource_schema, sides_schema

_TEXT: Schema = {"type": "string"}


def schema() -> Schema:
    """The schema, without an address of its own."""
    counts: Schema = {finding: {"type": "integer", "minimum": 1} for finding in HEADINGS}
    return closed(
        "What `kpt pkg update` makes of a package, beside what krm-merge makes of it.",
        {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "package": {**_TEXT, "description": "The package as it was named."},
            "sides": sides_schema(),
            "refusal": {**_TEXT, "description": "The message of kpt where it stops with an error."},
            "files": files_schema(),
            "counts": closed("How many differences there are of each finding.", counts, required=[]),
            "differences": {"type": "array", "items": _difference()},
        },
        required=["apiVersion", "kind", "package", "sides", "files", "counts", "differences"],
    )


def _difference() -> Schema:
    versions: Schema = {name: {"description": f"The value of {name}; absent where it has none."} for name in VERSIONS}
    return closed(
        "One difference.",
        {
            "finding": {"enum": list(HEADINGS)},
            "file": _TEXT,
            "resource": resource_schema(),
            "path": {**_TEXT, "description": "The field; empty for the resource or file as a whole."},
            "message": _TEXT,
            "reported": {"type": "boolean", "description": "Whether krm-merge reports a conflict there."},
            "rule": {**_TEXT, "description": "The number of the rule of that conflict."},
            "redacted": {"const": True, "description": "The values are secret and left out."},
            "values": closed("What the versions have there.", versions, required=[]),
        },
        required=["finding", "file", "path", "message", "reported"],
    )
