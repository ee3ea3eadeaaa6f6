"""Texts of several lines as values: merged by lines (V6, R4), where the result is still what all three are."""

from __future__ import annotations

from functools import lru_cache

from krm_merge.merge.decisions.decision import Sides
from krm_merge.merge.lines.three_way import ChosenSide, MergedText, Winner, merge_added_text, merge_text
from krm_merge.merge.values.soundness import documents_of, is_sound_text, loses_json
from krm_merge.text import Node, Scalar


# The same file of a ConfigMap is often in many resources. A few, as texts may be large.
@lru_cache(maxsize=16)
def merge_whole_text(original: str, upstream: str, local: str, winner: Winner) -> MergedText | None:
    """Merges a text that both sides changed. None: it is one conflict as a whole.

    It is where the result would no longer be YAML or JSON as all three texts are, or lacks a change of a side.
    """
    merged = merge_text(original, upstream, local, winner)
    if merged.conflicts:
        return merged if _keeps_form((original, upstream, local), merged.text) else None
    return merged if is_sound_text(original, upstream, local, merged.text) else None


def merge_whole_addition(upstream: str, local: str, winner: Winner) -> MergedText | None:
    """Merges a text that both sides added; None: it is one conflict as a whole, as it would not be YAML or JSON."""
    merged = merge_added_text(upstream, local, winner)
    return merged if _keeps_form((upstream, upstream, local), merged.text) else None


def choose_text(original: str, upstream: str, local: str, chosen: ChosenSide) -> str | None:
    """The merged text with this choice wherever both changed the same; the whole of a side where that is not possible.

    None where merging again would change the result, or where it would no longer be YAML or JSON as all three are.
    """
    text = merge_text(original, upstream, local, chosen).text
    is_stable = merge_text(original, upstream, text, chosen).text == text
    return text if is_stable and _keeps_form((original, upstream, local), text) else None


def _keeps_form(sides: tuple[str, str, str], text: str) -> bool:
    """Whether a text is YAML or JSON where all three sides are."""
    if loses_json(*sides, text):
        return False
    return documents_of(text) is not None or None in map(documents_of, sides)


def texts_of(sides: Sides) -> tuple[str, str, str] | None:
    """The text of each side, None unless all three are strings."""
    texts = [node.text for node in sides.present if isinstance(node, Scalar) and type(node.canonical) is str]
    return (texts[0], texts[1], texts[2]) if len(texts) == 3 else None


def text_node(text: str, sides: Sides) -> Node:
    """A string; the node of a side that has it."""
    for node in (sides.local, sides.upstream, sides.original):
        if node is not None and node.canonical == text:
            return node
    return Scalar.new(text, '"')


def has_lines(text: str) -> bool:
    """Whether a text has more than one line."""
    return "\n" in text.rstrip("\n")
