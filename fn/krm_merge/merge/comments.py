"""Comments as values of their own places (rule V8)."""

from __future__ import annotations

from typing import TypeVar

from krm_merge.text.layout import NO_COMMENTS, CannotEdit, Comments, chunks, comments_of
from krm_merge.text.nodes import Child, Mapping, Node, Sequence

T = TypeVar("T")

MERGE_COMMENT = "# kpt-merge:"
"""kpt's own note of where a resource came from; never merged (R6)."""


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

    def differ(self, first: Node | None, second: Node | None) -> bool:
        """Whether two collections with the same value may have different comments, inside them too."""
        texts = [_lines_with_comments(node) for node in (first, second)]
        return texts[0] != texts[1]


def _lines_with_comments(node: Node | None) -> list[str]:
    if not isinstance(node, Mapping | Sequence) or node.source is None:
        return []
    # Comments stand above the first child, too, and one behind the last child stands after its end.
    text, end = node.source.text, node.source.text.find("\n", node.end)
    start = text.rfind("\n", 0, node.start) + 1
    while start > 0 and text[(above := text.rfind("\n", 0, start - 1) + 1) : start].lstrip().startswith("#"):
        start = above
    return [line.strip() for line in text[start : len(text) if end < 0 else end].split("\n") if "#" in line]


def _comments(collection: Mapping | Sequence) -> dict[int, Comments]:
    try:
        places = chunks(collection)
    except CannotEdit:
        return {}
    return {
        id(child): comments_of(collection, child, place)
        for child, place in zip(collection.children, places, strict=True)
    }


def merge_comments(original: Comments, upstream: Comments, local: Comments) -> Comments:
    """Upstream's where local's are unchanged, else local's; the lines above and the one behind each on their own."""
    head = _three_way(original.head, upstream.head, local.head)
    line = local.line
    if not any((comments.line or "").startswith(MERGE_COMMENT) for comments in (original, upstream, local)):
        line = _three_way(original.line, upstream.line, local.line)
    return Comments(head, line)


def _three_way(original: T, upstream: T, local: T) -> T:
    return upstream if local == original else local
