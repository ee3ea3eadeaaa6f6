"""JSON merge patches (RFC 7386).

Source: the RFC; for three ways k8s.io/apimachinery/pkg/util/jsonmergepatch.
"""

from __future__ import annotations

from krm_merge.patch.model.errors import PatchConflictError
from krm_merge.patch.model.values import same
from krm_merge.patch.strategic.conflicts import have_conflicts
from krm_merge.text.reading.values import Object, Value


def apply_merge(document: Value, patch: Value) -> Value:
    """The document with the patch applied: maps merge, null removes, all else replaces. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    changed = not isinstance(document, dict)
    for name, value in patch.items():
        if value is None:
            changed |= name in result
            result.pop(name, None)
            continue
        merged = apply_merge(result.get(name), value)
        if name not in result or not same(result[name], merged):
            result[name], changed = merged, True
    return result if changed else document


def create_merge(original: Object, modified: Object) -> Object:
    """The patch that makes `modified` of `original`."""
    patch: Object = {}
    for name, value in modified.items():
        before = original.get(name)
        if name not in original:
            patch[name] = value
        elif isinstance(before, dict) and isinstance(value, dict):
            if inner := create_merge(before, value):
                patch[name] = inner
        elif not same(before, value):
            patch[name] = value
    return patch | dict.fromkeys(name for name in original if name not in modified)


def create_merge_three_way(original: Object, modified: Object, live: Object, *, overwrite: bool = True) -> Object:
    """The patch of the live document that `kubectl apply` makes where it knows no schema.

    Without `overwrite` it is a PatchConflict where the live document was changed since, in another way.
    """
    changes = without_nulls(create_merge(live, modified))
    deletions = only_nulls(create_merge(original, modified))
    patch = _merged(deletions, changes)
    if not overwrite and have_conflicts(patch, create_merge(original, live)):
        raise PatchConflictError("the live document was changed differently")
    return patch


def only_nulls(patch: Object) -> Object:
    """The part of a patch that removes fields."""
    result: Object = {}
    for name, value in patch.items():
        if value is None:
            result[name] = None
        elif isinstance(value, dict) and (inner := only_nulls(value)):
            result[name] = inner
    return result


def without_nulls(patch: Object) -> Object:
    """The part of a patch that sets fields; lists stay as they are."""
    result: Object = {}
    for name, value in patch.items():
        if isinstance(value, dict):
            inner = without_nulls(value)
            if inner or not value:
                result[name] = inner
        elif value is not None:
            result[name] = value
    return result


def _merged(first: Object, second: Object) -> Object:
    """Two patches as one; the second wins."""
    result = dict(first)
    for name, value in second.items():
        before = result.get(name)
        result[name] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result
