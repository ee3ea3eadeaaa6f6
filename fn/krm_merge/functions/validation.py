"""Reads functionConfigs with their pydantic models; what is wrong becomes results that name the field."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Fields
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from krm_merge.functions.models import ListKeysModel
from krm_merge.krm.fieldpath import parse_path
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.package import ListKeys
from krm_merge.text.nodes import Mapping
from krm_merge.text.values import Value, key_text

Model = TypeVar("Model", bound=BaseModel)


def validated(resource_list: ResourceList, model: type[Model], values: Fields[str, Value]) -> Model | None:
    """The functionConfig as its model; None where something is wrong, which is reported field by field.

    `values` are the fields of the functionConfig, those of `data` where it is a ConfigMap.
    """
    config = resource_list.function_config
    kind = config.get("kind") if config is not None else None
    prefix = "data." if kind is not None and key_text(kind) == "ConfigMap" else ""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        file = _file_of(config) if config is not None else None
        for problem in error.errors(include_url=False):
            path = prefix + _path(problem["loc"])
            resource_list.results.error(_message(path, problem), path=path, file=file, tags={"rule": "W4"})
        return None


def list_keys_of(models: Iterable[ListKeysModel]) -> tuple[ListKeys, ...]:
    """The user's merge keys."""
    return tuple(ListKeys(k.apiVersion, k.kind, parse_path(k.path), tuple(k.keys)) for k in models)


def _file_of(config: Mapping) -> str | None:
    metadata = config.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping):
        return None
    node = annotations.get("internal.config.kubernetes.io/path") or annotations.get("config.kubernetes.io/path")
    return key_text(node) if node is not None else None


def _path(location: tuple[int | str, ...]) -> str:
    out = ""
    for step in location:
        # pydantic adds the branch of a union that it tried.
        if isinstance(step, str) and ("[" in step or step in ("str", "list")):
            continue
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out


def _message(path: str, problem: Any) -> str:
    kind, given = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        return f"functionConfig: {path} is not a field of it; see `krm-merge --help` for the fields"
    if kind == "missing":
        return f"functionConfig: {path} is missing"
    if kind == "value_error":
        return f"functionConfig: {path}: {problem['ctx']['error']}"
    shown = repr(given) if isinstance(given, str | int | float | bool | None) else f"a {type(given).__name__}"
    text = problem["msg"][0].lower() + problem["msg"][1:]
    return f"functionConfig: {path} is {shown}; {text}"
