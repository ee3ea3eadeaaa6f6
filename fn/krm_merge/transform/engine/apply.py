"""Carries operations out (RFC 6902) on an object, as crane's users know it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from itertools import count
from typing import TypeAlias

from krm_merge.limits import Copies
from krm_merge.text import Value, copied
from krm_merge.transform.engine.locations import (
    ABSENT,
    Added,
    Effect,
    EffectPart,
    Element,
    InsertedElement,
    Location,
    Put,
    Take,
    Tracked,
    index_of,
    location_of,
)
from krm_merge.transform.protocol import DEPTH_LIMIT, Operation, OperationError, Pointer, equal, pointer_text

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
    writes = tuple(location_of(change) for change in changes if isinstance(change, Take) or not change.parent)
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
            element = _new(tracked.elements(location), ("place", token))
            parents.append(InsertedElement(location, element, inside, (), parent=True))
            location, holder = (*location, element), inside
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
    return [*parents, InsertedElement(location, _new(elements, key), value, elements[index:])], reads


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
