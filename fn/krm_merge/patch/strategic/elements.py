"""Elements of merging lists: their identity, the directives about them, and their order (rules P2, P3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from krm_merge.krm import FieldPath, Step
from krm_merge.patch.model import Field, PatchError, identity, render, text_of
from krm_merge.schema import element_key
from krm_merge.text import Object, Value

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
            field = fields.setdefault(key, FieldPatch())
            field.has_value, field.value = True, value
            continue
        is_order = key.startswith(SET_ELEMENT_ORDER)
        if directive not in (SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST) or not slash or not isinstance(value, list):
            what = "setElementOrder list" if is_order else "primitive list"
            example = f"{SET_ELEMENT_ORDER if is_order else DELETE_FROM_PRIMITIVE_LIST}/FIELD"
            raise PatchError(
                f"invalid patch format of {what}: a list under the key {example} is expected", (*path, key)
            )
        field = fields.setdefault(name, FieldPatch())
        if is_order:
            field.order = value
        else:
            field.delete = value
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
    matches = get_close_matches(key.partition("/")[0].lower(), lower, n=1, cutoff=_ALMOST)
    return lower[matches[0]] if matches else None


def first_directive(value: Value, path: FieldPath = ()) -> FieldPath | None:
    """Where a value has a directive first, None where it has none."""
    if isinstance(value, dict):
        directive = next((key for key in value if is_directive(key)), None)
        if directive is not None:
            return (*path, directive)
        inside: Iterable[tuple[Step, Value]] = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    else:
        return None
    return next((place for step, inner in inside if (place := first_directive(inner, (*path, step))) is not None), None)


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


MergeKeys: TypeAlias = Literal["multi", "single"]
"""Whether all key fields of a list identify its elements (P3), or the patch merge key alone, as in kubectl."""


def is_one_value(field: Field, *lists: list[Value]) -> bool:
    """Whether a list does not merge: it is atomic, or a set of maps or lists, which nothing identifies."""
    if not field.merges:
        return True
    if field.keys:
        return False
    items = [item for items_of_list in lists for item in items_of_list]
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
            raise PatchError(f"a map with the merge key {self.name} is expected, not {render(item)}", self.path)
        if (entry := self._known.get(id(item))) is not None:
            return entry[1]
        for name in self.fields:
            if name not in item and name not in self._defaults:
                raise PatchError(f"map: {render(item)} does not contain declared merge key: {name}", self.path)
        key = element_key(self.fields, lambda name: _identity_or_none(item.get(name)), self._defaults)
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
        return ", ".join(text_of(value) for value in self.key_fields(item).values())

    def key_fields(self, item: Object) -> Object:
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


def _identity_or_none(value: Value) -> Hashable | None:
    return None if value is None else identity(value)


def element_kind(lists: tuple[list[Value], ...], path: FieldPath) -> Literal["map", "scalar"]:
    """The kind of the elements of lists that are merged. Raises PatchError where kinds differ, or are lists."""
    kinds = {type(item) for items in lists for item in items}
    if list in kinds:
        raise PatchError("lists of lists are not supported", path)
    if len(kinds) > 1:
        raise PatchError(f"list element types are not identical: {render([list(items) for items in lists])}", path)
    return "map" if dict in kinds else "scalar"


@dataclass(frozen=True, slots=True)
class Moved:
    """An existing element that the default order moved, although no patch asked for that."""

    path: FieldPath
    element: str


@dataclass(frozen=True, slots=True)
class ReplacedList:
    """A list of maps that a patch replaced, since no schema names keys of its elements; and how many they were."""

    path: FieldPath
    before: int
    after: int


def moved_to_the_front(live: list[Value], result: list[Value], order: list[Value], key: ElementKeys) -> Value | None:
    """An element that the order list does not name, and that was behind one that it names."""
    named, left = {key.of_any(item) for item in order}, {key.of_any(item) for item in result}
    behind = False
    for item in live:
        name = key.of_any(item)
        if name in named:
            behind |= name in left
        elif behind and name in left:
            return item
    return None


def moved_by_patch_list(live: list[Value], result: list[Value], key: ElementKeys) -> Value | None:
    """The first element whose position among the remaining ones changed."""
    before = [key.of_any(item) for item in live]
    names = set(before)
    after = [name for name in map(key.of_any, result) if name in names]
    left = set(after)
    for now, was in zip(after, (name for name in before if name in left), strict=False):
        if now != was:
            return next(item for item in live if key.of_any(item) == was)
    return None


ListOrder: TypeAlias = Literal["document", "kubernetes"]
"""How a merged list is ordered: by rule P2, or exactly as kubectl does."""
KeyOf: TypeAlias = Callable[[Value], Hashable]


def by_order_list(
    merged: Sequence[Value], order: Sequence[Value], live: Sequence[Value], key: KeyOf, mode: ListOrder
) -> list[Value]:
    """The merged elements as `$setElementOrder` wants them; what it does not name keeps its live order.

    `document`: all that it does not name comes first. `kubernetes`: each comes before the first named element that
    stood behind it in the live list; Source: strategicpatch.normalizeElementOrder.
    """
    named, others = _split(merged, order, live, key)
    return [*others, *named] if mode == "document" else _interleave(named, others, live, key)


def by_patch_list(
    merged: Sequence[Value], patch: Sequence[Value], live: Sequence[Value], key: KeyOf, mode: ListOrder
) -> list[Value]:
    """The merged elements as the order of the patch's own elements wants them.

    `document`: where the live elements that the patch names are in its order already, nothing moves; a new element
    is inserted behind the one before it in the patch, else in front of the one behind it, else last. Otherwise, those
    that it does not name precede the rest. The worked examples of the two specifications show both.
    """
    named, others = _split(merged, patch, live, key)
    if mode == "kubernetes":
        return _interleave(named, others, live, key)
    place = _ranks(live, key)
    places = [place[name] for name in map(key, named) if name in place]
    if places != sorted(places):
        return [*others, *named]
    return _beside(named, [item for item in merged if key(item) in place], place, key)


def _beside(named: list[Value], existing: list[Value], place: dict[Hashable, int], key: KeyOf) -> list[Value]:
    """The elements that were there, in their order, and each new one beside its neighbour among the named ones."""
    first: list[Value] = []
    behind: dict[Hashable, list[Value]] = {}
    anchor: Hashable = None
    for item in named:
        name = key(item)
        if name in place:
            anchor = name
            behind.setdefault(name, [])
        elif anchor is None:
            first.append(item)
        else:
            behind[anchor].append(item)
    result: list[Value] = []
    copies = Counter(name for name in map(key, existing) if name in behind)
    for item in existing:
        name = key(item)
        if name in copies:
            result += first
            first = []
            copies[name] -= 1
        result.append(item)
        if name in copies and not copies[name]:
            result += behind[name]
    return result + first


def _split(
    merged: Sequence[Value], first: Sequence[Value], live: Sequence[Value], key: KeyOf
) -> tuple[list[Value], list[Value]]:
    """The merged elements that are wanted, in that order, and all others, in live order."""
    rank, place = _ranks(first, key), _ranks(live, key)
    keyed = [(key(item), item) for item in merged]
    named = sorted((pair for pair in keyed if pair[0] in rank), key=lambda pair: rank[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in rank), key=lambda pair: place.get(pair[0], len(place)))
    return [item for _, item in named], [item for _, item in others]


def _interleave(named: list[Value], others: list[Value], live: Sequence[Value], key: KeyOf) -> list[Value]:
    place = _ranks(live, key)
    result: list[Value] = []
    at = 0
    for item in others:
        here = place.get(key(item))
        while at < len(named):
            there = place.get(key(named[at]))
            if here is not None and there is not None and here < there:
                break
            result.append(named[at])
            at += 1
        result.append(item)
    return result + named[at:]


def _ranks(items: Sequence[Value], key: KeyOf) -> dict[Hashable, int]:
    """The first position of each element."""
    ranks: dict[Hashable, int] = {}
    for at, item in enumerate(items):
        ranks.setdefault(key(item), at)
    return ranks


def check_order(path: FieldPath, patch: list[Value], order: list[Value], key: ElementKeys, mode: ListOrder) -> None:
    """Checks that the order list has the patch's merging elements, in its order. Raises PatchError."""
    if not order:
        return
    expected = iter([key.of(item) for item in order])
    merging = ("merge",) if mode == "document" else ()
    matches = all(
        (has_directive(item) and directive_of(item) not in merging) or key.of(item) in expected for item in patch
    )
    if matches and mode == "kubernetes":
        # Once it has come to the end of the order list, kubectl skips no directives but deletions.
        last = next((item for item in reversed(patch) if directive_of(item) != "delete"), None)
        matches = not has_directive(last) or next(expected, None) is not None
    if not matches:
        raise PatchError(
            f"the order in patch list {render(patch)} doesn't match $setElementOrder list {render(order)}",
            path,
        )


def live_order_of_kubectl(live: list[Value], patch: list[Value], key: ElementKeys) -> list[Value]:
    """The live order as kubectl remembers it: new elements take the room of deleted ones, and so count as live.

    Both lists share memory in Go.
    """
    gone = {key.of(item) for item in patch if directive_of(item) == "delete"}
    remaining = [item for item in live if key.of_any(item) not in gone]
    if len(remaining) == len(live):
        return live
    names = {key.of_any(item) for item in remaining}
    new = [item for item in patch if not has_directive(item) and key.of(item) not in names]
    return [*remaining, *new][: len(live)]
