"""JSON schemas from pydantic models, in a form that does not depend on the version of pydantic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

JsonSchema: TypeAlias = dict[str, Any]

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
