"""Document indexes of added items, and of the items after them (rules R2, L4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from posixpath import join

from krm_merge.functions.merge_package.sides import PackageSides
from krm_merge.functions.places import FreeIndexes
from krm_merge.krm.resource import INDEX, LEGACY_INDEX
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.merge.package.narrow import Document
from krm_merge.merge.values.order import merge_order


class DocumentIndexes:
    """Assigns indexes to the items that a merge adds, and new indexes to the items after them."""

    def __init__(self, free: FreeIndexes, sides: PackageSides, outcomes: Sequence[ResourceOutcome]) -> None:
        """Reads the files that get new items; `free` are the indexes that the items of the list leave free."""
        self._free = free
        self._sides = sides
        self._placed: dict[int, int] = {}
        added: dict[str, list[ResourceOutcome]] = {}
        for outcome in outcomes:
            if outcome.fate == "added":
                added.setdefault(outcome.member.place, []).append(outcome)
        gone = {id(outcome.local) for outcome in outcomes if outcome.fate == "deleted"}
        for place, new in added.items():
            if self._free.is_known(join(sides.folder, place)):
                self._place(place, new, outcomes, gone)

    def of(self, outcome: ResourceOutcome) -> int:
        """The index of an added item."""
        known = self._placed.get(id(outcome))
        return self._free.take(join(self._sides.folder, outcome.member.place)) if known is None else known

    def _place(
        self, place: str, added: list[ResourceOutcome], outcomes: Sequence[ResourceOutcome], gone: set[int]
    ) -> None:
        sides = [_in_file(side.others, place) for side in self._sides]
        rows = {id(m): at for at, o in enumerate(outcomes) for m in (o.original, o.upstream, o.local) if m is not None}
        orders = [[(member, _key(member, rows)) for member in side] for side in sides]
        known = {key: member for member, key in orders[2] if id(member) not in gone}
        new = {_key(outcome.member, rows): outcome for outcome in added}
        survivors = set(known) | set(new)
        if any(len({key for _, key in side}) < len(side) for side in orders):
            return
        original, upstream, local = ([key for _, key in side] for side in orders)
        order = merge_order(original, upstream, local, survivors)
        index = -1
        for key in order.keys:
            if key in new:
                index += 1
                self._placed[id(new[key])] = index
            else:
                index = self._moved_behind(known[key], index)

    def _moved_behind(self, member: Member, index: int) -> int:
        """The index of a local item, increased if an added item before it has the same index."""
        if member.index > index:
            return member.index
        resource = self._sides.resource(member)
        for name in (INDEX, LEGACY_INDEX):
            if name in resource.annotations:
                resource.set(f'metadata.annotations["{name}"]', str(index + 1))
        return index + 1


def _in_file(documents: Iterable[Document], place: str) -> list[Member]:
    """The resources of a file in their order."""
    name = place.rpartition("/")[2].encode()
    members = (document.member() for document in documents if name in document.data)
    return sorted((m for m in members if m is not None and m.place == place), key=lambda member: member.index)


def _key(member: Member, rows: dict[int, int]) -> Hashable:
    """The identity of a resource on all sides."""
    if (row := rows.get(id(member))) is not None:
        return row
    return member.identity, member.generate_name
