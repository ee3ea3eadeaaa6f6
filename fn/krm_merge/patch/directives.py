"""The directives of strategic merge patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.patch.errors import PatchError
from krm_merge.patch.values import Object
from krm_merge.text.values import Value

PATCH: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
SET_ELEMENT_ORDER: Final = "$setElementOrder"
DELETE_FROM_PRIMITIVE_LIST: Final = "$deleteFromPrimitiveList"


@dataclass(slots=True)
class FieldPatch:
    """All that a patch says of one field: its `value` if there is one, and the lists of its two directives."""

    has_value: bool = False
    value: Value = None
    order: list[Value] | None = None
    delete: list[Value] | None = None


def fields_of(patch: Object, path: FieldPath) -> dict[str, FieldPatch]:
    """What a patch says, by field. Raises PatchError for a malformed directive."""
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
    """Whether a key of a patch is none of the document."""
    return key in (PATCH, RETAIN_KEYS) or key.startswith((f"{SET_ELEMENT_ORDER}/", f"{DELETE_FROM_PRIMITIVE_LIST}/"))


def directive_of(item: Value) -> Value:
    """The `$patch` of a list's element, None where it has none."""
    return item.get(PATCH) if isinstance(item, dict) else None


def has_directive(item: Value) -> bool:
    """Whether an element or a map carries `$patch`."""
    return isinstance(item, dict) and PATCH in item


def without_directives(value: Value, *, nulls: bool, replaced: bool = False) -> tuple[Value, bool]:
    """A part of a patch as the document gets it where it had nothing, and whether it gets it at all (P4).

    What carries `$patch` is dropped whole: there is nothing that it could change. With `replaced`, what replaces
    stays without its directive. Without `nulls`, fields that the patch removes are left out.
    """
    if isinstance(value, dict):
        if PATCH in value and not (replaced and value[PATCH] == "replace"):
            return None, False
        result: Object = {}
        for key, inner in value.items():
            if is_directive(key) or (inner is None and not nulls):
                continue
            kept, keep = without_directives(inner, nulls=nulls, replaced=replaced)
            if keep:
                result[key] = kept
        return result, True
    if isinstance(value, list):
        items = (item for item in value if not has_directive(item))
        return [without_directives(item, nulls=nulls, replaced=replaced)[0] for item in items], True
    return value, True
