"""The JSON schema of the document (docs/schemas/decisions.json)."""

from __future__ import annotations

from typing import Any, get_args

from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.report.record import API_VERSION, KIND, SIDES, Status

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def schema() -> Schema:
    """The schema, without an address of its own."""
    statuses = dict.fromkeys(get_args(Status), _COUNT)
    return closed(
        "All that was decided in one merge.",
        {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "package": {**_TEXT, "description": "The package as it was named."},
            "sides": sides_schema(),
            "packages": {
                "type": "array",
                "items": {"type": "object"},
                "description": "The packages that an update reached: path, from, to.",
            },
            "counts": closed("How many records and files there are.", {**statuses, "files": _COUNT}),
            "files": files_schema(),
            "records": {"type": "array", "items": _record()},
            "results": {
                "type": "array",
                "items": {"type": "object", "required": ["message", "severity"]},
                "description": "Results as the KRM functions specification has them.",
            },
        },
        required=["apiVersion", "kind", "package", "sides", "counts", "files", "records", "results"],
    )


def files_schema() -> Schema:
    """The schema of the files by what becomes of them."""
    names = ("added", "changed", "deleted")
    return closed("The files by what becomes of them.", {name: {"type": "array", "items": _TEXT} for name in names})


def sides_schema() -> Schema:
    """The schema of the versions of the package."""
    side = closed("A version of the package.", {"ref": _TEXT, "commit": _TEXT}, required=["ref"])
    return {"type": "object", "additionalProperties": side}


def resource_schema() -> Schema:
    """The schema of the resource that a record is about."""
    return closed("", dict.fromkeys(("apiVersion", "kind", "namespace", "name"), _TEXT))


def _record() -> Schema:
    values: Schema = {
        side: {"description": f"The value of {side}; absent where there is nothing."} for side in SIDES[:3]
    }
    letters: Schema = {side: {"enum": list("ABCD")} for side in SIDES}
    return closed(
        "One decision.",
        {
            "id": {**_TEXT, "description": "Stable in a run, and between runs on the same input."},
            "file": _TEXT,
            "resource": resource_schema(),
            "path": {**_TEXT, "description": "The field; empty for the resource or file as a whole."},
            "rule": {**_TEXT, "description": "The number of the rule."},
            "nature": {"enum": list(get_args(Nature))},
            "status": {"enum": list(get_args(Status))},
            "settledBy": {
                "type": "string",
                "pattern": "^(policy|rule( .+)?|resolution( .+)?)$",
                "description": "What settled a conflict; rules and resolutions with their place.",
            },
            "message": _TEXT,
            **values,
            "result": {"description": "What the package has now; absent where there is nothing, or while it is open."},
            "redacted": {"const": True, "description": "The values are secret and left out."},
            "alike": closed("Where values are left out: sides with the same letter are equal.", letters, required=[]),
            "choices": {"type": "array", "items": {"enum": list(get_args(Choice))}},
            "chosen": {"enum": list(get_args(Choice))},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "docs": {**_TEXT, "description": "The page and anchor that explain the rule."},
        },
        required=["id", "file", "path", "rule", "nature", "status", "message", "choices", "fingerprint", "docs"],
    )


def closed(description: str, properties: Schema, *, required: list[str] | None = None) -> Schema:
    """An object with these fields and no others, all of them required unless said otherwise."""
    about: Schema = {"description": description} if description else {}
    return {
        **about,
        "type": "object",
        "required": list(properties) if required is None else required,
        "properties": properties,
        "additionalProperties": False,
    }
