"""Three-way merge of lists (rules L1-L3, F3, F5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.merge.decision import Edit, Insert, Move, Remove, Replace, Severity, Side
from krm_merge.merge.identity import NotIdentified, match_functions, read_functions
from krm_merge.merge.matching import Match, match_by_key, match_by_value
from krm_merge.merge.order import merge_order
from krm_merge.merge.sequence import Run, anchors, merge_sequences
from krm_merge.merge.verdict import Sides, Verdict, same
from krm_merge.schema import FUNCTIONS, ORDERED, SET, WHOLE, KeyedList
from krm_merge.text.layout import NO_COMMENTS
from krm_merge.text.nodes import Canonical, Node, Sequence, resolved
from krm_merge.text.order import longest_rising

if TYPE_CHECKING:
    from krm_merge.merge.tree import TreeMerge


def merge_list(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict:
    """Decides on a list; all sides that are there are lists."""
    kind = merge.schema.list_kind(path)
    items = [_items(node) for node in sides.nodes]
    if kind == WHOLE or not any(items):
        verdict = sides.settled() or merge.conflict(path, sides, "V4")
        _comments_of_sequence(merge, path, sides, items, verdict)
        return verdict
    if kind == FUNCTIONS:
        return _functions(merge, path, sides, items)
    matches = None
    if kind == SET:
        matches = match_by_value(items)
    elif isinstance(kind, KeyedList):
        matches = match_by_key(items, kind)
    if matches is not None:
        return _elements(merge, path, sides, items, matches)
    settled = sides.settled()
    if settled is not None and (settled.node is not sides.upstream or not all(items)):
        _comments_of_sequence(merge, path, sides, items, settled)
        return settled
    verdict = _sequence(merge, path, sides, items)
    _comments_of_sequence(merge, path, sides, items, verdict)
    if kind == ORDERED or settled is not None:
        return verdict
    # L1: a keyed list whose elements cannot be told apart is a sequence.
    reason = "elements that share a key or have none, so the list is merged as a plain sequence"
    severity: Severity = "error" if verdict.severity == "error" else "warning"
    message = f"{reason}: {verdict.message}" if verdict.message else reason
    return replace(verdict, rule="L1", severity=severity, message=message)


def _items(node: Node | None) -> list[Node]:
    return [resolved(item) for item in node.items] if isinstance(node, Sequence) else []


# ---- functions ---------------------------------------------------------------------------------------------------


def _functions(merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]]) -> Verdict:
    matches = match_functions(items[0], items[1], items[2], smart=merge.smart)
    if isinstance(matches, NotIdentified):
        return _functions_as_one_value(merge, path, sides, items, matches.reason)
    for match in matches:
        if match.moved_registry:
            step = (*path, match.step)
            merge.note(step, "F4", "the same function, its image moved to another registry")
    return _elements(merge, path, sides, items, matches)


def _functions_as_one_value(
    merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], reason: str
) -> Verdict:
    """F3: upstream's list if upstream changed it, else local's; both changed it: a conflict."""
    if settled := sides.settled():
        return replace(settled, rule="F3")
    verdict = merge.conflict(path, sides, "F3", f"{reason}, so the list is one value")
    if verdict.node is sides.local or verdict.severity == "error":
        return verdict
    kept = {item.canonical for side in items[:2] for item in side}
    functions = read_functions(items[2])
    dropped = [at for at, item in enumerate(items[2]) if item.canonical not in kept]
    for at in dropped:
        label = functions[at].label
        merge.note(
            (*path, at),
            "F3",
            f"the local function {label} is dropped",
            "warning",
            "local",
            Sides(None, None, items[2][at]),
        )
    names = ", ".join(functions[at].label for at in dropped)
    remedy = "; name every function on all sides, or set functionIdentity: smart, to keep them"
    return replace(verdict, message=verdict.message + (f"; dropped from local: {names}{remedy}" if names else ""))


# ---- lists whose elements have an identity -----------------------------------------------------------------------


def _elements(
    merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], elements: list[Match]
) -> Verdict:
    base = sides.local if sides.local is not None else sides.upstream
    if base is None:
        return Verdict(None)
    assert isinstance(base, Sequence)
    mark = len(merge.decisions)
    verdicts = [_existence(merge, (*path, e.step), _sides_of(items, e)) for e in elements]
    alive = {at for at, verdict in enumerate(verdicts) if verdict.node is not None}
    if not alive and any(items) and all(side or node is None for side, node in zip(items, sides.nodes, strict=True)):
        # V3: what had content and has none now disappears, unless a side holds it empty itself.
        for element, verdict in zip(elements, verdicts, strict=True):
            merge.record(verdict, (*path, element.step), _sides_of(items, element), ())
        merge.forget_since(mark)
        return Verdict(None)
    orders = [_order(elements, side) for side in ("original", "upstream", "local")]
    order = merge_order(orders[0], orders[1], orders[2], alive)
    if order.upstream_reordered and order.local_reordered and sides.local is not None:
        merge.note(path, "L4", "upstream and local both reordered; upstream's order stands", "info", "both")
    on_base = "local" if base is sides.local else "upstream"
    children = [_child(base, sides, elements[at], on_base) for at in order.keys]
    placed = arrange(base, [child for child, _ in children], merge, sides)
    for at, verdict in enumerate(verdicts):
        if at not in alive:
            position = getattr(elements[at], on_base)
            edits: tuple[Edit, ...] = (Remove(base, base.items[position]),) if position is not None else ()
            merge.record(verdict, (*path, elements[at].step), _sides_of(items, elements[at]), edits)
    for at, (child, own) in zip(order.keys, children, strict=True):
        verdict, step = verdicts[at], (*path, elements[at].step)
        edits = placed.get(id(child), ())
        node = verdict.node
        if own and node is not resolved(child):
            assert node is not None
            edits = (*edits, Replace(child, node))
        merge.record(_as_move(verdict, edits), step, _sides_of(items, elements[at]), edits)
        if own and on_base == "local":
            _comments(merge, step, sides, elements[at])
    return Verdict(base, side="local" if base is sides.local else "upstream")


def _existence(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict:
    """F5: the local decision about existence stands; values merge where both have the element."""
    original, upstream, local = sides.original, sides.upstream, sides.local
    if original is None or (upstream is not None and local is not None):
        return merge.value(path, sides)
    if upstream is None and local is None:
        return Verdict(None, side="both")
    deleter: Side = "upstream" if upstream is None else "local"
    if same(original, local if upstream is None else upstream):
        return Verdict(None, "F5", deleter)
    policy = merge.policy
    upstream_decides = policy.delete(path) == "upstream"
    if deleter == "upstream":
        node, stands = (None, "the removal stands") if upstream_decides else (local, "local's stays")
    else:
        node, stands = (upstream, "upstream's is added again") if upstream_decides else (None, "it stays removed")
    other: Side = "local" if deleter == "upstream" else "upstream"
    story = policy.story(path, f"{deleter} removed it, {other} changed it", stands)
    return Verdict(node, "F5", "both", policy.severity(path), story)


def _sides_of(items: list[list[Node]], element: Match) -> Sides:
    places = zip(items, element.places, strict=True)
    return Sides(*(None if position is None else side[position] for side, position in places))


def _order(elements: list[Match], side: str) -> list[int]:
    """The elements that a side has, by their number, in the side's order."""
    placed = [(getattr(element, side), number) for number, element in enumerate(elements)]
    return [number for position, number in sorted((p, n) for p, n in placed if p is not None)]


def _child(base: Sequence, sides: Sides, element: Match, on_base: str) -> tuple[Node, bool]:
    """The element's item in the base list, or upstream's; whether it is the base's own."""
    position = getattr(element, on_base)
    if position is not None:
        return base.items[position], True
    assert isinstance(sides.upstream, Sequence)
    assert element.upstream is not None
    return sides.upstream.items[element.upstream], False


def _as_move(verdict: Verdict, edits: tuple[Edit, ...]) -> Verdict:
    is_move = not verdict.told and len(edits) == 1 and isinstance(edits[0], Move)
    return replace(verdict, rule="L4", side="upstream") if is_move else verdict


def _comments(merge: TreeMerge, path: FieldPath, sides: Sides, element: Match) -> None:
    if element.upstream is None or element.local is None:
        return
    original, upstream, local = sides.nodes
    assert isinstance(upstream, Sequence)
    assert isinstance(local, Sequence)
    before = (
        original.items[element.original] if isinstance(original, Sequence) and element.original is not None else None
    )
    merge.merge_comments(path, sides, (before, upstream.items[element.upstream], local.items[element.local]))


def arrange(base: Sequence, wanted: list[Node], merge: TreeMerge, sides: Sides) -> dict[int, tuple[Edit, ...]]:
    """The edits that bring the wanted items into this order, by the id of the item; removals apart."""
    position = {id(item): at for at, item in enumerate(base.items)}
    steady = longest_rising([position[id(item)] for item in wanted if id(item) in position])
    edits: dict[int, tuple[Edit, ...]] = {}
    previous: Node | None = None
    for item in wanted:
        at = position.get(id(item))
        if at is None:
            comments = merge.comments.of(sides.upstream, item) if sides.upstream is not None else NO_COMMENTS
            edits[id(item)] = (Insert(base, item, previous, comments),)
        elif at not in steady:
            edits[id(item)] = (Move(base, item, previous),)
        previous = item
    return edits


# ---- sequences ---------------------------------------------------------------------------------------------------


def _sequence(merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]]) -> Verdict:
    """L3: both changed a list without identities."""
    if sides.upstream is None or sides.local is None:
        return merge.conflict(path, sides, "V4")
    if not items[0]:
        return merge.conflict(path, sides, "L3", "filled by both from nothing")
    if not items[1] or not items[2]:
        return merge.conflict(path, sides, "V4")
    keys = [[item.canonical for item in side] for side in items]
    runs = merge_sequences(keys[0], keys[1], keys[2], "upstream")
    if any(run.clash == "changed" for run in runs):
        return merge.conflict(path, sides, "L3", "overlapping changes of a list without keys")
    merged = _taken(runs, keys)
    again = _taken(merge_sequences(keys[0], keys[1], merged, "upstream"), [keys[0], keys[1], merged])
    if again != merged:
        return merge.conflict(path, sides, "L3", "changes of a list without keys that cannot be put in order")
    if not merged:
        return Verdict(None, "L3", "both")
    local, upstream = sides.local, sides.upstream
    assert isinstance(local, Sequence)
    assert isinstance(upstream, Sequence)
    wanted = [
        (upstream if run.side == "upstream" else local).items[at] for run in runs for at in range(run.start, run.stop)
    ]
    kept = {id(item) for item in wanted}
    placed = arrange(local, wanted, merge, sides)
    edits = [Remove(local, item) for item in local.items if id(item) not in kept]
    all_edits = (*edits, *(edit for item in wanted for edit in placed.get(id(item), ())))
    if same(sides.local, sides.original):
        # Only upstream changed it: no conflict, but local's elements keep their text.
        merge.record(Verdict(local), path, sides, all_edits)
        return Verdict(local)
    inserted = any(run.clash == "inserted" for run in runs)
    what, stands = "upstream and local inserted at the same place", "local's elements stand before upstream's"
    message = merge.policy.story(path, what, stands) if inserted else ""
    verdict = Verdict(local, "L3", "both", merge.policy.severity(path) if inserted else "info", message)
    merge.record(verdict, path, sides, all_edits)
    return Verdict(local, "L3", "both")


def _comments_of_sequence(
    merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], verdict: Verdict
) -> None:
    """V8 for the elements of local's list that upstream has unchanged: the equal ones, and between these one by one."""
    if verdict.node is not sides.local or not all(items) or not merge.comments.differ(sides.original, sides.upstream):
        return
    assert isinstance(sides.original, Sequence)
    assert isinstance(sides.upstream, Sequence)
    assert isinstance(sides.local, Sequence)
    keys = [[item.canonical for item in side] for side in items]
    o_from = u_from = l_from = 0
    for o_at, u_at, l_at, size in anchors(keys[0], keys[1], keys[2]):
        if o_at - o_from == u_at - u_from == l_at - l_from:
            o_start, u_start, l_start = o_from, u_from, l_from
        else:
            o_start, u_start, l_start = o_at, u_at, l_at
        for offset in range(o_at + size - o_start):
            o, u, local = o_start + offset, u_start + offset, l_start + offset
            if keys[0][o] == keys[1][u]:
                step = (*path, local)
                merge.value(step, Sides(items[0][o], items[1][u], items[2][local]))
                children = (sides.original.items[o], sides.upstream.items[u], sides.local.items[local])
                merge.merge_comments(step, sides, children)
        o_from, u_from, l_from = o_at + size, u_at + size, l_at + size


def _taken(runs: list[Run], keys: list[list[Canonical]]) -> list[Canonical]:
    return [key for run in runs for key in keys[1 if run.side == "upstream" else 2][run.start : run.stop]]
