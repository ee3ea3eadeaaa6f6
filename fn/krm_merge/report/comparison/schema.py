"""The JSON schema of a comparison (docs/schemas/comparison.json)."""

from __future__ import annotations

from krm_merge.report.comparison.difference import CAUSES, KIND, PROGRAMS, VERSIONS
from krm_merge.report.comparison.spots import LAYOUT
from krm_merge.report.comparison.words import HEADINGS
from krm_merge.report.record import API_VERSION
from krm_merge.report.schema import Schema, closed, files_schema, resource_schema, sides_schema

_TEXT: Schema = {"type": "string"}


def schema() -> Schema:
    """The schema, without an address of its own."""
    counts: Schema = {finding: {"type": "integer", "minimum": 1} for finding in HEADINGS}
    causes: Schema = {cause: {"type": "integer", "minimum": 1} for cause in CAUSES}
    return closed(
        "What `kpt pkg update` makes of a package, beside what krm-merge makes of it.",
        {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "package": {**_TEXT, "description": "The package as it was named."},
            "sides": sides_schema(),
            "refusal": {**_TEXT, "description": "The message of kpt where it stops with an error."},
            "files": files_schema(),
            "same": {"type": "boolean", "description": "Whether both make the same package, byte for byte."},
            "lines": closed(
                "How many lines of the package each program changes, by cause; those that go and those that come.",
                dict.fromkeys(PROGRAMS, closed("By cause.", causes, required=[])),
                required=[],
            ),
            "counts": closed("How many differences there are of each finding.", counts, required=[]),
            "differences": {"type": "array", "items": _difference()},
        },
        required=["apiVersion", "kind", "package", "sides", "files", "same", "lines", "counts", "differences"],
    )


def _difference() -> Schema:
    versions: Schema = {name: {"description": f"The value of {name}; absent where it has none."} for name in VERSIONS}
    layout: Schema = {kind: {"type": "integer", "minimum": 1} for kind in LAYOUT}
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
            "layout": closed("How many places are written otherwise, by what differs there.", layout, required=[]),
            "values": closed("What the versions have there.", versions, required=[]),
        },
        required=["finding", "file", "path", "message", "reported"],
    )
