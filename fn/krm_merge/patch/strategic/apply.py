"""Applies a strategic merge patch (rules P1-P4).

Source: the two specifications, and for `list_order="kubernetes"` what k8s.io/apimachinery/pkg/util/strategicpatch does.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from krm_merge.krm import FieldPath, Step
from krm_merge.patch.model import (
    AnyShape,
    Field,
    PatchError,
    SchemaShape,
    Shape,
    identity,
    kind_of,
    render,
    same,
    text_of,
)
from krm_merge.patch.strategic.elements import (
    PATCH,
    RETAIN_KEYS,
    ElementKeys,
    FieldPatch,
    ListOrder,
    MergeKeys,
    Moved,
    ReplacedList,
    by_order_list,
    by_patch_list,
    check_order,
    check_spelling,
    directive_of,
    element_kind,
    fields_of,
    has_directive,
    is_one_value,
    live_order_of_kubectl,
    moved_by_patch_list,
    moved_to_the_front,
    without_directives,
)
from krm_merge.startup import group_by_key
from krm_merge.text import Object, Value


def apply(
    document: Object,
    patch: Object,
    schema: Shape,
    *,
    list_order: ListOrder = "document",
    merge_keys: MergeKeys = "multi",
    moved: list[Moved] | None = None,
    replaced: list[ReplacedList] | None = None,
) -> Object:
    """The document with the patch applied. Neither is changed; what the patch leaves alone is the document's own.

    `list_order` and `merge_keys` are the two modes: as the specifications say, or as kubectl does it. `moved` takes
    what the default order moved, `replaced` the lists of maps that no schema knows. Raises PatchError naming the place.
    """
    moved, replaced = [] if moved is None else moved, [] if replaced is None else replaced
    merge = _Apply(list_order, merge_keys, moved, replaced)
    return merge.mapping((), document, patch, schema)


@dataclass(slots=True)
class _Apply:
    list_order: ListOrder
    merge_keys: MergeKeys
    moved: list[Moved] = field(default_factory=list)
    replaced: list[ReplacedList] = field(default_factory=list)

    @property
    def as_kubectl(self) -> bool:
        return self.list_order == "kubernetes"

    def mapping(self, path: FieldPath, document: Object, patch: Object, shape: Shape) -> Object:
        if PATCH in patch:
            directive = patch[PATCH]
            if directive == "replace":
                instead = self._replacement(path, {key: value for key, value in patch.items() if key != PATCH}, shape)
                return document if same(document, instead) else instead
            if directive == "delete":
                return {} if document else document
            if directive != "merge" or self.as_kubectl:
                raise PatchError(f"unknown patch type: {render(directive)} in map", (*path, PATCH))
        if not self.as_kubectl:
            check_spelling(patch, path)
        result = self._retain(path, document, patch)
        for name, change in fields_of(patch, path).items():
            self._field((*path, name), name, result, change, shape)
        return document if _is_same_object(document, result) else result

    def _new(self, path: FieldPath, value: Value, field: Field, *, nulls: bool = True) -> Value:
        """The value that a patch creates where there is none; its directives act as in an empty map or list (P6).

        kubectl only drops values with directives there, and keeps nulls in elements and in replacements.
        """
        if self.as_kubectl:
            return without_directives(value, nulls=nulls)
        if isinstance(value, dict):
            return self.mapping(path, {}, value, field.inside)
        return self._list(path, [], value, field) if isinstance(value, list) else value

    def _replacement(self, path: FieldPath, patch: Object, shape: Shape) -> Object:
        new = self._new(path, patch, Field(shape))
        assert isinstance(new, dict)
        return new

    def _retain(self, path: FieldPath, document: Object, patch: Object) -> Object:
        """The document, without what `$retainKeys` does not name."""
        if RETAIN_KEYS not in patch:
            return dict(document)
        names = patch[RETAIN_KEYS]
        if not isinstance(names, list):
            raise PatchError("invalid patch format of retainKeys: a list of fields is expected", (*path, RETAIN_KEYS))
        names_to_keep = {identity(name) for name in names}
        for name, value in patch.items():
            if not name.startswith("$") and value is not None and identity(name) not in names_to_keep:
                problem = f"invalid patch format of retainKeys: the patch sets {name}, which the list does not name"
                raise PatchError(problem, (*path, RETAIN_KEYS))
        return {name: value for name, value in document.items() if identity(name) in names_to_keep}

    def _field(self, path: FieldPath, name: str, result: Object, change: FieldPatch, shape: Shape) -> None:
        # kubectl refuses an order beside null.
        if change.order is not None and (self.as_kubectl or not (change.has_value and change.value is None)):
            self._ordered_list(path, name, result, change, shape)
        elif change.has_value:
            self._value(path, name, result, change.value, shape)
        if change.delete is not None and isinstance(result.get(name), list):
            gone = {identity(item) for item in change.delete}
            items = result[name]
            assert isinstance(items, list)
            left = [item for item in items if identity(item) not in gone]
            result[name] = items if len(left) == len(items) else left

    def _value(self, path: FieldPath, name: str, result: Object, value: Value, shape: Shape) -> None:
        if value is None:
            result.pop(name, None)
            return
        if name not in result or kind_of(result[name]) != kind_of(value) or not isinstance(value, dict | list):
            if directive_of(value) == "delete" or (self.as_kubectl and has_directive(value)):
                result.pop(name, None)
                return
            new = self._new(path, value, shape.field(name) or Field(AnyShape()), nulls=False)
            if name not in result or not same(result[name], new):
                result[name] = new
            return
        field, live = self._known_field(path, name, shape), result[name]
        if isinstance(value, dict):
            assert isinstance(live, dict)
            if field.replaces and PATCH not in value:
                instead = self._replacement(path, value, field.inside)
                result[name] = live if same(live, instead) else instead
            else:
                result[name] = self.mapping(path, live, value, field.inside)
            return
        assert isinstance(live, list)
        result[name] = self._list(path, live, value, field)

    def _known_field(self, path: FieldPath, name: str, shape: Shape) -> Field:
        field = shape.field(name)
        if field is None:
            raise PatchError(f"unable to find api field {name}: the type has no such field", path)
        return field

    # ---- lists -------------------------------------------------------------------------------------------------

    def _list(
        self, path: FieldPath, live: list[Value], patch: list[Value], field: Field, *, ordered: bool = False
    ) -> list[Value]:
        if not field.merges if self.as_kubectl else is_one_value(field, live, patch):
            instead = self._new_list(path, patch, field) if self.as_kubectl else self._whole_list(path, patch, field)
            if same(live, instead):
                return live
            if (
                live
                and isinstance(live[0], dict)
                and isinstance(field.inside, SchemaShape)
                and not field.inside.is_known
            ):
                self.replaced.append(ReplacedList(path, len(live), len(instead)))
            return instead
        if not patch and (not live or not self.as_kubectl):
            return live  # kubectl puts elements with one key together, even then
        key = self._keys(path, field, live, patch)
        remaining, changes = self._special(path, live, patch, key)
        merged = self._elements(path, remaining, changes, key, field)
        result = by_patch_list(merged, changes, remaining, key.of, self.list_order)
        if not ordered:
            self._note(path, moved_by_patch_list(live, result, key), key)
        return live if same(live, result) else result

    def _new_list(self, path: FieldPath, patch: list[Value], field: Field) -> list[Value]:
        new = self._new(path, patch, field)
        assert isinstance(new, list)
        return new

    def _whole_list(self, path: FieldPath, patch: list[Value], field: Field) -> list[Value]:
        """A list that does not merge, as a patch puts it in the place of another."""
        for item in patch:
            if has_directive(item) and item != {PATCH: "replace"}:
                raise PatchError(
                    f"the list does not merge, so `$patch: {directive_of(item)}` selects no element of it; "
                    "define its keys with a CustomResourceDefinition or listKeys, or write the whole list",
                    path,
                )
        inside = Field(field.inside)
        return [self._new((*path, at), item, inside) for at, item in enumerate(patch) if not has_directive(item)]

    def _keys(self, path: FieldPath, field: Field, *lists: list[Value]) -> ElementKeys:
        """The keys of a merging list; its elements must be alike."""
        key = ElementKeys(field, path, self.merge_keys)
        if element_kind(lists, path) == "scalar":
            return ElementKeys(Field(field.inside), path, self.merge_keys)
        if not key.fields:
            raise PatchError(
                "cannot merge lists without merge key; write the whole list with a patch of the type merge", path
            )
        if not self.as_kubectl:
            for item in (item for items in lists for item in items):
                if item != {PATCH: "replace"}:
                    key.of(item)  # all must have it
        return key

    def _special(
        self, path: FieldPath, live: list[Value], patch: list[Value], key: ElementKeys
    ) -> tuple[list[Value], list[Value]]:
        """The live elements that stay, and the patch's elements without directives."""
        changes: list[Value] = []
        gone: set[Hashable] = set()
        replaces = False
        for item in patch:
            if not has_directive(item):
                changes.append(item)
                continue
            directive = directive_of(item)
            if directive == "delete":
                gone.add(key.of(item))
            elif directive == "replace":
                if not self.as_kubectl and item != {PATCH: "replace"}:
                    raise PatchError(
                        f"{render(item)} would replace the whole list, and its other fields would be lost; write "
                        "`$patch: replace` as an element of its own for that, or `$retainKeys` in this one",
                        path,
                    )
                replaces = True
            elif directive == "merge":
                if self.as_kubectl:
                    raise PatchError("merging lists cannot yet be specified in the patch", path)
                assert isinstance(item, dict)
                changes.append({name: value for name, value in item.items() if name != PATCH})
            else:
                raise PatchError(f"unknown patch type: {render(directive)} in a list", path)
        if replaces:
            return [], changes
        if not gone:
            return live, changes
        return [item for item in live if self._live_key(item, key) not in gone], changes

    def _live_key(self, item: Value, key: ElementKeys) -> Hashable:
        return key.of_any(item) if self.as_kubectl else key.of(item)

    def _elements(
        self, path: FieldPath, live: list[Value], changes: list[Value], key: ElementKeys, field: Field
    ) -> list[Value]:
        """The live elements with the changes, new ones behind them."""
        if not key.fields:
            return list({identity(item): item for item in (*live, *changes)}.values())
        result = list(live)
        places: dict[Hashable, list[int]] = {}
        for at, item in enumerate(live):
            places.setdefault(self._live_key(item, key), []).append(at)
        if not self.as_kubectl and self.merge_keys == "multi":
            self._check_unique(path, changes, changes, key)
            self._check_unique(path, live, changes, key)
        for change in changes:
            assert isinstance(change, dict)
            there = places.get(key.of(change))
            if there is None:
                if self.as_kubectl:
                    places[key.of(change)] = [len(result)]
                result.append(self._replacement((*path, _step(key, change)), change, field.inside))
                continue
            element = result[there[0]]
            assert isinstance(element, dict)
            result[there[0]] = self.mapping((*path, _step(key, change)), element, change, field.inside)
        return result

    def _check_unique(self, path: FieldPath, items: list[Value], changes: list[Value], key: ElementKeys) -> None:
        """P3: no two of the elements have the key of a change. Raises PatchError."""
        named = {key.of(change) for change in changes}
        for same_key in group_by_key((key.of(item), item) for item in items if key.of(item) in named).values():
            if len(same_key) > 1:
                first, second = same_key[:2]
                raise PatchError(
                    f"elements have the same merge key {key.label(first)}: {render(first)} and {render(second)}; "
                    "make them differ, or write the whole list with a patch of the type merge",
                    path,
                )

    def _ordered_list(self, path: FieldPath, name: str, result: Object, change: FieldPatch, shape: Shape) -> None:
        order = change.order or []
        live, patch = result.get(name), change.value if change.has_value else []
        if live is not None and not isinstance(live, list):
            raise PatchError(f"a list is expected for $setElementOrder, not {render(live)}", path)
        if not isinstance(patch, list):
            raise PatchError(f"a list is expected for $setElementOrder, not {render(patch)}", path)
        field = self._known_field(path, name, shape)
        if live is None and not change.has_value:
            return  # kubectl reads no order list that orders nothing
        key = self._keys(path, field, live or [], patch, order) if field.merges else _plain_keys(field, path)
        check_order(path, patch, order, key, self.list_order)
        if self.as_kubectl and not live and not patch:
            raise PatchError("kubectl cannot order a list without elements", path)
        if live is None:
            merged, before = self._new_list(path, patch, field), []
        else:
            merged = self._list(path, live, patch, field, ordered=bool(order)) if change.has_value else live
            before = live_order_of_kubectl(live, patch, key) if field.merges and self.as_kubectl else live
        if not order:
            result[name] = merged
            return
        in_order = by_order_list(merged, order, before, key.of, self.list_order)
        self._note(path, moved_to_the_front(live or [], in_order, order, key), key)
        result[name] = live if live is not None and same(live, in_order) else in_order

    def _note(self, path: FieldPath, item: Value | None, key: ElementKeys) -> None:
        # P2: what the default order moves is worth telling.
        if item is not None and not self.as_kubectl:
            self.moved.append(Moved(path, key.label(item)))


def _plain_keys(field: Field, path: FieldPath) -> ElementKeys:
    return ElementKeys(Field(field.inside), path, "multi")


def _step(key: ElementKeys, item: Object) -> Step:
    return tuple((name, text_of(value)) for name, value in key.key_fields(item).items())


def _is_same_object(document: Object, result: Object) -> bool:
    return document.keys() == result.keys() and all(result[name] is value for name, value in document.items())
