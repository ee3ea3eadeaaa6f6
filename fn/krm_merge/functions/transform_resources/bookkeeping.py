"""kpt's bookkeeping annotations, which plugins neither see nor change (rule T1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.reading.values import Object, Value
from krm_merge.transform.engine.settle import Settlement
from krm_merge.transform.protocol.operation import Operation, PluginOperation

_ANNOTATIONS: Final = ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class ProtectedChange:
    """An ignored change of an annotation that belongs to kpt. If not the `whole` operation, the rest is accepted."""

    operation: PluginOperation
    annotation: str
    whole: bool


def without_bookkeeping(value: Object) -> Object:
    """A resource as plugins see it: without kpt's annotations (T1)."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict) or not any(map(is_bookkeeping, annotations)):
        return value
    kept: Object = {name: text for name, text in annotations.items() if not is_bookkeeping(name)}
    shown = {name: kept if name == "annotations" else inner for name, inner in metadata.items()}
    if not kept:
        del shown["annotations"]
    return {**value, "metadata": shown}


def with_bookkeeping(after: Object, before: Object) -> Object:
    """The transformed resource with kpt's annotations of the original, at their old positions."""
    had, hidden = annotations_of(before), hidden_in(before)
    # A plugin cannot know kpt's annotations.
    now = annotations_of(without_bookkeeping(after))
    if not hidden:
        return without_bookkeeping(after)
    merged: Object = {name: hidden.get(name, now.get(name)) for name in had if name in hidden or name in now}
    merged |= now
    metadata = after.get("metadata")
    assert isinstance(metadata, dict)
    return {**after, "metadata": {**metadata, "annotations": merged}}


def hidden_in(value: Object) -> Object:
    """The annotations that plugins do not see."""
    return {name: text for name, text in annotations_of(value).items() if is_bookkeeping(name)}


def annotations_of(value: Object) -> dict[str, Value]:
    """The annotations of a resource."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def take_protected_changes(settlement: Settlement, shown: Object) -> list[ProtectedChange]:
    """Removes changes of kpt's annotations from a settlement and returns them. `shown` is what the plugins saw."""
    if not settlement.operations and not settlement.agreed:
        return []
    agreed = (one.operation for one in settlement.agreed)
    found = [
        change for one in (*settlement.operations, *agreed) for change in _protected_changes(one, settlement.value)
    ]
    if found:
        settlement.operations = [one for one in settlement.operations if not _is_protected_change(one.operation)]
        settlement.agreed = [one for one in settlement.agreed if not _is_protected_change(one.operation.operation)]
        settlement.value = without_bookkeeping(settlement.value)
        settlement.patch = _with_annotations(settlement.patch, annotations_of(shown), annotations_of(settlement.value))
    return found


def _protected_changes(one: PluginOperation, after: Object) -> list[ProtectedChange]:
    operation = one.operation
    if _is_protected_change(operation):
        return [ProtectedChange(one, operation.path[2], whole=True)]
    if not _is_around(operation) or operation.kind == "remove":
        return []
    # The operation does not hold a moved or copied value.
    holder: Value = operation.value if operation.kind in ("add", "replace") else _at(after, operation.path)
    for name in reversed(operation.path):
        holder = {name: holder}
    return [ProtectedChange(one, name, whole=False) for name in hidden_in(holder if isinstance(holder, dict) else {})]


def patch_of(settlement: Settlement, before: Object) -> list[Operation]:
    """The accepted operations as a JSON patch of the resource with the annotations that no plugin saw."""
    patch = settlement.patch
    if hidden_in(before) and any(_is_around(one.operation) for one in patch):
        after = with_bookkeeping(settlement.value, before)
        patch = _with_annotations(patch, annotations_of(before), annotations_of(after))
    return [one.operation for one in patch]


def _with_annotations(patch: Sequence[PluginOperation], had: Object, wanted: Object) -> list[PluginOperation]:
    """The patch that turns the original annotations into the wanted ones."""
    own = [one for one in patch if one.operation.path[:2] == _ANNOTATIONS]
    others = [
        replace(one, operation=_holding(one.operation, wanted))
        for one in patch
        if one.operation.path[:2] != _ANNOTATIONS
    ]
    if any(_is_around(one.operation) for one in others) or not own or had == wanted:
        return others
    operation = (
        Operation("replace" if had else "add", _ANNOTATIONS, value=wanted)
        if wanted
        else Operation("remove", _ANNOTATIONS)
    )
    return [*others, replace(own[-1], operation=operation)]


def _holding(operation: Operation, annotations: Object) -> Operation:
    """An operation that replaces the metadata, with these annotations."""
    value = operation.value
    if operation.path == () and isinstance(value, dict) and isinstance(value.get("metadata"), dict):
        inner = _holding(replace(operation, path=("metadata",), value=value["metadata"]), annotations)
        return replace(operation, value={**value, "metadata": inner.value})
    if operation.path != ("metadata",) or not isinstance(value, dict):
        return operation
    others = {name: inner for name, inner in value.items() if name != "annotations"}
    return replace(operation, value={**others, "annotations": annotations} if annotations else others)


def _is_protected_change(operation: Operation) -> bool:
    """Whether an operation changes only an annotation of kpt."""
    return len(operation.path) > 2 and operation.path[:2] == _ANNOTATIONS and is_bookkeeping(operation.path[2])


def _is_around(operation: Operation) -> bool:
    """Whether an operation changes all annotations, or a parent of them."""
    return operation.path == _ANNOTATIONS[: len(operation.path)]


def _at(value: Value, path: Sequence[str]) -> Value:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
