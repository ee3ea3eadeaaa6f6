"""The text of a merged document: comments and layout of three versions, merged as text (rules V8, W1, law H).

What a document means is decided before; here it is only written. Where a merge of the three texts by lines has no
conflict and means what was decided, it is the text: comments, blank lines and layout come with it from both sides.
Elsewhere local's text is edited, and upstream's changes of comments are merged by lines between three texts that all
mean what was decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from krm_merge.krm.resource import ID_ANNOTATIONS
from krm_merge.merge.decisions.member import Decide
from krm_merge.merge.lines.comments import MERGE_COMMENT, comments_in
from krm_merge.merge.lines.three_way import merge_lines_without_conflict
from krm_merge.merge.writing.comments import with_merged_comments
from krm_merge.startup import frozen, replace
from krm_merge.text.editing.align import aligned
from krm_merge.text.reading.layout import CannotEditError, Comments, source_of
from krm_merge.text.reading.nodes import Child, MappingNode, Node, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.scalars import Canonical, type_of

MAX_ROUNDS = 12
"""A text that merging again still changes after so many rounds is given up for local's own, edited."""

KeptChildren: TypeAlias = tuple[tuple[Child, Comments], ...]
"""Children of a side and the comments that they keep, where others were discarded with a value."""


@frozen
class Versions:
    """A document in three versions, original and upstream each the root of a document of its own.

    `fit` brings the text of such a document into the lines of local's: an item of a list is indented. `decide` gives
    the changes that a merge would still make in a document.
    """

    original: MappingNode
    upstream: MappingNode
    local: MappingNode
    decide: Decide
    fit: Callable[[str], str] = str
    kept_upstream: KeptChildren = ()


class Presentation:
    """The text of a merged document."""

    def __init__(self, versions: Versions, meaning: Canonical) -> None:
        """Takes the three versions, and the value of the merged document."""
        self._versions = versions
        self._wanted = meaning
        self._original = versions.fit(source_of(versions.original).text)
        self._upstream = versions.fit(source_of(versions.upstream).text)
        self._local = source_of(versions.local).text
        self._notes = notes_in(self._local)
        self._read: dict[str, MappingNode] = {}

    def merged(self, edit: Callable[[], str]) -> str:
        """The text of the merged document.

        `edit` gives local's text with the edits that were decided. Merging original and upstream with the result gives
        the result again (law D).
        """
        text = None if self._keeps_ids() else self._by_lines()
        # Of lines that are there several times, merging again may take others for those whose comments changed.
        if text is not None and ("#" not in text or self._again(text) == text):
            return text
        text = self._with_comments(edit())
        for _ in range(MAX_ROUNDS):
            again = self._again(text)
            if again == text:
                return text
            text = again
        return edit()

    def _again(self, text: str) -> str:
        """The result of merging a text again, where nothing is left to edit."""
        if text == self._local or (root := self._root(text)) is None:
            return text
        versions = replace(self._versions, local=root, kept_upstream=())
        again = Presentation(versions, self._wanted)
        # It has the same notes, so that what was read here is what it would read.
        again._read = self._read
        by_lines = again._by_lines()
        return again._with_comments(text) if by_lines is None else by_lines

    def _keeps_ids(self) -> bool:
        """Whether lines would keep what the document loses: kpt's annotations for its own use, local's alone (W3)."""
        lost = _annotations(self._versions.local.canonical) - _annotations(self._wanted)
        return any(
            name in lost and name not in self._original and name not in self._upstream for name in ID_ANNOTATIONS
        )

    def _by_lines(self) -> str | None:
        """The merge by lines, if it means what was decided, and has no comment that local has there already."""
        text = merged_by_lines(self._original, self._upstream, self._local, self._is_meant_or_as_good)
        if text is None or "#" not in text:
            return text
        before, theirs, ours, now = (
            Counter(comments_in(side)) for side in (self._original, self._upstream, self._local, text)
        )
        added_by_both = theirs.keys() & ours.keys() - before.keys()
        return None if any(now[line] > max(theirs[line], ours[line]) for line in added_by_both) else text

    def root_of(self, text: str) -> MappingNode | None:
        """The tree of a text that was looked at, None of others."""
        return self._read.get(text)

    def _is_meant(self, text: str) -> bool:
        root = self._root(text)
        return root is not None and root.canonical == self._wanted

    def _is_meant_or_as_good(self, text: str) -> bool:
        """Whether a text has the value that was decided, or only another order that merging again would not change."""
        root = self._root(text)
        if root is None or root.canonical == self._wanted:
            return root is not None
        if _without_order(root.canonical) != _without_order(self._wanted):
            return False
        return not any(decision.edits or decision.is_conflict for decision in self._versions.decide(root))

    def _root(self, text: str) -> MappingNode | None:
        """The tree of a text; None where it cannot be read, or changes local's notes of its origin (R6)."""
        if text not in self._read and notes_in(text) == self._notes and (root := _read(text)) is not None:
            self._read[text] = root
        return self._read.get(text)

    def _with_comments(self, text: str) -> str:
        """A text that means what is wanted, with the comments that upstream changed and local did not (V8)."""
        versions = self._versions
        root = self._root(text) if self._lacks_comments(text) else None
        if root is None:
            return text
        try:
            original = versions.fit(aligned(versions.original, root))
            upstream = versions.fit(aligned(versions.upstream, root, versions.kept_upstream))
        except (CannotEditError, TextError):
            return text
        result = with_merged_comments(text, original, upstream, self._local, comments_in(self._original))
        return result if self._is_meant(result) else text

    def _lacks_comments(self, text: str) -> bool:
        """Whether comments may still have to be merged in a text."""
        before, theirs, ours, merged = (
            comments_in(side) for side in (self._original, self._upstream, self._local, text)
        )
        return before != theirs or ours != merged


def _annotations(document: Canonical) -> set[Canonical]:
    """The names of the annotations of a document."""
    value = document
    for name in ("metadata", "annotations"):
        value = next((inner for key, inner in _fields(value) if key == name), ("null",))
    return {key for key, _ in _fields(value)}


def _fields(canonical: Canonical) -> frozenset[tuple[Canonical, Canonical]]:
    """The fields of a mapping, no fields for another value."""
    fields = canonical[-1] if type_of(canonical) == "map" else ()
    return fields if isinstance(fields, frozenset) else frozenset()


def _without_order(canonical: Canonical) -> Canonical:
    """A value whose lists have no order."""
    if type(canonical) is str:
        return canonical
    kind, value = canonical[0], canonical[-1]
    if kind == "seq" and isinstance(value, tuple):
        return "seq", frozenset(Counter(map(_without_order, value)).items())
    if kind == "map" and isinstance(value, frozenset):
        return "map", frozenset((key, _without_order(inner)) for key, inner in value)
    return canonical


def merged_by_lines(original: str, upstream: str, local: str, is_meant: Callable[[str], bool]) -> str | None:
    """The three texts merged by lines; None where they overlap, or where the result does not mean what is wanted.

    Merging original and upstream with the result gives the result again.
    """
    text = merge_lines_without_conflict(original, upstream, local)
    return text if text is not None and is_meant(text) else None


def notes_in(text: str) -> list[str]:
    """Kpt's notes of the origin of resources, which belong to local alone (R6)."""
    return [comment for comment in comments_in(text) if MERGE_COMMENT in comment] if MERGE_COMMENT in text else []


def _read(text: str) -> MappingNode | None:
    try:
        root: Node | None = read(text)
    except TextError:
        return None
    return root if isinstance(root, MappingNode) else None
