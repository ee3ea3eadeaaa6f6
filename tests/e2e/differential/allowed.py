"""What the rules allow to come out of a merge: written once more, without the code under test."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from e2e.differential.values import (
    ABSENT,
    Absent,
    Data,
    Path_,
    child,
    fields_of,
    same,
)

KEYS = {
    **dict.fromkeys(("containers", "initContainers", "volumes", "env"), ("name",)),
    "parts": ("name", "side"),
    "readinessGates": ("conditionType",),
}
SETS = {"finalizers", "tags", "keywords"}
FUNCTIONS = {"mutators", "validators"}
UNKNOWN_TO_KPT = {"parts", "tags", "keywords", "readinessGates"}
"""Keyed lists and sets that kpt takes whole."""
FREE = {"labels", "annotations", "data", "selector", "matchLabels", "nodeSelector", "configMap", "info", "pipeline"}
"""Mappings whose keys are there one by one (V3), as functions are."""
GROUPS_OF: dict[str, list[tuple[str, ...]]] = {
    "volumes": [("emptyDir", "configMap", "secret")],
    "env": [("value", "valueFrom")],
    "livenessProbe": [("httpGet", "tcpSocket", "exec")],
    "strategy": [("type", "rollingUpdate")],
    **{name: [("image", "exec"), ("configPath", "configMap")] for name in FUNCTIONS},
}


def keys_of(path: Path_) -> tuple[str, ...]:
    if path[-1] == "ports":
        return ("port" if path[0] == "Service" else "containerPort", "protocol")
    return ("image",) if path[-1] in FUNCTIONS else KEYS.get(path[-1], ())


def key_of(path: Path_, element: Any) -> tuple[str, ...]:
    values: list[Any] = [child(element, key) for key in keys_of(path)]
    if path[-1] in FUNCTIONS and isinstance(values[0], str):
        return (re.sub(r"(:[^:/]*)?(@.*)?$", "", values[0]),)
    if path[-1] == "ports" and values[1] is ABSENT:
        values[1] = "TCP"
    return tuple(str(value) for value in values)


def by_key(path: Path_, elements: Any) -> dict[tuple[str, ...], Any]:
    return {key_of(path, element): element for element in elements or []}


def is_keyed(path: Path_, *sides: Any) -> bool:
    """Whether the rules merge these lists by keys (L1)."""
    if not keys_of(path) or not all(isinstance(side, list | Absent) for side in sides):
        return False
    return all(len(by_key(path, side)) == len(side or []) for side in sides)


def is_set(path: Path_, *sides: Any) -> bool:
    if path[-1] not in SETS or not all(isinstance(side, list | Absent) for side in sides):
        return False
    return all(len(set(side or [])) == len(side or []) for side in sides)


def groups_of(path: Path_) -> list[tuple[str, ...]]:
    return GROUPS_OF.get(path[-2] if path[-1] == "*" else path[-1], [])


def members(group: Iterable[str], value: Any) -> Data:
    return {name: value[name] for name in group if name in value} if isinstance(value, dict) else {}


def choice(group: Data) -> Any:
    return group["type"] if "type" in group else tuple(sorted(group))


def is_accepted(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    """Whether the rules allow m as the merge of a value under `onConflict: upstream`."""
    for unchanged, other in ((u, loc), (loc, u)):
        if same(o, unchanged):
            return same(m, other)
    if same(u, loc):
        return same(m, loc)
    if is_whole(path, o, u, loc):
        return same(m, loc)
    if all(isinstance(side, dict | Absent) for side in (o, u, loc)) and (o or not (u is ABSENT or loc is ABSENT)):
        return accepted_mapping(path, o, u, loc, m)
    if is_keyed(path, o, u, loc):
        return accepted_keyed(path, o, u, loc, m)
    if is_set(path, o, u, loc):
        members = {*(o or []), *(u or []), *(loc or [])}
        members -= {x for x in o or [] if x not in (u or []) or x not in (loc or [])}
        return same(m, order_of(o or [], u or [], loc or [], members) or empty_side(u, loc))
    if all(isinstance(side, list) for side in (o, u, loc, m)) and o:
        return same(m, u) or woven(o, u, loc, m)
    if all(isinstance(side, str) and side.count("\n") > 1 for side in (o, u, loc)) and isinstance(m, str):
        return m == u or woven_lines(*(side.splitlines() for side in (o, u, loc, m)))
    return same(m, u)


def is_whole(path: Path_, o: Any, u: Any, loc: Any) -> bool:
    """Whether a side removed a list or mapping that is whole or not there at all: local decides (V3, F5)."""
    is_removed = isinstance(o, list | dict) and (u is ABSENT) != (loc is ABSENT)
    return is_removed and path[-1] not in FREE | FUNCTIONS


def empty_side(u: Any, loc: Any) -> Any:
    """What becomes of a mapping or list in which nothing is left (V3)."""
    return next((side for side in (u, loc) if side is not ABSENT and not side), ABSENT)


def accepted_mapping(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    if not isinstance(m, dict | Absent):
        return False
    if not m and not same(m, empty_side(u, loc)):
        return False
    grouped: set[str] = set()
    for group in groups_of(path):
        sides = [members(group, side) for side in (o, u, loc, m)]
        if not accepted_group(path, group, *sides):
            return False
        grouped |= {*group}
    names = (name for name in fields_of(o, u, loc, m) if name not in grouped)
    return all(is_accepted((*path, name), *(child(side, name) for side in (o, u, loc, m))) for name in names)


def accepted_group(path: Path_, group: tuple[str, ...], o: Data, u: Data, loc: Data, m: Data) -> bool:
    """Alternatives are one value (V7)."""
    for unchanged, other in ((u, loc), (loc, u)):
        if same(o, unchanged):
            return same(m, other)
    if u and loc and choice(u) == choice(loc):
        if choice(o) != choice(u):
            o = {}
        names = fields_of(o, u, loc, m)
        return all(is_accepted((*path, name), *(child(side, name) for side in (o, u, loc, m))) for name in names)
    return same(m, u) or (not m and not loc)


def accepted_keyed(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    if not is_keyed(path, m) or (not m and not same(m, empty_side(u, loc))):
        return False
    sides = [by_key(path, side) for side in (o, u, loc, m)]
    orders = [[*side] for side in sides]
    if orders[3] != order_of(orders[0], orders[1], orders[2], {*orders[3]}):
        return False
    keys = dict.fromkeys(key for side in sides for key in side)
    return all(accepted_element(path, *(side.get(key, ABSENT) for side in sides)) for key in keys)


def accepted_element(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    """Whether it is there is decided locally (F5)."""
    if o is ABSENT and (u is ABSENT or loc is ABSENT):
        return same(m, loc if u is ABSENT else u)
    if loc is ABSENT or (u is ABSENT and same(o, loc)):
        return m is ABSENT
    return same(m, loc) if u is ABSENT else is_accepted((*path, "*"), o, u, loc, m)


def order_of(o: list[Any], u: list[Any], loc: list[Any], members: set[Any]) -> list[Any]:
    """The order of a keyed list or set (L4)."""
    reordered, kept = ([key for key in o if key in side] != [key for key in side if key in o] for side in (u, loc))
    # Where both reordered, local's order is kept.
    reordered = reordered and not kept
    base, other = (u, loc) if reordered else (loc, u)
    placed = [key for key in base if key in members]
    for at, key in enumerate(other):
        if key in placed or key not in members:
            continue
        before = next((k for k in reversed(other[:at]) if k in placed), None)
        after = next((k for k in other[at + 1 :] if k in placed), None)
        if before is not None:
            place = placed.index(before) + 1
            while not reordered and place < len(placed) and placed[place] not in u:
                place += 1
        elif after is not None:
            place = placed.index(after)
            while reordered and place and placed[place - 1] not in loc:
                place -= 1
        else:
            place = len(placed)
        placed.insert(place, key)
    return placed


def woven(o: list[Any], u: list[Any], loc: list[Any], m: list[Any]) -> bool:
    """Whether a sequence has what each side added, lacks what each removed, and keeps the order of both (L3)."""
    names: list[Any] = []

    def name(element: Any) -> int:
        at = next((at for at, element_before in enumerate(names) if same(element_before, element)), len(names))
        if at == len(names):
            names.append(element)
        return at

    o, u, loc, m = ([name(element) for element in side] for side in (o, u, loc, m))
    for element in {*o, *u, *loc, *m}:
        in_o, in_u, in_l, in_m = (side.count(element) for side in (o, u, loc, m))
        both = in_u + in_l - in_o
        shared = max(in_u, in_l) if min(in_u, in_l) >= in_o else min(in_u, in_l) if max(in_u, in_l) <= in_o else both
        least = min(in_u, in_l) if max(in_o, in_u, in_l) > 1 else min(both, shared)
        if not min(least, both) <= in_m <= max(both, shared):
            return False
    repeated = {element for element in {*o, *u, *loc} if max(side.count(element) for side in (o, u, loc)) > 1}
    for side, other in ((u, loc), (loc, u)):
        moved = [x for x in o if x in other] != [x for x in other if x in o] and {*o} <= {*other}
        survivors = [x for x in side if (x not in o if moved else other.count(x) >= o.count(x))]
        # What both added is where local has it.
        placed = [x for x in survivors if side is loc or x in o or x not in loc]
        if not in_order([x for x in placed if x not in repeated], m):
            return False
    return True


def in_order(part: list[Any], whole: list[Any]) -> bool:
    rest = iter(whole)
    return all(element in rest for element in part)


def woven_lines(o: list[str], u: list[str], loc: list[str], m: list[str]) -> bool:
    """Text by lines: as a sequence, or with upstream's lines where both changed the same ones (V6)."""
    if woven(o, u, loc, m):
        return True
    changes = [difflib.SequenceMatcher(None, o, side, autojunk=False).get_opcodes() for side in (u, loc)]
    spans = [[(a, b) for tag, a, b, *_ in change if tag != "equal"] for change in changes]
    clash = any(a <= d and c <= b for a, b in spans[0] for c, d in spans[1])
    return clash and in_order([x for x in u if x in loc or x not in o], m) and {*m} <= {*u, *loc}
