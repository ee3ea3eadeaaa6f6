"""Which resources have to be read at all: in most updates nearly all of them are the same text on both upstream sides.

Of those, local's version is always kept (V2, F5), so none of the three needs to be read. What is left is
matched by its name (R1), so of the rest only what carries one of those names is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from krm_merge.merge.decisions.decision import UPSTREAM_IDENTIFIER, Member
from krm_merge.startup import pattern
from krm_merge.text import has_open_end

# Where kpt notes the name that a resource had upstream (R1).
# No second note inside: from each, the search would read on to the end of the line.
_NOTED_IN_COMMENT = pattern(rb"""kpt-merge:(?:(?!kpt-merge:)[^\n/])*+/([^\s"',}]+)""")
_ANNOTATION = rb"""upstream-identifier["']?[ \t]*:"""
_NOTED_IN_ANNOTATION = pattern(rb"""%b\s*+["']?(?:(?:(?!%b)[^\n|])*+\|){3}([^\s"',}]+)""" % (_ANNOTATION, _ANNOTATION))
_KIND = pattern(rb"""(^[ -]*|[{,]\s*)["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z0-9]+)""", re.MULTILINE)
_FIRST_FIELD = pattern(rb"^([ \t]+)[^\s#]", re.MULTILINE)
_FIRST_WORD = pattern(r"[^\s\"',}]+")
_DOUBTFUL = tuple(b"&*!|>{[#")
"""First characters of values that are not plain text: anchor, alias, tag, block scalar, template, comment."""
_DASH = pattern(rb"\A( *)-(?=\s)")
_INDIRECT = pattern(rb"\\|<<|[ \t]\*")
"""Escapes, merge keys and aliases, by which metadata may mean more than its words."""

DocumentKey: TypeAlias = tuple[str, bytes]


class Document:
    """A resource of one side that is read when somebody asks.

    `file` and `data`, its text with the fields at `column`, decide whether two documents are the same; `file` is empty
    where `data` itself says where it belongs. `read` gives None where the text cannot be read as a resource.
    """

    __slots__ = ("_is_read", "_member", "_names", "column", "data", "file", "read")

    def __init__(self, file: str, data: bytes, read: Callable[[], Member | None], column: int = 0) -> None:
        self.file = file
        self.data = data
        self.read = read
        self.column = column
        self._member: Member | None = None
        self._is_read = False
        self._names: frozenset[bytes] | None = None

    def member(self) -> Member | None:
        """The resource, read at the first call."""
        if not self._is_read:
            self._member, self._is_read = self.read(), True
        return self._member

    def names(self) -> frozenset[bytes]:
        """The first words of the names that the resource may have or have had, an empty one where it has no name.

        No word at all where only reading the resource shows its name.
        """
        if self._names is None:
            self._names = frozenset(self._plain_names() or self._peeked_names())
        return self._names

    def _plain_names(self) -> set[bytes]:
        """The words, seen without a parser where the metadata is in block style and all of it means what it says."""
        head = _metadata(self.column).search(self.data)
        if head is None or self.data[:1] in (b"{", b"[") or has_open_end(self.data, head.end()):
            return set()
        metadata = head.group(1)
        field = _FIRST_FIELD.search(metadata)
        # A `name` that is indented more belongs to something inside of the metadata.
        name = _name_at(len(field.group(1))).search(metadata) if field is not None else None
        if name is None or name.group(1)[0] in _DOUBTFUL or _INDIRECT.search(metadata):
            return set()
        return {name.group(1), *_NOTED_IN_COMMENT.findall(metadata), *_NOTED_IN_ANNOTATION.findall(metadata)}

    def _peeked_names(self) -> set[bytes]:
        # Imported only where it is needed: hardly any package writes metadata in another way.
        from krm_merge.text import scalars_below

        try:
            # The dash of an item is none of it.
            metadata = scalars_below(_DASH.sub(rb"\1 ", self.data).decode(), "metadata")
        except ValueError:
            return set()
        if metadata is None:
            return set()
        noted = metadata.get(("annotations", UPSTREAM_IDENTIFIER), "").rpartition("|")
        return {
            _word(metadata.get(("name",), "")),
            *((_word(noted[2]),) if noted[1] else ()),
            *_NOTED_IN_COMMENT.findall(self.data),
        }


class Narrowed(NamedTuple):
    """The members of each side that a merge has to look at."""

    original: list[Member]
    upstream: list[Member]
    local: list[Member]


def narrow(original: Sequence[Document], upstream: Sequence[Document], local: Sequence[Document]) -> Narrowed:
    """The resources whose merge can give anything but local's, each side in its order.

    Matching these gives the pairs that matching all would give: names are followed until no new one turns up.
    """
    # Counted, since a file may hold a document twice: one that only one side has twice is a change.
    left = Counter((d.file, d.data) for d in original) & Counter((d.file, d.data) for d in upstream)
    same: list[list[Document]] = []
    chosen: list[set[int]] = []
    for side in (original, upstream):
        untouched, changed = _split(side, left.copy())
        same.append(untouched)
        chosen.append(set(map(id, changed)))
    chosen.append(set())
    if chosen[0] or chosen[1]:
        pending = [d for side, ids in zip((original, upstream), chosen, strict=False) for d in side if id(d) in ids]
        indexes = [_Index(side) for side in (*same, local)]
        _follow(pending, indexes, chosen)
        # Once more: what local may have renamed has names of its own, which others may carry.
        _follow(list(_perhaps_renamed(original, local, chosen)), indexes, chosen)
    return Narrowed(*(_members(side, ids) for side, ids in zip((original, upstream, local), chosen, strict=True)))


def _split(side: Iterable[Document], left: Counter[DocumentKey]) -> tuple[list[Document], list[Document]]:
    """The documents that the other side has too, and the others."""
    untouched: list[Document] = []
    changed: list[Document] = []
    for document in side:
        key = (document.file, document.data)
        (untouched if left[key] > 0 else changed).append(document)
        left[key] -= 1
    return untouched, changed


def _follow(pending: list[Document], indexes: list[_Index], chosen: list[set[int]]) -> None:
    """Chooses what may have the name of something chosen, on all sides, until nothing is left to choose."""
    seen: set[str] = set()
    while pending:
        member = pending.pop().member()
        if member is None or member.identity.name in seen:
            continue
        seen.add(member.identity.name)
        for index, ids in zip(indexes, chosen, strict=True):
            candidates = [document for document in index.take(member.identity.name) if id(document) not in ids]
            ids.update(map(id, candidates))
            pending += candidates


def _perhaps_renamed(
    original: Sequence[Document], local: Sequence[Document], chosen: list[set[int]]
) -> Iterator[Document]:
    """Chooses what local may have renamed (R1): in files of chosen resources that local lacks, of a kind or new.

    Where files are not known, of a kind of these and new.
    """
    counts = Counter((d.file, m.identity) for d in local if id(d) in chosen[2] and (m := d.member()) is not None)
    lost: list[tuple[str, bytes]] = []
    for document in original:
        if id(document) in chosen[0] and (member := document.member()) is not None:
            if counts[document.file, member.identity] <= 0:
                lost.append((document.file, member.identity.kind.encode()))
            counts[document.file, member.identity] -= 1
    if not lost:
        return
    kinds, files = {kind for _, kind in lost}, {file for file, _ in lost}
    files_before = {document.file for document in original}
    before = (document for document in original if document.file in files)
    names_before = {named for document in before for named in _kinds_and_names(document)}
    for document in local:
        if id(document) in chosen[2] or (document.file in files_before and document.file not in files):
            continue
        named = _kinds_and_names(document)
        is_new, of_these_kinds = not named <= names_before, any(kind in kinds for kind, _ in named)
        if (is_new or document.file) if of_these_kinds else (is_new and document.file in files):
            chosen[2].add(id(document))
            yield document


def _kinds_and_names(document: Document) -> set[tuple[bytes, bytes]]:
    """Possible kinds and names of a document; a name that cannot be seen is empty."""
    # The kind of the document itself is the one that is indented least.
    kind_line = min(_KIND.findall(document.data), key=lambda match: len(match[0]), default=(b"", b""))[1]
    return {(kind_line, name) for name in document.names() or {b""}}


class _Index:
    """Finds the documents of a side by name."""

    def __init__(self, side: Iterable[Document]) -> None:
        self._by_word: dict[bytes, list[Document]] = {}
        self._unknown: list[Document] = []
        for document in side:
            names = document.names()
            for name in names:
                self._by_word.setdefault(name, []).append(document)
            if not names:
                self._unknown.append(document)

    def take(self, name: str) -> list[Document]:
        """Every document that may have this name, and perhaps others; what was taken before is left out."""
        documents = [*self._by_word.pop(_word(name), []), *self._unknown]
        # Whoever asks reads them, whatever their names: once is enough.
        self._unknown = []
        return documents


def _word(name: str) -> bytes:
    """The first word of a name; empty where a name is missing, or begins with what a plain name cannot."""
    word = _FIRST_WORD.match(name)
    return word.group().encode() if word is not None else b""


def _members(side: Iterable[Document], ids: set[int]) -> list[Member]:
    return [member for document in side if id(document) in ids and (member := document.member()) is not None]


@cache
def _metadata(column: int) -> re.Pattern[bytes]:
    """The field metadata of a mapping at a column, in block style: the rest of its line and the lines below it."""
    below = rb"(?:[ \t]{%d,}[^\n]*\n?|[ \t]*(?:#[^\n]*|\r)?\n)*" % (column + 1)
    return re.compile(rb"(?:^|\n)[ -]{%d}metadata:([^\n]*\n%s)" % (column, below))


@cache
def _name_at(column: int) -> re.Pattern[bytes]:
    """A plain field `name` of a mapping at a column; its value is on the same line."""
    return re.compile(rb"^ {%d}name:[ \t]+[\"']?([^\s\"',}]+)" % column, re.MULTILINE)
