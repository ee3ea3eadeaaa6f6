"""Values that patches rarely meet: keys that are maps, unknown fields, lists without merge key, changes of others."""

from __future__ import annotations

from typing import Any, Final

import pytest

from krm_merge.patch import (
    AnyShape,
    Field,
    ListOrder,
    PatchConflictError,
    PatchError,
    apply,
    create,
    create_merge_three_way,
)

Data = dict[str, Any]


class Known:
    """A type with these fields, and no others."""

    def __init__(self, **fields: Field) -> None:
        self._fields = fields

    def field(self, name: str) -> Field | None:
        return self._fields.get(name)


KEYED: Final = Known(items=Field(AnyShape(), ("merge",), "name", ("name",)), set=Field(AnyShape(), ("merge",)))
WITHOUT_KEY: Final = Known(items=Field(AnyShape(), ("merge",)))


@pytest.mark.parametrize("key", [{"a": 1}, ["a", 1], True, 1.5])
def test_keys_may_be_any_values(key: Any) -> None:
    live: Data = {"items": [{"name": "x", "value": 1}, {"name": key, "value": 1}]}
    patch: Data = {"items": [{"name": key, "value": 2}]}
    merged: Data = {"items": [{"name": "x", "value": 1}, {"name": key, "value": 2}]}
    assert apply(live, patch, KEYED) == merged
    assert apply(live, patch, KEYED, list_order="kubernetes") == merged
    assert create(live, merged, KEYED) == {"$setElementOrder/items": [{"name": "x"}, {"name": key}], **patch}


def test_maps_that_nothing_identifies_are_one_value_but_for_kubectl() -> None:
    live: Data = {"items": [{"name": "a"}]}
    patch: Data = {"items": [{"name": "b"}]}
    assert apply(live, patch, WITHOUT_KEY) == create(live, patch, WITHOUT_KEY) == patch
    for attempt in (apply, create):
        with pytest.raises(PatchError, match=r"^items: cannot merge lists without merge key"):
            attempt(live, patch, WITHOUT_KEY, list_order="kubernetes")


def test_an_empty_order_orders_nothing() -> None:
    assert apply({"set": ["b", "a"]}, {"$setElementOrder/set": []}, KEYED) == {"set": ["b", "a"]}
    assert apply({"set": ["b", "a"]}, {"$setElementOrder/set": [], "set": ["c"]}, KEYED) == {"set": ["b", "a", "c"]}


@pytest.mark.parametrize("mode", ["document", "kubernetes"])
def test_an_order_of_a_list_that_is_not_there_is_not_read(mode: ListOrder) -> None:
    """As `kubectl patch` does: it reads the order only to sort something."""
    patch: Data = {"$setElementOrder/items": [{}, {"name": "a"}]}
    assert apply({"set": ["b"]}, patch, KEYED, list_order=mode, merge_keys="single") == {"set": ["b"]}
    with pytest.raises(PatchError, match=r"^items: map: {} does not contain declared merge key: name"):
        apply({"items": [{"name": "a"}]}, patch, KEYED, list_order=mode, merge_keys="single")


def test_a_live_object_that_somebody_changed_is_not_overwritten_unasked() -> None:
    original: Data = {"a": 1, "b": 1}
    modified: Data = {"a": 2, "b": 1}
    assert create_merge_three_way(original, modified, {"a": 3, "b": 1}) == {"a": 2}
    with pytest.raises(PatchConflictError, match="changed differently"):
        create_merge_three_way(original, modified, {"a": 3, "b": 1}, overwrite=False)
    # The change of another field is nobody's loss.
    assert create_merge_three_way({"a": 1}, {"a": 2}, {"a": 1, "b": 2}, overwrite=False) == {"a": 2}
