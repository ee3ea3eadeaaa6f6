"""Makes one strategic merge patch of two (rule P1), or finds where they contradict each other.

Source: strategicpatch.MergingMapsHaveConflicts and mergepatch.HasConflicts of k8s.io/apimachinery.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from krm_merge.krm import FieldPath
from krm_merge.patch.model import AnyShape, Field, PatchError, Shape, identity, render, same, text_of
from krm_merge.patch.strategic.apply import apply
from krm_merge.patch.strategic.elements import (
    DELETE_FROM_PRIMITIVE_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
    ElementKeys,
    MergeKeys,
    by_patch_list,
    directive_of,
    element_kind,
    fields_of,
    has_directive,
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


def merge_patches(first: Object, second: Object, schema: Shape, *, merge_keys: MergeKeys = "multi") -> Object:
    """The patch that does what `first` and then `second` do. Neither is changed.

    Of lists without `$setElementOrder` the order can come out differently: it depends on the document.

    Raises PatchError where no one patch says that: the second leaves elements out of its order that the first has in
    its own, or changes elements that the order of the other patch does not name, or replaces a list of scalars.
    """
    return combine(first, second, schema, merge_keys)


def combine(first: Object, second: Object, shape: Shape, merge_keys: MergeKeys) -> Object:
    """As `merge_patches`."""
    return _Combine(merge_keys).mapping((), first, second, shape)


@dataclass(frozen=True, slots=True)
class _Combine:
    merge_keys: MergeKeys

    def mapping(self, path: FieldPath, first: Object, second: Object, shape: Shape) -> Object:
        if second.get(PATCH) == "replace":
            return second
        if second.get(PATCH) == "delete":
            # Unless the first patch has removed the map, it is there now, and so stays as an empty one.
            return second if first.get(PATCH) == "delete" else {PATCH: "replace"}
        if first.get(PATCH) in ("replace", "delete"):
            # The first patch determines the whole map, so the second one can be applied to it.
            body = apply({}, first, shape, merge_keys=self.merge_keys)
            return {PATCH: "replace", **apply(body, second, shape, merge_keys=self.merge_keys)}
        result, dropped = self._retain(path, first, second)
        before = fields_of(first, path)
        for name, change in fields_of(second, path).items():
            at = (*path, name)
            if change.has_value and change.value is None:
                for key in (f"{SET_ELEMENT_ORDER}/{name}", f"{DELETE_FROM_PRIMITIVE_LIST}/{name}"):
                    result.pop(key, None)
                result[name] = None
                continue
            if _replaces_list(result.get(name)):
                self._replaced_list(name, first, second, result, shape)
                continue
            if name in dropped:
                result[name] = None
            if change.delete is not None:
                self._delete(name, change.delete, result)
            if change.has_value:
                self._field(at, name, change.value, result, shape)
            earlier = before[name].order if name in before else None
            if earlier is not None or change.order is not None:
                self._order(at, name, earlier, change.order, second, result, shape)
        if PATCH in second:
            result[PATCH] = second[PATCH]
        return result

    # ---- fields ------------------------------------------------------------------------------------------------

    def _retain(self, path: FieldPath, first: Object, second: Object) -> tuple[Object, set[str]]:
        """The first patch without what the second discards, and the fields that it removes itself."""
        result = dict(first)
        ours, theirs = first.get(RETAIN_KEYS), second.get(RETAIN_KEYS)
        for names in (ours, theirs):
            if names is not None and not isinstance(names, list):
                raise PatchError(
                    "invalid patch format of retainKeys: a list of fields is expected", (*path, RETAIN_KEYS)
                )
        if isinstance(theirs, list):
            retained = {identity(name) for name in theirs}
            for name, value in first.items():
                field = name.partition("/")[2] if "/" in name and is_directive(name) else name
                if name != RETAIN_KEYS and value is not None and identity(field) not in retained:
                    del result[name]
            result[RETAIN_KEYS] = theirs
        if not isinstance(ours, list):
            return result, set()
        ours_kept = {identity(name) for name in ours}
        added = [name for name, value in second.items() if not is_directive(name) and value is not None]
        added = [name for name in added if identity(name) not in ours_kept]
        if not isinstance(theirs, list):
            result[RETAIN_KEYS] = [*ours, *sorted(added)]
        else:
            result[RETAIN_KEYS] = [name for name in theirs if identity(name) in ours_kept or name in added]
        return result, set(added)

    def _delete(self, name: str, gone: list[Value], result: Object) -> None:
        """Scalars to remove, which the first patch may have added."""
        key, drops, added = f"{DELETE_FROM_PRIMITIVE_LIST}/{name}", {identity(item) for item in gone}, result.get(name)
        if name in result and added is None:
            return
        if isinstance(added, list):
            result[name] = [item for item in added if identity(item) not in drops]
        before = result.get(key)
        items = before if isinstance(before, list) else []
        have = {identity(item) for item in items}
        result[key] = [*items, *(item for item in gone if identity(item) not in have)]

    def _field(self, path: FieldPath, name: str, value: Value, result: Object, shape: Shape) -> None:
        if name not in result and not isinstance(value, list):
            result[name] = value
            return
        before = result.get(name, [])
        if not isinstance(value, dict | list):
            result[name] = value
            return
        field = shape.field(name)
        if field is None:
            if name not in result:
                result[name] = value
                return
            raise PatchError(f"unable to find api field {name}: the type has no such field", path)
        if type(before) is not type(value):
            result[name] = self._anew(path, name, value, field, shape)
        elif isinstance(value, dict):
            assert isinstance(before, dict)
            if field.replaces:
                # One value, that the first patch has set as a whole.
                before = {PATCH: "replace", **before}
            result[name] = (
                value if field.replaces and PATCH not in value else self.mapping(path, before, value, field.inside)
            )
        else:
            assert isinstance(before, list)
            result[name] = self._list(path, name, before, value, result, field) if field.merges else value

    def _anew(self, path: FieldPath, name: str, value: Value, field: Field, shape: Shape) -> Value:
        """A value where the first patch has removed the field, or set one of another type: nothing of it remains."""
        if isinstance(value, list) and not field.merges:
            return value
        if directive_of(value) == "delete":
            return None
        body = apply({}, {name: value}, shape, merge_keys=self.merge_keys)[name]
        if isinstance(body, dict):
            return body if field.replaces else {PATCH: "replace", **body}
        assert isinstance(body, list)
        if not field.keys:
            raise PatchError("one patch cannot remove a list of scalars and set it anew", path)
        return [{PATCH: "replace"}, *body]

    # ---- lists -------------------------------------------------------------------------------------------------

    def _list(
        self, path: FieldPath, name: str, first: list[Value], second: list[Value], result: Object, field: Field
    ) -> list[Value]:
        if element_kind((first, second), path) == "scalar":
            self._keep_again(name, second, result)
            both = list({identity(item): item for item in (*first, *second)}.values())
            return by_patch_list(both, second, first, identity, "document")
        if _replaces_list(second):
            result.pop(f"{SET_ELEMENT_ORDER}/{name}", None)
            return second
        key = ElementKeys(field, path, self.merge_keys)
        if not key.fields:
            raise PatchError("cannot merge lists without merge key", path)
        first, second = _without_merge(first), _without_merge(second)
        before = [item for item in first if not has_directive(item)]
        plain, special = list(before), [item for item in first if has_directive(item)]
        places: dict[Hashable, int] = {key.of(item): at for at, item in enumerate(plain)}
        # As when it is applied: what a patch deletes goes before what it adds.
        for item in sorted(second, key=has_directive, reverse=True):
            assert isinstance(item, dict)
            identity_of_item = key.of(item)
            at = places.get(identity_of_item)
            if directive_of(item) == "delete":
                if at is not None:
                    plain[at] = None
                    del places[identity_of_item]
                special.append(item)
            elif at is None:
                places[identity_of_item] = len(plain)
                plain.append(item)
            else:
                element = plain[at]
                assert isinstance(element, dict)
                plain[at] = self.mapping(path, element, item, field.inside)
        left = [item for item in plain if item is not None]
        changes = [item for item in second if not has_directive(item)]
        return by_patch_list(left, changes, before, key.of, "document") + special

    def _replaced_list(self, name: str, first: Object, second: Object, result: Object, shape: Shape) -> None:
        """Applies both patches, since the first one determines the whole list."""
        keys = (name, f"{SET_ELEMENT_ORDER}/{name}", f"{DELETE_FROM_PRIMITIVE_LIST}/{name}")
        document: Object = {}
        for patch in (first, second):
            change = {key: patch[key] for key in keys if key in patch}
            document = apply(document, change, shape, merge_keys=self.merge_keys)
        items = document[name]
        assert isinstance(items, list)
        for key in keys:
            result.pop(key, None)
        result[name] = [{PATCH: "replace"}, *items]

    def _keep_again(self, name: str, added: list[Value], result: Object) -> None:
        """Removes the second patch's additions from the first one's deletions."""
        key, again = f"{DELETE_FROM_PRIMITIVE_LIST}/{name}", {identity(item) for item in added}
        gone = result.get(key)
        if isinstance(gone, list):
            result[key] = [item for item in gone if identity(item) not in again]

    def _order(
        self,
        path: FieldPath,
        name: str,
        first: list[Value] | None,
        second: list[Value] | None,
        patch: Object,
        result: Object,
        shape: Shape,
    ) -> None:
        """Sets the order list of both patches, and sorts the elements by it."""
        field, items = shape.field(name), result.get(name, [])
        if field is None or not isinstance(items, list) or _replaces_list(items):
            if second is not None:
                result[f"{SET_ELEMENT_ORDER}/{name}"] = second
            return
        items, order = _without_merge(items), (first if second is None else second) or []
        lists = (items, first or [], second or [])
        is_map = element_kind(lists, path) == "map"
        key = ElementKeys(field if is_map else Field(field.inside), path, self.merge_keys)
        rank: dict[Hashable, int] = {}
        for at, item in enumerate(order):
            rank.setdefault(key.of(item), at)
        gone = {key.of(item) for item in items if directive_of(item) == "delete"}
        removed = result.get(f"{DELETE_FROM_PRIMITIVE_LIST}/{name}")
        gone |= {key.of(item) for item in removed} if isinstance(removed, list) else set()
        plain = [item for item in items if not has_directive(item)]
        later = patch.get(name) if second is None else None
        places = (
            [rank.get(key.of(item), -1) for item in later or [] if not has_directive(item)]
            if isinstance(later, list)
            else []
        )
        if (
            any(key.of(item) not in rank and key.of(item) not in gone for item in first or [])
            or any(key.of(item) not in rank for item in plain)
            or places != sorted(places)
        ):
            problem = f"no one order says what both patches do, with {render(first)} and {render(second)}"
            raise PatchError(problem, (*path[:-1], f"{SET_ELEMENT_ORDER}/{name}"))
        result[f"{SET_ELEMENT_ORDER}/{name}"] = order
        if plain:
            special = [item for item in items if has_directive(item)]
            result[name] = [*sorted(plain, key=lambda item: rank[key.of(item)]), *special]


def _replaces_list(value: Value) -> bool:
    return isinstance(value, list) and any(directive_of(item) == "replace" for item in value)


def _without_merge(items: list[Value]) -> list[Value]:
    """Elements without `$patch: merge`, which says what holds anyway."""
    return [
        {name: value for name, value in item.items() if name != PATCH}
        if isinstance(item, dict) and item.get(PATCH) == "merge"
        else item
        for item in items
    ]
