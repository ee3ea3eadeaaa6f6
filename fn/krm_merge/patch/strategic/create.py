"""Makes the strategic merge patch that leads from one document to another (rule P1).

Source: what k8s.io/apimachinery/pkg/util/strategicpatch does (CreateTwoWayMergePatch, CreateThreeWayMergePatch).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from krm_merge.krm import FieldPath
from krm_merge.patch.model import Field, PatchConflictError, PatchError, Shape, identity, kind_of, same, text_of
from krm_merge.patch.strategic.apply import apply
from krm_merge.patch.strategic.conflicts import patches_conflict
from krm_merge.patch.strategic.elements import (
    DELETE_FROM_PRIMITIVE_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
    ElementKeys,
    ListOrder,
    MergeKeys,
    element_kind,
    has_directive,
    is_one_value,
)
from krm_merge.text import Object, Value


def create(
    original: Object,
    modified: Object,
    schema: Shape,
    *,
    list_order: ListOrder = "document",
    merge_keys: MergeKeys = "multi",
) -> Object:
    """The patch that makes `modified` of `original`: `apply(original, patch)` gives it, but for fields that are null.

    Raises PatchError, in the order `document` also where no patch leads there: where merge keys or values repeat.
    """
    patch = _Difference(list_order, merge_keys).mapping((), original, modified, schema)
    if list_order == "document":
        _check(apply(original, patch, schema, merge_keys=merge_keys), modified)
    return patch


def create_short(original: Object, modified: Object, schema: Shape) -> Object:
    """The patch of `create` in the order `document`, without the orders that the patch's own lists imply (P2).

    Raises PatchError.
    """
    patch = create(original, modified, schema)
    orders = list(_orders(patch))
    without = [(holder, name, holder.pop(name)) for holder, name in orders]
    if same(apply(original, patch, schema), modified):
        return patch
    for holder, name, order in without:
        holder[name] = order
    for holder, name, order in without:
        del holder[name]
        if not same(apply(original, patch, schema), modified):
            holder[name] = order
    return patch


def _orders(value: Value) -> Iterator[tuple[Object, str]]:
    """The maps of a patch that hold a `$setElementOrder`, each with its key."""
    if isinstance(value, dict):
        yield from ((value, name) for name in value if name.startswith(SET_ELEMENT_ORDER))
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _orders(inner)


def create_three_way(
    original: Object,
    modified: Object,
    live: Object,
    schema: Shape,
    *,
    overwrite: bool = True,
    list_order: ListOrder = "document",
    merge_keys: MergeKeys = "multi",
) -> Object:
    """The patch of the live document that `kubectl apply` makes.

    It sets what `modified` says and deletes what `original` (as last applied) had and `modified` has not; what only the
    live document has stays. Without `overwrite` it is a PatchConflict where the live document was changed since, in
    another way. Raises PatchError.
    """
    if list_order == "document":
        # P6: what holds for each of them with two sides holds for their patch of three.
        for before in (original, live):
            create(before, modified, schema, merge_keys=merge_keys)
    changes = _Difference(list_order, merge_keys, deletions=False).mapping((), live, modified, schema)
    deletions = _Difference(list_order, merge_keys, additions=False).mapping((), original, modified, schema)
    # An addition deletes nothing: a `$patch` in it is from the document, and would act as a directive.
    patch = _union((), deletions, _without_marked(changes), schema, merge_keys)
    if not overwrite:
        since = _Difference(list_order, merge_keys, orders=False).mapping((), original, live, schema)
        if (path := patches_conflict(patch, since, schema, merge_keys)) is not None:
            raise PatchConflictError("changed in the live document, and differently by this change", path)
    return patch


def _check(result: Value, modified: Value, path: FieldPath = ()) -> None:
    """P6: the patch leads to the modified document; of fields that are null a patch can say nothing."""
    if isinstance(result, dict) and isinstance(modified, dict):
        for name in {**modified, **result}:
            _check(result.get(name), modified.get(name), (*path, name))
    elif isinstance(result, list) and isinstance(modified, list) and len(result) == len(modified):
        for at, (ours, expected) in enumerate(zip(result, modified, strict=True)):
            _check(ours, expected, (*path, at))
    elif not same(result, modified):
        raise PatchError(
            "no strategic merge patch leads there: merge keys and values must appear once in a list that merges; "
            "make them so, or make a patch of the type merge",
            path,
        )


def _union(path: FieldPath, deletions: Object, changes: Object, shape: Shape, merge_keys: MergeKeys) -> Object:
    """The patch with both; where both have an order of a list, it is that of the modified document."""
    patch = {**deletions, **changes}
    for name in (name for name in deletions if name in changes):
        before, after, field = deletions[name], changes[name], shape.field(name)
        if field is None:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            patch[name] = _union((*path, name), before, after, field.inside, merge_keys)
        elif isinstance(before, list) and isinstance(after, list):
            order = patch.get(f"{SET_ELEMENT_ORDER}/{name}")
            patch[name] = _elements_of_both((*path, name), before, after, order, field, merge_keys)
    return patch


def _elements_of_both(
    path: FieldPath, deletions: list[Value], changes: list[Value], order: Value, field: Field, merge_keys: MergeKeys
) -> list[Value]:
    """The elements of both in the order of the list, and then those that are deleted."""
    key = ElementKeys(field, path, merge_keys)
    removed = [item for item in deletions if has_directive(item)]
    elements = {key.of(item): item for item in deletions if not has_directive(item)}
    for item in changes:
        before = elements.get(key.of(item))
        if isinstance(before, dict) and isinstance(item, dict):
            item = _union(path, before, item, field.inside, merge_keys)
        elements[key.of(item)] = item
    rank = {key.of(item): at for at, item in enumerate(order if isinstance(order, list) else [])}
    return sorted(elements.values(), key=lambda item: rank.get(key.of(item), -1)) + removed


def _without_marked(changes: Object) -> Object:
    """Changes without the maps that carry `$patch`."""
    return {name: _remove_marked(value) for name, value in changes.items() if not has_directive(value)}


def _remove_marked(value: Value) -> Value:
    if isinstance(value, dict):
        return _without_marked(value)
    return [_remove_marked(item) for item in value if not has_directive(item)] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class _Difference:
    list_order: ListOrder
    merge_keys: MergeKeys
    additions: bool = True
    deletions: bool = True
    orders: bool = True

    def mapping(
        self, path: FieldPath, original: Object, modified: Object, shape: Shape, *, retains_keys: bool = False
    ) -> Object:
        patch: Object = {}
        for name, value in modified.items():
            if name == PATCH and name in original:
                continue
            if name not in original or kind_of(original[name]) != kind_of(value):
                if self.additions:
                    patch[name] = value
            elif isinstance(value, dict):
                self._map(path, name, original[name], value, patch, shape)
            elif isinstance(value, list):
                self._list(path, name, original[name], value, patch, shape)
            elif self.additions and not same(original[name], value):
                patch[name] = value
        if self.deletions:
            patch |= dict.fromkeys(name for name in original if name not in modified)
        if retains_keys:
            names = [name for name, value in modified.items() if value is not None]
            extra = any(value is not None and name not in modified for name, value in original.items())
            if names and (patch or extra):
                patch[RETAIN_KEYS] = list[Value](sorted(names))
        return patch

    def _field(self, path: FieldPath, name: str, first: Value, second: Value, shape: Shape) -> Field | None:
        """The schema's field; None where nothing is known and nothing has to be."""
        field = shape.field(name)
        if field is None and not same(first, second):
            raise PatchError(f"unable to find api field {name}: the type has no such field", (*path, name))
        return field

    def _map(self, path: FieldPath, name: str, before: Value, after: Object, patch: Object, shape: Shape) -> None:
        assert isinstance(before, dict)
        field = self._field(path, name, before, after, shape)
        if field is None:
            return
        if field.replaces:
            # kubectl writes it even where nothing changed.
            if self.additions and (self.list_order == "kubernetes" or not same(before, after)):
                patch[name] = after
            return
        inner = self.mapping((*path, name), before, after, field.inside, retains_keys=field.retains_keys)
        if inner:
            patch[name] = inner

    def _list(self, path: FieldPath, name: str, before: Value, after: list[Value], patch: Object, shape: Shape) -> None:
        assert isinstance(before, list)
        field = self._field(path, name, before, after, shape)
        if field is None:
            return
        if not field.merges or (self.list_order == "document" and is_one_value(field, before, after)):
            if self.additions and not same(before, after):
                patch[name] = after
            return
        if not before:
            if after and self.additions:
                patch[name] = after
            return
        at = (*path, name)
        if element_kind((before, after), at) == "scalar":
            items, gone, order = self._scalars(before, after)
        else:
            items, order = self._maps(at, before, after, field)
            gone = []
        for key, entries in (
            (name, items),
            (f"{DELETE_FROM_PRIMITIVE_LIST}/{name}", gone),
            (f"{SET_ELEMENT_ORDER}/{name}", order),
        ):
            if entries:
                patch[key] = entries

    def _maps(
        self, path: FieldPath, before: list[Value], after: list[Value], field: Field
    ) -> tuple[list[Value], list[Value]]:
        """The changed, new and deleted elements, and the order of all."""
        key = ElementKeys(field, path, self.merge_keys)
        if not key.fields:
            raise PatchError("cannot merge lists without merge key", path)
        pairs = _pair(before, after, key)
        changed: list[tuple[int, Value]] = []
        gone: list[Value] = []
        for old, new, place in pairs:
            if new is None:
                if self.deletions:
                    assert isinstance(old, dict)
                    gone.append({PATCH: "delete", **key.key_fields(old)})
                continue
            assert isinstance(new, dict)
            if old is None:
                if self.additions:
                    changed.append((place, new))
                continue
            assert isinstance(old, dict)
            inner = self.mapping(path, old, new, field.inside, retains_keys=field.retains_keys)
            if inner:
                changed.append((place, {**key.key_fields(new), **inner}))
        items = [item for _, item in sorted(changed, key=lambda pair: pair[0])] + gone
        in_order = len(before) == len(after) and all(key.of(a) == key.of(b) for a, b in zip(before, after, strict=True))
        is_needed = (self.additions and (bool(items) or not in_order)) or (self.deletions and bool(items))
        order: list[Value] = []
        if self.orders and is_needed:
            order = [key.key_fields(item) for item in after if isinstance(item, dict)]
        return items, order

    def _scalars(self, before: list[Value], after: list[Value]) -> tuple[list[Value], list[Value], list[Value]]:
        """The new elements, the deleted ones, and the order of all."""
        added, gone = _scalar_difference(before, after)
        added, gone = added if self.additions else [], gone if self.deletions else []
        is_needed = (self.deletions and bool(gone)) or (self.additions and not same(before, after))
        return added, gone, after if self.orders and is_needed else []


def _pair(before: list[Value], after: list[Value], key: ElementKeys) -> list[tuple[Value | None, Value | None, int]]:
    """Elements of both lists by their keys, sorted as kubectl sorts them, each with its place in `after`.

    Of elements with one key the first go together, then the second, and so on.
    """
    ours = sorted(((key.of(item), key.sort_text(item), at) for at, item in enumerate(after)), key=lambda e: e[1])
    theirs = sorted(((key.of(item), key.sort_text(item), at) for at, item in enumerate(before)), key=lambda e: e[1])
    pairs: list[tuple[Value | None, Value | None, int]] = []
    i = j = 0
    while i < len(theirs) or j < len(ours):
        if j >= len(ours) or (i < len(theirs) and theirs[i][1] < ours[j][1]):
            pairs.append((before[theirs[i][2]], None, -1))
            i += 1
        elif i >= len(theirs) or theirs[i][1] > ours[j][1]:
            pairs.append((None, after[ours[j][2]], ours[j][2]))
            j += 1
        else:
            pairs.append((before[theirs[i][2]], after[ours[j][2]], ours[j][2]))
            i += 1
            j += 1
    return pairs


def _scalar_difference(before: list[Value], after: list[Value]) -> tuple[list[Value], list[Value]]:
    """The added values, in the order of `after`, and the removed ones, sorted."""
    theirs, ours = Counter(map(text_of, before)), Counter(map(text_of, after))
    added, gone = ours - theirs, theirs - ours
    new: list[Value] = []
    for item in after:
        if added[text_of(item)]:
            added[text_of(item)] -= 1
            new.append(item)
    values = {identity(item): item for item in before if text_of(item) in gone}
    return new, sorted(values.values(), key=text_of)
