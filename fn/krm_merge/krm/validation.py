"""Reads functionConfigs with their pydantic models; problems become results that name the field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from inspect import isclass
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from krm_merge.krm.resource import Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.limits import RESOLUTIONS, RULES
from krm_merge.text import Value

Model = TypeVar("Model", bound=BaseModel)

_EXPECTED: Final = {
    "string_type": "a string",
    "bool_type": "true or false",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
"""Our messages by pydantic's types of errors; pydantic's other messages need no knowledge of Python."""

_COUNTED: Final = (
    ("rules", RULES, "let one rule cover more"),
    ("resolutions", RESOLUTIONS, "remove those that match no conflict"),
)
_MOST_PROBLEMS: Final = 10


class StrictModel(BaseModel):
    """A model that refuses unknown fields and values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DocumentModel(StrictModel):
    """A model of a resource of ours; each narrows the kind."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: str
    metadata: dict[str, Any] = Field(default_factory=dict)


def validate(resource_list: ResourceList, model: type[Model], values: Mapping[str, Value]) -> Model | None:
    """The functionConfig as its model; None if it is invalid; reports each invalid field.

    `values` are the fields of the functionConfig, for a ConfigMap those of `data`.
    """
    checked, problems = check(model, values)
    prefix, file = place_of(resource_list) if problems else ("", None)
    for place, problem in problems:
        path = prefix + place if place else ""
        resource_list.results.error(f"functionConfig: {path}{problem}", path=path or None, file=file, rule="W4")
    return checked


def check(model: type[Model], values: Mapping[str, Value]) -> tuple[Model | None, list[tuple[str, str]]]:
    """The values as their model, or None and the first problems: the path of each field, and the message."""
    if problems := [*too_many(values)]:
        return None, problems
    try:
        return model.model_validate(values), []
    except ValidationError as error:
        errors = error.errors(include_url=False)
        problems = [(_path(problem["loc"]), _message(model, problem)) for problem in errors[:_MOST_PROBLEMS]]
        more = len(errors) - len(problems)
        return None, [*problems, ("", f"and {more} more")] if more else problems


def too_many(values: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """The fields that hold more than the limits allow, and the messages; they are counted before they are read."""
    for name, limit, advice in _COUNTED:
        values_of_field = values.get(name)
        if isinstance(values_of_field, list) and len(values_of_field) > (most := limit.value()):
            yield name, f": {len(values_of_field)} {name}, more than {most}; {advice}, or {limit.remedy}"


def place_of(resource_list: ResourceList) -> tuple[str, str | None]:
    """Prefix of the paths of fields of the functionConfig, `data.` in a ConfigMap; and its file."""
    config = resource_list.function_config
    if config is None:
        return "", None
    resource = Resource.from_tree(config)
    return "data." if resource.kind == "ConfigMap" else "", resource.file


def _path(location: tuple[int | str, ...]) -> str:
    out = ""
    for step in location:
        # pydantic adds the tried branch of a union.
        if isinstance(step, str) and ("[" in step or step in ("str", "list")):
            continue
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out


def _message(model: type[BaseModel], problem: Any) -> str:
    kind, value = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        return f" is an unknown field; choose from {', '.join(_fields_at(model, problem['loc'][:-1]))}"
    if kind == "missing":
        return " is missing"
    if kind == "value_error":
        return f": {problem['ctx']['error']}"
    if kind in ("too_short", "string_too_short") and not value:
        return f" is empty; at least one {'character' if isinstance(value, str) else 'element'} is expected"
    expected = _EXPECTED.get(kind)
    text = f"{expected} is expected" if expected else problem["msg"][0].lower() + problem["msg"][1:]
    return f" is {_render(value)}; {text}"


def _render(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value) if isinstance(value, str) else json.dumps(value, default=str)


def _fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The known fields at a place."""
    for step in location:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if isinstance(step, str) and step in fields:
            model = next(_models_in(fields[step].annotation), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isclass(annotation) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
