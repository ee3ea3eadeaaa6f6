"""Which element of a list is which (L1, L2, L3). Identity is declared by a schema or by a field, never guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Final, TypeAlias

from krm_merge.krm import FieldPath, Step, generate_name_of, identity_of
from krm_merge.merge.lines.sequence import matching_blocks
from krm_merge.merge.values.images import blind_to_versions
from krm_merge.schema import OBJECTS, ORDERED, SET, KeyedList, ListKind, element_key
from krm_merge.startup import frozen, pattern
from krm_merge.text import (
    Canonical,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    canonical_text,
    is_null,
    key_text,
    resolved,
)

NAME_FIELDS: Final = (
    "name",
    "id",
    "key",
    "host",
    "path",
    "alert",
    "record",
    "containerPort",
    "mountPath",
    "port",
    "ip",
    "topologyKey",
    "uid",
)
"""The fields that identify the elements of lists that no schema knows: the first that all of them have, each once."""

SEQUENCES: Final = ("command", "commands", "args", "cmd", "entrypoint", "script", "scripts")
"""How names of lists end whose scalars mean something by their place; so do those of which one begins with a dash."""

MOST_COMPARED: Final = 10_000
"""Pairs of added elements that are compared by their fields."""

_OPTION = pattern(r"[\w./-]+=")

Items: TypeAlias = Sequence[Sequence[Node]]
"""The elements of a list on each side."""
Keys: TypeAlias = list[list[Hashable]]
"""The identity of each element on each side, unique there."""


@frozen
class Match:
    """One element on the three sides, by its position there; None where a side lacks it. `step` names it in paths."""

    original: int | None
    upstream: int | None
    local: int | None
    step: Step
    moved_registry: bool = False

    @property
    def places(self) -> tuple[int | None, int | None, int | None]:
        """The positions in original, upstream and local."""
        return self.original, self.upstream, self.local


@frozen
class ElementIdentity:
    """How the elements of a list are known: by `fields`, by their `value`, or as objects where it has neither."""

    fields: tuple[str, ...] = ()
    defaults: tuple[tuple[str, Canonical], ...] = ()
    by_value: bool = False

    @property
    def is_of_objects(self) -> bool:
        """Whether elements are known as resources are (R1)."""
        return not self.fields and not self.by_value

    def keys(self, items: Items) -> Keys | None:
        """The identity of each element; None where that is not unique on a side, or an element has none."""
        if self.by_value:
            return _keys_of_scalars(items)
        if not all(isinstance(item, MappingNode) for side in items for item in side):
            return None
        if self.is_of_objects:
            return [_keys_of_objects(side) for side in items]
        keys: Keys = [[self._key(item) for item in side] for side in items]
        if any(len(set(side)) < len(side) for side in keys):
            return None
        return keys if self.fields == ("name",) else _joined_by_name(keys, items)

    def _key(self, item: Node) -> Hashable:
        def value_of(name: str) -> Canonical | None:
            value = item.get(name) if isinstance(item, MappingNode) else None
            return None if value is None or is_null(value) else value.canonical

        return element_key(self.fields, value_of, dict(self.defaults))

    def step(self, item: Node, at: int) -> Step:
        """The step of an element in a path."""
        if not isinstance(item, MappingNode):
            return at
        fields = [(name, item.get(name)) for name in self.fields]
        return tuple((name, key_text(value)) for name, value in fields if value is not None) or at


def items_of(node: Node | None) -> list[Node]:
    """The elements of a list; none of anything else."""
    return [resolved(item) for item in node.items] if isinstance(node, SequenceNode) else []


def identity_in(kind: ListKind, path: FieldPath, items: Items) -> ElementIdentity | None:
    """How the elements of a list are known; None where nothing declares it, so that the list is a sequence (L3)."""
    if kind == OBJECTS:
        return ElementIdentity()
    if isinstance(kind, KeyedList):
        return ElementIdentity(kind.keys, kind.defaults)
    elements = [item for side in items for item in side]
    if all(isinstance(item, Scalar) for item in elements):
        is_set = kind == SET or (kind == ORDERED and not _is_sequence(path, elements))
        return ElementIdentity(by_value=True) if is_set else None
    if kind != ORDERED or not all(isinstance(item, MappingNode) for item in elements):
        return None
    for name in NAME_FIELDS:
        if all(_are_names([item.get(name) for item in side if isinstance(item, MappingNode)]) for side in items):
            return ElementIdentity((name,))
    return None


def _is_sequence(path: FieldPath, scalars: Sequence[Node]) -> bool:
    """Whether the place of a scalar in a list means something, or each is a text of lines that merges inside."""
    name = path[-1].lower() if path and isinstance(path[-1], str) else ""
    return name.endswith(SEQUENCES) or any(key_text(item).startswith("-") or _has_lines(item) for item in scalars)


def _has_lines(item: Node) -> bool:
    """Whether a text is written on several lines."""
    if not isinstance(item, Scalar):
        return False
    written = item.text if item.source is None else item.source.text[item.start : item.end]
    return "\n" in written.rstrip()


def _are_names(values: Sequence[Node | None]) -> bool:
    """Whether these values of one field are a scalar of every element, each once."""
    names = [value.canonical for value in values if isinstance(value, Scalar) and not is_null(value)]
    return len(set(names)) == len(names) == len(values)


def _keys_of_scalars(items: Items) -> Keys | None:
    if not all(isinstance(item, Scalar) for side in items for item in side):
        return None
    exact: Keys = [[item.canonical for item in side] for side in items]
    if any(len(set(side)) < len(side) for side in exact):
        return None
    return blind_keys(items, exact)


def blind_keys(items: Items, exact: Keys) -> Keys:
    """Identities in which versions do not count (L3), where these are unique on each side; else the `exact` ones."""
    blind: Keys = [[blind_to_versions(item.canonical) for item in side] for side in items]
    return blind if all(len(set(side)) == len(side) for side in blind) else exact


def _keys_of_objects(side: Sequence[Node]) -> list[Hashable]:
    """What identifies resources; those of one identity by their order (R1)."""
    count: Counter[Hashable] = Counter()
    keys: list[Hashable] = []
    for item in side:
        assert isinstance(item, MappingNode)
        key = (identity_of(item), generate_name_of(item))
        keys.append((*key, count[key]))
        count[key] += 1
    return keys


def _joined_by_name(keys: Keys, items: Items) -> Keys:
    """L1: elements of other keys that carry one name, unique on each side, are one element whose key changed."""
    names = [[_name(item) for item in side] for side in items]
    places: dict[str, list[tuple[int, int]]] = {}
    names_by_key: dict[Hashable, set[str]] = {}
    for side, of_side in enumerate(names):
        count = Counter(of_side)
        for at, name in enumerate(of_side):
            names_by_key.setdefault(keys[side][at], set()).add(name)
            if name and count[name] == 1:
                places.setdefault(name, []).append((side, at))
    joined = [list(side) for side in keys]
    for name, of_name in places.items():
        keys_of_name = {keys[side][at] for side, at in of_name}
        if len(keys_of_name) > 1 and all(names_by_key[key] == {name} for key in keys_of_name):
            for side, at in of_name:
                joined[side][at] = ("name", name)
    return joined


def _name(item: Node) -> str:
    value = item.get("name") if isinstance(item, MappingNode) else None
    return key_text(value) if isinstance(value, Scalar) else ""


def label_of(item: Node) -> str:
    """How a message names an element that nothing identifies: by its names, else by what it holds first."""
    if isinstance(item, Scalar):
        return item.text
    if not isinstance(item, MappingNode):
        return canonical_text(item.canonical)
    fields = {key_text(entry.key): resolved(entry.value) for entry in item.entries}
    names = [name for name in NAME_FIELDS if isinstance(fields.get(name), Scalar)] or list(fields)
    return " ".join(f"{name}={canonical_text(fields[name].canonical)}" for name in names[:3]) or "an element"


def match_by_key(keys: Keys, step: Callable[[int, int], Step]) -> list[Match]:
    """Original, upstream and local of each element; `step` names it by a side and its position there."""
    places = [{key: at for at, key in enumerate(side)} for side in keys]
    matches = []
    for key in dict.fromkeys(key for side in keys for key in side):
        original, upstream, local = (place.get(key) for place in places)
        # Paths name an element as local has it, else as upstream does.
        side, at = next((s, at) for s, at in ((2, local), (1, upstream), (0, original)) if at is not None)
        matches.append(Match(original, upstream, local, step(side, at)))
    return matches


def keeps_most(before: Node, after: Node) -> bool:
    """Whether a mapping has more than half of the fields that it had as they were, texts of lines aside (L3)."""
    if not isinstance(before, MappingNode) or not isinstance(after, MappingNode):
        return _has_lines(before) and _has_lines(after)
    return 2 * _count_equal(before, after) > len(before.fields)


def _count_equal(first: MappingNode, second: MappingNode) -> int:
    fields = second.fields
    return sum(key in fields and _may_merge(e.value, fields[key].value) for key, e in first.fields.items())


def _may_merge(first: Node, second: Node) -> bool:
    """Whether two values are equal, or texts of lines, which merge."""
    return first.canonical == second.canonical or (_has_lines(first) and _has_lines(second))


def places_of_elements(items: Items) -> Keys:
    """L3: the same key for what is the same element of the original, the first of `items`, in each of the lists.

    Equal elements are, versions aside, and those that stayed in their places: between equal ones are as many on both
    sides, and each keeps more than half of its fields, or is a text of lines.
    """
    keys = blind_keys(items, [[item.canonical for item in side] for side in items])
    places: Keys = [list(range(len(items[0])))]
    for side in range(1, len(items)):
        own: list[Hashable] = [("new", key) for key in keys[side]]
        at = there = 0
        for start, other, size in [*matching_blocks(keys[0], keys[side]), (len(keys[0]), len(keys[side]), 0)]:
            for offset in _in_place(items[0][at:start], items[side][there:other]):
                own[there + offset] = at + offset
            own[other : other + size] = range(start, start + size)
            at, there = start + size, other + size
        places.append(own)
    return places


def _in_place(before: Sequence[Node], after: Sequence[Node]) -> list[int]:
    """The places in two stretches without equal elements that have the same one, changed."""
    places = {item.canonical: at for at, item in enumerate(before)}
    if len(before) != len(after) or any(places.get(item.canonical, at) != at for at, item in enumerate(after)):
        return []
    pairs = enumerate(zip(before, after, strict=True))
    return [at for at, (item, other) in pairs if keeps_most(item, other)]


def share_something(theirs: Sequence[Node], ours: Sequence[Node]) -> bool:
    """Whether additions of both sides may be one (L3): they have an element, an option, a name or half of one alike."""
    if not {item.canonical for item in theirs}.isdisjoint(item.canonical for item in ours):
        return True
    if have_one_option(theirs, ours) or not _names_in(theirs).isdisjoint(_names_in(ours)):
        return True
    mappings = [[item for item in side if isinstance(item, MappingNode)] for side in (theirs, ours)]
    # Of more nobody can say it in reasonable time: it is asked.
    return len(mappings[0]) * len(mappings[1]) > MOST_COMPARED or any(
        2 * _count_equal(first, second) >= min(len(first.fields), len(second.fields))
        for first, second in product(*mappings)
    )


def _names_in(items: Sequence[Node]) -> set[tuple[str, Canonical]]:
    names = ((name, item.get(name)) for item in items if isinstance(item, MappingNode) for name in NAME_FIELDS)
    return {(name, value.canonical) for name, value in names if value is not None}


def have_one_option(theirs: Sequence[Node], ours: Sequence[Node]) -> bool:
    """Whether a text of each side sets one name, as `--log=` does."""
    return not _options_in(theirs).isdisjoint(_options_in(ours))


def _options_in(items: Sequence[Node]) -> set[str]:
    matches = (_OPTION.match(item.text) for item in items if isinstance(item, Scalar))
    return {match.group() for match in matches if match}
