"""The differences that are on purpose, in the words of docs/differences-from-kpt.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from e2e.differential.allowed import (
    FUNCTIONS,
    SETS,
    UNKNOWN_TO_KPT,
    by_key,
    choice,
    is_set,
)
from e2e.differential.differences import Difference
from e2e.differential.values import (
    ABSENT,
    Absent,
    child,
    same,
)


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


def is_list_of_local(d: Difference) -> bool:
    return isinstance(d.o, list) and ABSENT in (d.u, d.loc) and same(d.m, d.loc)


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
    is_set = d.path[-1] in SETS - UNKNOWN_TO_KPT and isinstance(d.k, list) and isinstance(d.o, list)
    if not is_set or not all(isinstance(side, list | Absent) for side in (d.loc, d.m)):
        return False
    o, loc, k, m = (set(side or []) for side in (d.o, d.loc, d.k, d.m))
    return k - m <= o - loc and m <= k and bool(k - m or d.m is ABSENT)


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
    locals_ = [] if d.loc is ABSENT or d.files[2] == d.files[1] else [d.loc]
    return there and (same(d.k, [*locals_, d.u]) or same(d.k, [d.u, *locals_]))


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
        "merges as git merges lines, with elements for lines; a place that both changed is a conflict",
        "L3",
        "value",
        is_whole_list,
    ),
    Item(
        "Both changed a list of a custom resource that is keyed or a set by its definition, its finalizers, or "
        "`info.keywords` and `info.readinessGates` of a Kptfile",
        "takes upstream's whole list",
        "merges by keys, or as a set",
        "L1, L2",
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
        "One side removed a whole list, and the other changed it",
        "merges what is left of both, or drops local's changes",
        "keeps what local has, the list or its removal, and a result says so",
        "V3, F5",
        "value",
        is_list_of_local,
    ),
    Item(
        "Upstream removed all functions of a pipeline, and local had added some",
        "drops local's functions",
        "keeps what local added",
        "V3, F5",
        "element",
        is_dropped_with_list,
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
