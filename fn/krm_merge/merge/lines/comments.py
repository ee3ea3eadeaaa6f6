"""The comments of single places (rule V8); `presentation` merges those of whole documents."""

from __future__ import annotations

from krm_merge.text.reading.layout import NO_COMMENTS, CannotEditError, Chunk, Comments, chunks, comments_of
from krm_merge.text.reading.nodes import Child, MappingNode, Node, SequenceNode

MERGE_COMMENT = "# kpt-merge:"
"""kpt's own note of a resource's origin; never merged (R6)."""

SETTER = "# kpt-set:"
"""The comment that kpt's apply-setters reads: the pattern of a value."""


def comments_in(text: str) -> list[str]:
    """Possible comments: the rest of each line that has a number sign."""
    lines = (line.partition("#") for line in text.split("\n"))
    return [f"{mark}{comment.rstrip()}" for _, mark, comment in lines if mark]


class CommentReader:
    """Looks up the comments of children of collections; the places in each collection are looked up once."""

    def __init__(self) -> None:
        """Nothing looked at yet."""
        self._places: dict[int, dict[int, Chunk]] = {}

    def of(self, collection: Node | None, child: Child) -> Comments:
        """The comments of a child; none where the collection is in flow style or the child is inherited."""
        place = self._place(collection, child)
        if place is None or not isinstance(collection, MappingNode | SequenceNode):
            return NO_COMMENTS
        return comments_of(collection, child, place)

    def around(self, collection: Node | None, child: Child | None) -> list[str]:
        """All comments of a child of a block collection, those inside it too."""
        place = self._place(collection, child)
        if place is None or collection is None or collection.source is None:
            return []
        return comments_in(collection.source.text[place.start : place.end])

    def _place(self, collection: Node | None, child: Child | None) -> Chunk | None:
        """The lines of a child in a text with comments, None where it has no lines of its own."""
        if child is None or not isinstance(collection, MappingNode | SequenceNode) or collection.source is None:
            return None
        if collection.flow or not collection.source.has_number_signs:
            return None
        places = self._places.get(id(collection))
        if places is None:
            places = self._places[id(collection)] = _places(collection)
        return places.get(id(child))


def _places(collection: MappingNode | SequenceNode) -> dict[int, Chunk]:
    try:
        return dict(zip(map(id, collection.children), chunks(collection), strict=True))
    except CannotEditError:
        return {}


def discarded_comments(before: Comments, loser: Comments, winner: Comments) -> tuple[tuple[str, ...], Comments]:
    """The comments that a side changed together with a value that lost, and what it keeps of its own (V8).

    Comments that name a setter stay: they say where the value comes from, not why it is what it is.
    """
    others = {*before.head, before.line, *winner.head, winner.line}
    lost = tuple(
        text for text in (*loser.head, loser.line) if text and text not in others and not text.startswith(SETTER)
    )
    gone = set(lost)
    line = winner.line if loser.line in gone else loser.line
    return lost, Comments(tuple(text for text in loser.head if text not in gone), line)
