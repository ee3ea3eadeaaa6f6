"""Generates schemas, definitions, tables, the reference of the Python API and the index of rules in docs/.

Without arguments it writes them; with --check it writes nothing and exits 1 where a file is not what it would write.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from component_crds import definitions as resource_definitions
from patch_tables import tables as patch_tables
from pydantic import BaseModel
from python_reference import pages as reference_pages
from rule_index import PAGE as RULE_INDEX
from rule_index import page as rule_index
from transform_tables import tables as transform_tables

from krm_merge import __version__
from krm_merge.fleet.campaign.models import MergeCampaign, MergeTargets
from krm_merge.functions.merge_package.models import MergePackage
from krm_merge.functions.patch_resources.models import PatchResources
from krm_merge.functions.plan_component_updates.models import PlanComponentUpdates
from krm_merge.functions.policy.models import MergePolicy
from krm_merge.functions.transform_resources.models import TransformResources
from krm_merge.report import record as report_record
from krm_merge.report.schema import schema as report_schema

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
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "minLength",
    "pattern",
    "minItems",
    "items",
    "required",
    "properties",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
)
REPORT_SCHEMA = "schemas/decisions.json"
PAGES = {"patches.md": patch_tables, "transform.md": transform_tables}
TABLE = "<!-- table {name}, by `make docs` -->"
END = "<!-- end of the table -->"


@dataclass(frozen=True)
class Function:
    """One kind of functionConfig: its model, its page, its files in docs/, the fields that come first."""

    model: type[BaseModel]
    page: str
    schema: str
    definition: str
    first_fields: tuple[str, ...]
    idempotent: bool = True
    description: str | None = None

    @property
    def kind(self) -> str:
        return literal(self.model.model_fields["kind"].annotation)


HEAD_FIELDS = ("apiVersion", "kind", "metadata")
FUNCTIONS = (
    Function(
        MergePackage,
        "README.md",
        "schemas/merge-package.json",
        "krm-function-definition.yaml",
        (*HEAD_FIELDS, "original", "upstream"),
    ),
    Function(
        PatchResources,
        "docs/patches.md",
        "schemas/patch-resources.json",
        "krm-function-definition-patch-resources.yaml",
        (*HEAD_FIELDS, "patches"),
        # A JSON patch may change more each time.
        idempotent=False,
        description=PatchResources.__doc__,
    ),
    Function(
        TransformResources,
        "docs/transform.md",
        "schemas/transform-resources.json",
        "krm-function-definition-transform-resources.yaml",
        (*HEAD_FIELDS, "priorities", "skipPlugins", "options", "plugins"),
        # Plugins may change more each time; a warning says so.
        idempotent=False,
        description=TransformResources.__doc__,
    ),
    Function(
        PlanComponentUpdates,
        "docs/components.md",
        "schemas/plan-component-updates.json",
        "krm-function-definition-plan-component-updates.yaml",
        (*HEAD_FIELDS, "mode"),
        description=PlanComponentUpdates.__doc__,
    ),
)

# No functions: what a package says of its own conflicts, and what a campaign is made of.
RESOURCES = (
    Function(MergePolicy, "docs/command-line.md", "schemas/merge-policy.json", "", HEAD_FIELDS),
    Function(MergeCampaign, "docs/fleet.md", "schemas/merge-campaign.json", "", HEAD_FIELDS),
    Function(MergeTargets, "docs/fleet.md", "schemas/merge-targets.json", "", HEAD_FIELDS),
)


def model_schema(function: Function) -> Schema:
    """What pydantic says of the model: definitions in place, without titles made from field names."""
    schema = function.model.model_json_schema()
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
    schema["properties"] = {name: fields[name] for name in (*function.first_fields, *fields)}
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


def json_schema(function: Function, metadata: Schema) -> Schema:
    """For editors and validators: refuses what the function refuses."""
    address = f"{raw_address(metadata['sourceURL'])}/docs/{function.schema}"
    schema = {**model_schema(function), "$schema": DIALECT, "$id": address, "title": function.kind}
    return rewritten(schema, dict)


def structural(node: Schema) -> Schema:
    """As Kubernetes wants an OpenAPI schema: one type for each value, `nullable`, no closed objects, no `const`."""
    node = {key: value for key, value in node.items() if key != "additionalProperties" or isinstance(value, dict)}
    if "exclusiveMinimum" in node:
        # OpenAPI 3.0 has a switch for it.
        node |= {"minimum": node["exclusiveMinimum"], "exclusiveMinimum": True}
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
    if node.get("type", "object") == "object" and not {"properties", "additionalProperties"} & node.keys():
        node["x-kubernetes-preserve-unknown-fields"] = True
    return node


def openapi_schema(function: Function) -> Schema:
    schema = rewritten(model_schema(function), structural)
    # Kubernetes knows what metadata is.
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def function_definition(function: Function, metadata: Schema) -> Schema:
    """The function for catalogs of KRM functions (KEP-2906)."""
    group, _, version = literal(function.model.model_fields["apiVersion"].annotation).rpartition("/")
    kind = function.kind
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
            "description": function.description or metadata["description"],
            "publisher": home.rstrip("/").rpartition("/")[2],
            "home": home,
            "tags": metadata["tags"],
            "versions": [
                {
                    "name": version,
                    "idempotent": function.idempotent,
                    "usage": f"{home}/blob/main/{function.page}",
                    "examples": metadata["examplePackageURLs"],
                    "license": metadata["license"],
                    "maintainers": [f"The {home.rpartition('/')[2]} authors"],
                    "runtime": {"container": {"image": f"{metadata['image']}:v{minor}"}},
                    "schema": {"openAPIV3Schema": openapi_schema(function)},
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
    files = {}
    for function in FUNCTIONS:
        definition = function_definition(function, metadata)
        files[function.schema] = json.dumps(json_schema(function, metadata), indent=2, ensure_ascii=False) + "\n"
        files[function.definition] = note + dumped(definition)
    for resource in RESOURCES:
        files[resource.schema] = json.dumps(json_schema(resource, metadata), indent=2, ensure_ascii=False) + "\n"
    address = f"{raw_address(metadata['sourceURL'])}/docs/{REPORT_SCHEMA}"
    report = {"$schema": DIALECT, "$id": address, "title": report_record.KIND, **report_schema()}
    files[REPORT_SCHEMA] = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    for name, definition in resource_definitions().items():
        files[name] = "# Generated by `make docs`; edit tools/component_crds.py instead.\n" + dumped(definition)
    files |= {page: with_tables(page, tables()) for page, tables in PAGES.items()}
    return files | reference_pages() | {RULE_INDEX: rule_index()}


def dumped(value: Schema) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def with_tables(name: str, tables: dict[str, str]) -> str:
    """The page of this name with its tables as they are today."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for title, table in tables.items():
        before, start, rest = page.partition(TABLE.format(name=title))
        _, end, after = rest.partition(END)
        assert end, f"docs/{name} has no place for the table {title}"
        page = f"{before}{start}\n\n{table}\n{end}{after}"
    return page


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
