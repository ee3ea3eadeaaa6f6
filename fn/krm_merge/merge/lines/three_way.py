"""Three-way merge of texts by their lines (rules V6, R4), and of the comments of single places (rule V8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.merge.lines.sequence import MergedRun, Settling, come_twice, has_change, merge_sequences, merged_runs
from krm_merge.startup import frozen, replace
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


@frozen
class MergedText:
    """The merged text, and in how many places the sides could not agree.

    `changed` are the lines that both changed, `alike` those that both added with a difference, `inserted` the places
    where both added other lines: these are all kept.
    """

    text: str
    changed: int = 0
    inserted: int = 0
    alike: int = 0

    @property
    def conflicts(self) -> int:
        """The places where the sides could not agree."""
        return self.changed + self.inserted + self.alike

    def explanation(self, winner: Winner) -> tuple[str, str]:
        """What both sides did, and which of it is kept; only for texts with conflicts."""
        did = [
            f"{what}{'' if count == 1 else f' in {count} places'}"
            for what, count in (
                ("changed the same lines", self.changed),
                ("added nearly the same lines", self.alike),
                ("added lines at the same place", self.inserted),
            )
            if count
        ]
        outcomes = [f"{winner}'s lines are kept"] if self.changed or self.alike else []
        outcomes += ["both are kept, local's first"] if self.inserted else []
        return " and ".join(did), " and ".join(outcomes)


def merge_lines(original: str, upstream: str, local: str, settling: Settling) -> MergedText:
    """Merges by lines; where git finds no conflict, as git does, unless local has upstream's changes already."""
    return _Change(original, upstream).made_once(local, settling)


def merge_lines_stably(original: str, upstream: str, local: str, winner: Winner) -> MergedText | None:
    """The same, but merging upstream with the result gives it again (law D).

    If it does not, neighbouring lines are one place as they are for git; None where that does not help either.
    """
    change = _Change(original, upstream)
    settling = Settling(winner)
    for splits in (True, False):
        merged = change.made_once(local, replace(settling, splits=splits))
        # With `splits` in both rounds, as the next merge would begin with it.
        if merged.text == local or change.made_once(merged.text, settling).text == merged.text:
            return merged
    return None


@lru_cache(maxsize=2)
def merge_lines_without_conflict(original: str, upstream: str, local: str) -> str | None:
    """Merges by lines as git does; None where there is a conflict, which ends the work, or where it is not stable.

    A merge asks for the same texts when it decides, and when it writes.
    """
    change = _Change(original, upstream)
    text = change.made_without_clash(local)
    if text is None or (text != local and change.made_once(text, AS_GIT).text != text):
        return None
    return None if loses_json(original, upstream, local, text) else text


def loses_json(original: str, upstream: str, local: str, text: str) -> bool:
    """Whether all three are JSON and the text made of them is not."""
    return _is_json(original) and _is_json(upstream) and _is_json(local) and not _is_json(text)


def _is_json(text: str) -> bool:
    # By the first sign: parsing each text would take long, and a number alone is JSON, too.
    if not text.lstrip().startswith(("{", "[")):
        return False
    import json

    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def merge_added_lines(upstream: str, local: str, winner: Winner) -> MergedText:
    """Merges a text that both sides added: what both have is there once, what one has more is kept."""
    theirs, ours = upstream.split("\n"), local.split("\n")
    lines: list[str] = []
    u_from = l_from = changed = 0
    for u_at, l_at, size in [*matching_blocks(theirs, ours), (len(theirs), len(ours), 0)]:
        added = theirs[u_from:u_at], ours[l_from:l_at]
        changed += all(added)
        lines += added[winner == "local"] if all(added) else added[0] or added[1]
        lines += ours[l_at : l_at + size]
        u_from, l_from = u_at + size, l_at + size
    return MergedText("\n".join(lines), changed)


AS_GIT = Settling("local", splits=False)
"""Finds a conflict wherever git does."""


class _Change:
    """Upstream's change of a text of several lines."""

    def __init__(self, original: str, upstream: str) -> None:
        self._original, self._upstream = original.split("\n"), upstream.split("\n")
        # Compared once: the change is made again in its own result, which must not change.
        self._blocks = matching_blocks(self._original, self._upstream)

    def made_once(self, local: str, settling: Settling) -> MergedText:
        """Makes the change in another version of the text, if that lacks it.

        Of equal lines, a diff may take others for the added ones.
        """
        ours = local.split("\n")
        runs = merge_sequences(self._original, self._upstream, ours, settling, self._blocks)
        clashes = [run.clash for run in runs]
        text = self._text(runs, ours)
        if any(clashes) or text == local or not self._contains_change(ours, text):
            return MergedText(text, clashes.count("changed"), clashes.count("inserted"), clashes.count("alike"))
        return MergedText(local)

    def made_without_clash(self, local: str) -> str | None:
        """The same as git does it; None where the sides cannot agree on some lines."""
        ours = local.split("\n")
        runs: list[MergedRun] = []
        for run in merged_runs(self._original, self._upstream, ours, AS_GIT, self._blocks):
            if run.clash:
                return None
            runs.append(run)
        text = self._text(runs, ours)
        return local if text != local and self._contains_change(ours, text) else text

    def _contains_change(self, ours: list[str], merged: str) -> bool:
        """Whether the lines have the change already; without blank ones, where it would be there twice."""
        before, theirs = self._original, self._upstream
        if not has_change(before, theirs, ours):
            if not come_twice(before, theirs, ours, merged.split("\n")):
                return False
            before, theirs, ours = ([line for line in side if line.strip()] for side in (before, theirs, ours))
            if not has_change(before, theirs, ours):
                return False
        return are_in_place(before, theirs, ours)

    def _text(self, runs: list[MergedRun], ours: list[str]) -> str:
        lines = {"upstream": self._upstream, "local": ours}
        return "\n".join([line for run in runs for line in lines[run.side][run.start : run.stop]])


def are_in_place(before: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether the lines that upstream added are, in local, inside of what they are inside of in upstream.

    An equal line in another element, such as a verb in another rule, is one that local added by itself (law E).
    """
    places: dict[int | None, int] = {
        a + at: b + at for a, b, size in matching_blocks(theirs, ours) for at in range(size)
    }
    added = Counter(line for line in theirs if line.strip()) - Counter(before)
    outer, outer_of_local = _outer_lines(theirs), _outer_lines(ours)
    taken = set(places.values())
    for start, line in enumerate(theirs):
        at: int | None = start
        place = places.get(start) if line in added else None
        while at is not None and place is not None:
            at, place = outer[at], outer_of_local[place]
            # A line that only local has may be another version of one that only upstream has.
            if (at in places or place in taken) and places.get(at) != place:
                return False
    return True


def _outer_lines(lines: Sequence[str]) -> list[int | None]:
    """The line that each line is inside of, by indentation; an element of a list is in the key above it."""
    outer: list[int | None] = []
    around: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        words = line.lstrip()
        depth = 2 * (len(line) - len(words)) + words.startswith("- ")
        if words:
            while around and around[-1][0] >= depth:
                around.pop()
        outer.append(around[-1][1] if around else None)
        if words:
            around.append((depth, at))
    return outer


MERGE_COMMENT = "# kpt-merge:"
"""kpt's own note of a resource's origin; never merged (R6)."""

SETTER = "# kpt-set:"
"""The comment that kpt's apply-setters reads: the pattern of a value."""


def comments_in(text: str) -> list[str]:
    """Possible comments: the rest of each line that has a number sign."""
    if "#" not in text:
        return []
    return [f"#{line.partition('#')[2].rstrip()}" for line in text.split("\n") if "#" in line]


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
