"""Texts of several lines as values: merged by lines (V6, R4), where the result is still what all three are."""

from __future__ import annotations

from functools import lru_cache
from posixpath import basename
from typing import TypeAlias

from krm_merge.krm import FieldPath
from krm_merge.merge.decisions.decision import Side, Sides
from krm_merge.merge.lines.three_way import ChosenSide, MergedText, Winner, merge_text
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


VersionOrder: TypeAlias = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def version_order(name: str) -> VersionOrder | None:
    """What semantic versions compare by: their numbers, whether it is a release, and what comes before one.

    None where it is no version.
    """
    release, _, before = name.removeprefix("v").partition("+")[0].partition("-")
    numbers = release.split(".")
    # A number alone may be anything: a build, a year.
    is_marked = len(numbers) > 1 or name.startswith("v")
    if not is_marked or len(numbers) > 3 or not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    parts = before.split(".") if before else []
    # Numbers are lower than words, and compare as numbers (semver.org, 11).
    marks = tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
    return (*map(int, numbers), 0, 0)[:3], not before, marks


CHART_FILE = "Chart.yaml"


def higher_version(file: str, path: FieldPath, sides: Sides) -> Side | None:
    """V4: the side whose version of a Helm chart is the higher, where both raised it to different ones."""
    if basename(file) != CHART_FILE or path != ("version",):
        return None
    before, theirs, ours = (version_order(node.text) if isinstance(node, Scalar) else None for node in sides.nodes)
    if theirs is None or ours is None or theirs == ours or (before is not None and before >= min(theirs, ours)):
        return None
    return "upstream" if theirs > ours else "local"
