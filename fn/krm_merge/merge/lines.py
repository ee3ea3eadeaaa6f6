"""Three-way merge of strings of several lines (rule V6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from krm_merge.merge.sequence import merge_sequences


@dataclass(frozen=True, slots=True)
class MergedText:
    """The merged text and how many stretches of lines both sides had changed."""

    text: str
    conflicts: int


def merge_lines(original: str, upstream: str, local: str, winner: Literal["upstream", "local"]) -> MergedText | None:
    """Merges by lines; the winner's lines stand where both changed the same ones. None: it is a conflict of the whole.

    It is one where all three are JSON and the result would not be, and where merging upstream with the result would
    change the result again (L3).
    """
    merged = _merged(original, upstream, local, winner)
    if _is_json(original) and _is_json(upstream) and _is_json(local) and not _is_json(merged.text):
        return None
    if _merged(original, upstream, merged.text, winner).text != merged.text:
        return None
    return merged


def _merged(original: str, upstream: str, local: str, winner: Literal["upstream", "local"]) -> MergedText:
    sides = {"upstream": upstream.split("\n"), "local": local.split("\n")}
    runs = merge_sequences(original.split("\n"), sides["upstream"], sides["local"], winner)
    lines = [line for run in runs for line in sides[run.side][run.start : run.stop]]
    return MergedText("\n".join(lines), sum(1 for run in runs if run.clash))


def _is_json(text: str) -> bool:
    import json

    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
