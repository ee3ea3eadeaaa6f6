"""The CustomResourceDefinitions of docs/crds: the project's own resources about components."""

from __future__ import annotations

from typing import Any

from krm_merge.components.konflux.reading import OWN_GROUP, OWN_VERSION
from krm_merge.components.plan.records import KIND, PLAN_FIELDS, PULL_REQUEST, PULL_REQUEST_FIELDS

Schema = dict[str, Any]

COLUMNS = {
    PULL_REQUEST: {"Branch": ".spec.sourceBranch", "State": ".status.state"},
    KIND: {"Components": ".spec.components[*].name", "Branch": ".spec.sourceBranch", "State": ".spec.state"},
}


def definitions() -> dict[str, Schema]:
    """The definitions, by their path in docs/."""
    return {
        "crds/pullrequests.yaml": definition(PULL_REQUEST, "A pull request as it was observed.", PULL_REQUEST_FIELDS),
        "crds/pullrequestplans.yaml": definition(KIND, "The planned pull request of a dependant.", PLAN_FIELDS),
    }


def definition(kind: str, description: str, properties: dict[str, Schema]) -> Schema:
    plural = f"{kind.lower()}s"
    schema = {
        "description": description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            **properties,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{OWN_GROUP}"},
        "spec": {
            "group": OWN_GROUP,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": OWN_VERSION.rpartition("/")[2],
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": name, "type": "string", "jsonPath": path} for name, path in COLUMNS[kind].items()
                    ],
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
