"""The directives of strategic merge patches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from krm_merge.krm.fieldpath import FieldPath, Step
from krm_merge.patch.model.errors import PatchError
from krm_merge.text.reading.values import Object, Value

PATCH: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
SET_ELEMENT_ORDER: Final = "$setElementOrder"
DELETE_FROM_PRIMITIVE_LIST: Final = "$deleteFromPrimitiveList"
_ALMOST: Final = 0.85
"""How like a directive a name is that can only be one misspelt."""


@dataclass(slots=True)
class FieldPatch:
    """All that a patch says of one field: its `value` if there is one, and the lists of its two directives."""

    has_value: bool = False
    value: Value = None
    order: list[Value] | None = None
    delete: list[Value] | None = None


def fields_of(patch: Object, path: FieldPath) -> dict[str, FieldPatch]:
    """The changes that a patch makes, by field. Raises PatchError for a malformed directive."""
    fields: dict[str, FieldPatch] = {}
    for key, value in patch.items():
        if key in (PATCH, RETAIN_KEYS):
            continue
        directive, slash, name = key.partition("/")
        if not key.startswith((SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST)):
            found = fields.setdefault(key, FieldPatch())
            found.has_value, found.value = True, value
            continue
        is_order = key.startswith(SET_ELEMENT_ORDER)
        if directive not in (SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST) or not slash or not isinstance(value, list):
            what = "setElementOrder list" if is_order else "primitive list"
            example = f"{SET_ELEMENT_ORDER if is_order else DELETE_FROM_PRIMITIVE_LIST}/FIELD"
            raise PatchError(
                f"invalid patch format of {what}: a list under the key {example} is expected", (*path, key)
            )
        found = fields.setdefault(name, FieldPatch())
        if is_order:
            found.order = value
        else:
            found.delete = value
    return fields


def is_directive(key: str) -> bool:
    """Whether a key of a patch is a directive, malformed ones included, and not a field of the document."""
    return key in (PATCH, RETAIN_KEYS) or key.startswith((SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST))


def check_spelling(patch: Object, path: FieldPath) -> None:
    """Raises PatchError for a field that is almost a directive by its name, and has what that directive takes.

    Other fields may begin with `$`, such as `$ref`.
    """
    for key, value in patch.items():
        if key.startswith("$") and not is_directive(key) and (meant := _meant(key, value)) is not None:
            raise PatchError(f"there is no directive {key}; {meant} is one", (*path, key))


def _meant(key: str, value: Value) -> str | None:
    from difflib import get_close_matches

    if isinstance(value, list):
        names = [RETAIN_KEYS, SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST]
    elif value in ("merge", "replace", "delete"):
        names = [PATCH]
    else:
        return None
    lower = {name.lower(): name for name in names}
    found = get_close_matches(key.partition("/")[0].lower(), lower, n=1, cutoff=_ALMOST)
    return lower[found[0]] if found else None


def first_directive(value: Value, path: FieldPath = ()) -> FieldPath | None:
    """Where a value has a directive first, None where it has none."""
    if isinstance(value, dict):
        own = next((key for key in value if is_directive(key)), None)
        if own is not None:
            return (*path, own)
        inside: Iterable[tuple[Step, Value]] = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    else:
        return None
    return next((found for step, inner in inside if (found := first_directive(inner, (*path, step))) is not None), None)


def directive_of(item: Value) -> Value:
    """The `$patch` of a list's element, None where it has none."""
    return item.get(PATCH) if isinstance(item, dict) else None


def has_directive(item: Value) -> bool:
    """Whether an element or a map carries `$patch`."""
    return isinstance(item, dict) and PATCH in item


def without_directives(value: Value, *, nulls: bool) -> Value:
    """A part of a patch as kubectl puts it where the document had nothing, without the directives that it leaves (P4).

    What carries `$patch` is dropped whole. Without `nulls`, fields that the patch removes are left out.
    """
    if isinstance(value, dict):
        return {
            key: without_directives(inner, nulls=nulls)
            for key, inner in value.items()
            if not (is_directive(key) or has_directive(inner) or (inner is None and not nulls))
        }
    if isinstance(value, list):
        return [without_directives(item, nulls=nulls) for item in value if not has_directive(item)]
    return value
