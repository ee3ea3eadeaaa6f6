"""JSON schemas of the kinds that people write and programs read: ours, the Kptfile, the report of a merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import BaseModel

from krm_merge.cli.help_pages import own_docs
from krm_merge.text import read, to_value

JsonSchema: TypeAlias = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# One order for all versions of pydantic.
_KEYWORDS = (
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
    "oneOf",
    "not",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "minLength",
    "pattern",
    "minItems",
    "items",
    "required",
    "properties",
    "propertyNames",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
)


def model_schema(model: type[BaseModel], first_fields: Sequence[str] = ()) -> JsonSchema:
    """The schema that pydantic makes of a model: definitions in place, without titles made from field names.

    `first_fields` come before the other fields of the model.
    """
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def plain(node: JsonSchema) -> JsonSchema:
        if "$ref" in node:
            # What is beside the reference, such as the field's description, is nearer.
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
    schema["properties"] = {name: fields[name] for name in (*first_fields, *fields)}
    return schema


def rewritten(schema: JsonSchema, change: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    """The schema with a change made to it and then to every schema inside, keywords in one order."""
    node = change(schema)
    if "properties" in node:
        node["properties"] = {name: rewritten(field, change) for name, field in node["properties"].items()}
    if "items" in node:
        node["items"] = rewritten(node["items"], change)
    if "anyOf" in node:
        node["anyOf"] = [rewritten(branch, change) for branch in node["anyOf"]]
    return {key: node[key] for key in sorted(node, key=_KEYWORDS.index)}


_HEAD = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True)
class SchemaKind:
    """A kind with a schema.

    `about` is a phrase for lists of kinds, `place` the module and name of the model, or of the function that writes the
    schema of a report. `first_fields` are the fields that the schema of a model lists first. `report` is what the
    schema of a report is called in docs/schemas, where those of models are called by their kinds.
    """

    kind: str
    about: str
    place: str
    first_fields: tuple[str, ...] = _HEAD
    report: str = ""

    @property
    def file(self) -> str:
        """The name of the schema in docs/schemas."""
        words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in self.kind)
        return f"{self.report or words.lstrip('-')}.json"

    @cached_property
    def model(self) -> type[BaseModel]:
        """The model that the schema is made from; a report has none."""
        model: type[BaseModel] = self._load()
        return model

    def schema(self) -> JsonSchema:
        """The JSON schema (draft 2020-12). It refuses what the program refuses."""
        named = self._load()
        if isinstance(named, type):
            return rewritten(model_schema(self.model, self.first_fields) | self.head, dict)
        content: JsonSchema = named()
        return self.head | content

    @property
    def head(self) -> JsonSchema:
        """What a schema says of itself."""
        return {"$schema": DIALECT, "$id": f"{_address()}/docs/schemas/{self.file}", "title": self.kind}

    def _load(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"krm_merge.{module}"), name)


@dataclass(frozen=True)
class DefinedKind(SchemaKind):
    """A kind whose CustomResourceDefinition, the file `place` in the repository, says what its fields mean."""

    def schema(self) -> JsonSchema:
        """The definition's schema, with the version and the kind that it is for."""
        definition = yaml.safe_load((ROOT / self.place).read_text(encoding="utf-8"))["spec"]
        (version,) = definition["versions"]
        content: JsonSchema = version["schema"]["openAPIV3Schema"]
        names = {
            "apiVersion": {"const": f"{definition['group']}/{version['name']}"},
            "kind": {"const": definition["names"]["kind"]},
        }
        required = ["apiVersion", "kind", *content["required"]]
        return self.head | content | {"required": required, "properties": content["properties"] | names}


KINDS = {
    kind.kind: kind
    for kind in (
        SchemaKind(
            "MergePackage",
            "functionConfig that merges packages",
            "functions.models:MergePackage",
            (*_HEAD, "original", "upstream"),
        ),
        SchemaKind(
            "PatchResources",
            "functionConfig that applies patches",
            "functions.models:PatchResources",
            (*_HEAD, "patches"),
        ),
        SchemaKind(
            "TransformResources",
            "functionConfig that runs plugins",
            "functions.models:TransformResources",
            (*_HEAD, "priorities", "skipPlugins", "options", "plugins"),
        ),
        SchemaKind(
            "PlanComponentUpdates",
            "functionConfig that plans updates of components",
            "functions.models:PlanComponentUpdates",
            (*_HEAD, "mode"),
        ),
        SchemaKind("MergePolicy", "how a package settles its conflicts", "policy.models:MergePolicy"),
        SchemaKind("Vendorfile", "where vendored manifests come from", "packages.models:Vendorfile"),
        SchemaKind("MergeCampaign", "campaign.yaml of a fleet", "fleet.campaign_file:MergeCampaign"),
        SchemaKind("MergeTargets", "targets.yaml of a fleet", "fleet.campaign_file:MergeTargets"),
        DefinedKind("PullRequest", "pull request that was observed", "docs/crds/pullrequests.yaml"),
        DefinedKind("PullRequestPlan", "planned pull request", "docs/crds/pullrequestplans.yaml"),
        SchemaKind("Kptfile", "package of kpt", "packages.models:Kptfile"),
        SchemaKind(
            "MergeReport",
            "decisions of a merge, as --format json prints them",
            "report.record:schema",
            report="decisions",
        ),
        SchemaKind(
            "ComparisonReport",
            "differences from kpt, as compare --format json prints them",
            "report.comparison:Comparison",
            ("apiVersion", "kind"),
            report="comparison",
        ),
    )
}


def _address() -> str:
    """Where the forge serves files of the repository as they are."""
    metadata: Any = to_value(read(own_docs().metadata))
    return f"{metadata['sourceURL'].replace('https://github.com/', 'https://raw.githubusercontent.com/')}/main"
