"""The patches of a PatchResources functionConfig, each with its target, and messages for their errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, normpath

from krm_merge.functions.dispatch import API_VERSION
from krm_merge.functions.places import place_of, root_package
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.selector import Pattern, Selector, Target, pattern_of
from krm_merge.merge.package.merger import ListKeys
from krm_merge.patch import PatchError
from krm_merge.patch.patches import Modes, ParsedPatch, PatchType, patches_of, read_patches, target_of
from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import Object, Value, to_value

_OPERATION = re.compile(r"(operation \d+, .*?(?:\}|\.\.\.)): (.*)", re.DOTALL)
_OTHER_VALUE = " is not equal to tested value "
# The library's messages may quote the document; these messages name only places.
_PLACES = re.compile(
    r"can't (?:remove|replace) a non-existent object '.*?'|can't (?:insert|replace) outside of list"
    r"|unable to fully resolve json pointer .*|member '.*?' not found|index '.*?' is out of bounds"
    r"|copies make more than .*|the value that it copies is nested deeper than [0-9]+ levels"
)


def format_problem(error: PatchError, patch: ParsedPatch, *, secret: bool) -> str:
    """The message of an error.

    For a `secret` values were hidden already: only messages of the JSON patch library may quote any.
    """
    match = _OPERATION.fullmatch(error.problem) if secret and patch.operations is not None else None
    if match is None:
        return str(error)
    operation, words = match.groups()
    location = _PLACES.match(words)
    why = location.group() if location else "it cannot be applied"
    return f"{operation}: {'the value there differs' if _OTHER_VALUE in words else why}"


_FIELDS = frozenset(("apiVersion", "kind", "metadata", "patches", "listOrder", "mergeKeys"))
_TARGET = ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector")
THE_NAME = "the object that it names"
_LOCAL_CONFIG = "config.kubernetes.io/local-config"


@dataclass(frozen=True, slots=True)
class PatchJob:
    """One patch with its target.

    `label` names it in messages, `field` is its place in the functionConfig, `chosen_by` the field with its target.
    """

    label: str
    field: str | None
    patch: ParsedPatch
    target: Target
    chosen_by: str
    keeps_name: bool
    keeps_kind: bool


@dataclass(slots=True)
class Jobs:
    """All patches in their order. `sources` are the ids of items that are patches themselves."""

    jobs: list[PatchJob] = field(default_factory=list)
    modes: Modes = field(default_factory=Modes)
    list_keys: tuple[ListKeys, ...] = ()
    sources: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the field `patches`."""

    patch: str | None
    path: str | None
    type: PatchType | None
    target: dict[str, str | None] | None
    allows_name: bool
    allows_kind: bool


def read_jobs(resource_list: ResourceList) -> Jobs:
    """Reads the functionConfig and reports all its errors to the results."""
    config = resource_list.function_config
    assert config is not None
    jobs = Jobs()
    entries = _plain(_fields(config), jobs)
    if entries is None:
        entries = _validate(resource_list, config, jobs)
    for at, entry in enumerate(entries):
        jobs.jobs += _jobs(resource_list, entry, f"patches[{at}]", jobs.sources)
    return jobs


def _plain(values: Object, jobs: Jobs) -> list[_Entry] | None:
    """The entries if a quick check finds them valid: importing pydantic takes longer than many patches."""
    order, keys = values.get("listOrder", "document"), values.get("mergeKeys", "multi")
    patches = values.get("patches")
    if (
        values.keys() - _FIELDS
        or (values.get("apiVersion"), values.get("kind")) != (API_VERSION, "PatchResources")
        or not isinstance(values.get("metadata", {}), dict)
        or not isinstance(patches, list)
    ):
        return None
    entries = [_plain_entry(value) for value in patches]
    valid_entries = [entry for entry in entries if entry is not None]
    if not valid_entries or len(valid_entries) < len(entries):
        return None
    match order, keys:
        case ("document" | "kubernetes", "multi" | "single"):
            jobs.modes = Modes(order, keys)
            return valid_entries
    return None


def _plain_entry(value: Value) -> _Entry | None:
    if not isinstance(value, dict) or value.keys() - {"patch", "target", "type"}:
        return None
    match value.get("patch"), value.get("type"), value.get("target"):
        case str(patch), ("strategic" | "merge" | "json" | None) as type_, dict() | None as target:
            texts = {name: text for name, text in (target or {}).items() if isinstance(text, str) and name in _TARGET}
            if target is None:
                return _Entry(patch, None, type_, None, False, False)
            if len(texts) == len(target):
                return _Entry(patch, None, type_, {**dict.fromkeys(_TARGET), **texts}, False, False)
    return None


def _validate(resource_list: ResourceList, config: MappingNode, jobs: Jobs) -> list[_Entry]:
    """The entries as the models read them; reports all problems."""
    from krm_merge.functions.models import PatchConfigMapData, PatchModel, PatchResources
    from krm_merge.krm.validation import validate
    from krm_merge.policy.models import list_keys_of

    data = config.get("data")
    if isinstance(data, MappingNode) and to_value(config.get("kind")) == "ConfigMap":
        short = validate(resource_list, PatchConfigMapData, _fields(data))
        models = [PatchModel.model_validate({"patch": short.patch})] if short else []
        if short:
            jobs.modes = Modes(short.listOrder, short.mergeKeys)
    else:
        model = validate(resource_list, PatchResources, _fields(config))
        models = model.patches if model else []
        if model:
            jobs.modes, jobs.list_keys = Modes(model.listOrder, model.mergeKeys), list_keys_of(model.listKeys)
    return [
        _Entry(
            model.patch,
            model.path,
            model.type,
            model.target.model_dump() if model.target is not None else None,
            model.options.allowNameChange,
            model.options.allowKindChange,
        )
        for model in models
    ]


def _fields(node: MappingNode) -> Object:
    values = to_value(node)
    assert isinstance(values, dict)
    return values


def _jobs(resource_list: ResourceList, entry: _Entry, label: str, sources: set[int]) -> Iterator[PatchJob]:
    """The patches of one entry, each with its target. Reports all problems."""
    results = resource_list.results
    try:
        patches = _patches(resource_list, entry, sources)
        configured = read_target(entry.target) if entry.target is not None else None
        if not patches:
            # P10: a generator of patches may produce none.
            results.info(f"functionConfig: {label} is empty and skipped", path=label, rule="P10")
        if configured is not None and len(patches) > 1:
            # P10: with a target, each patch would apply to all selected resources, whatever object it names.
            raise PatchError(
                f"target is for one patch, and this text holds {len(patches)}; make each a separate entry, or leave "
                "target out where the patches name their objects"
            )
        for name, patch in with_labels(patches, label):
            target = configured or target_of(patch)
            if target is not None:
                chosen_by = THE_NAME if configured is None else "its target"
                yield PatchJob(name, label, patch, target, chosen_by, not entry.allows_name, not entry.allows_kind)
                continue
            problem = "target is missing, and the patch names no object by apiVersion, kind and metadata.name"
            results.error(f"functionConfig: {name}: {problem}", path=label)
    except (PatchError, ValueError) as error:
        results.error(f"functionConfig: {label}: {error}", path=label)


def with_labels(patches: Sequence[ParsedPatch], label: str) -> Iterator[tuple[str, ParsedPatch]]:
    """The patches of one text as messages name them (P4): several by their numbers, and the objects that they name."""
    for number, patch in enumerate(patches, 1):
        yield (label if len(patches) == 1 else f"{label} document {number}{_object(patch)}"), patch


def _object(patch: ParsedPatch) -> str:
    kind, metadata = patch.body.get("kind"), patch.body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    names = [text for text in (kind, name) if isinstance(text, str)]
    return f" ({' '.join(names)})" if names else ""


def _patches(resource_list: ResourceList, entry: _Entry, sources: set[int]) -> list[ParsedPatch]:
    if (entry.patch is None) == (entry.path is None):
        raise PatchError("give either patch or path")
    if entry.patch is not None:
        return read_patches(entry.patch, entry.type)
    assert entry.path is not None
    # In a render, items of subpackages may have the same path: places are relative to the root.
    path, root = normpath(entry.path), root_package(resource_list)
    needle = basename(path).encode()
    candidates = (item for item in resource_list.items if needle in item.slice.data)
    sources_in_package = [item for item in candidates if place_of(item.annotations, root) == path]
    if not sources_in_package:
        raise PatchError(f"path: no item of the package has the file {entry.path}")
    sources |= {id(item) for item in sources_in_package}
    return patches_of([_without_bookkeeping(item.value) for item in sources_in_package], entry.type)


def _without_bookkeeping(value: Value) -> Object:
    """A patch that is an item, without the annotations of kpt and of the package."""
    assert isinstance(value, dict)
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return value
    own_annotations: dict[str, Value] = {
        name: text for name, text in annotations.items() if not is_bookkeeping(name) and name != _LOCAL_CONFIG
    }
    rest = {name: inner for name, inner in metadata.items() if name != "annotations"}
    return {**value, "metadata": {**rest, "annotations": own_annotations} if own_annotations else rest}


def read_target(fields: Mapping[str, str | None]) -> Target:
    """The target of a functionConfig. Raises ValueError if a field is not a regular expression or not a selector."""
    patterns: dict[str, Pattern | None] = {}
    for name in ("group", "version", "kind", "name", "namespace"):
        text = fields[name]
        try:
            # P8: as in kustomize, an empty field matches everything.
            patterns[name] = pattern_of(text) if text else None
        except ValueError as error:
            raise ValueError(f"target.{name} is {text!r}, {error}") from None
    labels, annotations = (
        None if text is None else Selector.parse(text)
        for text in (fields["labelSelector"], fields["annotationSelector"])
    )
    return Target(**patterns, labels=labels, annotations=annotations)
