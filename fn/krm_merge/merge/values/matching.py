"""Which elements of a list are the same on the three sides by their keys (rule L1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from krm_merge.krm.fieldpath import Step
from krm_merge.krm.identity import generate_name_of, identity_of
from krm_merge.schema import KeyedList
from krm_merge.schema.model import element_key
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import MappingNode, Node
from krm_merge.text.reading.scalars import Canonical
from krm_merge.text.reading.values import key_text


@frozen
class Match:
    """One element on the three sides, by its position there; None where a side lacks it. `step` names it in paths."""

    original: int | None
    upstream: int | None
    local: int | None
    step: Step
    moved_registry: bool = False
    is_addition: bool = False
    """Whether both sides added nearly the same to a list without keys, so that it is one thing (L3)."""
    is_whole: bool = False
    """Whether one only took the place of another, so that they merge as one value and not by their fields (L3)."""

    @property
    def places(self) -> tuple[int | None, int | None, int | None]:
        """The positions in original, upstream and local."""
        return self.original, self.upstream, self.local


def match_by_key(items: Sequence[Sequence[Node]], kind: KeyedList) -> list[Match] | None:
    """Pairs elements by all key fields; None where that is not possible: a key twice, or elements without fields."""
    if not all(isinstance(item, MappingNode) for side in items for item in side):
        return None
    matches = _pair(
        [[_key(item, kind) for item in side] for side in items], lambda side, at: _step(items, kind, side, at)
    )
    if matches is None or len(kind.keys) == 1:
        return matches
    return _joined_by_name(matches, items)


def match_objects(items: Sequence[Sequence[Node]]) -> list[Match] | None:
    """Pairs the objects of a `List` by what identifies a resource, those of one identity in order (R1)."""
    keys: list[list[Canonical]] = []
    for side in items:
        count: Counter[Canonical] = Counter()
        keys.append([])
        for item in side:
            if not isinstance(item, MappingNode):
                return None
            key = (identity_of(item), generate_name_of(item))
            keys[-1].append((*key, count[key]))
            count[key] += 1
    return _pair(keys, lambda side, at: at)


def _key(item: Node, kind: KeyedList) -> Canonical:
    def value_of(name: str) -> Canonical | None:
        value = item.get(name) if isinstance(item, MappingNode) else None
        return None if value is None or value.canonical == ("null",) else value.canonical

    return element_key(kind.keys, value_of, dict(kind.defaults))


def _step(items: Sequence[Sequence[Node]], kind: KeyedList, side: int, at: int) -> Step:
    item = items[side][at]
    fields = [(name, item.get(name)) for name in kind.keys] if isinstance(item, MappingNode) else []
    return tuple((name, key_text(value)) for name, value in fields if value is not None) or at


def _pair(keys: list[list[Canonical]], step: Callable[[int, int], Step]) -> list[Match] | None:
    """Pairs by key; None where a side has a key twice."""
    places = [{key: at for at, key in enumerate(side)} for side in keys]
    if any(len(place) < len(side) for place, side in zip(places, keys, strict=True)):
        return None
    matches = []
    for key in dict.fromkeys(key for side in keys for key in side):
        original, upstream, local = (place.get(key) for place in places)
        side, at = next((s, at) for s, at in ((2, local), (1, upstream), (0, original)) if at is not None)
        matches.append(Match(original, upstream, local, step(side, at)))
    return matches


def _joined_by_name(matches: list[Match], items: Sequence[Sequence[Node]]) -> list[Match]:
    """L1: elements that match by no key but carry one name, unique in each source, are one whose key changed."""
    names = [[_name(item) for item in side] for side in items]
    unique = [{name for name, count in Counter(side).items() if name and count == 1} for side in names]
    joined: dict[str, Match] = {}
    places: dict[str, int] = {}
    result: list[Match] = []
    for match in matches:
        positions = [(side, at) for side, at in enumerate(match.places) if at is not None]
        name = names[positions[0][0]][positions[0][1]]
        earlier = joined.get(name)
        fits = name and all(names[side][at] == name and name in unique[side] for side, at in positions)
        if not fits or (earlier is not None and any(earlier.places[side] is not None for side, _ in positions)):
            result.append(match)
        elif earlier is None:
            joined[name], places[name] = match, len(result)
            result.append(match)
        else:
            held_by = [a if a is not None else b for a, b in zip(earlier.places, match.places, strict=True)]
            # Paths name the element as local has it, else as upstream has it.
            step = earlier.step if earlier.local is not None or match.local is None else match.step
            joined[name] = result[places[name]] = Match(held_by[0], held_by[1], held_by[2], step)
    return result


def _name(item: Node) -> str:
    value = item.get("name") if isinstance(item, MappingNode) else None
    return key_text(value) if value is not None else ""
