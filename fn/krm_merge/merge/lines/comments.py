"""The comments of single places (rule V8); `presentation` merges those of whole documents."""

from __future__ import annotations

from krm_merge.text.reading.layout import NO_COMMENTS, CannotEditError, Comments, chunks, comments_of
from krm_merge.text.reading.nodes import Child, Mapping, Node, Sequence

MERGE_COMMENT = "# kpt-merge:"
"""kpt's own note of where a resource came from; never merged (R6)."""

SETTER = "# kpt-set:"
"""What kpt's apply-setters reads: the pattern that a value is made by."""


def comments_in(text: str) -> list[str]:
    """What may be a comment: the rest of each line that has a number sign."""
    lines = (line.partition("#") for line in text.split("\n"))
    return [f"{mark}{comment.rstrip()}" for _, mark, comment in lines if mark]


class CommentReader:
    """Looks up the comments of children of collections; each collection is looked through once."""

    def __init__(self) -> None:
        """Nothing looked at yet."""
        self._known: dict[int, dict[int, Comments]] = {}

    def of(self, collection: Node | None, child: Child) -> Comments:
        """The comments of a child; none where the collection is in flow style or the child is inherited."""
        if not isinstance(collection, Mapping | Sequence) or collection.source is None or collection.flow:
            return NO_COMMENTS
        if "#" not in collection.source.text:
            return NO_COMMENTS
        known = self._known.get(id(collection))
        if known is None:
            known = self._known[id(collection)] = _comments(collection)
        return known.get(id(child), NO_COMMENTS)


def _comments(collection: Mapping | Sequence) -> dict[int, Comments]:
    try:
        places = chunks(collection)
    except CannotEditError:
        return {}
    return {
        id(child): comments_of(collection, child, place)
        for child, place in zip(collection.children, places, strict=True)
    }


def comments_around(collection: Node | None, child: Child | None) -> list[str]:
    """All comments of a child of a block collection, those inside it too."""
    if child is None or not isinstance(collection, Mapping | Sequence) or collection.source is None:
        return []
    if collection.flow or "#" not in collection.source.text:
        return []
    try:
        places = zip(collection.children, chunks(collection), strict=True)
        chunk = next((chunk for other, chunk in places if other is child), None)
    except CannotEditError:
        return []
    return [] if chunk is None else comments_in(collection.source.text[chunk.start : chunk.end])


def discarded_comments(before: Comments, loser: Comments, winner: Comments) -> tuple[tuple[str, ...], Comments]:
    """The comments that a side changed together with a value that lost, and what it keeps of its own (V8).

    Comments that name a setter stay: they say where the value comes from, not why it is what it is.
    """
    others = (*before.head, before.line, *winner.head, winner.line)
    lost = tuple(
        text for text in (*loser.head, loser.line) if text and text not in others and not text.startswith(SETTER)
    )
    line = winner.line if loser.line in lost else loser.line
    return lost, Comments(tuple(text for text in loser.head if text not in lost), line)
