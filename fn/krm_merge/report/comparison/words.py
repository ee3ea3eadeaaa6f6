"""The words of a comparison: a finding is always called the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from krm_merge.report.comparison.difference import (
    PROGRAMS,
    VERSIONS,
    Cause,
    Comparison,
    Difference,
    FindingName,
    VersionName,
)
from krm_merge.report.forms.shown import differing_part
from krm_merge.text.reading.values import Value

HEADINGS: Final[dict[FindingName, str]] = {
    "unreadable": "File broken",
    "local-change-lost": "Local change lost",
    "function-dropped": "Function dropped",
    "unchanged-lost": "Lost though nobody removed it",
    "restored": "Removed locally, and back again",
    "remains": "Remains of what was removed",
    "duplicated": "Twice in the package",
    "upstream-change-missed": "Change of upstream not taken",
    "decided-otherwise": "Conflict decided otherwise",
    "conflict-unreported": "Conflict that kpt does not report",
    "comments-lost": "Comments lost",
    "comments-missed": "Comments that krm-merge lacks",
    "comments-differ": "Comments otherwise",
    "order": "Order",
    "changed-alone": "Changed by kpt alone",
    "unexplained": "Unexplained",
    "layout": "Layout",
    "notes": "Notes of kpt",
}
"""What people call a finding, the gravest first."""

GRAVITY: Final[dict[FindingName, int]] = {finding: at for at, finding in enumerate(HEADINGS)}

_LOSES: Final[dict[FindingName, tuple[str, str]]] = {
    "unreadable": ("break 1 file", "break {} files"),
    "local-change-lost": ("lose 1 of your changes", "lose {} of your changes"),
    "function-dropped": ("drop 1 of your functions", "drop {} of your functions"),
    "unchanged-lost": ("lose 1 value that nobody removed", "lose {} values that nobody removed"),
    "restored": ("bring back 1 thing that you removed", "bring back {} things that you removed"),
    "remains": ("leave remains of 1 removed thing", "leave remains of {} removed things"),
    "duplicated": ("leave 1 resource twice", "leave {} resources twice"),
    "upstream-change-missed": ("miss 1 change of upstream", "miss {} changes of upstream"),
    "comments-lost": ("lose comments in 1 resource", "lose comments in {} resources"),
    "changed-alone": ("change 1 thing that neither side changed", "change {} things that neither side changed"),
}
_WRITTEN_BY_PEOPLE: Final[frozenset[FindingName]] = frozenset(
    ("local-change-lost", "function-dropped", "unchanged-lost", "comments-lost")
)
_MOST_NAMED = 3
SAME: Final = "kpt and krm-merge make the same package, byte for byte"
_HARMLESS: Final[Mapping[FindingName, str]] = {
    "comments-differ": "comments",
    "order": "order",
    "layout": "layout",
    "notes": "kpt's own notes",
}
_BECAUSE: Final[Mapping[Cause, str]] = {
    "upstream": "as upstream has them",
    "both": "where both sides changed them",
    "undone": "that undo your changes",
    "alone": "that no side changed",
    "comments": "for comments",
    "order": "for the order",
    "notes": "for kpt's notes",
    "layout": "for layout alone",
    "unexplained": "unexplained",
}


def summary(comparison: Comparison) -> list[str]:
    """The sentences in front of a comparison: what kpt would lose, then what both do alike."""
    if comparison.refusal:
        return [f"kpt stops with an error, and krm-merge updates the package; kpt says: {comparison.refusal}"]
    counts = comparison.counts
    lost = [_counted(one, many, counts[finding]) for finding, (one, many) in _LOSES.items() if counts[finding]]
    sentences = []
    if lost:
        named = lost[:_MOST_NAMED]
        if more := sum(counts[finding] for finding in list(filter(counts.get, _LOSES))[_MOST_NAMED:]):
            named.append(_counted("differ in 1 more place", "differ in {} more places", more))
        sentences.append(f"kpt would {_listed(named)}; krm-merge {_keeps(counts)}")
    if count := counts["decided-otherwise"]:
        sentences.append(_counted("1 conflict is decided otherwise", "{} conflicts are decided otherwise", count))
    if count := counts["conflict-unreported"]:
        alike = _counted("1 conflict is decided alike", "{} conflicts are decided alike", count)
        at = "it" if count == 1 else "them"
        sentences.append(f"{alike}: krm-merge stops at {at} or reports {at}, kpt does neither")
    if count := counts["comments-missed"]:
        sentences.append(
            _counted(
                "krm-merge would lose comments in 1 resource", "krm-merge would lose comments in {} resources", count
            )
        )
    if count := counts["unexplained"]:
        sentences.append(_counted("1 difference is unexplained", "{} differences are unexplained", count))
    if comparison.is_same:
        sentences.insert(0, SAME)
    elif (names := [name for finding, name in _HARMLESS.items() if counts[finding]]) and not (
        lost or _is_otherwise(counts)
    ):
        sentences.insert(0, f"kpt and krm-merge differ only in {_listed(names)}")
    return [*sentences, *_of_lines(comparison)]


def _is_otherwise(counts: Mapping[FindingName, int]) -> bool:
    return any(counts[finding] for finding in ("decided-otherwise", "comments-missed", "unexplained"))


def _of_lines(comparison: Comparison) -> Iterator[str]:
    """How many lines each program changes; nothing where both make the same package."""
    if comparison.is_same or not comparison.lines:
        return
    for program in PROGRAMS:
        counts = comparison.lines.get(program, {})
        causes = [f"{counts[cause]:,} {said}" for cause, said in _BECAUSE.items() if counts.get(cause)]
        total = sum(counts.values())
        lines = _counted("1 line", "{} lines", total)
        yield f"{program} changes {lines} of the package" + (f": {_listed(causes)}" if causes else "")


def reported_by(difference: Difference) -> str:
    """The end of a sentence on a difference that is a conflict: which rule reports it."""
    if not difference.is_reported:
        return ""
    if difference.finding == "conflict-unreported":
        return f" ({difference.rule})"
    return f"; krm-merge reports the conflict ({difference.rule})"


def versions_by_value(
    difference: Difference, text_of: Callable[[Value], str]
) -> Iterator[tuple[tuple[VersionName, ...], str]]:
    """Each value that some version has at the place, or what differs in it, as text, with all versions that have it."""
    versions: dict[str, tuple[VersionName, ...]] = {}
    values = differing_part(difference.values)
    for name in VERSIONS:
        if name in values:
            text = text_of(values[name])
            versions[text] = (*versions.get(text, ()), name)
    for text, names in versions.items():
        yield names, text


def _keeps(counts: Mapping[FindingName, int]) -> str:
    """What krm-merge does instead of what kpt does."""
    found = {finding for finding in _LOSES if counts[finding]}
    if not found <= _WRITTEN_BY_PEOPLE:
        return "does not"
    if "comments-lost" in found:
        return "keeps them"
    return "keeps it" if sum(counts[finding] for finding in found) == 1 else "keeps them"


def _counted(one: str, many: str, count: int) -> str:
    return one if count == 1 else many.format(f"{count:,}")


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
