"""Tables of kinds and their fields, from JSON schemas, and of the inputs of CI: for pages in docs/ and for the site."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from kind_schemas import KINDS

HEAD = "| field | type | default | meaning |\n|---|---|---|---|\n"
EVERY_KIND = {"apiVersion", "kind", "metadata"}


def tables(*kinds: str) -> dict[str, str]:
    """The table of each of these kinds, by `fields of KIND`, without the fields that every resource has."""
    return {f"fields of {kind}": table(KINDS[kind].schema(), EVERY_KIND) for kind in kinds}


def of_kinds() -> dict[str, str]:
    """The kinds with a schema."""
    rows = (f"| `{name}` | [{kind.file}](../schemas/{kind.file}) |\n" for name, kind in KINDS.items())
    return {"kinds": "| kind | schema |\n|---|---|\n" + "".join(rows)}


def inputs(file: Path, of: str) -> dict[str, str]:
    """The inputs of the action or the component that a file defines."""
    definition = next(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    rows = "| input | default | meaning |\n|---|---|---|\n"
    for name, field in definition.get("spec", definition)["inputs"].items():
        default = f"`{field['default']}`" if field["default"] else ""
        options = f" ({', '.join(field['options'])})" if "options" in field else ""
        rows += f"| `{name}` | {default} | {field['description']}{options} |\n"
    return {f"inputs of the {of}": rows}


def table(schema: dict[str, Any], without: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    """The fields of a schema as a table in Markdown; '' where it has none."""
    rows = [row for path, row in fields(schema, schema, "") if path not in without]
    return HEAD + "".join(f"{row}\n" for row in rows) if rows else ""


def fields(schema: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Each field's path and row, those inside behind it."""
    schema = _follow(schema, root)
    for name, field in schema.get("properties", {}).items():
        field = _follow(field, root)
        place = f"{path}{name}"
        is_needed = name in schema.get("required", [])
        default = "needed" if is_needed else f"`{json.dumps(field['default'])}`" if "default" in field else ""
        meaning = " ".join(str(field.get("description", "")).split()).replace("|", "\\|")
        yield place, f"| `{place}` | {_type(field)} | {default} | {meaning} |"
        yield from fields(field, root, f"{place}.")
        if isinstance(items := field.get("items"), dict):
            yield from fields(items, root, f"{place}[].")


def _follow(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference names, with what is beside the reference; of a value that may be null, the other."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    if len(branches) == 1:
        schema = {**branches[0], **{key: text for key, text in schema.items() if key != "anyOf"}}
    if "$ref" not in schema:
        return schema
    value: Any = root
    for step in schema["$ref"].removeprefix("#/").split("/"):
        value = value[step]
    return {**value, **{key: text for key, text in schema.items() if key != "$ref"}}


def _type(field: dict[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(branch) for branch in field["anyOf"] if branch.get("type") != "null"))
    if isinstance(field.get("type"), list):
        return " or ".join(name for name in field["type"] if name != "null")
    return str(field.get("type", "any"))
