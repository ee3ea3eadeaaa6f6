"""Three-way merge of lists (rules L1 to L4, F3, F5, F7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from krm_merge.krm import FieldPath, format_path
from krm_merge.merge.decisions.decision import (
    Decision,
    Edit,
    Insert,
    Move,
    Remove,
    Replace,
    Sides,
    Verdict,
    same,
)
from krm_merge.merge.decisions.policy import Resolution
from krm_merge.merge.decisions.report import shorten
from krm_merge.merge.lines.sequence import Order, Stretch, merge_order, stretches
from krm_merge.merge.values.context import Children, Decided, MergeContext, explanation
from krm_merge.merge.values.identity import (
    Keys,
    Match,
    have_one_option,
    identity_in,
    items_of,
    label_of,
    match_by_key,
    places_of_elements,
    share_something,
)
from krm_merge.merge.values.pipeline import NotIdentified, differ_in_version_only, match_functions, read_functions
from krm_merge.schema import FUNCTIONS, ORDERED, WHOLE
from krm_merge.startup import replace
from krm_merge.text import (
    NO_COMMENTS,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    from_value,
    longest_rising,
    resolved,
)

MOST_NAMED = 5
"""Elements of a side that the message of a conflict names."""


def merge_list(context: MergeContext, decide: Decided, path: FieldPath, sides: Sides) -> Verdict:
    """Decides on a list; all sides that are there are lists. `decide` decides on an element."""
    kind = context.schema.at(path).list_kind
    items = [items_of(node) for node in sides.nodes]
    # Empty lists have no elements: whether the list is there is all that can differ.
    if kind == WHOLE or not any(items):
        return sides.settled() or context.conflict(path, sides, "V4")
    if kind == FUNCTIONS:
        return _functions(context, decide, path, sides, items)
    if sides.original is not None and None in (sides.upstream, sides.local):
        return context.existence(path, sides)
    identity = identity_in(kind, path, items)
    keys = None if identity is None else identity.keys(items)
    if identity is not None and identity.by_value and kind == ORDERED and sides.original is None:
        return _whole(context, path, sides, "both added the list")
    if identity is not None and keys is not None:
        matches = match_by_key(keys, lambda side, at: identity.step(items[side][at], at))
        return _elements(context, decide, path, sides, items, matches, _contested_places(keys, items))
    if (settled := sides.settled()) is not None and settled.node is sides.local:
        return settled
    verdict = _sequence(context, decide, path, sides, items)
    if settled is not None or kind == ORDERED:
        return verdict
    # L1: a keyed list whose elements cannot be identified is a sequence.
    reason = "elements that share a key or have none, so the list is merged as a plain sequence"
    message = f"{reason}: {verdict.message}" if verdict.message else reason
    return replace(verdict, rule="L1", severity=max(verdict.severity, "warning", key=_GRAVITY.index), message=message)


_GRAVITY = ("info", "warning", "error")


# ---- functions ---------------------------------------------------------------------------------------------------


def _functions(
    context: MergeContext, decide: Decided, path: FieldPath, sides: Sides, items: list[list[Node]]
) -> Verdict:
    decisions: list[Decision] = []
    matches = match_functions(items[0], items[1], items[2], smart=context.smart)
    if isinstance(matches, NotIdentified) and (choice := context.choices.recognises(path, sides)) is not None:
        # M2: somebody chose to recognise them by what they are.
        chosen = Verdict(sides.local, "F3", "both", "info", explanation(choice), choice)
        decisions += context.decided(chosen, path, sides)
        matches = match_functions(items[0], items[1], items[2], smart=True)
    if isinstance(matches, NotIdentified):
        return _functions_as_one_value(context, path, sides, items, matches.reason)
    for match in matches:
        if match.moved_registry:
            moved = Verdict(None, "F4", "both", "info", "the same function, its image moved to another registry")
            decisions += context.decided(moved, (*path, match.step), _NO_SIDES)
    contested = _contested_places(_keys_of(matches), items)
    verdict = _elements(context, _of_functions(context, decide), path, sides, items, matches, contested)
    return replace(verdict, decisions=[*decisions, *verdict.decisions])


def _keys_of(matches: Sequence[Match]) -> Keys:
    """For each element of each side the number of its match."""
    places = [(match.original, match.upstream, match.local) for match in matches]
    sides = [
        sorted((at[side], number) for number, at in enumerate(places) if at[side] is not None) for side in range(3)
    ]
    return [[number for _, number in of_side] for of_side in sides]


_NO_SIDES = Sides(None, None, None)


def _of_functions(context: MergeContext, decide: Decided) -> Decided:
    def decide_on_function(path: FieldPath, sides: Sides) -> Verdict:
        upstream, local = sides.upstream, sides.local
        if sides.original is not None or upstream is None or local is None:
            return decide(path, sides)
        if same(upstream, local) or differ_in_version_only(upstream, local):
            return decide(path, sides)
        # F7: two functions are never fused.
        chosen = context.choices.of_side(("added-twice",), path, sides)
        return chosen or context.conflict(path, sides, "F7", "two functions of one name or image")

    return decide_on_function


def _functions_as_one_value(
    context: MergeContext, path: FieldPath, sides: Sides, items: list[list[Node]], reason: str
) -> Verdict:
    """F3: upstream's list if upstream changed it, else local's; both changed it: a conflict."""
    if settled := sides.settled():
        return replace(settled, rule="F3")
    if (chosen := context.choices.of_value(path, sides)) is not None:
        return chosen
    verdict = context.conflict(path, sides, "F3", f"{reason}, so the list is one value")
    # Local's list is kept, or nothing is written: no function is dropped.
    if verdict.node is sides.local or verdict.severity == "error":
        return verdict
    # What the original or upstream has just so is no loss of local's own (F3).
    merged_values = {item.canonical for side in items[:2] for item in side}
    functions = read_functions(items[2])
    dropped = [at for at, item in enumerate(items[2]) if item.canonical not in merged_values]
    decisions: list[Decision] = []
    for at in dropped:
        loss = Verdict(None, "F3", "local", "warning", f"the local function {functions[at].label} is dropped")
        decisions += context.decided(loss, (*path, at), Sides(None, None, items[2][at]))
    names = ", ".join(functions[at].label for at in dropped)
    remedy = "; name every function on all sides, or set functionIdentity: smart, to keep them"
    message = verdict.message + (f"; dropped from local: {names}{remedy}" if names else "")
    return replace(verdict, message=message, decisions=decisions)


# ---- lists whose elements have an identity -----------------------------------------------------------------------


class _Place(NamedTuple):
    """A place of a list in which both sides put something else: the elements of the original and of each side."""

    original: Sequence[Node]
    upstream: Sequence[Node]
    local: Sequence[Node]

    @property
    def sides(self) -> Sides:
        """The three stretches as lists; None where the original has nothing there."""
        return Sides(_as_list(self.original) if self.original else None, _as_list(self.upstream), _as_list(self.local))


def _as_list(nodes: Sequence[Node]) -> SequenceNode:
    return SequenceNode.new(True, [*nodes])


def _contested_places(keys: Keys, items: list[list[Node]]) -> list[_Place]:
    """L2: the places in which both exchanged an element for others, or added one option with other values."""
    places = []
    for part in stretches(*keys):
        if part.changed_by != "both":
            continue
        spans = (part.original, part.upstream, part.local)
        before, theirs, ours = ({*side[slice(*span)]} for side, span in zip(keys, spans, strict=True))
        anywhere = {*keys[1]}, {*keys[2]}
        gone = before - anywhere[0] - anywhere[1]
        added = theirs - before - {*keys[0]}, ours - before - {*keys[0]}
        # After a merge local has what upstream put there; what local removed for nothing is its decision (F5).
        is_settled = added[0] <= added[1] or (added[1] and added[1] <= added[0])
        place = _Place(*(side[slice(*span)] for side, span in zip(items, spans, strict=True)))
        if not is_settled and (gone or have_one_option(place.upstream, place.local)):
            places.append(place)
    return places


def _elements(
    context: MergeContext,
    decide: Decided,
    path: FieldPath,
    sides: Sides,
    items: list[list[Node]],
    elements: list[Match],
    contested: Sequence[_Place] = (),
) -> Verdict:
    """Decides on each element, then on their order; of `contested` places one side's elements are taken."""
    base = sides.local if sides.local is not None else sides.upstream
    if base is None:
        return Verdict(None)
    assert isinstance(base, SequenceNode)
    lost: set[int] = set()
    taken: set[int] = set()
    decisions: list[Decision] = []
    for place in contested:
        # M2: one side's elements are taken, as nobody knows the place of others.
        chosen_side = context.choices.of_side(("element",), path, place.sides)
        verdict = chosen_side or _contest(context, path, place.sides, "L2")
        decisions += context.decided(verdict, path, place.sides)
        chosen = {item.canonical for item in items_of(verdict.node)}
        taken |= {id(node) for node in items_of(verdict.node)}
        lost |= {id(node) for node in (*place.upstream, *place.local) if node.canonical not in chosen}
    element_sides = [_sides_of(items, element) for element in elements]
    # Most elements of a long list are the same on all sides: they are settled first, for speed.
    verdicts = [
        Verdict(at_sides.local, side="local")
        if at_sides.are_same()
        else Verdict(None, "L3", "both")
        if lost and at_sides.original is None and {id(node) for node in at_sides.present} <= lost
        else Verdict(node, "L2", "both")
        if at_sides.original is not None and (node := _taken_alone(at_sides, taken)) is not None
        else _element(context, decide, (*path, element.step), at_sides)
        for element, at_sides in zip(elements, element_sides, strict=True)
    ]
    alive = {at for at, verdict in enumerate(verdicts) if verdict.node is not None}
    if not alive and None in (sides.upstream, sides.local):
        # Nothing is left of the functions that one side removed; what was in question stays on record.
        removed = zip(verdicts, elements, element_sides, strict=True)
        questions = [d for v, e, s in removed for d in context.decided(v, (*path, e.step), s) if d.is_question]
        return Verdict(None, "V3", decisions=[*decisions, *(replace(d, edits=()) for d in questions)])
    if not alive and items[1] and items[2]:
        # N: two narrowings that leave nothing are a conflict.
        return context.choices.of_value(path, sides) or context.conflict(
            path, sides, "L3", "each side removed what the other kept"
        )
    orders = [_order(elements, side) for side in ("original", "upstream", "local")]
    order, of_order = _merged_order(context, path, elements, orders, alive)
    decisions += of_order
    on_base = "local" if base is sides.local else "upstream"
    children = [_child(base, sides, elements[at], on_base) for at in order.keys]
    # Most lists keep their order: nothing has to be placed then.
    is_in_order = len(alive) == len(order.keys) and order.keys == orders[2 if base is sides.local else 1]
    placed = {} if is_in_order else _arrange(context, base, [child for child, _ in children], sides)
    for at, verdict in enumerate(verdicts):
        if at not in alive:
            position = getattr(elements[at], on_base)
            edits: tuple[Edit, ...] = (Remove(base, base.items[position]),) if position is not None else ()
            comments = context.discarded_comments(verdict, sides, _children(sides, elements[at]))
            decisions += context.decided(verdict, (*path, elements[at].step), element_sides[at], edits, comments)
    for at, (child, is_own) in zip(order.keys, children, strict=True):
        verdict = verdicts[at]
        edits = placed.get(id(child), ())
        node = verdict.node
        # By node, not by value: an element that merged inside is local's node, whose edits are on record already.
        if is_own and node is not resolved(child):
            assert node is not None
            edits = (*edits, Replace(child, node))
        if edits or verdict.is_reported or verdict.decisions:
            comments = context.discarded_comments(verdict, sides, _children(sides, elements[at]))
            step = (*path, elements[at].step)
            decisions += context.decided(_as_move(verdict, edits), step, element_sides[at], edits, comments)
    return Verdict(base, side="local" if base is sides.local else "upstream", decisions=decisions)


def _taken_alone(sides: Sides, taken: set[int]) -> Node | None:
    """The element of a side whose place was taken as a whole, where the other side removed it."""
    nodes = [node for node in sides.nodes[1:] if node is not None]
    return nodes[0] if len(nodes) == 1 and id(nodes[0]) in taken else None


def _element(context: MergeContext, decide: Decided, path: FieldPath, sides: Sides) -> Verdict:
    if (chosen := context.choices.of_side(("element",), path, sides)) is not None:
        return chosen
    if sides.original is not None and None in (sides.upstream, sides.local):
        return context.existence(path, sides)
    return decide(path, sides)


def _of_place(context: MergeContext, path: FieldPath, sides: Sides) -> Verdict:
    """The verdict on one place of a sequence that both changed."""
    return context.choices.of_value(path, sides) or _contest(context, path, sides, "L3")


def _contest(context: MergeContext, path: FieldPath, sides: Sides, rule: str) -> Verdict:
    """The conflict of one place of a list; the message names its elements."""
    why = "both changed one place of the list"
    if not context.secrecy.hides(path, sides.nodes):
        upstream, local = (", ".join(_names(items_of(node))) or "nothing" for node in sides.nodes[1:])
        why += f" (upstream has {upstream}; local has {local})"
    return context.conflict(path, sides, rule, why)


def _names(items: Sequence[Node]) -> list[str]:
    """How a message names elements: scalars by their value, mappings by the fields that name things."""
    names = [shorten(label_of(item)) for item in items[:MOST_NAMED]]
    return [*names, f"{len(items) - MOST_NAMED} more"] if len(items) > MOST_NAMED else names


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


def _children(sides: Sides, element: Match) -> Children:
    """An element on the three sides, as each list has it."""
    original, upstream, local = (
        node.items[at] if isinstance(node, SequenceNode) and at is not None else None
        for node, at in zip(sides.nodes, element.places, strict=True)
    )
    return original, upstream, local


def _merged_order(
    context: MergeContext, path: FieldPath, elements: list[Match], orders: list[list[int]], alive: set[int]
) -> tuple[Order[int], list[Decision]]:
    """L4; where both sides reordered in different ways, local's order is kept, and that is on record."""
    order = merge_order(orders[0], orders[1], orders[2], alive)
    if not order.is_contested and not context.policy.resolutions.all:
        return order, []
    # What is ordered is known by its keys.
    labels = [from_value(_label(element)) for element in elements]
    # What one side alone has is on both in the result, and the choice has to be known there again (law D).
    on_all = set(orders[0]) & set(orders[1]) & set(orders[2])

    def as_labels(numbers: Iterable[int]) -> Node:
        return SequenceNode.new(True, [labels[at] for at in numbers if at in on_all])

    sides = Sides(*map(as_labels, orders))
    by_side = {
        "local": merge_order(orders[0], orders[1], orders[2], alive, reorder=False),
        "upstream": merge_order(orders[0], orders[1], orders[2], alive, preferred="upstream"),
    }

    def chosen(resolution: Resolution) -> tuple[Node | None] | None:
        return (as_labels(by_side[resolution.choice].keys),) if resolution.choice in by_side else None

    if (verdict := context.choices.answer(("order",), path, sides, chosen)) is not None:
        assert verdict.resolution is not None
        return by_side[verdict.resolution.choice], context.decided(verdict, path, sides)
    if not order.is_contested:
        return order, []
    what = "upstream and local both reordered; local's order is kept"
    return order, context.decided(Verdict(as_labels(order.keys), "L4", "both", "info", what), path, sides)


def _label(element: Match) -> str:
    return format_path((element.step,)) if not isinstance(element.step, str) else element.step


def _as_move(verdict: Verdict, edits: tuple[Edit, ...]) -> Verdict:
    is_move = not verdict.is_reported and len(edits) == 1 and isinstance(edits[0], Move)
    return replace(verdict, rule="L4", side="upstream") if is_move else verdict


def _arrange(context: MergeContext, base: SequenceNode, order: list[Node], sides: Sides) -> dict[int, tuple[Edit, ...]]:
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
            comments = context.comments.of(sides.upstream, item) if sides.upstream is not None else NO_COMMENTS
            # L4: with its order of fields, comments and style.
            edits[id(item)] = (Insert(base, item, previous, comments),)
        elif at not in steady:
            edits[id(item)] = (Move(base, item, previous),)
        previous = item
    return edits


# ---- sequences ---------------------------------------------------------------------------------------------------


class _Kept(NamedTuple):
    """An element of the result: local's or upstream's item, with what was decided on it where both have it."""

    item: Node
    verdict: Verdict | None = None
    sides: Sides = _NO_SIDES
    children: Children = (None, None, None)


def _sequence(
    context: MergeContext, decide: Decided, path: FieldPath, sides: Sides, items: list[list[Node]]
) -> Verdict:
    """L3: a list without identities merges as git merges lines, with elements for lines."""
    local, upstream = sides.local, sides.upstream
    assert isinstance(local, SequenceNode)
    assert isinstance(upstream, SequenceNode)
    if sides.original is None:
        return _whole(context, path, sides, "both added the list")
    merge = _SequenceMerge(context, decide, path, items, (local, upstream))
    for part in stretches(*merge.keys):
        merge.stretch(part)
    if not same(local, sides.original) and (why := merge.flaw()):
        return _whole(context, path, sides, why)
    if not merge.result and items[1] and items[2]:
        return _whole(context, path, sides, "each side removed what the other kept")
    return Verdict(local, side="local", decisions=merge.decisions())


def _whole(context: MergeContext, path: FieldPath, sides: Sides, why: str) -> Verdict:
    """The list is one value."""
    settled = context.choices.of_value(path, sides) or sides.settled()
    return settled or context.conflict(path, sides, "L3", why)


class _SequenceMerge:
    """Puts the elements of a merged sequence together, stretch by stretch."""

    def __init__(
        self,
        context: MergeContext,
        decide: Decided,
        path: FieldPath,
        items: list[list[Node]],
        lists: tuple[SequenceNode, SequenceNode],
    ) -> None:
        self._context = context
        self._decide = decide
        self._path = path
        self._items = items
        self._local, self._upstream = lists
        self.keys = places_of_elements(items)
        self.result: list[_Kept] = []
        self._decisions: list[Decision] = []

    def stretch(self, part: Stretch) -> None:
        """Decides on the elements of one stretch."""
        spans = (part.original, part.upstream, part.local)
        before, theirs, ours = (side[slice(*span)] for side, span in zip(self._items, spans, strict=True))
        values = [[item.canonical for item in side] for side in (before, theirs, ours)]
        if values[1] in (values[0], values[2]):
            self.result += map(_Kept, self._local.items[slice(*part.local)])
        elif part.changed_by == "none" or (values[0] == values[2] and _are_exchanged(before, theirs)):
            for at in range(len(before)):
                self._pair(part.original[0] + at, part.upstream[0] + at, part.local[0] + at)
        elif values[0] == values[2]:
            self.result += map(_Kept, self._upstream.items[slice(*part.upstream)])
        else:
            self._meet(part)

    def _pair(self, original: int, upstream: int, local: int) -> None:
        sides = Sides(self._items[0][original], self._items[1][upstream], self._items[2][local])
        item = self._local.items[local]
        if sides.are_same():
            self.result.append(_Kept(item))
            return
        verdict = self._decide((*self._path, local), sides)
        self.result.append(_Kept(item, verdict, sides, (None, self._upstream.items[upstream], item)))

    def _meet(self, part: Stretch) -> None:
        """Both changed the stretch: additions of both are kept where they share nothing, all else is a conflict."""
        theirs, ours = self._items[1][slice(*part.upstream)], self._items[2][slice(*part.local)]
        before = self._items[0][slice(*part.original)]
        shared = _common(theirs, ours) + _common(theirs[::-1], ours[::-1])
        if not before and shared >= min(len(theirs), len(ours)):
            # The one addition begins and ends with all of the other.
            own, others = self._local.items[slice(*part.local)], self._upstream.items[slice(*part.upstream)]
            self.result += map(_Kept, own if len(own) >= len(others) else others)
        elif _has_all(before, theirs, ours):
            self.result += map(_Kept, self._local.items[slice(*part.local)])
        elif before or not self._items[0] or share_something(theirs, ours):
            self._conflict(part, before, theirs, ours)
        else:
            what = "upstream and local added elements at the same place; local's come before upstream's"
            self._decisions += self._context.decided(Verdict(None, "L3", "both", "info", what), self._path, _NO_SIDES)
            self.result += map(_Kept, self._local.items[slice(*part.local)])
            self.result += map(_Kept, self._upstream.items[slice(*part.upstream)])

    def _conflict(self, part: Stretch, before: Sequence[Node], theirs: Sequence[Node], ours: Sequence[Node]) -> None:
        sides = _Place(before, theirs, ours).sides
        verdict = _of_place(self._context, self._path, sides)
        self._decisions += self._context.decided(verdict, self._path, sides)
        items = self._upstream.items[slice(*part.upstream)], self._local.items[slice(*part.local)]
        chosen = items_of(verdict.node)
        if len(theirs) == len(ours) and [*map(id, chosen)] == [*map(id, theirs)]:
            # As many others: each is written in the place of one, and keeps its layout.
            for node, *pair in zip(chosen, *items, strict=True):
                self.result.append(_Kept(pair[1], Verdict(node), Sides(None, node, pair[1]), (None, pair[0], pair[1])))
            return
        by_node = {id(resolved(item)): item for side in items for item in side}
        self.result += [_Kept(by_node.get(id(node), node)) for node in chosen]

    def flaw(self) -> str:
        """Why the result is none: an element was moved and changed, or is there more or less often than it can be."""
        values = [[item.canonical for item in side] for side in self._items]
        for side, other in ((1, 2), (2, 1)):
            gone, changed = (
                set(self.keys[0]) - set(self.keys[side]),
                dict(zip(self.keys[other], values[other], strict=True)),
            )
            added = {key[1] for key in self.keys[side] if isinstance(key, tuple)}
            moved = [at for at in gone if isinstance(at, int) and values[0][at] in added]
            if any(at in changed and changed[at] != values[0][at] for at in moved):
                return "one side moved an element that the other changed"
        counts = [Counter(side) for side in values]
        now = Counter(resolved(kept.item).canonical for kept in self.result)
        if any(count > max(side[value] for side in counts) for value, count in now.items()):
            return "an element that both moved or added would appear twice"
        if any(now[value] < min(side[value] for side in counts) for value in counts[0]):
            return "equal elements cannot be told apart"
        return ""

    def decisions(self) -> list[Decision]:
        """What was decided, with the edits of local's list."""
        own = {id(item): at for at, item in enumerate(self._local.items)}
        kept = {id(element.item) for element in self.result}
        decisions = list(self._decisions)
        for at, item in enumerate(self._local.items):
            if id(item) not in kept:
                verdict, sides = Verdict(None, "L3"), Sides(None, None, resolved(item))
                decisions += self._context.decided(verdict, (*self._path, at), sides, (Remove(self._local, item),))
        previous: Node | None = None
        for number, element in enumerate(self.result):
            item = element.item
            if id(item) not in own:
                comments = self._context.comments.of(self._upstream, item)
                sides = Sides(None, resolved(item), None)
                edit = Insert(self._local, item, previous, comments)
                decisions += self._context.decided(Verdict(resolved(item), "L3"), (*self._path, number), sides, (edit,))
            elif element.verdict is not None:
                decisions += self._decisions_on(element, own[id(item)])
            previous = item
        return decisions

    def _decisions_on(self, element: _Kept, at: int) -> list[Decision]:
        verdict, lists = element.verdict, Sides(None, self._upstream, self._local)
        assert verdict is not None
        edits: tuple[Edit, ...] = ()
        if verdict.node is not resolved(element.item):
            assert verdict.node is not None
            edits = (Replace(element.item, verdict.node),)
        comments = self._context.discarded_comments(verdict, lists, element.children)
        return self._context.decided(verdict, (*self._path, at), element.sides, edits, comments)


def _are_exchanged(before: Sequence[Node], after: Sequence[Node]) -> bool:
    """Whether other scalars are in the places of as many."""
    return len(before) == len(after) and all(isinstance(item, Scalar) for item in (*before, *after))


def _has_all(before: Sequence[Node], theirs: Sequence[Node], ours: Sequence[Node]) -> bool:
    """Whether local has what upstream changed or added there, in its order, and nothing of what it removed."""
    old, new, own = ([item.canonical for item in side] for side in (before, theirs, ours))
    if len(before) == len(theirs) == len(ours) and all(map(_has_change, before, theirs, ours)):
        return True
    gone, known = {*old} - {*new}, {*old}
    rest, added = iter(own), [value for value in new if value not in known]
    return bool(added) and all(value in rest for value in added) and gone <= known - {*own}


def _has_change(before: Node | None, theirs: Node | None, ours: Node | None) -> bool:
    """Whether a value of local has all that upstream changed in it."""
    if same(before, theirs) or same(theirs, ours):
        return True
    sides = [side.fields for side in (before, theirs, ours) if isinstance(side, MappingNode)]
    return len(sides) == 3 and all(
        _has_change(*(resolved(side[key].value) if key in side else None for side in sides))
        for key in {*sides[0], *sides[1]}
    )


def _common(first: Sequence[Node], second: Sequence[Node]) -> int:
    """How many elements both begin with."""
    size = min(len(first), len(second))
    return next((at for at in range(size) if first[at].canonical != second[at].canonical), size)
