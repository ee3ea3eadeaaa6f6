"""Differences of kpt's merge and ours, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from e2e.differential.allowed import (
    FUNCTIONS,
    UNKNOWN_TO_KPT,
    accepted_element,
    accepted_group,
    by_key,
    choice,
    groups_of,
    is_accepted,
    is_keyed,
    is_whole,
    key_of,
    members,
    order_of,
)
from e2e.differential.values import (
    ABSENT,
    Absent,
    Contents,
    Copy,
    Identity,
    Path_,
    child,
    fields_of,
    same,
)


@dataclass(frozen=True)
class Difference:
    """A place where kpt's result and ours differ.

    `kind` is value, emptied (an empty mapping or list), element, order, group (of alternatives) or resource.
    `sides` are original, upstream, local, kpt's result and ours there. `allowed` says whether the rules allow ours.
    `lists` are the lists around an element, of the first three; `files` are those of a resource. `commented` says
    whether upstream, for a whole resource local, changed comments of the resource.
    """

    kind: str
    path: Path_
    sides: tuple[Any, ...]
    allowed: bool
    lists: tuple[Any, ...] = ()
    files: tuple[str | None, ...] = ()
    commented: bool = False

    @property
    def o(self) -> Any:
        return self.sides[0]

    @property
    def u(self) -> Any:
        return self.sides[1]

    @property
    def loc(self) -> Any:
        return self.sides[2]

    @property
    def k(self) -> Any:
        return self.sides[3]

    @property
    def m(self) -> Any:
        return self.sides[4]


def differences(path: Path_, o: Any, u: Any, loc: Any, k: Any, m: Any) -> Iterator[Difference]:
    """The differences inside a value, as deep as the rules go."""
    if same(k, m):
        return
    if all(isinstance(side, dict | Absent) for side in (o, u, loc, k, m)):
        yield from in_mapping(path, o, u, loc, k, m)
    elif is_whole(path, o, u, loc):
        yield Difference("value", path, (o, u, loc, k, m), is_accepted(path, o, u, loc, m))
    elif path[-1] not in UNKNOWN_TO_KPT and is_keyed(path, o, u, loc, m) and isinstance(k, list | Absent):
        yield from in_keyed(path, o, u, loc, k, m)
    else:
        yield Difference("value", path, (o, u, loc, k, m), is_accepted(path, o, u, loc, m))


def in_mapping(path: Path_, o: Any, u: Any, loc: Any, k: Any, m: Any) -> Iterator[Difference]:
    sides = (o, u, loc, k, m)
    origins: dict[str, Any] = {}
    grouped: set[str] = set()
    for group in groups_of(path):
        parts = tuple(members(group, side) for side in sides)
        if parts[1] and parts[2] and choice(parts[1]) == choice(parts[2]):
            if choice(parts[0]) != choice(parts[1]):
                origins |= dict.fromkeys(group, ABSENT)
            continue
        grouped |= {*group}
        if not same(parts[3], parts[4]):
            allowed = accepted_group(path, group, parts[0], parts[1], parts[2], parts[4])
            yield Difference("group", path, parts, allowed)
    for name in fields_of(*sides):
        if name not in grouped:
            origin = origins.get(name, child(o, name))
            yield from differences((*path, name), origin, *(child(side, name) for side in sides[1:]))
    if (k is ABSENT) != (m is ABSENT) and not k and not m:
        yield Difference("emptied", path, (o, u, loc, k, m), is_accepted(path, o, u, loc, m))


def in_keyed(path: Path_, o: Any, u: Any, loc: Any, k: Any, m: Any) -> Iterator[Difference]:
    lists = (o, u, loc)
    sides = [by_key(path, side) for side in (o, u, loc, [*reversed(k or [])], m)]
    for key in dict.fromkeys(key for side in sides for key in side):
        old, up, local, kpts, out = (side.get(key, ABSENT) for side in sides)
        if same(kpts, out):
            continue
        if old is ABSENT and up and local and kpts and path[-1] in FUNCTIONS:
            # F7: never fused.
            is_there = out in (up, local)
            yield Difference("element", (*path, "*"), (old, up, local, kpts, out), is_there, lists)
        elif (old is ABSENT or (up and local)) and kpts and out:
            yield from differences((*path, "*"), old, up, local, kpts, out)
        else:
            allowed = accepted_element(path, old, up, local, out)
            yield Difference("element", (*path, "*"), (old, up, local, kpts, out), allowed, lists)
    orders = tuple([key_of(path, element) for element in side or []] for side in (o, u, loc, k, m))
    for at, key in enumerate(orders[3]):
        if key in orders[3][:at]:
            yield Difference("element", (*path, "*"), (ABSENT, ABSENT, ABSENT, k[at], ABSENT), True, lists)
    if [key for key in orders[3] if key in orders[4]] != [key for key in orders[4] if key in orders[3]]:
        allowed = orders[4] == order_of(orders[0], orders[1], orders[2], {*orders[4]})
        yield Difference("order", path, orders, allowed, lists)
    if (k is ABSENT) != (m is ABSENT) and not k and not m:
        yield Difference("emptied", path, (o, u, loc, k, m), is_accepted(path, o, u, loc, m))


def package_differences(o: Contents, u: Contents, loc: Contents, k: Contents, m: Contents) -> Iterator[Difference]:
    for identity in dict.fromkeys(identity for side in (o, u, loc, k, m) for identity in side):
        yield from resource_differences(identity, *(side.get(identity, []) for side in (o, u, loc, k, m)))


def resource_differences(
    identity: Identity, o: list[Copy], u: list[Copy], loc: list[Copy], k: list[Copy], m: list[Copy]
) -> Iterator[Difference]:
    path: Path_ = (identity[0],)
    files = tuple(side[0].file if side else None for side in (o, u, loc))
    comments = [side[0].comments if side else None for side in (o, u, loc)]
    old, up, local, out = (side[0].data if side else ABSENT for side in (o, u, loc, m))
    if len(k) == len(m) == 1 and len({*files} - {None}) == 1 and (not o or (u and loc)):
        for difference in differences(path, old, up, local, k[0].data, out):
            yield replace(difference, commented=comments[0] != comments[1])
    elif len(m) > 1 or not same([each.data for each in k], [each.data for each in m]):
        allowed = len(m) < 2 and accepted_element(path, old, up, local, out)
        kpts: Any = [each.data for each in k]
        commented = comments[0] != comments[2]
        yield Difference("resource", path, (old, up, local, kpts, out), allowed, (), files, commented)
