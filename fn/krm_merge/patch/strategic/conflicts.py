"""Finds where two strategic merge patches contradict each other (rule P1).

Source: strategicpatch.MergingMapsHaveConflicts and mergepatch.HasConflicts of k8s.io/apimachinery.
"""

from __future__ import annotations

from krm_merge.krm import FieldPath
from krm_merge.patch.model import AnyShape, Field, Shape, same, text_of
from krm_merge.patch.strategic.elements import (
    PATCH,
    RETAIN_KEYS,
    ElementKeys,
    MergeKeys,
    element_kind,
    is_directive,
)
from krm_merge.text import Object, Value


def patches_conflict(first: Object, second: Object, shape: Shape, merge_keys: MergeKeys) -> FieldPath | None:
    """Where two strategic merge patches conflict first, None where they do not."""
    return _value((), first, second, Field(shape), merge_keys)


def have_conflicts(first: Value, second: Value) -> bool:
    """Whether two values differ in a field that both have; lists are compared in their order.

    Maps conflict in fields that both have, lists of equal length where their elements do, all else where it differs.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return any(have_conflicts(value, second[name]) for name, value in first.items() if name in second)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) != len(second) or any(map(have_conflicts, first, second))
    return not same(first, second)


def _value(path: FieldPath, first: Value, second: Value, field: Field, merge_keys: MergeKeys) -> FieldPath | None:
    if isinstance(first, dict):
        if not isinstance(second, dict) or first.get(PATCH) != second.get(PATCH):
            return path
        return None if field.replaces else _fields(path, first, second, field.inside, merge_keys)
    if isinstance(first, list):
        return _list(path, first, second, field, merge_keys) if isinstance(second, list) else path
    return None if same(first, second) else path


def _fields(path: FieldPath, first: Object, second: Object, shape: Shape, merge_keys: MergeKeys) -> FieldPath | None:
    for name, value in first.items():
        if name in (PATCH, RETAIN_KEYS) or name not in second:
            continue
        field = Field(AnyShape(), ("merge",)) if is_directive(name) else shape.field(name) or Field(AnyShape())
        if (place := _value((*path, name), value, second[name], field, merge_keys)) is not None:
            return place
    return None


def _list(
    path: FieldPath, first: list[Value], second: list[Value], field: Field, merge_keys: MergeKeys
) -> FieldPath | None:
    is_map = element_kind((first, second), path) == "map"
    if field.merges:
        key = ElementKeys(field, path, merge_keys)
        if not is_map or not key.fields:
            return None
        others = {key.of(item): item for item in second}
        pairs = [(item, others[key.of(item)]) for item in first if key.of(item) in others]
    elif len(first) != len(second):
        return path
    elif is_map:
        pairs = list(zip(first, second, strict=True))
    else:
        pairs = list(zip(sorted(first, key=text_of), sorted(second, key=text_of), strict=True))
    inside = Field(field.inside)
    return next((place for a, b in pairs if (place := _value(path, a, b, inside, merge_keys)) is not None), None)
