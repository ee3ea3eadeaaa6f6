"""Three-way merge of strings of several lines (rules V6, R4)."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.merge.lines.sequence import (
    ChosenSide,
    MergedRun,
    choose_in_sequences,
    is_between,
    merge_sequences,
    merged_runs,
)
from krm_merge.startup import frozen, pattern

Winner: TypeAlias = Literal["upstream", "local"]

_LINE = pattern(r"[^\n]*\n|[^\n]+")
"""Only a line feed ends a line, as git reads it."""


def split_lines(text: str) -> list[str]:
    """The lines of a text with their line feeds; the last may have none."""
    return _LINE.findall(text)


def has_crlf(text: str) -> bool:
    """Whether all lines of a text end with CR LF."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def with_plain_ends(text: str, like: str) -> str:
    """A text with plain line ends where another one has only line ends of one kind: git may have changed them."""
    return text.replace("\r\n", "\n") if has_crlf(like) or "\r" not in like else text


@frozen
class MergedText:
    """The merged text, and in how many places the sides could not agree.

    `changed` are the stretches that both changed, `inserted` the places where both added lines: these are all kept.
    """

    text: str
    changed: int = 0
    inserted: int = 0

    @property
    def conflicts(self) -> int:
        """The places where the sides could not agree."""
        return self.changed + self.inserted

    def explanation(self, winner: Winner) -> tuple[str, str]:
        """What both sides did, and which of it is kept; only for texts with conflicts."""
        in_places = "" if self.conflicts == 1 else f" in {self.conflicts} places"
        if not self.changed:
            return f"added lines at the same place{in_places}", "both are kept, local's first"
        return f"changed the same lines{in_places}", f"{winner}'s lines are kept"


def merge_lines(original: str, upstream: str, local: str, winner: Winner) -> MergedText | None:
    """Merges by lines; the winner's lines are kept where both changed the same ones. None: a conflict of the whole.

    It is one where all three are JSON and the result would not be, and where merging upstream with the result would
    change the result again (L3).
    """
    ours = local.split("\n")
    change = _Change(original.split("\n"), upstream.split("\n"))
    merged = change.made_once(ours, winner)
    text = "\n".join(merged.lines)
    if _is_json_alone(original, upstream, local, text):
        return None
    if merged.lines != ours and change.made_once(merged.lines, winner).lines != merged.lines:
        return None
    return merged.as_text(text)


def merge_lines_without_conflict(original: str, upstream: str, local: str) -> str | None:
    """Merges by lines as `merge_lines` does; None where there is a conflict: the first one ends the work."""
    ours = local.split("\n")
    change = _Change(original.split("\n"), upstream.split("\n"))
    lines = change.made_without_clash(ours)
    if lines is None or (lines != ours and change.made_once(lines, "local").lines != lines):
        return None
    text = "\n".join(lines)
    return None if _is_json_alone(original, upstream, local, text) else text


def merge_plain_text(original: str, upstream: str, local: str, winner: Winner) -> MergedText | None:
    """Merges a text of which nothing but its lines is known, as git does where that is clean (R4, law H).

    Conflicts are decided by the winner. None: a conflict of the whole, as whatever is decided by lines would be decided
    otherwise the next time (law D).
    """
    merged = _merged_as_git(original, upstream, local, winner)
    if not merged.conflicts:
        return merged
    stable = merge_lines(original, upstream, local, winner)
    if stable is None or stable.text == local:
        return stable
    again = _merged_as_git(original, upstream, stable.text, winner)
    return stable if again.conflicts or again.text == stable.text else None


def choose_lines(original: str, upstream: str, local: str, chosen: ChosenSide) -> str | None:
    """Merges by lines with this choice wherever both changed the same ones.

    None where merging again would change the result, or where all three are JSON and the result would not be.
    """
    before, theirs = split_lines(original), split_lines(upstream)

    def made(local: str) -> str:
        ours = split_lines(local)
        lines = {"upstream": theirs, "local": ours}
        runs = choose_in_sequences(before, theirs, ours, chosen)
        return _joined([line for run in runs for line in lines[run.side][run.start : run.stop]])

    text = made(local)
    if made(text) != text or (all(map(_is_json, (original, upstream, local))) and not _is_json(text)):
        return None
    return text


def merge_added_text(upstream: str, local: str, winner: Winner) -> MergedText:
    """Merges a text that both sides added: what both have is there once, what one has more is kept."""
    theirs, ours = split_lines(upstream), split_lines(local)
    lines: list[str] = []
    u_from = l_from = changed = 0
    for u_at, l_at, size in [*matching_blocks(theirs, ours), (len(theirs), len(ours), 0)]:
        added = theirs[u_from:u_at], ours[l_from:l_at]
        changed += all(added)
        lines += added[winner == "local"] if all(added) else added[0] or added[1]
        lines += ours[l_at : l_at + size]
        u_from, l_from = u_at + size, l_at + size
    return MergedText(_joined(lines), changed)


def _merged_as_git(original: str, upstream: str, local: str, winner: Winner) -> MergedText:
    """The merge by lines; a last line without a line break is another than with one."""
    before, theirs, ours = (split_lines(side) for side in (original, upstream, local))
    merged = _Change(before, theirs).made(ours, winner)
    return merged.as_text(_joined(merged.lines))


def _joined(lines: list[str]) -> str:
    """The text of lines of which one may have been the last without a line break."""
    return "".join([line if line.endswith("\n") else f"{line}\n" for line in lines[:-1]] + lines[-1:])


class _MergedLines(NamedTuple):
    lines: list[str]
    changed: int
    inserted: int

    def as_text(self, text: str) -> MergedText:
        return MergedText(text, self.changed, self.inserted)


class _Change:
    """Upstream's change of a text of several lines."""

    def __init__(self, original: list[str], upstream: list[str]) -> None:
        self._original = original
        self._upstream = upstream
        self._blocks = matching_blocks(self._original, self._upstream)

    def made(self, local: list[str], winner: Winner) -> _MergedLines:
        """Makes the change in another version of the text."""
        runs = merge_sequences(self._original, self._upstream, local, winner, self._blocks)
        clashes = [run.clash for run in runs]
        return _MergedLines(self._lines(runs, local), clashes.count("changed"), clashes.count("inserted"))

    def made_without_clash(self, local: list[str]) -> list[str] | None:
        """The lines that `made_once` gives; None where the sides cannot agree on some."""
        runs: list[MergedRun] = []
        for run in merged_runs(self._original, self._upstream, local, "local", self._blocks):
            if run.clash:
                return None
            runs.append(run)
        lines = self._lines(runs, local)
        return local if lines != local and is_between(self._original, self._upstream, local) else lines

    def made_once(self, local: list[str], winner: Winner) -> _MergedLines:
        """The same where the text lacks the change: of equal lines, a diff may take others for the added ones."""
        merged = self.made(local, winner)
        has_clash = merged.changed or merged.inserted
        if has_clash or merged.lines == local or not is_between(self._original, self._upstream, local):
            return merged
        return _MergedLines(local, 0, 0)

    def _lines(self, runs: list[MergedRun], local: list[str]) -> list[str]:
        return [
            line for run in runs for line in (self._upstream if run.side == "upstream" else local)[run.start : run.stop]
        ]


def _is_json_alone(original: str, upstream: str, local: str, text: str) -> bool:
    """Whether all three are JSON and the text made of them is not."""
    return _is_json(original) and _is_json(upstream) and _is_json(local) and not _is_json(text)


def _is_json(text: str) -> bool:
    import json

    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
