"""The patches of a PatchResources functionConfig, each with its target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import basename, normpath
from typing import TYPE_CHECKING

from krm_merge.functions.places import place_of, root_package
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.package import ListKeys
from krm_merge.patch import PatchError
from krm_merge.patch.patches import Modes, Patch, patch_of, read_patches, target_of
from krm_merge.patch.selector import Selector, Target
from krm_merge.patch.values import Object
from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.nodes import Mapping
from krm_merge.text.values import Value, to_value

if TYPE_CHECKING:
    from krm_merge.functions.models import PatchModel, PatchTarget

_LOCAL_CONFIG = "config.kubernetes.io/local-config"


@dataclass(frozen=True, slots=True)
class Job:
    """One patch with its target. `label` is its field in the functionConfig."""

    label: str
    patch: Patch
    target: Target
    keeps_name: bool
    keeps_kind: bool


@dataclass(slots=True)
class Jobs:
    """All patches in their order. `sources` are the ids of items that are patches themselves."""

    jobs: list[Job] = field(default_factory=list)
    modes: Modes = field(default_factory=Modes)
    list_keys: tuple[ListKeys, ...] = ()
    sources: set[int] = field(default_factory=set)


def read_jobs(resource_list: ResourceList) -> Jobs:
    """Reads the functionConfig and reports all its errors to the results."""
    # The command line makes its jobs itself, and needs no models.
    from krm_merge.functions.models import PatchConfigMapData, PatchModel, PatchResources
    from krm_merge.functions.validation import list_keys_of, validated

    config = resource_list.function_config
    assert config is not None
    data = config.get("data")
    jobs = Jobs()
    if isinstance(data, Mapping) and to_value(config.get("kind")) == "ConfigMap":
        short = validated(resource_list, PatchConfigMapData, _fields(data))
        models = [PatchModel.model_validate({"patch": short.patch})] if short else []
        if short:
            jobs.modes = Modes(short.listOrder, short.mergeKeys)
    else:
        model = validated(resource_list, PatchResources, _fields(config))
        models = model.patches if model else []
        if model:
            jobs.modes, jobs.list_keys = Modes(model.listOrder, model.mergeKeys), list_keys_of(model.listKeys)
    for at, entry in enumerate(models):
        jobs.jobs += _jobs(resource_list, entry, f"patches[{at}]", jobs.sources)
    return jobs


def _fields(node: Mapping) -> dict[str, Value]:
    values = to_value(node)
    assert isinstance(values, dict)
    return values


def _jobs(resource_list: ResourceList, model: PatchModel, label: str, sources: set[int]) -> Iterator[Job]:
    """The patches of one entry, each with its target. What is wrong is reported."""
    results = resource_list.results
    try:
        patches = _patches(resource_list, model, sources)
        for patch in patches:
            target = _target(model.target) if model.target is not None else target_of(patch)
            if target is None:
                raise PatchError(
                    "target is missing, and the patch names no object by apiVersion, kind and metadata.name"
                )
            options = model.options
            yield Job(label, patch, target, not options.allowNameChange, not options.allowKindChange)
    except (PatchError, ValueError) as error:
        results.error(f"functionConfig: {label}: {error}", path=label)


def _patches(resource_list: ResourceList, model: PatchModel, sources: set[int]) -> list[Patch]:
    if (model.patch is None) == (model.path is None):
        raise PatchError("give either patch or path")
    if model.patch is not None:
        return read_patches(model.patch, model.type)
    assert model.path is not None
    # In a render, items of subpackages may have the same path: places are told from the root.
    path, root = normpath(model.path), root_package(resource_list)
    needle = basename(path).encode()
    candidates = (item for item in resource_list.items if needle in item.slice.data)
    found = [item for item in candidates if place_of(item.annotations, root) == path]
    if not found:
        raise PatchError(f"path: no item of the package has the file {model.path}")
    sources |= {id(item) for item in found}
    return [patch_of(_without_bookkeeping(item.value), model.type) for item in found]


def _without_bookkeeping(value: Value) -> Object:
    """A patch that is an item, without what kpt and the package keep in its annotations."""
    assert isinstance(value, dict)
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return value
    kept: dict[str, Value] = {
        name: text for name, text in annotations.items() if not is_bookkeeping(name) and name != _LOCAL_CONFIG
    }
    rest = {name: inner for name, inner in metadata.items() if name != "annotations"}
    return {**value, "metadata": {**rest, "annotations": kept} if kept else rest}


def _target(model: PatchTarget) -> Target:
    """The target; raises ValueError for what is no regular expression or selector."""
    patterns = {}
    for name in ("group", "version", "kind", "name", "namespace"):
        text = getattr(model, name)
        try:
            patterns[name] = None if text is None else re.compile(text)
        except re.error as error:
            raise ValueError(f"target.{name} is {text!r}, no regular expression: {error}") from None
    labels, annotations = (
        None if s is None else Selector.parse(s) for s in (model.labelSelector, model.annotationSelector)
    )
    return Target(**patterns, labels=labels, annotations=annotations)
