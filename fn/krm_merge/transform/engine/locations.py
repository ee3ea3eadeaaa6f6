"""Places in an object whose list elements keep their identity while operations (RFC 6902) change it, as crane has them.

Two plugins that change one object each count indices in their own copy. What they write is compared, and put together,
by locations: an element of the original object is identified by its index there, a new one by its contents.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from krm_merge.krm import FieldPath
from krm_merge.limits import Copies
from krm_merge.text import KeysOf, Value, copied, same
from krm_merge.transform.protocol import DEPTH_LIMIT, Operation, OperationError, Pointer, equal, pointer_text


class Absent(Enum):
    """Marks a missing value."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Added(NamedTuple):
    """A list element that an operation added: its key fields or else its value, and its number among equal ones."""

    key: Hashable
    number: int


Element: TypeAlias = int | Added
Location: TypeAlias = tuple[str | Element, ...]


def overlap(first: Location, second: Location) -> bool:
    """Whether two locations are the same, or one lies under the other."""
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


Holder = TypeVar("Holder")


class Claims(Generic[Holder]):
    """Index of the claimants of locations, in their order, with the locations above and below each."""

    def __init__(self) -> None:
        """Starts empty."""
        self._count = 0
        self._at: dict[Location, list[tuple[int, Holder]]] = {}
        self._under: dict[Location, list[tuple[int, Holder]]] = {}

    def add(self, location: Location, holder: Holder) -> None:
        """Records a claimant of a location."""
        self._count += 1
        claim = (self._count, holder)
        self._at.setdefault(location, []).append(claim)
        for depth in range(len(location) + 1):
            self._under.setdefault(location[:depth], []).append(claim)

    def overlapping(self, location: Location) -> list[list[tuple[int, Holder]]]:
        """The numbered claims at a location or below it, and those at each one above it."""
        above = (self._at.get(location[:depth]) for depth in range(len(location)))
        return [claims for claims in (self._under.get(location), *above) if claims]

    def first(self, locations: Iterable[Location]) -> tuple[Holder, Location] | None:
        """The first claimant whose location overlaps one of these, and that location."""
        firsts = ((claims[0], location) for location in locations for claims in self.overlapping(location))
        claim = min(firsts, key=lambda first: first[0][0], default=None)
        return None if claim is None else (claim[0][1], claim[1])

    def has_around(self, location: Location) -> bool:
        """Whether a location or one above it has a claimant."""
        return any(location[:depth] in self._at for depth in range(len(location) + 1))


def index_of(token: str, items: list[Value]) -> int | None:
    """The index that a token names: a number (RFC 6901), or `[name=web]` for the element with these fields."""
    if token.startswith("[") and token.endswith("]"):
        fields = [part.partition("=") for part in token[1:-1].split(",")]
        for at, item in enumerate(items):
            if isinstance(item, dict) and all(_text(item.get(name)) == text for name, _, text in fields):
                return at
        return None
    if not token.isascii() or not token.isdigit() or (token[0] == "0" and token != "0"):
        return None
    # int() refuses strings of more than 4300 digits.
    index = int(token) if len(token) <= len(str(len(items))) else len(items)
    return index if index < len(items) else None


def _text(value: Value) -> str | None:
    return json.dumps(value) if isinstance(value, bool | int | float) else value if isinstance(value, str) else None


class Tracked:
    """A plain value with the identities of its list elements. Values are never changed in place."""

    def __init__(self, value: Value, keys_of: KeysOf) -> None:
        """Identifies all elements by their first indices."""
        self.value = value
        self._keys_of = keys_of
        # Lists whose elements are no longer 0, 1, 2 and so on.
        self._elements: dict[Location, tuple[Element, ...]] = {}
        # The parents that operations created on their way, outer ones first.
        self._created: dict[Location, Put | InsertedElement] = {}

    def copy(self) -> Tracked:
        """An independent copy."""
        copy = Tracked(self.value, self._keys_of)
        copy._elements = dict(self._elements)
        copy._created = dict(self._created)
        return copy

    # ---- reading -----------------------------------------------------------------------------------------------

    def at(self, location: Location) -> Value | Absent:
        """The value at a location."""
        node: Value = self.value
        for depth, step in enumerate(location):
            # The most frequent call of this class.
            if type(node) is dict:
                if step not in node:
                    return ABSENT
                node = node[step]
            elif type(node) is list and (at := self._index(location[:depth], node, step)) is not None:
                node = node[at]
            else:
                return ABSENT
        return node

    def locate(self, pointer: Pointer) -> Location:
        """The location that a pointer names. Raises OperationError if it is missing."""
        location, rest = self.follow(pointer)
        if rest:
            missing = pointer_text(pointer[: len(pointer) - len(rest) + 1])
            raise OperationError(f"there is no {missing}")
        return location

    def whereabouts(self, pointer: Pointer) -> Location:
        """The location that a pointer names; from the first missing value on, its tokens are kept as they are."""
        location, rest = self.follow(pointer)
        return (*location, *rest)

    def follow(self, pointer: Pointer) -> tuple[Location, Pointer]:
        """The location of the existing part of a pointer, and the remaining tokens."""
        location: Location = ()
        node: Value = self.value
        for depth, token in enumerate(pointer):
            if isinstance(node, dict) and token in node:
                node, location = node[token], (*location, token)
            elif isinstance(node, list) and (at := index_of(token, node)) is not None:
                node, location = node[at], (*location, self.elements(location)[at])
            else:
                return location, pointer[depth:]
        return location, ()

    def pointer(self, location: Location) -> Pointer:
        """The pointer that names a location now, even if the value is missing."""
        tokens: list[str] = []
        node: Value | Absent = self.value
        for depth, step in enumerate(location):
            if isinstance(node, list):
                at = self._index(location[:depth], node, step)
                tokens.append(str(step) if at is None else str(at))
                node = ABSENT if at is None else node[at]
            else:
                tokens.append(str(step))
                node = node.get(str(step), ABSENT) if isinstance(node, dict) else ABSENT
        return tuple(tokens)

    def field_path(self, location: Location) -> FieldPath:
        """A location for messages: elements are named by their keys if they have some."""
        path: list[str | int | tuple[tuple[str, str], ...]] = []
        for depth, step in enumerate(location):
            if isinstance(step, str):
                path.append(step)
                continue
            element = self.at(location[: depth + 1])
            keys = self.keys_at(location[:depth])
            if keys and isinstance(element, dict) and all(isinstance(element.get(key), str | int) for key in keys):
                path.append(tuple((key, str(element[key])) for key in keys))
            else:
                path.append(int(self.pointer(location[: depth + 1])[-1]) if element is not ABSENT else 0)
        return tuple(path)

    def elements(self, location: Location) -> Sequence[Element]:
        """The identities of the elements of the list at a location, in their order."""
        elements = self._elements.get(location)
        if elements is not None:
            return elements
        holder = self.at(location)
        return range(len(holder)) if isinstance(holder, list) else ()

    def created_parents(self, location: Location) -> list[EffectPart]:
        """The changes that created the parents of a location, so that another operation can repeat them."""
        return [put for at, put in self._created.items() if location[: len(at)] == at]

    def keys_at(self, location: Location) -> tuple[str, ...]:
        """The fields that identify the elements of the list at a location, () if there are none."""
        return self._keys_of(tuple(step for step in location if isinstance(step, str)))

    def _index(self, location: Location, items: list[Value], step: str | Element) -> int | None:
        elements = self._elements.get(location)
        if elements is not None:
            return elements.index(step) if step in elements else None
        return step if isinstance(step, int) and step < len(items) else None

    # ---- applying changes --------------------------------------------------------------------------------------

    def apply(self, change: EffectPart) -> list[Operation]:
        """Makes a change; returns the operations that make it on the previous value, empty if nothing changes.

        Raises OperationError if a value that it needs is missing.
        """
        location = change.location
        now = self.at(location)
        match change:
            case Put(parent=True):
                if isinstance(now, dict | list):
                    return []
                done = self._put(location, now, change.value)
                self._created[location] = change
                return done
            case Put():
                return [] if now is not ABSENT and same(now, change.value) else self._put(location, now, change.value)
            case Take():
                if now is ABSENT:
                    return []
                operation = Operation("remove", self.pointer(location))
                self._without(location)
                return [operation]
            case InsertedElement():
                return self._insert(change)

    def _put(self, location: Location, now: Value | Absent, value: Value) -> list[Operation]:
        if location and not self._holds(location):
            raise OperationError(f"{pointer_text(self.pointer(location))} has no parent")
        self.value = self._with(self.value, (), location, value)
        self._forget(location)
        return [Operation("add" if now is ABSENT else "replace", self.pointer(location), value=value)]

    def _holds(self, location: Location) -> bool:
        holder, step = self.at(location[:-1]), location[-1]
        if isinstance(holder, dict):
            return isinstance(step, str)
        return isinstance(holder, list) and self._index(location[:-1], holder, step) is not None

    def _insert(self, change: InsertedElement) -> list[Operation]:
        above, element = change.location[:-1], change.location[-1]
        now = self.at(above)
        if not isinstance(now, list):
            raise OperationError(f"there is no list {pointer_text(self.pointer(above))}")
        assert isinstance(element, Added)
        elements = tuple(self.elements(above))
        if element in elements:
            return []
        at = next((elements.index(follower) for follower in change.followers if follower in elements), len(elements))
        pointer = (*self.pointer(above), str(at))
        self.value = self._with(self.value, (), above, [*now[:at], change.value, *now[at:]])
        self._elements[above] = (*elements[:at], element, *elements[at:])
        if change.parent:
            self._created[change.location] = change
        return [Operation("add", pointer, value=change.value)]

    def _without(self, location: Location) -> None:
        above, step = location[:-1], location[-1]
        holder = self.at(above)
        if isinstance(holder, dict):
            left: Value = {name: value for name, value in holder.items() if name != step}
        else:
            assert isinstance(holder, list)
            elements = self.elements(above)
            left = [value for element, value in zip(elements, holder, strict=True) if element != step]
            self._elements[above] = tuple(element for element in elements if element != step)
        self.value = self._with(self.value, (), above, left)
        self._forget(location)

    def _forget(self, location: Location) -> None:
        """Forgets what is known about a replaced value and those below it."""
        for table in (self._elements, self._created):
            for below in [at for at in table if at[: len(location)] == location]:
                del table[below]

    def _with(self, node: Value, above: Location, rest: Location, value: Value) -> Value:
        if not rest:
            return value
        step, inner = rest[0], (*above, rest[0])
        if isinstance(node, dict):
            assert isinstance(step, str)
            return {**node, step: self._with(node.get(step), inner, rest[1:], value)}
        assert isinstance(node, list)
        at = self._index(above, node, step)
        assert at is not None
        return [*node[:at], self._with(node[at], inner, rest[1:], value), *node[at + 1 :]]


@dataclass(frozen=True, slots=True)
class Put:
    """Sets a value at a location. A `parent` only holds others: it is created if it is missing."""

    location: Location
    value: Value
    parent: bool = False


@dataclass(frozen=True, slots=True)
class InsertedElement:
    """Inserts an added element at its location into a list, before the first of its `followers` that exists.

    A `parent` only holds others, as that of Put.
    """

    location: Location
    value: Value
    followers: tuple[Element, ...]
    parent: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    """Removes the value at a location."""

    location: Location


EffectPart: TypeAlias = Put | InsertedElement | Take


@dataclass(frozen=True, slots=True)
class Effect:
    """The effects of one operation: its changes, the locations that it wrote, and the values that it relied on.

    A write counts even if it changes nothing: a plugin that sets a field to its present value wants that value.
    `created_parents` are locations that it created for values that the plugin puts there.
    """

    operation: Operation
    changes: tuple[EffectPart, ...]
    writes: tuple[Location, ...]
    reads: tuple[tuple[Location, Value], ...] = ()
    created_parents: tuple[Location, ...] = ()

    @property
    def source(self) -> Location | None:
        """The location from which a move removes its value."""
        first = self.changes[0] if self.operation.kind == "move" and self.changes else None
        return first.location if isinstance(first, Take) else None

    @property
    def places(self) -> tuple[Location, ...]:
        """The locations that it wrote, and the parents that it created."""
        return (*self.writes, *self.created_parents)


Reads: TypeAlias = tuple[tuple[Location, Value], ...]


class TestFailedError(OperationError):
    """A `test` operation that found another value."""

    __test__ = False  # pytest takes the name for a test


def carry_out(tracked: Tracked, operation: Operation, copies: Copies) -> Effect:
    """Carries an operation out (RFC 6902) and returns its effects.

    As in crane, an add creates missing maps on its way, and a remove of a missing value does nothing. Raises
    OperationError if the operation cannot be carried out or copies too much, TestFailedError for a failed test.
    """
    path = operation.path
    match operation.kind:
        case "test":
            location = tracked.whereabouts(path)
            value = tracked.at(location)
            if value is ABSENT:
                raise TestFailedError(f"there is no {pointer_text(path)}")
            if not equal(value, operation.value):
                raise TestFailedError(f"{operation} found another value")
            return Effect(operation, (), (), ((location, value),))
        case "remove":
            location, rest = tracked.follow(path)
            if rest:
                return Effect(operation, (), ((*location, *rest),))
            return _carry_out_changes(tracked, operation, [_take(location)])
        case "replace":
            return _carry_out_changes(tracked, operation, [Put(tracked.locate(path), operation.value)])
        case "add":
            return _carry_out_changes(tracked, operation, *_add(tracked, path, operation.value))
        case "copy" | "move":
            return _transfer(tracked, operation, copies)


def _transfer(tracked: Tracked, operation: Operation, copies: Copies) -> Effect:
    source, path = tracked.locate(operation.source), operation.path
    value = tracked.at(source)
    assert value is not ABSENT
    if operation.kind == "copy":
        if problem := copies.flaw_of(value, DEPTH_LIMIT):
            raise OperationError(f"{operation}: {problem}")
        changes, reads = _add(tracked, path, copied(value))
        return _carry_out_changes(tracked, operation, changes, (*reads, (source, value)))
    if operation.source == path:
        return Effect(operation, (), (source,), ((source, value),))
    if path[: len(operation.source)] == operation.source:
        raise OperationError(f"{operation}: a value cannot move into itself")
    take = _take(source)
    without = tracked.copy()
    without.apply(take)
    changes, reads = _add(without, path, value)
    return _carry_out_changes(tracked, operation, [take, *changes], (*reads, (source, value)))


def _carry_out_changes(tracked: Tracked, operation: Operation, changes: list[EffectPart], reads: Reads = ()) -> Effect:
    for change in changes:
        tracked.apply(change)
    writes = tuple(change.location for change in changes if isinstance(change, Take) or not change.parent)
    return Effect(operation, tuple(changes), writes, reads)


def _take(location: Location) -> Take:
    if not location:
        raise OperationError("the whole object cannot be removed; use a whiteout to remove a resource")
    return Take(location)


def _add(tracked: Tracked, path: Pointer, value: Value) -> tuple[list[EffectPart], Reads]:
    """The changes that an add makes, and the values that it depends on."""
    if not path:
        return [Put((), value)], ()
    location, rest = tracked.follow(path[:-1])
    parents = tracked.created_parents(location)
    holder = tracked.at(location)
    if holder is None and location:
        # `labels:` with an empty value counts as missing.
        holder = _empty_for((*rest, path[-1])[0])
        parents.append(Put(location, holder, parent=True))
    for at, token in enumerate(rest):
        inside = _empty_for((*rest, path[-1])[at + 1])
        if isinstance(holder, list) and token == "-":
            # Each `-` is an element of its own, so nobody else writes inside of this one.
            value, path = _wrapped((*rest[at + 1 :], path[-1]), value), (*path[: len(path) - len(rest) + at - 1], "-")
            break
        if isinstance(holder, list) and token == str(len(holder)):
            location, holder = (*location, _new(tracked.elements(location), ("place", token))), inside
            parents.append(InsertedElement(location, inside, (), parent=True))
        elif isinstance(holder, dict):
            location, holder = (*location, token), inside
            parents.append(Put(location, holder, parent=True))
        else:
            raise OperationError(f"there is no {pointer_text(path[: len(path) - len(rest) + at])}")
    token = path[-1]
    if isinstance(holder, dict):
        return [*parents, Put((*location, token), value)], ()
    if not isinstance(holder, list):
        raise OperationError(f"{pointer_text(path[:-1])} is neither a map nor a list")
    at_end = token == "-" or token == str(len(holder))
    index = len(holder) if at_end else index_of(token, holder)
    if index is None:
        raise OperationError(f"{pointer_text(path[:-1])} has {len(holder)} elements; {token} is not a place among them")
    elements = tuple(tracked.elements(location))
    name = _name(value, tracked.keys_at(location))
    key = json.dumps(name or value, sort_keys=True)
    # Adding a duplicate depends on the existing element staying unchanged.
    like = next((at for at, other in enumerate(holder) if name and _name(other, tuple(name)) == name), None)
    reads = () if like is None else (((*location, elements[like]), holder[like]),)
    return [*parents, InsertedElement((*location, _new(elements, key)), value, elements[index:])], reads


def _name(value: Value, keys: tuple[str, ...]) -> dict[str, Value]:
    """The key fields of an element, none where it lacks one."""
    return {key: value[key] for key in keys} if isinstance(value, dict) and all(key in value for key in keys) else {}


def _new(elements: Sequence[Element], key: Hashable) -> Added:
    """A new element, with a number that no equal element has."""
    numbers = {other.number for other in elements if isinstance(other, Added) and other.key == key}
    return Added(key, next(number for number in count() if number not in numbers))


def _wrapped(rest: Pointer, value: Value) -> Value:
    """A value with new parents around it."""
    for token in reversed(rest):
        value = [value] if token in ("-", "0") else {token: value}
    return value


def _empty_for(token: str) -> Value:
    """An empty container for this token: a list only if the token cannot be a key."""
    return [] if token in ("-", "0") else {}
