"""Which resources have to be read at all: in most updates nearly all of them are the same text on both upstream sides.

Of those local's version stands, whatever it is (V2, F5), so nobody needs to look at any of the three. What is left is
matched by its name (R1), so of the rest only what carries one of those names is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, TypeAlias

from krm_merge.merge.member import Member

# Where kpt notes the name that a resource had upstream (R1).
_NOTED = re.compile(
    rb"""kpt-merge:[^\n/]*/([^\s"',}]+)"""
    rb"""|upstream-identifier["']?[ \t]*:\s*["']?(?:[^\n|]*\|){3}([^\s"',}]+)"""
)
_FIRST_FIELD = re.compile(rb"^([ \t]+)[^\s#]", re.MULTILINE)
_FIRST_WORD = re.compile(r"[^\s\"',}]+")
_DOUBTFUL = tuple(b"&*!|>{[#")
"""What a value begins with that does not stand for itself: anchor, alias, tag, block scalar, template, comment."""

Key: TypeAlias = tuple[str, bytes]


@dataclass(slots=True, eq=False)
class Document:
    """A resource of one side that is read when somebody asks.

    `package` and `data`, its text with the fields at `column`, tell whether two documents are the same. `read` gives
    None where the text cannot be read as a resource.
    """

    package: str
    data: bytes
    read: Callable[[], Member | None]
    column: int = 0
    _member: Member | None = field(default=None, init=False)
    _is_read: bool = field(default=False, init=False)

    def member(self) -> Member | None:
        """The resource, read at the first call."""
        if not self._is_read:
            self._member, self._is_read = self.read(), True
        return self._member

    def names(self) -> set[bytes]:
        """The first words of the names that the resource may have or have had; empty where that is not plain to see."""
        head = _metadata(self.column).search(self.data)
        if head is None or b"\\" in self.data:
            return set()
        metadata = head.group(1)
        field = _FIRST_FIELD.search(metadata)
        name = _name_at(len(field.group(1))).search(metadata) if field is not None else None
        if name is None or name.group(1)[0] in _DOUBTFUL or b"? " in metadata:
            return set()
        return {name.group(1), *(comment or identifier for comment, identifier in _NOTED.findall(metadata))}


class Narrowed(NamedTuple):
    """The members of each side that a merge has to look at."""

    original: list[Member]
    upstream: list[Member]
    local: list[Member]


def narrow(original: Sequence[Document], upstream: Sequence[Document], local: Sequence[Document]) -> Narrowed:
    """The resources whose merge can give anything but local's, each side in its order.

    Matching these gives the pairs that matching all would give: names are followed until no new one turns up.
    """
    left = Counter((d.package, d.data) for d in original) & Counter((d.package, d.data) for d in upstream)
    same: list[list[Document]] = []
    chosen: list[set[int]] = []
    for side in (original, upstream):
        untouched, changed = _split(side, left.copy())
        same.append(untouched)
        chosen.append(set(map(id, changed)))
    chosen.append(set())
    if chosen[0] or chosen[1]:
        pending = [d for side, ids in zip((original, upstream), chosen, strict=False) for d in side if id(d) in ids]
        _follow(pending, [_Index(side) for side in (*same, local)], chosen)
    return Narrowed(*(_members(side, ids) for side, ids in zip((original, upstream, local), chosen, strict=True)))


def _split(side: Iterable[Document], left: Counter[Key]) -> tuple[list[Document], list[Document]]:
    """What also stands on the other side, and what does not."""
    untouched: list[Document] = []
    changed: list[Document] = []
    for document in side:
        key = (document.package, document.data)
        (untouched if left[key] > 0 else changed).append(document)
        left[key] -= 1
    return untouched, changed


def _follow(pending: list[Document], indexes: list[_Index], chosen: list[set[int]]) -> None:
    """Chooses what may have the name of something chosen, on all sides, until nothing is left to choose."""
    seen: set[str] = set()
    while pending:
        member = pending.pop().member()
        if member is None or member.subject.name in seen:
            continue
        seen.add(member.subject.name)
        for index, ids in zip(indexes, chosen, strict=True):
            found = [document for document in index.find(member.subject.name) if id(document) not in ids]
            ids.update(map(id, found))
            pending += found


class _Index:
    """Finds the documents of a side by name."""

    def __init__(self, side: Iterable[Document]) -> None:
        self._by_name: dict[bytes, list[Document]] = {}
        self._unknown: list[Document] = []
        for document in side:
            names = document.names()
            for name in names:
                self._by_name.setdefault(name, []).append(document)
            if not names:
                self._unknown.append(document)

    def find(self, name: str) -> list[Document]:
        """Every document that may have this name, and perhaps others."""
        word = _FIRST_WORD.match(name)
        return [*self._by_name.get(word.group().encode(), []), *self._unknown] if word else self._unknown


def _members(side: Iterable[Document], ids: set[int]) -> list[Member]:
    return [member for document in side if id(document) in ids and (member := document.member()) is not None]


@cache
def _metadata(column: int) -> re.Pattern[bytes]:
    """The field metadata of a mapping at a column, in block style: the rest of its line and the lines below it."""
    below = rb"(?:[ \t]{%d,}[^\n]*\n?|[ \t]*(?:#[^\n]*|\r)?\n)*" % (column + 1)
    return re.compile(rb"(?:^|\n)[ -]{%d}metadata:([^\n]*\n%s)" % (column, below))


@cache
def _name_at(column: int) -> re.Pattern[bytes]:
    """A plain field `name` of a mapping at a column; its value stands on its line."""
    return re.compile(rb"^ {%d}name:[ \t]+[\"']?([^\s\"',}]+)" % column, re.MULTILINE)
