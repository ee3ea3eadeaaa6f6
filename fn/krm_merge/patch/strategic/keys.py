"""Identity of the elements of a merging list (rule P3)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.patch.model.errors import PatchError, shown
from krm_merge.patch.model.shape import Field
from krm_merge.patch.model.values import identity, text_of
from krm_merge.schema.model import element_key
from krm_merge.text.reading.values import Object, Value

MergeKeys: TypeAlias = Literal["multi", "single"]
"""Whether all key fields of a list identify its elements (P3), or the patch merge key alone, as in kubectl."""


def is_one_value(field: Field, *lists: list[Value]) -> bool:
    """Whether a list does not merge: it is atomic, or a set of maps or lists, which nothing identifies."""
    if not field.merges:
        return True
    if field.keys:
        return False
    items = [item for one in lists for item in one]
    return bool(items) and all(isinstance(item, dict | list) for item in items)


class ElementKeys:
    """The key fields of one list. Without any, the elements are scalars and identify themselves."""

    __slots__ = ("_default_values", "_defaults", "_known", "fields", "path")

    def __init__(self, field: Field, path: FieldPath, mode: MergeKeys) -> None:
        """`single` matches as kubectl does, by the one field that the schema names, without defaults."""
        self.path = path
        self.fields = field.keys if mode == "multi" else (field.merge_key,) if field.merge_key else ()
        defaults = field.defaults if mode == "multi" else {}
        self._default_values = defaults
        self._defaults = {name: identity(value) for name, value in defaults.items()}
        # By id(), with the element, so that no other one gets its id: order and merge ask for each several times.
        self._known: dict[int, tuple[Object, Hashable]] = {}

    def of(self, item: Value) -> Hashable:
        """The identity of an element. Raises PatchError where a key field is missing that has no default."""
        if not self.fields:
            return identity(item)
        if not isinstance(item, dict):
            raise PatchError(f"a map with the merge key {self.name} is expected, not {shown(item)}", self.path)
        if (known := self._known.get(id(item))) is not None:
            return known[1]
        for name in self.fields:
            if name not in item and name not in self._defaults:
                raise PatchError(f"map: {shown(item)} does not contain declared merge key: {name}", self.path)
        key = element_key(self.fields, lambda name: _given(item.get(name)), self._defaults)
        self._known[id(item)] = item, key
        return key

    def of_any(self, item: Value) -> Hashable:
        """The identity of an element, None where it has none: kubectl does not ask it of every element."""
        try:
            return self.of(item)
        except PatchError:
            return None

    def label(self, item: Value) -> str:
        """How messages name an element."""
        if not isinstance(item, dict):
            return text_of(item)
        return ", ".join(text_of(value) for value in self.given(item).values())

    def given(self, item: Object) -> Object:
        """The key fields that an element has."""
        return {name: item[name] for name in self.fields if name in item}

    def sort_text(self, item: Value) -> tuple[str, ...]:
        """The key that kubectl sorts elements by."""
        if not self.fields or not isinstance(item, dict):
            return (text_of(item),)
        return tuple(text_of(item.get(name, self._default_values.get(name))) for name in self.fields)

    @property
    def name(self) -> str:
        """The key fields as the schema names them."""
        return ",".join(self.fields)


def _given(value: Value) -> Hashable | None:
    return None if value is None else identity(value)


def element_kind(lists: tuple[list[Value], ...], path: FieldPath) -> Literal["map", "scalar"]:
    """The kind of the elements of lists that are merged. Raises PatchError where kinds differ, or are lists."""
    kinds = {type(item) for items in lists for item in items}
    if list in kinds:
        raise PatchError("lists of lists are not supported", path)
    if len(kinds) > 1:
        raise PatchError(f"list element types are not identical: {shown([list(items) for items in lists])}", path)
    return "map" if dict in kinds else "scalar"
