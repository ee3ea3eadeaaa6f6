"""Generates schemas, definitions of functions, and the tables of pages.

Without arguments it writes them; with --check it writes nothing and exits 1 where a file is not what it would write.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from kind_schemas import KINDS, JsonSchema, SchemaKind, model_schema, rewritten
from kind_tables import inputs, of_kinds
from kind_tables import tables as kind_tables
from patch_tables import tables as patch_tables
from transform_tables import tables as transform_tables

from krm_merge.cli.commands.settings import IMAGE

ROOT = Path(__file__).resolve().parent.parent
NULL = {"type": "null"}
PAGES: dict[str, Callable[[], dict[str, str]]] = {
    "components.md": partial(kind_tables, "PlanComponentUpdates"),
    "functions/merge-package.md": partial(kind_tables, "MergePackage"),
    "guides/vendored.md": partial(kind_tables, "Vendorfile"),
    "integrations/editors.md": of_kinds,
    "integrations/github.md": partial(inputs, ROOT / "action.yml", "action"),
    "integrations/gitlab.md": partial(inputs, ROOT / "integrations" / "gitlab" / "update.yml", "component"),
    "patches.md": lambda: patch_tables() | kind_tables("PatchResources"),
    "transform.md": lambda: transform_tables() | kind_tables("TransformResources"),
}
"""What gives the tables of a page, by the page's name in docs/."""
SHOWN_FILE = re.compile(r"^<!-- (examples/\S+) -->\n\n```(\w*)\n.*?^```$", re.MULTILINE | re.DOTALL)
TABLE = "<!-- table {name}, by `make docs` -->"
END = "<!-- end of the table -->"


@dataclass(frozen=True)
class Function:
    """A kind of functionConfig: its page, and the file of its definition in integrations/definitions/."""

    schema: SchemaKind
    page: str
    definition: str
    idempotent: bool = True
    is_described_by_metadata: bool = False


FUNCTIONS = (
    Function(
        KINDS["MergePackage"],
        "docs/functions/merge-package.md",
        "merge-package.yaml",
        is_described_by_metadata=True,
    ),
    # A JSON patch may change more each time.
    Function(
        KINDS["PatchResources"],
        "docs/patches.md",
        "patch-resources.yaml",
        idempotent=False,
    ),
    # Plugins may change more each time; a warning says so.
    Function(
        KINDS["TransformResources"],
        "docs/transform.md",
        "transform-resources.yaml",
        idempotent=False,
    ),
    Function(
        KINDS["PlanComponentUpdates"],
        "docs/components.md",
        "plan-component-updates.yaml",
    ),
)


def structural(node: JsonSchema) -> JsonSchema:
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


def openapi_schema(function: Function) -> JsonSchema:
    schema = rewritten(model_schema(function.schema.model, function.schema.first_fields), structural)
    # Kubernetes knows what metadata is.
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def function_definition(function: Function, metadata: JsonSchema) -> JsonSchema:
    """The function for catalogs of KRM functions (KEP-2906)."""
    group, _, version = literal(function.schema.model.model_fields["apiVersion"].annotation).rpartition("/")
    kind = function.schema.kind
    description = metadata["description"] if function.is_described_by_metadata else function.schema.model.__doc__
    home = metadata["sourceURL"]
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
            "description": description,
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
                    "runtime": {"container": {"image": IMAGE}},
                    "schema": {"openAPIV3Schema": openapi_schema(function)},
                }
            ],
        },
    }


def literal(annotation: Any) -> str:
    (value,) = annotation.__args__
    return str(value)


def generate() -> dict[str, str]:
    """The text of each file, by its path in the repository."""
    metadata = yaml.safe_load((ROOT / "integrations" / "metadata.yaml").read_text(encoding="utf-8"))
    note = "# Generated by `make docs`; edit the models of the functionConfig instead.\n"
    files = {}
    for function in FUNCTIONS:
        files[f"integrations/definitions/{function.definition}"] = note + dump(function_definition(function, metadata))
    for kind in KINDS.values():
        files[f"docs/schemas/{kind.file}"] = json.dumps(kind.schema(), indent=2, ensure_ascii=False) + "\n"
    for place in sorted((ROOT / "docs").rglob("*.md")):
        name = place.relative_to(ROOT / "docs").as_posix()
        page = with_examples(place.read_text(encoding="utf-8"))
        files[f"docs/{name}"] = with_tables(name, page, PAGES[name]()) if name in PAGES else page
    return files


def dump(value: JsonSchema) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def with_examples(page: str) -> str:
    """The page with the files of examples that it shows as they are today."""

    def example(place: re.Match[str]) -> str:
        text = (ROOT / place[1]).read_text(encoding="utf-8").rstrip("\n")
        return f"<!-- {place[1]} -->\n\n```{place[2]}\n{text}\n```"

    return SHOWN_FILE.sub(example, page)


def with_tables(name: str, page: str, tables: dict[str, str]) -> str:
    """The page of this name with its tables as they are today."""
    for title, table in tables.items():
        before, start, rest = page.partition(TABLE.format(name=title))
        _, end, after = rest.partition(END)
        assert end, f"docs/{name} has no place for the table {title}"
        page = f"{before}{start}\n\n{table}\n{end}{after}"
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is out of date")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository to write into")
    options = parser.parse_args()
    stale = []
    for name, text in generate().items():
        file = options.root / name
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not options.check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for name in stale:
        note = "is out of date; run `make docs`" if options.check else "written"
        print(f"{name} {note}", file=sys.stderr if options.check else sys.stdout)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
