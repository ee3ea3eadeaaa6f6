"""Three-way merge of strings of several lines (rules V6, R4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.merge.diff import matching_blocks
from krm_merge.merge.sequence import is_between, merge_sequences

Winner: TypeAlias = Literal["upstream", "local"]


@dataclass(frozen=True, slots=True)
class MergedText:
    """The merged text and how many stretches of lines both sides had changed."""

    text: str
    conflicts: int


def merge_lines(original: str, upstream: str, local: str, winner: Winner) -> MergedText | None:
    """Merges by lines; the winner's lines are kept where both changed the same ones. None: a conflict of the whole.

    It is one where all three are JSON and the result would not be, and where merging upstream with the result would
    change the result again (L3).
    """
    change = _Change(original, upstream)
    merged = change.made_once(local, winner)
    if _is_json(original) and _is_json(upstream) and _is_json(local) and not _is_json(merged.text):
        return None
    if merged.text != local and change.made_once(merged.text, winner).text != merged.text:
        return None
    return merged


def merge_plain_lines(original: str, upstream: str, local: str, winner: Winner) -> MergedText:
    """Merges a text of which nothing but its lines is known, as git does (R4, law H)."""
    return _Change(original, upstream).made(local, winner)


class _Change:
    """What upstream changed in a text of several lines."""

    def __init__(self, original: str, upstream: str) -> None:
        self._original = original.split("\n")
        self._upstream = upstream.split("\n")
        self._blocks = matching_blocks(self._original, self._upstream)

    def made(self, local: str, winner: Winner) -> MergedText:
        """Makes the change in another version of the text."""
        ours = local.split("\n")
        runs = merge_sequences(self._original, self._upstream, ours, winner, self._blocks)
        lines = [
            line for run in runs for line in (self._upstream if run.side == "upstream" else ours)[run.start : run.stop]
        ]
        return MergedText("\n".join(lines), sum(1 for run in runs if run.clash))

    def made_once(self, local: str, winner: Winner) -> MergedText:
        """The same where the text lacks the change: of equal lines, a diff may take others for the added ones."""
        merged = self.made(local, winner)
        if (
            merged.conflicts
            or merged.text == local
            or not is_between(self._original, self._upstream, local.split("\n"))
        ):
            return merged
        return MergedText(local, 0)


def _is_json(text: str) -> bool:
    import json

    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
