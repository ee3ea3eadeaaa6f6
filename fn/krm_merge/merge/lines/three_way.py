"""Three-way merge of texts by their lines (rules V6, R4), and the comments of single places (V8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from krm_merge.merge.lines.sequence import merged, stretches
from krm_merge.startup import frozen, pattern
from krm_merge.text import (
    NO_COMMENTS,
    CannotEditError,
    Child,
    Chunk,
    Comments,
    MappingNode,
    Node,
    SequenceNode,
    chunks,
    comments_of,
    source_of,
)

Winner: TypeAlias = Literal["upstream", "local"]
ChosenSide: TypeAlias = Literal["upstream", "local", "upstream-then-local", "local-then-upstream"]


@lru_cache(maxsize=4)
def merge_lines(original: str, upstream: str, local: str) -> str | None:
    """The three texts merged as `git merge-file` does; None where it finds a conflict.

    A merge asks for the same texts of a document and of its file.
    """
    # With their line breaks: what is behind the last one is no line.
    before, theirs, ours = (_LINE.findall(side) for side in (original, upstream, local))
    lines = merged(before, theirs, ours)
    return None if lines is None else "".join(lines)


_LINE = pattern(r"[^\n]*\n|[^\n]+")


@frozen
class MergedText:
    """The merged text, and in how many places both sides changed the same lines, or lines that touch."""

    text: str
    conflicts: int = 0

    def explanation(self, winner: Winner) -> tuple[str, str]:
        """What both sides did, and what of it is kept; only for texts with conflicts."""
        places = "" if self.conflicts == 1 else f" in {self.conflicts} places"
        return f"changed the same lines{places}", f"{winner}'s lines are kept"


def merge_text(original: str, upstream: str, local: str, chosen: ChosenSide) -> MergedText:
    """Merges texts by lines; `chosen` are the lines that are taken where both sides changed the same ones.

    Blank lines, and blanks at the end of a line, make no conflict.
    """
    before, theirs, ours = (side.split("\n") for side in (original, upstream, local))
    lines: list[str] = []
    conflicts = 0
    for part in stretches(before, theirs, ours):
        o, u, l = before[slice(*part.original)], theirs[slice(*part.upstream)], ours[slice(*part.local)]  # noqa: E741
        if part.changed_by == "upstream":
            lines += u
        elif part.changed_by != "both" or _visible(u) in (_visible(o), _visible(l)):
            lines += l
        elif _visible(o) == _visible(l):
            lines += u
        else:
            conflicts += 1
            lines += _chosen_lines(u, l, chosen)
    return MergedText("\n".join(lines), conflicts)


def _visible(lines: Sequence[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


def _chosen_lines(upstream: list[str], local: list[str], chosen: ChosenSide) -> list[str]:
    if chosen in ("upstream", "local"):
        return upstream if chosen == "upstream" else local
    first, second = (upstream, local) if chosen == "upstream-then-local" else (local, upstream)
    # Chosen before: local has both already.
    has_both = local[: len(upstream)] == upstream or local[max(0, len(local) - len(upstream)) :] == upstream
    return local if has_both else [*first, *second]


MERGE_COMMENT = "# kpt-merge:"
"""kpt's own note of a resource's origin; never merged (R6)."""

SETTER = "# kpt-set:"
"""The comment that kpt's apply-setters reads: the pattern of a value."""


def comments_in(text: str) -> list[str]:
    """Possible comments: the rest of each line that has a number sign."""
    if "#" not in text:
        return []
    return [f"#{line.partition('#')[2].rstrip()}" for line in text.split("\n") if "#" in line]


def comment_lines(text: str) -> list[str]:
    """Possible comments that are alone on their line, or behind a dash."""
    if "#" not in text:
        return []
    return [bare for line in text.split("\n") if (bare := line.lstrip(" -").rstrip()).startswith("#")]


def notes_in(text: str) -> list[str]:
    """Kpt's notes of the origin of resources, which belong to local alone (R6)."""
    return [comment for comment in comments_in(text) if MERGE_COMMENT in comment] if MERGE_COMMENT in text else []


class CommentReader:
    """Looks up the comments of children of collections; the places in each collection are looked up once."""

    def __init__(self) -> None:
        """Nothing looked at yet."""
        self._places: dict[int, dict[int, Chunk]] = {}

    def of(self, collection: Node | None, child: Child) -> Comments:
        """The comments of a child; none where the collection is in flow style or the child is inherited."""
        place = self._place(collection, child)
        if place is None:
            return NO_COMMENTS
        assert isinstance(collection, MappingNode | SequenceNode)
        return comments_of(collection, child, place)

    def around(self, collection: Node | None, child: Child | None) -> list[str]:
        """All comments of a child of a block collection, those inside it too."""
        place = self._place(collection, child)
        if place is None:
            return []
        assert collection is not None
        return comments_in(source_of(collection).text[place.start : place.end])

    def _place(self, collection: Node | None, child: Child | None) -> Chunk | None:
        """The lines of a child in a text with comments, None where it has no lines of its own."""
        if not isinstance(collection, MappingNode | SequenceNode) or collection.source is None:
            return None
        # Known for the whole text: with thousands of conflicts, a search for each takes a fifth of the time.
        if not collection.source.has_number_signs:
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
