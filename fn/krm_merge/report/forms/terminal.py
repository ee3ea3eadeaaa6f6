"""Changes as lines for a terminal: by file and resource, each at its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import unified_diff
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from krm_merge.report.record import DecisionRecord, SideName
from krm_merge.report.words import yaml_text
from krm_merge.safe_text import terminal_line

if TYPE_CHECKING:
    from krm_merge.report.comparison import Comparison

Style: TypeAlias = Literal["heading", "removed", "added", "plain"]


class Line(NamedTuple):
    """A line of text, and how it looks where there is colour."""

    text: str
    style: Style = "plain"


def changed_lines(records: Iterable[DecisionRecord]) -> Iterator[Line]:
    """What one version has and the other has not; the records are those of a merge that local took no part in."""
    for file, in_file in groupby(records, key=lambda record: record.file):
        yield harmless_line(file, "heading")
        for resource, of_resource in groupby(in_file, key=lambda record: record.resource):
            indent = "  "
            if resource is not None:
                yield harmless_line(f"{indent}{resource}")
                indent += "  "
            for record in of_resource:
                yield from _of_record(record, indent)


def _of_record(record: DecisionRecord, indent: str) -> Iterator[Line]:
    place = f"{record.path}: " if record.path else ""
    before, after = (record.values.get(side) for side in _VERSIONS)
    # The message says what there is to say of a whole resource, its name, comments and layout.
    shown = record.values if record.path and record.rule not in _ABOUT_ALL else {}
    old, new = (yaml_text(shown[side]) if side in shown else None for side in _VERSIONS)
    if old is not None and new is not None and old != new and "\n" not in old + new:
        yield harmless_line(f"{indent}{place}{old} -> {new}")
        return
    secret = " (a secret value)" if record.is_redacted else ""
    # Which of the two is upstream does not matter here.
    message = record.message.partition(", as in upstream")[0]
    yield harmless_line(f"{indent}{place}{message}{secret}", _style_of(record))
    if isinstance(before, str) and isinstance(after, str):
        yield from _text_lines(before, after, indent)
    elif old != new:
        for text, mark, style in ((old, "-", "removed"), (new, "+", "added")):
            for line in () if text is None else text.split("\n"):
                yield harmless_line(f"{indent}  {mark} {line}", style)  # type: ignore[arg-type]


_VERSIONS: tuple[SideName, SideName] = ("original", "upstream")
_ABOUT_ALL = ("V8", "W1", "H", "R1")


def _text_lines(before: str, after: str, indent: str) -> Iterator[Line]:
    """The lines of a text that differ, with one line around them."""
    difference = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    for line in list(difference)[2:]:
        style: Style = "added" if line[:1] == "+" else "removed" if line[:1] == "-" else "plain"
        yield harmless_line(f"{indent}  {line}", style)


def _style_of(record: DecisionRecord) -> Style:
    sides = record.alike if record.alike is not None else record.values
    if "original" not in sides:
        return "added" if "upstream" in sides else "plain"
    return "plain" if "upstream" in sides else "removed"


def harmless_line(text: str, style: Style = "plain") -> Line:
    """A line with text from packages, which must not write to the terminal what it likes."""
    return Line(terminal_line(text), style)


def comparison_lines(comparison: Comparison) -> Iterator[Line]:
    """A comparison by file and resource, without git's difference."""
    yield harmless_line(comparison.summary, "heading")
    for file, in_file in groupby(comparison.places, key=lambda place: place.file):
        yield harmless_line(file, "heading")
        for resource, of_resource in groupby(in_file, key=lambda place: place.resource):
            yield from [harmless_line(f"  {resource}")] if resource else []
            yield from (harmless_line(f"    {place}") for place in of_resource)
    yield from (harmless_line(f"{file}: secret values differ", "heading") for file in comparison.hidden)
