"""Protects the identity of patched objects, and kpt's bookkeeping annotations."""

from __future__ import annotations

from krm_merge.patch import PatchError
from krm_merge.patch.model.values import same
from krm_merge.schema.model import is_bookkeeping
from krm_merge.text.reading.values import Object


def with_identity(after: Object, before: Object, *, keeps_name: bool, keeps_kind: bool) -> Object:
    """The object with its original name and kind, unless the patch may change them, and with kpt's annotations.

    Raises PatchError if the result is not a Kubernetes object.
    """
    result = after
    for name in ("apiVersion", "kind"):
        result = _set(result, name, before) if keeps_kind else result
        if not isinstance(result.get(name), str):
            raise PatchError("a text is expected", (name,))
    had = _map(before, "metadata", ())
    metadata = _map(result, "metadata", ())
    for name in ("name", "namespace"):
        metadata = _set(metadata, name, had) if keeps_name else metadata
        if not _is_text(metadata, name) and _is_text(had, name):
            raise PatchError("a text is expected", ("metadata", name))
    metadata = _with_books(metadata, had)
    if metadata is result.get("metadata") or not metadata:
        return result
    return {**result, "metadata": metadata}


def kept_fields(after: Object, before: Object, *, keeps_name: bool, keeps_kind: bool) -> dict[str, str]:
    """The fields of the identity that a patch would change and may not, each with the option that allows it (P9)."""
    found = {}
    for name in ("apiVersion", "kind") if keeps_kind else ():
        if _changes(after, before, name):
            found[name] = "allowKindChange"
    metadata, had = after.get("metadata"), before.get("metadata")
    if keeps_name and isinstance(metadata, dict) and isinstance(had, dict):
        for name in ("name", "namespace"):
            if _changes(metadata, had, name):
                found[f"metadata.{name}"] = "allowNameChange"
    return found


def _changes(after: Object, before: Object, name: str) -> bool:
    return name in after and not (name in before and same(after[name], before[name]))


def _with_books(metadata: Object, had: Object) -> Object:
    """The metadata with kpt's original bookkeeping annotations.

    P5: without its path kpt would treat the object as new, with another path it would move its file.
    """
    annotations = _map(metadata, "annotations", ("metadata",))
    books = {name: text for name, text in _map(had, "annotations", ("metadata",)).items() if is_bookkeeping(name)}
    kept = {name: text for name, text in annotations.items() if name in books or not is_bookkeeping(name)} | books
    if same(kept, annotations):
        return metadata
    if not kept and "annotations" not in had:
        return {name: inner for name, inner in metadata.items() if name != "annotations"}
    return {**metadata, "annotations": kept}


def _map(value: Object, name: str, path: tuple[str, ...]) -> Object:
    """A map in a field, empty if it is missing. Raises PatchError for anything else."""
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise PatchError("a map is expected", (*path, name))
    return found


def _is_text(metadata: Object, name: str) -> bool:
    """Whether the field is a text; a namespace may be absent."""
    return isinstance(metadata.get(name), str) or (name == "namespace" and name not in metadata)


def _set(value: Object, name: str, before: Object) -> Object:
    """The map with the original value of a field."""
    if name in value and name in before and same(value[name], before[name]):
        return value
    if name not in value and name not in before:
        return value
    if name in before:
        return {**value, name: before[name]}
    return {key: inner for key, inner in value.items() if key != name}
