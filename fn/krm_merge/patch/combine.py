"""Makes one strategic merge patch of two (rule P1)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.patch.directives import (
    DELETE_FROM_PRIMITIVE_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
    directive_of,
    has_directive,
    without_directives,
)
from krm_merge.patch.errors import PatchError, shown
from krm_merge.patch.keys import ElementKeys, MergeKeys, element_kind
from krm_merge.patch.shape import Field, Shape
from krm_merge.patch.values import Object, identity, same
from krm_merge.text.values import Value


def merge_patches(first: Object, second: Object, schema: Shape, *, merge_keys: MergeKeys = "multi") -> Object:
    """The patch that does what `first` and then `second` do. Neither is changed.

    Raises PatchError where both order one list differently, or keep different fields: no one patch says that.
    """
    return combined(first, second, schema, merge_keys)


def combined(first: Object, second: Object, shape: Shape, merge_keys: MergeKeys) -> Object:
    """As `merge_patches`."""
    return _Combine(merge_keys).mapping((), first, second, shape)


@dataclass(frozen=True, slots=True)
class _Combine:
    merge_keys: MergeKeys

    def mapping(self, path: FieldPath, first: Object, second: Object, shape: Shape) -> Object:
        if second.get(PATCH) in ("replace", "delete"):
            return second
        if first.get(PATCH) in ("replace", "delete"):
            # What stands there is known, so that the second patch can be carried out.
            from krm_merge.patch.apply import apply

            body = {} if first[PATCH] == "delete" else {key: value for key, value in first.items() if key != PATCH}
            return {PATCH: "replace", **apply(body, second, shape, merge_keys=self.merge_keys)}
        result = dict(first)
        for key, value in second.items():
            directive, _, name = key.partition("/")
            if key == RETAIN_KEYS:
                self._equal(path, key, first, value)
                result[key] = value
            elif directive == SET_ELEMENT_ORDER:
                self._equal((*path, name), key, first, value)
                result[key] = value
            elif directive == DELETE_FROM_PRIMITIVE_LIST:
                self._delete(key, name, value, result)
            else:
                self._field((*path, key), key, value, result, shape)
        return result

    def _equal(self, path: FieldPath, key: str, first: Object, value: Value) -> None:
        if key in first and not same(first[key], value):
            raise PatchError(f"both patches have {key}, with {shown(first[key])} and {shown(value)}", path)

    def _delete(self, key: str, name: str, value: Value, result: Object) -> None:
        gone, before, added = value, result.get(key), result.get(name)
        assert isinstance(gone, list)
        drops = {identity(item) for item in gone}
        if isinstance(added, list):
            left = [item for item in added if identity(item) not in drops]
            result[name] = left
            if not left:
                del result[name]
        known = before if isinstance(before, list) else []
        result[key] = [*known, *(item for item in gone if not any(same(item, old) for old in known))]

    def _field(self, path: FieldPath, name: str, value: Value, result: Object, shape: Shape) -> None:
        if name not in result or value is None:
            result[name] = value
            return
        before = result[name]
        if before is None and isinstance(value, dict):
            # Removed, then set: nothing of what was there comes back.
            body, _ = without_directives(value, nulls=False, replaced=True)
            assert isinstance(body, dict)
            result[name] = {PATCH: "replace", **body}
            return
        if type(before) is not type(value) or not isinstance(value, dict | list):
            result[name] = value
            return
        field = shape.field(name)
        if field is None:
            raise PatchError(f"unable to find api field {name}: the type has no such field", path)
        if isinstance(value, dict):
            assert isinstance(before, dict)
            result[name] = value if field.replaces else self.mapping(path, before, value, field.inside)
        else:
            assert isinstance(before, list)
            result[name] = self._list(path, before, value, field) if field.merges else value

    def _list(self, path: FieldPath, first: list[Value], second: list[Value], field: Field) -> list[Value]:
        if any(directive_of(item) == "replace" for item in second):
            return second
        if element_kind((first, second), path) == "scalar":
            known = {identity(item) for item in first}
            return [*first, *(item for item in second if identity(item) not in known)]
        key = ElementKeys(field, path, self.merge_keys)
        if not key.fields:
            raise PatchError("cannot merge lists without merge key", path)
        plain = [item for item in first if not has_directive(item)]
        special = [item for item in first if has_directive(item)]
        places: dict[Hashable, int] = {key.of(item): at for at, item in enumerate(plain)}
        for item in second:
            assert isinstance(item, dict)
            own = key.of(item)
            at = places.get(own)
            if directive_of(item) == "delete":
                if at is not None:
                    plain[at] = None
                    del places[own]
                special.append(item)
            elif at is None:
                places[own] = len(plain)
                plain.append(item)
            else:
                before = plain[at]
                assert isinstance(before, dict)
                plain[at] = self.mapping(path, before, item, field.inside)
        return [item for item in plain if item is not None] + special
