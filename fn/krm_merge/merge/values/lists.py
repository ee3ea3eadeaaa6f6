"""Three-way merge of lists (rules L1-L3, F3, F5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from krm_merge.krm import FieldPath, Severity, format_path
from krm_merge.merge.decisions.decision import (
    Decision,
    Edit,
    Insert,
    Move,
    Remove,
    Replace,
    Side,
    Sides,
    Verdict,
    apply,
    same,
)
from krm_merge.merge.decisions.policy import Resolution
from krm_merge.merge.values.likeness import (
    UNDER_TWO_NAMES,
    Match,
    added_under_two_names,
    have_same_fields,
    match_by_key,
    match_objects,
    part_renamed,
)
from krm_merge.merge.values.pairing import (
    added_at_one_place,
    is_narrowed_replacement,
    match_sequence,
    match_set,
    replaced_by_both,
)
from krm_merge.merge.values.pipeline import NotIdentified, differ_in_version_only, match_functions, read_functions
from krm_merge.merge.values.texts import Order, merge_order
from krm_merge.schema import FUNCTIONS, OBJECTS, ORDERED, SET, WHOLE, KeyedList, ObjectListSchema
from krm_merge.startup import replace
from krm_merge.text import (
    NO_COMMENTS,
    Canonical,
    Editor,
    MappingNode,
    Node,
    SequenceNode,
    canonical_text,
    copy,
    from_value,
    longest_rising,
    resolved,
)

if TYPE_CHECKING:
    from krm_merge.merge.values.tree import TreeMerge

_INDISTINCT = "elements that are there several times, or moved, cannot be told apart"
MOST_NESTED = 8
"""Lists without keys are merged so deep inside each other: each level looks at all below it several times."""
MOST_NAMED = 5
"""Elements of a side that the message of a conflict names."""


def merge_list(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict:
    """Decides on a list; all sides that are there are lists."""
    kind = merge.schema.at(path).list_kind
    items = [_items(node) for node in sides.nodes]
    # Empty lists have no elements: whether the list is there is all that can differ.
    if kind == WHOLE or not any(items):
        return sides.settled() or merge.conflict(path, sides, "V4")
    if kind == FUNCTIONS:
        return _functions(merge, path, sides, items)
    matches = None
    if kind == SET and (matches := match_set(items)) is not None:
        return _set(merge, path, sides, items, matches)
    if kind == OBJECTS:
        matches = match_objects(items)
    elif isinstance(kind, KeyedList):
        matches = match_by_key(items, kind)
    if matches is not None:
        return _paired_elements(merge, path, sides, items, part_renamed(matches))[0]
    settled = sides.settled()
    # What only upstream changed is paired, too: local's layout stays where they do not differ.
    if settled is not None and (settled.node is not sides.upstream or not all(items)):
        return settled
    verdict = _sequence(merge, path, sides, items)
    # What one side alone changed is as that side has it, however elements pair: no warning is needed (L1).
    if kind == ORDERED or settled is not None:
        return verdict
    # L1: a keyed list whose elements cannot be identified is a sequence.
    reason = "elements that share a key or have none, so the list is merged as a plain sequence"
    severity: Severity = "error" if verdict.severity == "error" else "warning"
    message = f"{reason}: {verdict.message}" if verdict.message else reason
    return replace(verdict, rule="L1", severity=severity, message=message)


def _items(node: Node | None) -> list[Node]:
    return [resolved(item) for item in node.items] if isinstance(node, SequenceNode) else []


# ---- functions ---------------------------------------------------------------------------------------------------


def _functions(merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]]) -> Verdict:
    matches = match_functions(items[0], items[1], items[2], smart=merge.smart)
    if isinstance(matches, NotIdentified) and (chosen := _recognise_functions(merge, path, sides)) is not None:
        merge.record(chosen, path, sides, ())
        matches = match_functions(items[0], items[1], items[2], smart=True)
    if isinstance(matches, NotIdentified):
        return _functions_as_one_value(merge, path, sides, items, matches.reason)
    for match in matches:
        if match.moved_registry:
            step = (*path, match.step)
            merge.note(step, "F4", "the same function, its image moved to another registry")
    return _elements(merge, path, sides, items, matches)


def _recognise_functions(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict | None:
    """M4: somebody chose to recognise the functions by what they are, as `functionIdentity: smart` does."""
    from krm_merge.merge.values.texts import explanation, fit_of

    for resolution in merge.policy.resolutions_at(path):
        recognises = (resolution.nature, resolution.choice) == ("functions", "recognise")
        if recognises and fit_of(merge, resolution, path, sides):
            return Verdict(sides.local, "F3", "both", "info", explanation(resolution), resolution)
    return None


def _functions_as_one_value(
    merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], reason: str
) -> Verdict:
    """F3: upstream's list if upstream changed it, else local's; both changed it: a conflict."""
    if settled := sides.settled():
        return replace(settled, rule="F3")
    verdict = merge.conflict(path, sides, "F3", f"{reason}, so the list is one value")
    # Local's list is kept, or nothing is written: no function is dropped.
    if verdict.node is sides.local or verdict.severity == "error":
        return verdict
    # What the original or upstream has just so is no loss of local's own (F3).
    merged_values = {item.canonical for side in items[:2] for item in side}
    functions = read_functions(items[2])
    dropped = [at for at, item in enumerate(items[2]) if item.canonical not in merged_values]
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
    merge: TreeMerge,
    path: FieldPath,
    sides: Sides,
    items: list[list[Node]],
    elements: list[Match],
    lost: Callable[[Match, Sides], Verdict | None] = lambda *_: None,
) -> Verdict:
    """Decides on each element, then on their order; `lost` gives the verdict on those that others replace.

    Where none is left, the list is gone (V3).
    """
    base = sides.local if sides.local is not None else sides.upstream
    if base is None:
        return Verdict(None)
    assert isinstance(base, SequenceNode)
    mark = len(merge.decisions)
    element_sides = [_sides_of(items, element) for element in elements]
    # Most elements of a long list are the same on all sides: they are settled first, for speed.
    verdicts = [
        Verdict(at_sides.local, side="local")
        if at_sides.are_same()
        else lost(element, at_sides) or _element(merge, path, element, at_sides)
        for element, at_sides in zip(elements, element_sides, strict=True)
    ]
    alive = {at for at, verdict in enumerate(verdicts) if verdict.node is not None}
    had_content = any(items) and all(side or node is None for side, node in zip(items, sides.nodes, strict=True))
    if not alive and had_content:
        # V3: what had content and has none now disappears, unless a side holds it empty itself.
        for element, at_sides, verdict in zip(elements, element_sides, verdicts, strict=True):
            merge.record(verdict, (*path, element.step), at_sides, ())
        merge.forget_since(mark)
        return Verdict(None, "V3")
    orders = [_order(elements, side) for side in ("original", "upstream", "local")]
    order = _merged_order(merge, path, elements, orders, alive)
    on_base = "local" if base is sides.local else "upstream"
    children = [_child(base, sides, elements[at], on_base) for at in order.keys]
    # Most lists keep their order: nothing has to be placed then.
    is_in_order = len(alive) == len(order.keys) and order.keys == orders[2 if base is sides.local else 1]
    placed = {} if is_in_order else arrange(base, [child for child, _ in children], merge, sides)
    for at, verdict in enumerate(verdicts):
        if at not in alive:
            position = getattr(elements[at], on_base)
            edits: tuple[Edit, ...] = (Remove(base, base.items[position]),) if position is not None else ()
            merge.record(verdict, (*path, elements[at].step), element_sides[at], edits)
    for at, (child, is_own) in zip(order.keys, children, strict=True):
        verdict = verdicts[at]
        edits = placed.get(id(child), ())
        node = verdict.node
        # By node, not by value: an element that merged inside is local's node, whose edits are on record already.
        if is_own and node is not resolved(child):
            assert node is not None
            edits = (*edits, Replace(child, node))
        if edits or verdict.is_reported:
            comments = merge.discarded_comments(verdict, sides, _children(sides, elements[at]))
            merge.record(_as_move(verdict, edits), (*path, elements[at].step), element_sides[at], edits, comments)
    return Verdict(base, side="local" if base is sides.local else "upstream")


def _merged_order(
    merge: TreeMerge, path: FieldPath, elements: list[Match], orders: list[list[int]], alive: set[int]
) -> Order[int]:
    """L4; where both sides reordered in different ways, that is on record."""
    order = merge_order(orders[0], orders[1], orders[2], alive)
    if not order.upstream_reordered or not order.local_reordered:
        return order
    shared = set(orders[1]) & set(orders[2])
    theirs, ours = ([at for at in order if at in shared] for order in orders[1:])
    # The labels and the second order below are for choices and records, which a merge that verifies does not keep.
    if not merge.policy.resolutions.all and (merge.verifies or theirs == ours):
        return order
    by_local = merge_order(orders[0], orders[1], orders[2], alive, reorder=False)
    # What is ordered is known by its keys.
    labels = [from_value(_label(element)) for element in elements]
    # What one side alone has is on both in the result, and the choice has to be known there again (law D).
    on_all = shared & set(orders[0])

    def as_labels(numbers: list[int]) -> Node:
        return SequenceNode.new(True, [labels[at] for at in numbers if at in on_all])

    sides = Sides(*map(as_labels, orders))
    merged = {"upstream": order, "local": by_local}

    def chosen(resolution: Resolution) -> tuple[Node | None] | None:
        if resolution.choice not in merged:
            return None
        return (as_labels(merged[resolution.choice].keys),)

    if (verdict := merge.chosen_by(("order",), path, sides, chosen)) is not None:
        assert verdict.resolution is not None
        merge.record(verdict, path, sides, ())
        return merged[verdict.resolution.choice]
    if theirs != ours:
        what = "upstream and local both reordered; upstream's order is kept"
        merge.record(Verdict(as_labels(order.keys), "L4", "both", "info", what), path, sides, ())
    return order


def _label(element: Match) -> str:
    return format_path((element.step,)) if not isinstance(element.step, str) else element.step


def _element(merge: TreeMerge, path: FieldPath, element: Match, sides: Sides) -> Verdict:
    step = (*path, element.step)
    if (chosen := merge.chosen_side(("element",), step, sides)) is not None:
        return chosen
    if element.is_whole and len(sides.present) == 3:
        return merge.whole(step, sides)
    if element.shares:
        return merge.whole(step, sides, f"two elements with one {element.shares}")
    if element.is_addition:
        return _added_twice(merge, step, sides)
    holder, object_ = merge.schema, sides.local or sides.upstream
    upstream, local = sides.upstream, sides.local
    are_functions = holder.at(path).list_kind == FUNCTIONS
    if are_functions and sides.original is None and upstream is not None and local is not None:
        if differ_in_version_only(upstream, local):
            return merge.value(step, sides)
        # F7: two functions are never fused.
        if (chosen := merge.chosen_side(("added-twice",), step, sides)) is not None:
            return chosen
        return merge.conflict(step, sides, "F7", "two functions of one name or image")
    if not isinstance(holder, ObjectListSchema) or not isinstance(object_, MappingNode) or path != ("items",):
        return _existence(merge, step, sides)
    # Each item of a `List` merges by the schema of its own kind (L1).
    merge.schema = holder.of_item(step, object_)
    verdict = _existence(merge, step, sides)
    merge.schema = holder
    return verdict


def _added_twice(merge: TreeMerge, step: FieldPath, sides: Sides) -> Verdict:
    """L3: both sides added nearly the same; what they do not agree on is a conflict, in fields or as a whole."""
    mark = len(merge.decisions)
    verdict = _existence(merge, step, sides)
    decided = [
        verdict.severity != "info",
        verdict.resolution,
        *(d.is_conflict or d.resolution for d in merge.decisions[mark:]),
    ]
    if same(sides.upstream, sides.local) or any(decided):
        return verdict
    # Their fields went together without a conflict: two additions would become one that nobody wrote.
    del merge.decisions[mark:]
    return merge.whole(step, sides)


def _existence(merge: TreeMerge, path: FieldPath, sides: Sides) -> Verdict:
    """F5: the local decision about existence is kept; values merge where both have the element."""
    original, upstream, local = sides.original, sides.upstream, sides.local
    if original is None:
        # Whatever is inside was added by both, too.
        around, merge.is_addition = merge.is_addition, True
        verdict = merge.value(path, sides)
        merge.is_addition = around
        return verdict
    if upstream is not None and local is not None:
        return merge.value(path, sides)
    return Verdict(None, side="both") if upstream is None and local is None else merge.existence(path, sides)


def _sides_of(items: list[list[Node]], element: Match) -> Sides:
    original, upstream, local = items
    return Sides(
        None if element.original is None else original[element.original],
        None if element.upstream is None else upstream[element.upstream],
        None if element.local is None else local[element.local],
    )


def _order(elements: list[Match], side: str) -> list[int]:
    """The elements that a side has, by their number, in the side's order."""
    placed = [(getattr(element, side), number) for number, element in enumerate(elements)]
    return [number for position, number in sorted((p, n) for p, n in placed if p is not None)]


def _child(base: SequenceNode, sides: Sides, element: Match, on_base: str) -> tuple[Node, bool]:
    """The element's item in the base list, or upstream's; whether it is the base's own."""
    position = getattr(element, on_base)
    if position is not None:
        return base.items[position], True
    assert isinstance(sides.upstream, SequenceNode)
    assert element.upstream is not None
    return sides.upstream.items[element.upstream], False


def _children(sides: Sides, element: Match) -> tuple[Node | None, Node | None, Node | None]:
    """An element on the three sides, as each list has it."""
    original, upstream, local = (
        node.items[at] if isinstance(node, SequenceNode) and at is not None else None
        for node, at in zip(sides.nodes, element.places, strict=True)
    )
    return original, upstream, local


def _as_move(verdict: Verdict, edits: tuple[Edit, ...]) -> Verdict:
    is_move = not verdict.is_reported and len(edits) == 1 and isinstance(edits[0], Move)
    return replace(verdict, rule="L4", side="upstream") if is_move else verdict


def arrange(base: SequenceNode, order: list[Node], merge: TreeMerge, sides: Sides) -> dict[int, tuple[Edit, ...]]:
    """The edits that put the wanted items into this order, by the id of the item; without removals."""
    # By id: equal elements may be in a list several times.
    position = {id(item): at for at, item in enumerate(base.items)}
    # As few elements as possible move: each that moves is written in another place.
    steady = longest_rising([position[id(item)] for item in order if id(item) in position])
    edits: dict[int, tuple[Edit, ...]] = {}
    previous: Node | None = None
    for item in order:
        at = position.get(id(item))
        if at is None:
            comments = merge.comments.of(sides.upstream, item) if sides.upstream is not None else NO_COMMENTS
            # L5: with its order of fields, comments and style.
            edits[id(item)] = (Insert(base, item, previous, comments),)
        elif at not in steady:
            edits[id(item)] = (Move(base, item, previous),)
        previous = item
    return edits


# ---- sequences ---------------------------------------------------------------------------------------------------


def _sequence(merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]]) -> Verdict:
    """L3: upstream changed a list without identities, perhaps local did, too."""
    local, upstream = sides.local, sides.upstream
    if upstream is None or local is None:
        # Who removed the list removed what the other side removed of it, too.
        is_removed = _adds_nothing(items[1] or items[2], items[0])
        return Verdict(None, "V3", "both") if is_removed else merge.conflict(path, sides, "V4")
    if merge.is_addition and sides.original is None:
        # Of one thing that both added, what they agree on is kept, and the rest is asked.
        if len(items[1]) == len(items[2]) and all(map(have_same_fields, items[1], items[2])):
            return _elements(merge, path, sides, items, [Match(None, at, at, at) for at in range(len(items[1]))])
        return sides.settled() or _list_conflict(merge, path, sides, items, "filled by both from nothing")
    if sum(isinstance(step, int) for step in path) >= MOST_NESTED:
        why = f"a list without keys inside {MOST_NESTED} others"
        return sides.settled() or _list_conflict(merge, path, sides, items, why)
    assert isinstance(local, SequenceNode)
    mark = len(merge.decisions)
    matches = part_renamed(match_sequence(items))
    verdict = _paired_sequence(merge, path, sides, items, matches)
    edits = merge.decisions[mark:]
    if same(local, sides.original):
        if verdict.node is local and edited_list(local, edits).canonical() == upstream.canonical:
            return verdict
        # What only upstream changed is as upstream has it, whatever was paired.
        del merge.decisions[mark:]
        return Verdict(upstream)
    if _loses_equal(items, matches):
        del merge.decisions[mark:]
        return _list_conflict(merge, path, sides, items, _INDISTINCT)

    def pair_equal() -> Verdict:
        return _paired_sequence(merge, path, sides, items, part_renamed(match_sequence(items, equal_only=True)))

    return _stabilize(merge, path, sides, items, verdict, mark, pair_equal)


def _set(merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], matches: list[Match]) -> Verdict:
    """L2: a list of different values without an order."""

    def pair_equal() -> Verdict:
        again = part_renamed(match_set(items, equal_only=True) or [])
        return _paired_elements(merge, path, sides, items, again)[0]

    mark = len(merge.decisions)
    verdict = _paired_elements(merge, path, sides, items, part_renamed(matches))[0]
    return _stabilize(merge, path, sides, items, verdict, mark, pair_equal)


def _stabilize(
    merge: TreeMerge,
    path: FieldPath,
    sides: Sides,
    items: list[list[Node]],
    verdict: Verdict,
    mark: int,
    pair_equal: Callable[[], Verdict],
) -> Verdict:
    """The verdict with the decisions since `mark`, or one of another pairing that a second merge keeps (law D)."""
    if merge.verifies or _is_stable(merge, path, sides, verdict, merge.decisions[mark:]):
        return verdict
    has_conflicts = any(decision.is_conflict for decision in merge.decisions[mark:])
    # Likeness may pair otherwise with a result than with local. Equal elements are the same whatever is around.
    del merge.decisions[mark:]
    verdict = pair_equal()
    decisions = merge.decisions[mark:]
    # What was changed and removed would be removed by both: this settles no conflict.
    keeps_conflicts = not has_conflicts or any(decision.is_conflict for decision in decisions)
    if keeps_conflicts and _is_stable(merge, path, sides, verdict, decisions):
        return verdict
    del merge.decisions[mark:]
    if sides.local is None:
        return merge.conflict(path, sides, "V4")
    return _list_conflict(merge, path, sides, items, _INDISTINCT)


def _list_conflict(merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], why: str) -> Verdict:
    """L3: a conflict of the list as a whole; it names what the sides differ in, and how to tell elements apart."""
    before, theirs, ours = ({item.canonical for item in nodes} for nodes in items)
    differences = []
    for what, values in (("new", (theirs | ours) - before), ("removed by one side", before & (theirs ^ ours))):
        elements = []
        for side, nodes in zip(("upstream", "local"), items[1:], strict=True):
            places = [f"[{at}]" for at, node in enumerate(nodes) if node.canonical in values]
            more = [f"{len(places) - MOST_NAMED} more"] if len(places) > MOST_NAMED else []
            elements += [f"{side}'s {', '.join(places[:MOST_NAMED] + more)}"] if places else []
        differences += [f"{what}: {'; '.join(elements)}"] if elements else []
    verdict = merge.conflict(path, sides, "L3", why + (f" ({'; '.join(differences)})" if differences else ""))
    # Of a file that holds no resource, nothing says what identifies an element.
    if merge.file or not all(isinstance(node, MappingNode) for nodes in items for node in nodes):
        return verdict
    return replace(verdict, message=f"{verdict.message}; their key can be named under listKeys")


def _loses_equal(items: list[list[Node]], matches: list[Match]) -> bool:
    """Whether each side removed other ones of several equal elements, so that none is left."""
    counts = Counter(item.canonical for item in items[0])
    equal = {value for value, count in counts.items() if count > 1}
    if not equal:
        return False
    left = {
        items[0][match.original].canonical
        for match in matches
        if match.original is not None and match.upstream is not None and match.local is not None
    }
    on_both = {item.canonical for item in items[1]} & {item.canonical for item in items[2]}
    return not on_both.isdisjoint(equal - left)


def _adds_nothing(side: list[Node], before: list[Node]) -> bool:
    left, count_before = (Counter(item.canonical for item in nodes) for nodes in (side, before))
    return left <= count_before


def _paired_sequence(
    merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], matches: list[Match]
) -> Verdict:
    if all(items) and is_narrowed_replacement(matches):
        return _list_conflict(merge, path, sides, items, "both replaced all elements")
    verdict, losers = _paired_elements(merge, path, sides, items, matches)
    kept = [match for match in matches if match not in losers] if losers else matches
    if not same(sides.local, sides.original) and added_at_one_place(kept):
        what = "upstream and local added elements at the same place; local's come before upstream's"
        merge.note(path, "L3", what, sides=sides)
    return verdict


def _paired_elements(
    merge: TreeMerge, path: FieldPath, sides: Sides, items: list[list[Node]], matches: list[Match]
) -> tuple[Verdict, set[Match]]:
    """Decides on each element; the second are those that the other side's take the place of."""
    winner: Side = "local" if merge.policy.conflict(path) == "local" else "upstream"
    loser: Side = "upstream" if winner == "local" else "local"
    losers = dict.fromkeys(replaced_by_both(matches, loser), "upstream and local put others in the same place")
    losers |= _under_two_names(items, matches, loser)

    def lost(match: Match, element_sides: Sides) -> Verdict | None:
        return _losing_element(merge, (*path, match.step), element_sides, winner, losers.get(match, ""))

    return _elements(merge, path, sides, items, matches, lost), {*losers}


def _under_two_names(items: list[list[Node]], matches: list[Match], loser: Side) -> dict[Match, str]:
    """R1: the loser's elements that the other side added under another name, and what both did."""
    of_sides = [_added_alone(items, matches, *places) for places in ((1, 2), (2, 1))]
    pairs = added_under_two_names(*({name: node for name, (_, node) in side.items()} for side in of_sides))
    at = 1 if loser == "local" else 0
    return {of_sides[at][pair[at]][0]: UNDER_TWO_NAMES.format(*map(canonical_text, pair)) for pair in pairs}


def _added_alone(
    items: list[list[Node]], matches: list[Match], side: int, other: int
) -> dict[Canonical, tuple[Match, Node]]:
    """The elements that only one of the sides added, by the field `name`."""
    alone = ((match, match.places[side]) for match in matches if match.original is None and match.places[other] is None)
    named = (
        (match, node, node.get("name")) for match, at in alone if isinstance(node := items[side][at or 0], MappingNode)
    )
    return {name.canonical: (match, node) for match, node, name in named if name is not None}


def _losing_element(merge: TreeMerge, step: FieldPath, sides: Sides, winner: Side, why: str) -> Verdict | None:
    """L3, R1: of what both sides put in one place, or added under two names, one side's is a conflict of its own."""
    is_alone = sides.original is None and (sides.upstream is None or sides.local is None)
    if is_alone and (chosen := merge.chosen_side(("sequence",), step, sides)) is not None:
        return chosen
    if not why:
        return None
    explanation = merge.policy.explanation(step, why, f"{winner}'s are kept")
    return Verdict(None, "L3", "both", merge.policy.severity(step), explanation)


def edited_list(base: SequenceNode, decisions: list[Decision]) -> Editor:
    """The list with the edits of decisions."""
    editor = Editor(base)
    apply(decisions, editor)
    return editor


def _is_stable(merge: TreeMerge, path: FieldPath, sides: Sides, verdict: Verdict, decisions: list[Decision]) -> bool:
    """L3: whether merging original and upstream with what the decisions make of local gives the same again."""
    if verdict.node is None:
        # The next merge sees a list that local removed: upstream's would come back if it has elements of its own.
        return _adds_nothing(_items(sides.upstream), _items(sides.original))
    if not any(decision.edits for decision in decisions):
        # It is local, just this was merged, or upstream's as a whole: the next merge has that on both sides.
        return True
    assert isinstance(verdict.node, SequenceNode)
    editor = edited_list(verdict.node, decisions)
    is_upstreams = sides.upstream is not None and editor.canonical() == sides.upstream.canonical
    if is_upstreams and not merge.policy.resolutions.all:
        # V2: both made the same of it.
        return True
    edited = editor.tree()
    assert isinstance(edited, SequenceNode)
    known = set(map(id, verdict.node.items if verdict.node is sides.local else ()))
    # Nodes identify elements: an element of upstream's must not be in the list and come in once more.
    items = [item if id(item) in known else copy(item) for item in edited.items]
    merged, again = SequenceNode.new(edited.flow, items), merge.verifying()
    second = again.value(path, Sides(sides.original, sides.upstream, merged))
    if second.node is not merged or any(decision.edits for decision in again.decisions):
        return False
    # A list whose keys do not tell its elements apart has a warning of its own, whatever is merged (L1).
    is_conflict = second.severity != "info" and second.rule != "L1"
    if any(decision.is_conflict for decision in decisions) or not (
        is_conflict or any(decision.is_conflict for decision in again.decisions)
    ):
        return True
    # Among equal elements, a conflict may come up in the next merge alone: lines would settle it then (law H).
    lists = (_items(sides.original), _items(sides.upstream), items)
    return all(len({item.canonical for item in nodes}) == len(nodes) for nodes in lists)
