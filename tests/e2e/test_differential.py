"""`krm-merge update` beside `kpt pkg update`: equal where both changed other fields, else different only on purpose.

A wrong merge does not pass as a difference on purpose: `accepted` says, without the code under test, what the rules
allow.
"""

from __future__ import annotations

import copy
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml
from hypothesis import settings

from checkout import ROOT
from e2e.hosts import SECONDS, Run, git, write_package
from generated import packages as generated
from generated.kptfiles import text as as_text

MANY = settings().max_examples >= 500
DISJOINT_SEEDS = range(11 if MANY else 3)
ANY_SEEDS = range(100, 108 if MANY else 103)
RESOURCES = 55
"""In one package: kpt takes quadratic time."""
DOCUMENT = ("--function-identity", "document")
"""As kpt recognises functions: by name, else by image."""
GROUPS = 20
PAGE = ROOT / "docs" / "differences-from-kpt.md"

Data = dict[str, Any]
Path_ = tuple[str, ...]
Files = dict[str, str]


class Absent:
    def __repr__(self) -> str:
        return "absent"

    def __bool__(self) -> bool:
        return False


class Null:
    """How a null comes into generated text."""

    def __str__(self) -> str:
        return "null"


ABSENT: Final = Absent()
NULL: Final = Null()

# ---- packages as values ------------------------------------------------------------------------------------------

Identity = tuple[str, str]
"""Kind and name; of a Kptfile its folder."""


class Copy(NamedTuple):
    """One copy of a resource: its file, its values, the generated comments in it."""

    file: str
    data: Any
    comments: list[str]


Contents = dict[Identity, list[Copy]]
COMMENT = re.compile(r"# (?:about|note) \d+$", re.MULTILINE)
OF_THE_HOST = re.compile(r"internal\.kpt\.dev/upstream-identifier|(internal\.)?config\.kubernetes\.io/.*")
EMPTIED = re.compile(r":(?: #.*)?\n(\{\}|\[\])\n")
"""kpt writes what is left of an emptied mapping or list with a comment to the start of the next line: no YAML."""
PLAIN: list[tuple[str, Callable[[str], Any]]] = [
    (r"~|null|", lambda _: None),
    (r"true|false", lambda text: text == "true"),
    (r"[-+]?[0-9]+", int),
    (r"[-+]?[0-9]+\.[0-9]*", float),
]


def value_of(node: yaml.Node) -> Any:
    """As yaml.v3 reads it: `yes` and `on` are text."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: value_of(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    assert isinstance(node, yaml.ScalarNode)
    for pattern, read in PLAIN if not node.style else []:
        if re.fullmatch(pattern, node.value):
            return read(node.value)
    return node.value


def read_package(folder: Path) -> Contents:
    """All resources without what kpt notes on them."""
    found: Contents = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if not file.is_file() or not (file.name == "Kptfile" or file.suffix == ".yaml"):
            continue
        whole = EMPTIED.sub(r": \1\n", file.read_text(encoding="utf-8"))
        for document in re.split(r"^---\n", whole, flags=re.MULTILINE):
            node = yaml.compose(document, Loader=yaml.CSafeLoader)
            if node is None:
                continue
            data = value_of(node)
            metadata = data["metadata"]
            if "annotations" in metadata:
                own = {k: v for k, v in metadata["annotations"].items() if not OF_THE_HOST.fullmatch(k)}
                data["metadata"] = {k: v for k, v in metadata.items() if k != "annotations"} | (
                    {"annotations": own} if own else {}
                )
            identity = (data["kind"], metadata["name"])
            if data["kind"] == "Kptfile":
                identity = ("Kptfile", name.removesuffix("Kptfile"))
                if name == "Kptfile":
                    data = {k: v for k, v in data.items() if k not in ("upstream", "upstreamLock")}
                data["metadata"] = {k: v for k, v in data["metadata"].items() if k != "name"}
            found.setdefault(identity, []).append(Copy(name, data, COMMENT.findall(document)))
    return found


def same(first: Any, second: Any) -> bool:
    """Equal in type and value; the order of fields does not count, that of elements does (V1)."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and bool(first == second)


def child(value: Any, name: str) -> Any:
    return value.get(name, ABSENT) if isinstance(value, dict) else ABSENT


def fields_of(*values: Any) -> list[str]:
    return list(dict.fromkeys(name for value in values if isinstance(value, dict) for name in value))


# ---- what the rules allow: the laws of design, written once more -------------------------------------------------

KEYS = {
    **dict.fromkeys(("containers", "initContainers", "volumes", "env"), ("name",)),
    "parts": ("name", "side"),
    "readinessGates": ("conditionType",),
}
SETS = {"finalizers", "tags", "keywords"}
FUNCTIONS = {"mutators", "validators"}
UNKNOWN_TO_KPT = {"parts", "tags", "keywords", "readinessGates"}
"""Keyed lists and sets that kpt takes whole."""
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


def accepted(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    """Whether the rules allow m as the merge of a value under `onConflict: upstream`."""
    for unchanged, other in ((u, loc), (loc, u)):
        if same(o, unchanged):
            return same(m, other)
    if same(u, loc):
        return same(m, loc)
    if all(isinstance(side, dict | Absent) for side in (o, u, loc)) and (o or not (u is ABSENT or loc is ABSENT)):
        return accepted_mapping(path, o, u, loc, m)
    if is_keyed(path, o, u, loc):
        return accepted_keyed(path, o, u, loc, m)
    if is_set(path, o, u, loc):
        kept = {*(o or []), *(u or []), *(loc or [])}
        kept -= {x for x in o or [] if x not in (u or []) or x not in (loc or [])}
        return same(m, ordered(o or [], u or [], loc or [], kept) or emptied(u, loc))
    if all(isinstance(side, list) for side in (o, u, loc, m)) and o:
        return same(m, u) or woven(o, u, loc, m)
    if all(isinstance(side, str) and side.count("\n") > 1 for side in (o, u, loc)) and isinstance(m, str):
        return m == u or woven_lines(*(side.splitlines() for side in (o, u, loc, m)))
    return same(m, u)


def emptied(u: Any, loc: Any) -> Any:
    """What becomes of a mapping or list in which nothing is left (V3)."""
    return next((side for side in (u, loc) if side is not ABSENT and not side), ABSENT)


def accepted_mapping(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    if not isinstance(m, dict | Absent):
        return False
    if not m and not same(m, emptied(u, loc)):
        return False
    grouped: set[str] = set()
    for group in groups_of(path):
        sides = [members(group, side) for side in (o, u, loc, m)]
        if not accepted_group(path, group, *sides):
            return False
        grouped |= {*group}
    names = (name for name in fields_of(o, u, loc, m) if name not in grouped)
    return all(accepted((*path, name), *(child(side, name) for side in (o, u, loc, m))) for name in names)


def accepted_group(path: Path_, group: tuple[str, ...], o: Data, u: Data, loc: Data, m: Data) -> bool:
    """Alternatives are one value (V7)."""
    for unchanged, other in ((u, loc), (loc, u)):
        if same(o, unchanged):
            return same(m, other)
    if u and loc and choice(u) == choice(loc):
        if choice(o) != choice(u):
            o = {}
        names = fields_of(o, u, loc, m)
        return all(accepted((*path, name), *(child(side, name) for side in (o, u, loc, m))) for name in names)
    return same(m, u) or (not m and not loc)


def accepted_keyed(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    if not is_keyed(path, m) or (not m and not same(m, emptied(u, loc))):
        return False
    sides = [by_key(path, side) for side in (o, u, loc, m)]
    orders = [[*side] for side in sides]
    if orders[3] != ordered(orders[0], orders[1], orders[2], {*orders[3]}):
        return False
    keys = dict.fromkeys(key for side in sides for key in side)
    return all(accepted_element(path, *(side.get(key, ABSENT) for side in sides)) for key in keys)


def accepted_element(path: Path_, o: Any, u: Any, loc: Any, m: Any) -> bool:
    """Whether it is there is decided locally (F5)."""
    if o is ABSENT and (u is ABSENT or loc is ABSENT):
        return same(m, loc if u is ABSENT else u)
    if loc is ABSENT or (u is ABSENT and same(o, loc)):
        return m is ABSENT
    return same(m, loc) if u is ABSENT else accepted((*path, "*"), o, u, loc, m)


def ordered(o: list[Any], u: list[Any], loc: list[Any], kept: set[Any]) -> list[Any]:
    """The order of a keyed list or set (L4)."""
    reordered = [key for key in o if key in u] != [key for key in u if key in o]
    base, other = (u, loc) if reordered else (loc, u)
    placed = [key for key in base if key in kept]
    for at, key in enumerate(other):
        if key in placed or key not in kept:
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
        at = next((at for at, known in enumerate(names) if same(known, element)), len(names))
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
        kept = [x for x in side if (x not in o if moved else other.count(x) >= o.count(x))]
        if not in_order([x for x in kept if x not in repeated], m):
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


# ---- differences -------------------------------------------------------------------------------------------------


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
    elif path[-1] not in UNKNOWN_TO_KPT and is_keyed(path, o, u, loc, m) and isinstance(k, list | Absent):
        yield from in_keyed(path, o, u, loc, k, m)
    else:
        yield Difference("value", path, (o, u, loc, k, m), accepted(path, o, u, loc, m))


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
        yield Difference("emptied", path, (o, u, loc, k, m), accepted(path, o, u, loc, m))


def in_keyed(path: Path_, o: Any, u: Any, loc: Any, k: Any, m: Any) -> Iterator[Difference]:
    lists = (o, u, loc)
    sides = [by_key(path, side) for side in (o, u, loc, [*reversed(k or [])], m)]
    for key in dict.fromkeys(key for side in sides for key in side):
        old, up, own, kpts, out = (side.get(key, ABSENT) for side in sides)
        if same(kpts, out):
            continue
        if old is ABSENT and up and own and kpts and path[-1] in FUNCTIONS:
            # F7: never fused.
            kept = out in (up, own)
            yield Difference("element", (*path, "*"), (old, up, own, kpts, out), kept, lists)
        elif (old is ABSENT or (up and own)) and kpts and out:
            yield from differences((*path, "*"), old, up, own, kpts, out)
        else:
            allowed = accepted_element(path, old, up, own, out)
            yield Difference("element", (*path, "*"), (old, up, own, kpts, out), allowed, lists)
    orders = tuple([key_of(path, element) for element in side or []] for side in (o, u, loc, k, m))
    for at, key in enumerate(orders[3]):
        if key in orders[3][:at]:
            yield Difference("element", (*path, "*"), (ABSENT, ABSENT, ABSENT, k[at], ABSENT), True, lists)
    if [key for key in orders[3] if key in orders[4]] != [key for key in orders[4] if key in orders[3]]:
        allowed = orders[4] == ordered(orders[0], orders[1], orders[2], {*orders[4]})
        yield Difference("order", path, orders, allowed, lists)
    if (k is ABSENT) != (m is ABSENT) and not k and not m:
        yield Difference("emptied", path, (o, u, loc, k, m), accepted(path, o, u, loc, m))


def package_differences(o: Contents, u: Contents, loc: Contents, k: Contents, m: Contents) -> Iterator[Difference]:
    for identity in dict.fromkeys(identity for side in (o, u, loc, k, m) for identity in side):
        yield from resource_differences(identity, *(side.get(identity, []) for side in (o, u, loc, k, m)))


def resource_differences(
    identity: Identity, o: list[Copy], u: list[Copy], loc: list[Copy], k: list[Copy], m: list[Copy]
) -> Iterator[Difference]:
    path: Path_ = (identity[0],)
    files = tuple(side[0].file if side else None for side in (o, u, loc))
    comments = [side[0].comments if side else None for side in (o, u, loc)]
    old, up, own, out = (side[0].data if side else ABSENT for side in (o, u, loc, m))
    if len(k) == len(m) == 1 and len({*files} - {None}) == 1 and (not o or (u and loc)):
        for difference in differences(path, old, up, own, k[0].data, out):
            yield replace(difference, commented=comments[0] != comments[1])
    elif len(m) > 1 or not same([each.data for each in k], [each.data for each in m]):
        allowed = len(m) < 2 and accepted_element(path, old, up, own, out)
        kpts: Any = [each.data for each in k]
        commented = comments[0] != comments[2]
        yield Difference("resource", path, (old, up, own, kpts, out), allowed, (), files, commented)


# ---- the differences that are on purpose -------------------------------------------------------------------------


def part_of(part: Any, *wholes: Any) -> bool:
    """Whether each scalar in it stands at the same place in one of the others, as the same text."""
    if isinstance(part, dict):
        return all(part_of(value, *(child(whole, name) for whole in wholes)) for name, value in part.items())
    if isinstance(part, list):
        elements = [element for whole in wholes if isinstance(whole, list) for element in whole]
        return all(any(part_of(item, element) for element in elements) for item in part)
    return any(str(part) == str(whole) for whole in wholes)


def both_changed(d: Difference) -> bool:
    return not same(d.o, d.u) and not same(d.o, d.loc) and not same(d.u, d.loc)


def is_emptied(d: Difference) -> bool:
    left = d.k is not ABSENT and not d.k and d.m is ABSENT
    removed = not d.u or not d.loc or not [x for x in d.o if x in d.u and x in d.loc]
    return left and bool(d.o) and removed


def is_left_over(d: Difference) -> bool:
    gone = d.u is ABSENT and same(d.o, d.loc) and d.o is not ABSENT and d.m is ABSENT
    return gone and bool(d.k) and part_of(d.k, d.o)


def is_back(d: Difference) -> bool:
    gone = d.loc is ABSENT and d.o is not ABSENT and d.m is ABSENT
    return gone and d.k is not ABSENT and part_of(d.k, d.o, d.u)


def is_halved(d: Difference) -> bool:
    stays = d.u is ABSENT and d.o is not ABSENT and not same(d.o, d.loc) and same(d.m, d.loc)
    return stays and bool(d.m) and (d.k is ABSENT or part_of(d.k, d.loc))


def is_dropped_with_list(d: Difference) -> bool:
    added = d.o is ABSENT and d.u is ABSENT and d.loc is not ABSENT and same(d.m, d.loc)
    return added and d.k is ABSENT and bool(d.lists[0]) and not d.lists[1]


def is_order(d: Difference) -> bool:
    kpts = list(dict.fromkeys([*d.loc, *d.o, *d.u]))
    return [key for key in dict.fromkeys(d.k) if key in kpts] == [key for key in kpts if key in d.k]


def is_alternative(d: Difference) -> bool:
    return len({choice(side) for side in (d.o, d.u, d.loc)}) > 1 and part_of(d.k, d.u, d.loc)


def is_whole_list(d: Difference) -> bool:
    lists = all(isinstance(side, list) for side in (d.o, d.u, d.loc, d.m))
    return lists and d.path[-1] not in UNKNOWN_TO_KPT | SETS and both_changed(d) and same(d.k, d.u)


def is_unknown_list(d: Difference) -> bool:
    unknown = d.path[-1] in UNKNOWN_TO_KPT or (d.path[0] == "Widget" and d.path[-1] in SETS)
    return unknown and both_changed(d) and same(d.k, d.u)


def is_commented(d: Difference) -> bool:
    inside = isinstance(d.o, list) or not isinstance(d.o, dict | Absent)
    return d.commented and inside and same(d.o, d.u) and same(d.k, d.u) and same(d.m, d.loc)


def is_set_back(d: Difference) -> bool:
    known = d.path[-1] in SETS - UNKNOWN_TO_KPT and isinstance(d.k, list) and isinstance(d.o, list)
    if not known or not all(isinstance(side, list | Absent) for side in (d.loc, d.m)):
        return False
    o, loc, k, m = (set(side or []) for side in (d.o, d.loc, d.k, d.m))
    return k - m <= o - loc and m <= k and bool(k - m or d.m is ABSENT)


def is_set_dropped(d: Difference) -> bool:
    known = d.path[-1] in SETS - UNKNOWN_TO_KPT and isinstance(d.o, list) and isinstance(d.loc, list)
    return known and d.u is ABSENT and d.k is ABSENT and isinstance(d.m, list) and not {*d.m} & {*d.o}


def is_bare_function(d: Difference) -> bool:
    removed = [x for x in by_key(d.path[:-1], d.lists[0]) if any(x not in by_key(d.path[:-1], s) for s in d.lists[1:])]
    bare = d.path[-2] in FUNCTIONS and isinstance(d.k, dict) and not {"image", "exec"} & {*d.k}
    return bare and bool(removed) and d.m is ABSENT


def is_added_twice(d: Difference) -> bool:
    added = d.o is ABSENT and bool(d.u) and bool(d.loc) and not same(d.u, d.loc)
    return added and d.path[-2] in FUNCTIONS and d.m in (d.u, d.loc)


def is_null(d: Difference) -> bool:
    return d.k is ABSENT and d.m is not ABSENT and None in (d.u, d.loc)


def is_text(d: Difference) -> bool:
    texts = all(isinstance(side, str) and "\n" in side for side in (d.o, d.u, d.loc, d.k, d.m))
    return texts and both_changed(d) and same(d.k, d.u)


def is_retyped(d: Difference) -> bool:
    scalars = all(isinstance(side, str | int | float) for side in (d.o, d.u, d.loc, d.k, d.m))
    retyped = len({type(d.o), type(d.u), type(d.loc)}) > 1 and type(d.k) in (type(d.o), type(d.loc))
    unseen = str(d.o) == str(d.u) and same(d.k, d.loc) and same(d.m, d.u)
    return scalars and retyped and (str(d.k) == str(d.m) or unseen)


def is_set_order(d: Difference) -> bool:
    sets = is_set(d.path, d.o, d.u, d.loc, d.k, d.m) and d.k is not ABSENT and d.m is not ABSENT
    kpts = list(dict.fromkeys([*(d.loc or []), *(d.u or [])])) if sets else []
    return sets and {*d.k} == {*d.m} and d.k == [x for x in kpts if x in d.k]


def is_moved_here(d: Difference) -> bool:
    there = d.o is not ABSENT and d.loc is not ABSENT and d.files[2] != d.files[0]
    return there and same(d.k, [d.loc])


def is_moved_there(d: Difference) -> bool:
    there = d.o is not ABSENT and d.u is not ABSENT and d.files[1] != d.files[0]
    kept = [] if d.loc is ABSENT or d.files[2] == d.files[1] else [d.loc]
    return there and (same(d.k, [*kept, d.u]) or same(d.k, [d.u, *kept]))


def is_comment_alone(d: Difference) -> bool:
    gone = d.u is ABSENT and same(d.o, d.loc) and d.m is ABSENT
    return gone and same(d.k, [d.loc])


@dataclass(frozen=True)
class Item:
    """A difference on purpose: a row of the page, and how to recognise it."""

    what: str
    kpt: str
    ours: str
    rule: str
    kind: str
    explains: Callable[[Difference], bool]


ITEMS = [
    Item(
        "One side removed all fields of a mapping, or the mapping itself",
        "leaves an empty `{}` behind; if the mapping had a comment, the file is no YAML any more",
        "removes the mapping",
        "V3",
        "emptied",
        is_emptied,
    ),
    Item(
        "Upstream removed an element of a keyed list, and local did not change it",
        "leaves the key and the mappings of the element, so a container without image",
        "removes the element",
        "F5, V3",
        "element",
        is_left_over,
    ),
    Item(
        "Local removed an element of a keyed list",
        "restores a part of it: what upstream changed, and the mappings",
        "leaves it removed; where upstream had changed it, a result says so",
        "F5",
        "element",
        is_back,
    ),
    Item(
        "Upstream removed an element of a keyed list that local had changed",
        "removes it, or those of its fields that the original had",
        "keeps local's element whole, and a result says so",
        "F5",
        "element",
        is_halved,
    ),
    Item(
        "Upstream removed a whole keyed list, and local had added elements",
        "drops local's elements",
        "keeps what local added",
        "V3",
        "element",
        is_dropped_with_list,
    ),
    Item(
        "Upstream inserted elements of a keyed list in the middle, or reordered them",
        "keeps local's order and appends what is new",
        "puts new elements where upstream has them, and follows upstream's new order",
        "L4",
        "order",
        is_order,
    ),
    Item(
        "Both added to a set of scalars such as finalizers, or upstream reordered it",
        "keeps local's order and appends what is new",
        "puts new values where upstream has them, and follows upstream's new order",
        "L2, L4",
        "value",
        is_set_order,
    ),
    Item(
        "One side chose another alternative: another volume source, probe handler or update strategy",
        "keeps the fields of both alternatives",
        "keeps one alternative whole",
        "V7",
        "group",
        is_alternative,
    ),
    Item(
        "Both changed a list without keys",
        "takes upstream's whole list; what local added is gone",
        "pairs the elements and merges them; only an element or field that both changed is a conflict",
        "L3",
        "value",
        is_whole_list,
    ),
    Item(
        "Both changed a list of a custom resource that is keyed or a set by its definition, its finalizers, or "
        "`info.keywords` and `info.readinessGates` of a Kptfile",
        "takes upstream's whole list",
        "merges by keys, or as a set",
        "L1, L2, K5",
        "value",
        is_unknown_list,
    ),
    Item(
        "Local removed values of a set such as finalizers",
        "restores some of them, or an empty list",
        "leaves them removed",
        "L2, F5",
        "value",
        is_set_back,
    ),
    Item(
        "Upstream removed a whole set of scalars, and local had added some",
        "drops local's values",
        "keeps what local added",
        "V3",
        "value",
        is_set_dropped,
    ),
    Item(
        "Both added a function under one name or image, with other configuration",
        "fuses the two",
        "keeps one whole, which is a conflict; with `--function-identity smart` both",
        "F7",
        "element",
        is_added_twice,
    ),
    Item(
        "One side removed a function of a pipeline",
        "leaves `{}`, or the configuration without an image: `kpt fn render` refuses the Kptfile",
        "removes the function",
        "F5",
        "element",
        is_bare_function,
    ),
    Item(
        "Upstream changed only a comment in a list that local changed, or of a value that local removed",
        "takes upstream's value or whole list; local's change is gone",
        "keeps local's value, and merges the comment",
        "V1, V8",
        "value",
        is_commented,
    ),
    Item("A field is `null`", "removes the field", "keeps it: null is a value", "V1", "value", is_null),
    Item(
        "Both changed different lines of a text",
        "takes upstream's whole text",
        "merges line by line",
        "V6",
        "value",
        is_text,
    ),
    Item(
        'One side changed the type of a value, such as `1` to `"1"`',
        "keeps local's type where upstream changed it or the value",
        "merges value and type as one",
        "V1, V2",
        "value",
        is_retyped,
    ),
    Item(
        "Local moved a resource to another file",
        "drops upstream's changes of it",
        "merges it where it is",
        "R1",
        "resource",
        is_moved_here,
    ),
    Item(
        "Upstream moved a resource to another file",
        "drops local's changes, or leaves the resource twice",
        "merges it; it is there once",
        "R1, R2",
        "resource",
        is_moved_there,
    ),
    Item(
        "Upstream removed a resource of which local changed only comments or layout",
        "keeps it",
        "removes it",
        "R2",
        "resource",
        is_comment_alone,
    ),
]


def explanation(d: Difference) -> Item | None:
    """The item that explains a difference; a result that the rules do not allow has none."""
    return next((item for item in ITEMS if item.kind == d.kind and item.explains(d)), None) if d.allowed else None


# ---- generated packages ------------------------------------------------------------------------------------------

HEAD: Data = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile"}
IMAGES = [
    f"gcr.io/kpt-fn/{name}" for name in ("set-labels", "apply-setters", "set-namespace", "search-replace", "sync")
]


@dataclass
class Triple:
    """Files by name: original, upstream, local. The root Kptfile of local is without its upstream."""

    original: Files = field(default_factory=dict)
    upstream: Files = field(default_factory=dict)
    local: Files = field(default_factory=dict)

    def put(
        self, name: str, seed: int, sides: Iterable[list[Data]], comments: float, names: Iterable[str] = ()
    ) -> None:
        """Adds the documents of each side to a file, or to one of another name; comments differ between the sides."""
        for at, (files, side, file) in enumerate(
            zip((self.original, self.upstream, self.local), sides, [*names] or [name] * 3, strict=True)
        ):
            for data in side:
                document = as_text(seed + at * (seed % 2), data, 0, comments)
                files[file] = f"{files[file]}---\n{document}" if file in files else document


def kptfile(rng: random.Random) -> Data:
    functions = [function(rng, image) for image in rng.sample(IMAGES, rng.randint(0, 4))]
    info: Data = {
        "description": rng.choice(generated.WORDS),
        "keywords": rng.sample(["x", "y", "z"], rng.randint(1, 3)),
    }
    info["readinessGates"] = [{"conditionType": name} for name in rng.sample("ABC", rng.randint(1, 3))]
    metadata = {"name": "pkg", "labels": generated.words(rng), "annotations": generated.words(rng)}
    return HEAD | {"metadata": metadata, "info": info} | ({"pipeline": {"mutators": functions}} if functions else {})


def function(rng: random.Random, image: str) -> Data:
    result: Data = {"image": f"{image}:v0.{rng.randint(1, 3)}"}
    kind = rng.random()
    if kind < 0.6:
        result["configMap"] = generated.words(rng)
    elif kind < 0.8:
        result["configPath"] = rng.choice(["a.yaml", "b.yaml"])
    return result


def edit_kptfile(rng: random.Random, data: Data) -> None:
    """One edit of a kind that people make."""
    kind = rng.randrange(7)
    mutators: list[Data] = data.get("pipeline", {}).get("mutators", [])
    if kind == 0:
        data["info"]["description"] = rng.choice(generated.WORDS)
    elif kind == 1:
        kinds: list[tuple[str, Any]] = [("keywords", "w"), ("readinessGates", {"conditionType": "D"})]
        name, fresh = rng.choice(kinds)
        held: list[Any] = data["info"][name]
        if fresh not in held:
            held.insert(rng.randint(0, len(held)), fresh)
        elif len(held) > 1:
            held.pop(rng.randrange(len(held)))
    elif kind == 2:
        data["metadata"][rng.choice(["labels", "annotations"])] = generated.words(rng)
    elif kind == 3:
        free = [image for image in IMAGES if not any(image in held["image"] for held in mutators)]
        if free:
            mutators = data.setdefault("pipeline", {}).setdefault("mutators", [])
            mutators.insert(rng.randint(0, len(mutators)), function(rng, rng.choice(free)))
    elif mutators and kind == 4:
        mutators.pop(rng.randrange(len(mutators)))
        if not mutators:
            del data["pipeline"]
    elif mutators and kind == 5:
        mutators.insert(rng.randrange(len(mutators)), mutators.pop(rng.randrange(len(mutators))))
    elif mutators:
        changed = rng.choice(mutators)
        image = changed["image"].partition(":")[0]
        changed.clear()
        changed.update(function(rng, image))


def tidy(resource: Data) -> Data:
    """Ports have one key field of their own, and a name that follows from the key."""
    for name, other, ports in ports_of(resource):
        seen: set[tuple[Any, Any]] = set()
        for port in [*ports]:
            port.pop(other, None)
            key = (port.get(name, 9), port.get("protocol", "TCP"))
            if key in seen or name not in port:
                ports.remove(port)
            elif "name" in port:
                port["name"] = f"p{key[0]}{key[1].lower()}"
            seen.add(key)
    return resource


def ports_of(resource: Data) -> Iterator[tuple[str, str, list[Data]]]:
    spec = resource.get("spec", {})
    if "ports" in spec:
        yield "port", "containerPort", spec["ports"]
    pod = spec.get("template", {}).get("spec", {})
    for each in [*pod.get("containers", []), *pod.get("initContainers", [])]:
        if "ports" in each:
            yield "containerPort", "port", each["ports"]


def renamed(package: list[Data], group: int) -> list[Data]:
    for resource in package:
        resource["metadata"]["name"] = f"g{group}-{resource['metadata']['name']}"
    return [tidy(resource) for resource in package]


def any_edits(seed: int) -> Triple:
    """Groups of resources and subpackages with edits of all kinds on both sides."""
    rng = random.Random(seed)
    triple = Triple()
    root = HEAD | {"metadata": {"name": "pkg"}}
    triple.put("Kptfile", 0, [[root]] * 3, 0)
    triple.put("crd.yaml", 0, [[generated.CRD]] * 3, 0)
    for group in range(GROUPS):
        sides = any_group(rng, group)
        names = [f"g{group}.yaml"] * 3
        if rng.random() < 0.12:
            names[rng.choice([1, 2])] = f"g{group}-moved.yaml"
        triple.put("", rng.randrange(2**32), sides, rng.choice([0, 0.25]), names)
    for number in range(GROUPS // 2):
        original = kptfile(rng)
        edited = [original, copy.deepcopy(original), copy.deepcopy(original)]
        for side in edited[1:]:
            for _ in range(rng.randint(0, 4)):
                edit_kptfile(rng, side)
        triple.put(f"sub{number}/Kptfile", rng.randrange(2**32), [[side] for side in edited], 0)
    return triple


def any_group(rng: random.Random, group: int) -> list[list[Data]]:
    original = [r for r in generated.package(rng) if r["kind"] != "CustomResourceDefinition"]
    sides = [original, *(generated.edited(rng, original, rng.randint(0, 5)) for _ in range(2))]
    sides = [renamed(copy.deepcopy(side), group) for side in sides]
    if rng.random() < 0.3:
        rewrite(rng, sides)
    for side in sides[1:]:
        for resource in side:
            if rng.random() < 0.1 and resource.get("data"):
                resource["data"][rng.choice([*resource["data"]])] = NULL
            if rng.random() < 0.05 and isinstance(resource.get("spec", {}).get("replicas"), int):
                resource["spec"]["replicas"] = str(resource["spec"]["replicas"])
    return sides


OPEN = {"labels", "annotations", "data", "selector", "configMap"}


def rewrite(rng: random.Random, sides: list[list[Data]]) -> None:
    """Both change the same text or list in other places."""
    by_name = [{resource["metadata"]["name"]: resource for resource in side} for side in sides]
    for name in sorted(by_name[0].keys() & by_name[1].keys() & by_name[2].keys()):
        o, u, loc = (side[name] for side in by_name)
        if "script" in u.get("data", {}) and "script" in loc.get("data", {}):
            o["data"]["script"] = generated.SCRIPTS[0]
            u["data"]["script"], loc["data"]["script"] = rng.sample(generated.SCRIPTS[1:], 2)
        elif u.get("rules") and loc.get("rules"):
            u["rules"].insert(0, generated.rule(rng))
            loc["rules"].append(generated.rule(rng))
        elif o["kind"] == "Deployment":
            pods = [side.get("spec", {}).get("template", {}).get("spec", {}) for side in (o, u, loc)]
            if all("volumes" in pod for pod in pods):
                for pod in pods:
                    pod["volumes"].insert(0, {"name": "v0", "configMap": {"name": "c"}})
                pods[rng.choice([1, 1, 2])]["volumes"].pop(0)
        for side in (o, u, loc):
            side["metadata"]["finalizers"] = ["a.io/x", "b.io/y"]
        u["metadata"]["finalizers"].insert(rng.choice([0, 1]), "u.io/u")
        loc["metadata"]["finalizers"].append("l.io/l")
        if (removed := rng.choice([o, u, loc])) is not o:
            del removed["metadata"]["finalizers"]


SINGLE = {
    "spec": {"Deployment": ("minReadySeconds", "progressDeadlineSeconds"), "Service": ("clusterIP", "sessionAffinity")},
    "containers": {"Deployment": ("imagePullPolicy", "workingDir")},
    "info": {"Kptfile": ("site", "licenseFile")},
}
FIXED = {"apiVersion", "kind", "name", "protocol", "port", "containerPort", "type", "conditionType"}


def scalars(value: Any, path: Path_, found: list[tuple[Data, str]]) -> list[tuple[Data, str]]:
    """The scalar fields that may change: no keys, nothing in a list without keys."""
    for name, item in value.items():
        if isinstance(item, dict):
            scalars(item, (*path, name), found)
        elif isinstance(item, list) and keys_of((*path, name)):
            for element in item:
                scalars(element, (*path, name, "*"), found)
        elif not isinstance(item, list) and name not in FIXED:
            found.append((value, name))
    return found


def mappings(value: Any, path: Path_, found: list[tuple[Data, Path_]]) -> list[tuple[Data, Path_]]:
    """The mappings that take further fields."""
    found.append((value, path))
    for name, item in value.items():
        if isinstance(item, dict):
            mappings(item, (*path, name), found)
        elif isinstance(item, list) and keys_of((*path, name)):
            for element in item:
                mappings(element, (*path, name, "*"), found)
    return found


def other_scalar(rng: random.Random, value: Any) -> Any:
    if isinstance(value, int):
        return value + rng.randint(1, 9)
    if value in generated.SCRIPTS:
        return rng.choice([script for script in generated.SCRIPTS if script != value])
    if re.fullmatch(r"gcr\.io/.*:v0\.\d", value):
        return value + "1"
    return rng.choice([word for word in [*generated.WORDS, "new"] if word != value])


def disjoint(rng: random.Random, original: Data) -> list[Data]:
    """The three sides of a resource: upstream and local change and add scalar fields, never the same ones."""
    sides = [original, copy.deepcopy(original), copy.deepcopy(original)]
    path = (original["kind"],)
    places = [scalars(side, path, []) for side in sides]
    for at in range(len(places[0])):
        if (side := rng.choice([0, 0, 1, 2])) != 0:
            holder, name = places[side][at]
            holder[name] = other_scalar(rng, holder[name])
    for at in (1, 2):
        for holder, where in mappings(sides[at], path, []):
            last = where[-2] if where[-1] == "*" else where[-1]
            single = SINGLE.get(last, {}).get(path[0])
            if rng.random() < 0.4 and last in OPEN:
                holder[f"example.com/{'_ul'[at]}{rng.randint(1, 99)}"] = rng.choice(generated.WORDS)
            elif rng.random() < 0.4 and single:
                value = rng.randint(1, 99) if single[at - 1].endswith("Seconds") else "new"
                holder[single[at - 1]] = value
            elif rng.random() < 0.2 and where[1:] == ("metadata",):
                holder.setdefault("labels", {})[f"{'_ul'[at]}-new"] = "new"
    return sides


def disjoint_edits(seed: int) -> Triple:
    rng = random.Random(seed)
    triple = Triple()
    makers = [generated.deployment, generated.service, generated.config_map, generated.role]
    for at in range(RESOURCES):
        sides = disjoint(rng, tidy(rng.choice(makers)(rng, f"r{at}")))
        folder = rng.choice(["", "", "sub/"])
        triple.put(
            f"{folder}{rng.randint(1, 9)}.yaml", rng.randrange(2**32), [[s] for s in sides], rng.choice([0, 0.2])
        )
    for name in ("Kptfile", "sub/Kptfile"):
        triple.put(name, 0, [[side] for side in disjoint(rng, kptfile(rng))], 0)
    return triple


# ---- running both ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The packages of one seed: original, upstream, local, kpt's result, ours."""

    seed: int
    original: Contents
    upstream: Contents
    local: Contents
    kpt: Contents
    ours: Contents
    locks: tuple[Any, Any]

    @property
    def sides(self) -> tuple[Contents, Contents, Contents, Contents, Contents]:
        return self.original, self.upstream, self.local, self.kpt, self.ours


def command(*words: str | Path, cwd: Path, code: int = 0) -> Run:
    """Runs a program that must end with this code."""
    caches = {"KPT_CACHE_DIR": str(cwd / ".kpt"), "KRM_MERGE_CACHE_DIR": str(cwd / ".cache")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **caches},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
    return done


def prepare(folder: Path, triple: Triple) -> None:
    """Repositories with two versions, fetched by kpt; the folders `web` and `ours` are local's package, `v1` and `v2`
    upstream's."""
    folder.mkdir()
    source = folder / "source"
    for version, files in (("v1", triple.original), ("v2", triple.upstream)):
        shutil.rmtree(source / "dir", ignore_errors=True)
        write_package(source / "dir", files)
        if version == "v1":
            git(source, "init", "-q")
        git(source, "add", "-A")
        git(source, "commit", "-q", "-m", version)
        git(source, "tag", version)
        write_package(folder / version, files)
    git(folder, "clone", "-q", "--bare", "source", "repo.git")
    command("kpt", "pkg", "get", f"file://{folder}/repo.git/dir@v1", "web", cwd=folder)
    web = folder / "web"
    fetched = yaml.safe_load((web / "Kptfile").read_text(encoding="utf-8"))
    shutil.rmtree(web)
    origin = {name: fetched[name] for name in ("upstream", "upstreamLock")}
    write_package(web, triple.local)
    root = triple.local["Kptfile"] + yaml.safe_dump(origin)
    (web / "Kptfile").write_text(root, encoding="utf-8")
    shutil.copytree(web, folder / "ours")


def update(folder: Path, seed: int, triple: Triple) -> Outcome:
    """What kpt and krm-merge make of the same package."""
    prepare(folder, triple)
    web = folder / "web"
    local = read_package(web)
    command("kpt", "pkg", "update", "web@v2", cwd=folder)
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", *DOCUMENT, cwd=folder)
    locks = [yaml.safe_load((folder / at / "Kptfile").read_text(encoding="utf-8")) for at in ("web", "ours")]
    return Outcome(
        seed,
        read_package(folder / "v1"),
        read_package(folder / "v2"),
        local,
        read_package(web),
        read_package(folder / "ours"),
        (locks[0]["upstreamLock"], locks[1]["upstreamLock"]),
    )


def update_all(folder: Path, seeds: Iterable[int], triples: Callable[[int], Triple]) -> dict[int, Outcome]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda seed: update(folder / str(seed), seed, triples(seed)), seeds)
        return {outcome.seed: outcome for outcome in done}


@pytest.fixture(scope="module")
def disjoint_updates(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcome]:
    return update_all(tmp_path_factory.mktemp("disjoint"), DISJOINT_SEEDS, disjoint_edits)


@pytest.fixture(scope="module")
def any_updates(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcome]:
    return update_all(tmp_path_factory.mktemp("any"), ANY_SEEDS, any_edits)


def told(seed: int, found: Iterable[Difference]) -> str:
    text = f"seed {seed}"
    for d in found:
        text += f"\n\n{d.kind} at {'.'.join(d.path)} (allowed by the rules: {d.allowed}) {d.files or ''}"
        for name, side in zip(("original", "upstream", "local", "kpt", "ours"), d.sides, strict=True):
            text += f"\n  {name:8} {side!r}"
    return text


@pytest.mark.kpt
@pytest.mark.parametrize("seed", DISJOINT_SEEDS)
def test_disjoint_changes_give_the_same_package(disjoint_updates: dict[int, Outcome], seed: int) -> None:
    outcome = disjoint_updates[seed]
    assert len(outcome.kpt) == RESOURCES + 2
    found = list(package_differences(*outcome.sides))
    assert not found, told(seed, found)
    assert same(
        *({name: [each.data for each in copies] for name, copies in side.items()} for side in outcome.sides[3:])
    )
    assert outcome.locks[0] == outcome.locks[1]
    assert sum(not same(outcome.local[name], outcome.ours[name]) for name in outcome.local) > RESOURCES / 4


@pytest.mark.kpt
@pytest.mark.parametrize("seed", ANY_SEEDS)
def test_every_other_difference_is_on_purpose(any_updates: dict[int, Outcome], seed: int) -> None:
    found = [d for d in package_differences(*any_updates[seed].sides) if explanation(d) is None]
    assert not found, told(seed, found)


# ---- what kpt refuses --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stop:
    """A row of the page: what kpt refuses, the three sides of a file, and what krm-merge makes of them."""

    what: str
    ours: str
    rule: str
    file: str
    sides: tuple[str, str, str]
    merged: Any


def config(data: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n{data}"


PIPELINE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\npipeline:\n  mutators:\n"
PLAIN_FUNCTION = "  - image: gcr.io/kpt-fn/a:v1\n"
NAMED = PLAIN_FUNCTION + "    name: a\n"
STOPS = [
    Stop(
        "A field holds another kind of value on one side, such as a mapping instead of a text",
        "takes the side that changed it; where both did, that field is a conflict",
        "V5",
        "c.yaml",
        (config("data: {a: x, b: x}\n"), config("data: {a: {c: d}, b: x}\n"), config("data: {a: x, b: y}\n")),
        {"a": {"c": "d"}, "b": "y"},
    ),
    Stop(
        "Upstream writes an alias",
        "reads it as the value that it refers to",
        "V9",
        "c.yaml",
        (
            config("data: {a: x}\nmore: {a: x}\n"),
            config("data: &a {a: z}\nmore: *a\n"),
            config("data: {a: x, b: y}\nmore: {a: x}\n"),
        ),
        {"a": "z", "b": "y"},
    ),
    Stop(
        "A YAML file is no YAML on one side, such as a template",
        "merges this file as text, with a warning",
        "R5",
        "t.yaml",
        ("a: 1\nb: {{ x }}\nc: 3\n", "a: 1\nb: {{ x }}\nc: 4\n", "a: 2\nb: {{ x }}\nc: 3\n"),
        "a: 2\nb: {{ x }}\nc: 4\n",
    ),
    Stop(
        "Local named the functions of a pipeline, and upstream did not",
        "recognises the functions; with `--function-identity document` the list is one value",
        "F3, F6",
        "sub/Kptfile",
        (PIPELINE + PLAIN_FUNCTION, PIPELINE + PLAIN_FUNCTION.replace("v1", "v2"), PIPELINE + NAMED),
        [{"image": "gcr.io/kpt-fn/a:v2"}],
    ),
    Stop(
        "A Kptfile has a field that kpt does not know",
        "merges it like any other",
        "K1",
        "sub/Kptfile",
        (PIPELINE + NAMED, PIPELINE + NAMED + "    timeout: 5\n", PIPELINE + NAMED),
        [{"image": "gcr.io/kpt-fn/a:v1", "name": "a", "timeout": 5}],
    ),
]


@pytest.mark.kpt
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.rule)
def test_what_kpt_refuses(tmp_path: Path, stop: Stop) -> None:
    triple = Triple()
    triple.put("Kptfile", 0, [[HEAD | {"metadata": {"name": "pkg"}}]] * 3, 0)
    for files, side in zip((triple.original, triple.upstream, triple.local), stop.sides, strict=True):
        files[stop.file] = side
    folder = tmp_path / "run"
    prepare(folder, triple)
    refused = command("kpt", "pkg", "update", "web@v2", cwd=folder, code=1)
    assert refused.stdout + refused.stderr
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", *DOCUMENT, cwd=folder)
    text = (folder / "ours" / stop.file).read_text(encoding="utf-8")
    if stop.rule == "R5":
        assert text == stop.merged
    else:
        data = yaml.safe_load(text)
        assert (data["pipeline"]["mutators"] if "pipeline" in data else data["data"]) == stop.merged
    locks = [yaml.safe_load((folder / at / "Kptfile").read_text(encoding="utf-8")) for at in ("web", "ours")]
    refs = [(lock["upstream"]["git"]["ref"], lock["upstreamLock"]["git"]["ref"]) for lock in locks]
    assert refs == [("v2", "v1"), ("v2", "v2")]


# ---- what random packages do not hold ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A row of the page: a change that random packages do not hold, and what both programs make of it."""

    what: str
    kpt: str
    ours: str
    rule: str
    sides: tuple[Data, Data, Data]
    kpts: list[Data]
    merged: list[Data]


def of_kind(api: str, kind: str, name: str, **rest: Any) -> Data:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **rest}


def pod(image: str) -> Data:
    return of_kind("v1", "Pod", "web", spec={"containers": [{"name": "web", "image": image}]})


def map_named(name: str, **data: str) -> Data:
    return of_kind("v1", "ConfigMap", name, data={"a": "1", "b": "2", "c": "3", **data})


def kustomization(*images: Data) -> Data:
    return of_kind("kustomize.config.k8s.io/v1beta1", "Kustomization", "k", images=[*images])


def list_of(**data: str) -> Data:
    return of_kind("v1", "List", "l", items=[map_named("web", **data)])


CASES = [
    Case(
        "One side changed the repository of an image, the other its version",
        "takes upstream's image",
        "keeps both changes",
        "V10",
        (pod("nginx:1.25"), pod("nginx:1.27"), pod("mirror.example.com/nginx:1.25")),
        [pod("nginx:1.27")],
        [pod("mirror.example.com/nginx:1.27")],
    ),
    Case(
        "Upstream renamed a resource that local changed",
        "leaves two: local's with the old name, upstream's with the new one",
        "merges it; it has the new name",
        "R1",
        (map_named("web"), map_named("core-web"), map_named("web", a="9")),
        [map_named("web", a="9"), map_named("core-web")],
        [map_named("core-web", a="9")],
    ),
    Case(
        "Local renamed a resource, and kpt's notes on it are gone",
        "drops upstream's changes of it",
        "merges it; it has local's name",
        "R1",
        (map_named("web"), map_named("web", a="9"), map_named("ours")),
        [map_named("ours")],
        [map_named("ours", a="9")],
    ),
    Case(
        "Both changed `images` or another list of a Kustomization",
        "takes upstream's whole list",
        "merges by keys, or as a set",
        "L1, L2",
        (
            kustomization({"name": "web", "newTag": "1"}),
            kustomization({"name": "web", "newTag": "2"}),
            kustomization({"name": "web", "newTag": "1", "newName": "mirror"}),
        ),
        [kustomization({"name": "web", "newTag": "2"})],
        [kustomization({"name": "web", "newTag": "2", "newName": "mirror"})],
    ),
    Case(
        "Both changed objects in a `List`",
        "takes upstream's whole list",
        "merges each object",
        "L1",
        (list_of(), list_of(a="9"), list_of(b="9")),
        [list_of(a="9")],
        [list_of(a="9", b="9")],
    ),
]


@pytest.mark.kpt
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_cases_that_random_packages_do_not_hold(tmp_path: Path, case: Case) -> None:
    triple = Triple()
    triple.put("Kptfile", 0, [[HEAD | {"metadata": {"name": "pkg"}}]] * 3, 0)
    triple.put("a.yaml", 0, [[side] for side in case.sides], 0)
    folder = tmp_path / "run"
    prepare(folder, triple)
    command("kpt", "pkg", "update", "web@v2", cwd=folder)
    command(sys.executable, "-m", "krm_merge", "update", "ours@v2", cwd=folder)
    for name, wanted in (("web", case.kpts), ("ours", case.merged)):
        found = [copy.data for copies in read_package(folder / name).values() for copy in copies]
        assert [data for data in found if data["kind"] != "Kptfile"] == wanted


# ---- the list of differences itself ------------------------------------------------------------------------------


@pytest.mark.kpt
def test_wrong_merges_are_not_explained(any_updates: dict[int, Outcome]) -> None:
    """One random fault in our result, in resources where kpt's differs already and in others."""
    rng = random.Random(1)
    told_apart: Counter[tuple[bool, bool]] = Counter()
    for outcome in any_updates.values():
        for identity in outcome.ours:
            for _ in range(4):
                o, u, loc, k, m = (side.get(identity, []) for side in outcome.sides)
                differed = any(resource_differences(identity, o, u, loc, k, m))
                wrong = m[0]._replace(data=damaged(rng, m[0].data))
                if same(wrong.data, m[0].data) or (k and same(wrong.data, k[0].data)):
                    continue
                faulty = resource_differences(identity, o, u, loc, k, [wrong])
                told_apart[differed, any(explanation(d) is None for d in faulty)] += 1
    for differed in (True, False):
        found, missed = told_apart[differed, True], told_apart[differed, False]
        assert found + missed > 100
        assert found >= 0.9 * (found + missed), told_apart


def damaged(rng: random.Random, resource: Data) -> Data:
    """A copy in which one field or element is another, is gone, is new, is there twice or stands elsewhere."""
    resource = copy.deepcopy(resource)
    holders: list[Any] = []
    pending: list[Any] = [resource]
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            holders.append(value)
            pending.extend(value.values() if isinstance(value, dict) else value)
    holder = rng.choice([each for each in holders if each] or [resource])
    at = rng.choice([*(holder if isinstance(holder, dict) else range(len(holder)))])
    kind = rng.randrange(4)
    if kind == 0:
        holder.pop(at)
    elif kind == 1:
        holder[at] = {} if rng.random() < 0.2 else f"{holder[at]}!" if isinstance(holder[at], str) else "wrong"
    elif isinstance(holder, dict):
        holder["wrong"] = {} if kind == 2 else "wrong"
    elif kind == 2:
        holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[at]))
    else:
        holder.insert(rng.randrange(len(holder)), holder.pop(at))
    return resource


@pytest.mark.kpt
def test_each_item_of_the_list_occurs(any_updates: dict[int, Outcome]) -> None:
    if not MANY:
        pytest.skip("needs many seeds: HYPOTHESIS_PROFILE=ci")
    counts = Counter(explanation(d) for outcome in any_updates.values() for d in package_differences(*outcome.sides))
    assert not [item.what for item in ITEMS if item not in counts]


PAGE_HEAD = """\
# Differences from kpt

Where upstream and local changed or added different scalar fields, and neither removed anything, `krm-merge update` and
`kpt pkg update` make the same package. Elsewhere they differ as these tables say: a test compares both on random
packages (`tests/e2e/test_differential.py`, with kpt 1.0.0-beta.56) and fails on a difference that is not here. There
krm-merge runs with `--function-identity document`, as kpt recognises functions; with its default, `smart`, what F6 and
F7 say comes on top. The numbers are those of the [rules](rules.md).

Values and the order of lists are compared, not comments and layout, which krm-merge keeps and kpt writes anew in part.
"""


def page() -> str:
    rows = [f"| {item.what} | {item.kpt} | {item.ours} | {item.rule} |" for item in ITEMS]
    cases = [f"| {case.what} | {case.kpt} | {case.ours} | {case.rule} |" for case in CASES]
    stops = [f"| {stop.what} | {stop.ours} | {stop.rule} |" for stop in STOPS]
    return "\n".join(
        [
            PAGE_HEAD,
            "## What comes out different\n",
            "| what happens | kpt | krm-merge | rule |\n|---|---|---|---|",
            *rows,
            "\nThese are not in random packages; each was tried with both programs:\n",
            "| what happens | kpt | krm-merge | rule |\n|---|---|---|---|",
            *cases,
            "\n## What kpt refuses\n",
            "kpt stops with an error, and the Kptfile names the new version while the files are the old ones.\n",
            "| what happens | krm-merge | rule |\n|---|---|---|",
            *stops,
            "",
        ]
    )


def test_the_page_has_the_list() -> None:
    """Write the page anew with WRITE_GOLDEN_OUTPUT=1."""
    if os.environ.get("WRITE_GOLDEN_OUTPUT"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
