"""Generates the JSON schema and the KRMFunctionDefinition in docs/ from the models of the functionConfig.

Without arguments it writes them; with --check it writes nothing and exits 1 where a file is not what it would write.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from krm_merge import __version__
from krm_merge.functions.models import MergePackage

ROOT = Path(__file__).resolve().parent.parent
Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NULL = {"type": "null"}
# One order for all versions of pydantic.
KEYWORDS = (
    "$schema",
    "$id",
    "title",
    "description",
    "type",
    "nullable",
    "const",
    "enum",
    "default",
    "anyOf",
    "minItems",
    "items",
    "required",
    "properties",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
)
FIRST_FIELDS = ("apiVersion", "kind", "metadata", "original", "upstream")


def model_schema() -> Schema:
    """What pydantic says of the model: definitions in place, without titles made from field names."""
    schema = MergePackage.model_json_schema()
    definitions = schema.pop("$defs", {})

    def plain(node: Schema) -> Schema:
        if "$ref" in node:
            # What stands beside the reference, such as the field's description, is nearer.
            node = definitions[node["$ref"].removeprefix("#/$defs/")] | {k: v for k, v in node.items() if k != "$ref"}
        node = {key: value for key, value in node.items() if key != "title"}
        if node.get("default", ...) is None:
            del node["default"]
        if node.get("additionalProperties") is True:
            del node["additionalProperties"]
        return node

    schema = rewritten(schema, plain)
    # A model lists the fields that it inherits first.
    fields = schema["properties"]
    schema["properties"] = {name: fields[name] for name in (*FIRST_FIELDS, *fields)}
    return schema


def rewritten(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """The schema with a change made to it and then to every schema inside, in the order of KEYWORDS."""
    node = change(schema)
    if "properties" in node:
        node["properties"] = {name: rewritten(field, change) for name, field in node["properties"].items()}
    if "items" in node:
        node["items"] = rewritten(node["items"], change)
    if "anyOf" in node:
        node["anyOf"] = [rewritten(branch, change) for branch in node["anyOf"]]
    return {key: node[key] for key in sorted(node, key=KEYWORDS.index)}


def json_schema(metadata: Schema) -> Schema:
    """For editors and validators: refuses what the function refuses."""
    address = f"{raw_address(metadata['sourceURL'])}/docs/schemas/merge-package.json"
    schema = {**model_schema(), "$schema": DIALECT, "$id": address, "title": "MergePackage"}
    return rewritten(schema, dict)


def structural(node: Schema) -> Schema:
    """As Kubernetes wants an OpenAPI schema: one type for each value, `nullable`, no closed objects, no `const`."""
    node = {key: value for key, value in node.items() if key != "additionalProperties"}
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if "anyOf" in node:
        branches = [branch for branch in node["anyOf"] if branch != NULL]
        if len(branches) < len(node.pop("anyOf")):
            node["nullable"] = True
        # A structural schema has no value of several types.
        node |= structural(branches[0]) if len(branches) == 1 else {"x-kubernetes-preserve-unknown-fields": True}
    if "enum" in node and node.get("nullable"):
        node["enum"] = [*node["enum"], None]
    if node.get("type") == "object" and "properties" not in node:
        node["x-kubernetes-preserve-unknown-fields"] = True
    return node


def openapi_schema() -> Schema:
    schema = rewritten(model_schema(), structural)
    # Kubernetes knows what metadata is.
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def function_definition(metadata: Schema) -> Schema:
    """The function for catalogs of KRM functions (KEP-2906)."""
    fields = MergePackage.model_fields
    group, _, version = literal(fields["apiVersion"].annotation).rpartition("/")
    kind = literal(fields["kind"].annotation)
    home = metadata["sourceURL"]
    minor = ".".join(__version__.split(".")[:2])
    return {
        "apiVersion": "config.kubernetes.io/v1alpha1",
        "kind": "KRMFunctionDefinition",
        "metadata": {
            "name": f"{kind.lower()}.{group}",
            "annotations": {"config.kubernetes.io/local-config": "true"},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind},
            "description": metadata["description"],
            "publisher": home.rstrip("/").rpartition("/")[2],
            "home": home,
            "tags": metadata["tags"],
            "versions": [
                {
                    "name": version,
                    "idempotent": True,
                    "usage": f"{home}/blob/main/README.md",
                    "examples": metadata["examplePackageURLs"],
                    "license": metadata["license"],
                    "maintainers": [f"The {home.rpartition('/')[2]} authors"],
                    "runtime": {"container": {"image": f"{metadata['image']}:v{minor}"}},
                    "schema": {"openAPIV3Schema": openapi_schema()},
                }
            ],
        },
    }


def literal(annotation: Any) -> str:
    (value,) = annotation.__args__
    return str(value)


def raw_address(home: str) -> str:
    """Where the forge serves files as they are."""
    return home.replace("https://github.com/", "https://raw.githubusercontent.com/") + "/main"


def generated() -> dict[str, str]:
    """The text of each file, by its path in docs/."""
    metadata = yaml.safe_load((ROOT / "metadata.yaml").read_text(encoding="utf-8"))
    note = "# Generated by `make docs`; edit the models of the functionConfig instead.\n"
    definition = yaml.safe_dump(function_definition(metadata), sort_keys=False, allow_unicode=True, width=1000)
    return {
        "schemas/merge-package.json": json.dumps(json_schema(metadata), indent=2, ensure_ascii=False) + "\n",
        "krm-function-definition.yaml": note + definition,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is out of date")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the directory of the files")
    options = parser.parse_args()
    stale = []
    for name, text in generated().items():
        file = options.docs / name
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not options.check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for name in stale:
        told = "is out of date; run `make docs`" if options.check else "written"
        print(f"docs/{name} {told}", file=sys.stderr if options.check else sys.stdout)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
