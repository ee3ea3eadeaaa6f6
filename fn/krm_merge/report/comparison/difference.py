"""The public form of a comparison with kpt: one document for every report of it, with its schema and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from krm_merge.krm import ResourceRef
from krm_merge.report.comparison.spots import LAYOUT
from krm_merge.report.record import (
    API_VERSION,
    NO_FILES,
    Files,
    RecordedSide,
    Schema,
    closed_object,
    files_schema,
    resource_schema,
    resource_value,
    sides_schema,
)
from krm_merge.report.words import differing_part
from krm_merge.safe_text import quantity
from krm_merge.text import Value

KIND: Final = "ComparisonReport"

FindingName: TypeAlias = Literal[
    "unreadable",
    "local-change-lost",
    "function-dropped",
    "unchanged-lost",
    "restored",
    "remains",
    "duplicated",
    "upstream-change-missed",
    "decided-otherwise",
    "conflict-unreported",
    "comments-lost",
    "comments-missed",
    "comments-differ",
    "order",
    "changed-alone",
    "unexplained",
    "layout",
    "notes",
]
OF_BYTES: Final[frozenset[FindingName]] = frozenset(
    ("comments-lost", "comments-missed", "comments-differ", "unexplained", "layout", "notes")
)
"""Findings on how a document is written, and not on one of its values."""
Cause: TypeAlias = Literal["upstream", "both", "undone", "alone", "comments", "order", "notes", "layout", "unexplained"]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
"""Why a program changes a line of local, the most important first: upstream changed it, or both sides did; what local
changed is undone, or what no side changed; a comment, the order of elements, kpt's notes, the layout."""
ProgramName: TypeAlias = Literal["kpt", "krm-merge"]
PROGRAMS: Final[tuple[ProgramName, ...]] = get_args(ProgramName)
VersionName: TypeAlias = Literal["original", "upstream", "local", "kpt", "krm-merge"]
VERSIONS: Final[tuple[VersionName, ...]] = ("original", "upstream", "local", "kpt", "krm-merge")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: what kpt does at a place, beside what krm-merge does.

    `values` are the versions that have something there; none where they are hidden (`is_redacted`). `rule` is that of
    the conflict which krm-merge reports there. `layout` are the places in which the document is written otherwise, by
    what differs there.
    """

    finding: FindingName
    file: str
    resource: ResourceRef | None
    path: str
    message: str
    values: Mapping[VersionName, Value] = field(default_factory=dict)
    rule: str = ""
    is_redacted: bool = False
    layout: Mapping[str, int] = field(default_factory=dict)

    def to_value(self) -> dict[str, Value]:
        """As it is in the document; a version that has nothing at this place is left out."""
        value: dict[str, Value] = {"finding": self.finding, "file": self.file}
        if self.resource is not None:
            value["resource"] = resource_value(self.resource)
        value |= {"path": self.path, "message": self.message, "reported": bool(self.rule)}
        if self.rule:
            value["rule"] = self.rule
        if self.is_redacted:
            value["redacted"] = True
        if self.layout:
            value["layout"] = dict(self.layout)
        if self.values:
            value["values"] = {name: self.values[name] for name in VERSIONS if name in self.values}
        return value


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `kpt pkg update` makes of a package, beside what krm-merge makes of it.

    `refusal` is the message of kpt where it stops with an error; there are no differences then. `files` are what
    becomes of them with krm-merge. `lines` says how many lines of local each program changes, and why; `is_same` that
    both make the same bytes. `differences` are sorted: files, then resources, the gravest finding first.
    """

    package: str = ""
    sides: Mapping[str, RecordedSide] = field(default_factory=dict)
    differences: Sequence[Difference] = ()
    files: Files = NO_FILES
    refusal: str = ""
    lines: Mapping[ProgramName, Mapping[Cause, int]] = field(default_factory=dict)
    is_same: bool = False

    @property
    def counts(self) -> Counter[FindingName]:
        """How many differences there are of each finding."""
        return Counter(difference.finding for difference in self.differences)

    def to_value(self) -> dict[str, Value]:
        """The document."""
        value: dict[str, Value] = {"apiVersion": API_VERSION, "kind": KIND, "package": self.package}
        value["sides"] = {name: side.to_value() for name, side in self.sides.items()}
        if self.refusal:
            value["refusal"] = self.refusal
        value["files"] = self.files.to_value()
        value["same"] = self.is_same
        value["lines"] = {
            program: {str(cause): counts[cause] for cause in counts} for program, counts in self.lines.items()
        }
        value["counts"] = dict(sorted(self.counts.items()))
        value["differences"] = [difference.to_value() for difference in self.differences]
        return value


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
_OTHERWISE: Final = frozenset(("decided-otherwise", "comments-missed", "unexplained"))
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


_BESIDE: Final[dict[FindingName, tuple[str, str]]] = {
    "decided-otherwise": ("1 conflict is decided otherwise", "{} conflicts are decided otherwise"),
    "conflict-unreported": (
        "1 conflict is decided alike: krm-merge stops at it or reports it, kpt does neither",
        "{} conflicts are decided alike: krm-merge stops at them or reports them, kpt does neither",
    ),
    "comments-missed": (
        "krm-merge would lose comments in 1 resource",
        "krm-merge would lose comments in {} resources",
    ),
    "unexplained": ("1 difference is unexplained", "{} differences are unexplained"),
}


def summary(comparison: Comparison) -> list[str]:
    """The sentences in front of a comparison: what kpt would lose, then what both do alike."""
    if comparison.refusal:
        return [f"kpt stops with an error, and krm-merge updates the package; kpt says: {comparison.refusal}"]
    counts = comparison.counts
    lost = _format_counts(_LOSES, counts)
    sentences = []
    if lost:
        named = lost[:_MOST_NAMED]
        if more := sum(counts[finding] for finding in list(filter(counts.get, _LOSES))[_MOST_NAMED:]):
            named.append(f"differ in {quantity(more, 'more place')}")
        sentences.append(f"kpt would {_join_names(named)}; krm-merge {_keeps(counts)}")
    sentences += _format_counts(_BESIDE, counts)
    names = [name for finding, name in _HARMLESS.items() if counts[finding]]
    if comparison.is_same:
        sentences.insert(0, SAME)
    elif names and not lost and counts.keys().isdisjoint(_OTHERWISE):
        sentences.insert(0, f"kpt and krm-merge differ only in {_join_names(names)}")
    return [*sentences, *_of_lines(comparison)]


def _of_lines(comparison: Comparison) -> Iterator[str]:
    """How many lines each program changes; nothing where both make the same package."""
    if comparison.is_same or not comparison.lines:
        return
    for program in PROGRAMS:
        counts = comparison.lines.get(program, {})
        causes = [f"{counts[cause]:,} {reason}" for cause, reason in _BECAUSE.items() if counts.get(cause)]
        lines = quantity(sum(counts.values()), "line")
        yield f"{program} changes {lines} of the package" + (f": {_join_names(causes)}" if causes else "")


def reported_by(difference: Difference) -> str:
    """The end of a sentence on a difference that is a conflict: which rule reports it."""
    if not difference.rule:
        return ""
    if difference.finding == "conflict-unreported":
        return f" ({difference.rule})"
    return f"; krm-merge reports the conflict ({difference.rule})"


def versions_by_value(
    difference: Difference, text_of: Callable[[Value], str]
) -> list[tuple[tuple[VersionName, ...], str]]:
    """Each value that some version has at the place, or what differs in it, as text, with all versions that have it."""
    versions: dict[str, tuple[VersionName, ...]] = {}
    values = differing_part(difference.values)
    for name in VERSIONS:
        if name in values:
            text = text_of(values[name])
            versions[text] = (*versions.get(text, ()), name)
    return [(names, text) for text, names in versions.items()]


def _keeps(counts: Mapping[FindingName, int]) -> str:
    """What krm-merge does instead of what kpt does."""
    losses = {finding for finding in _LOSES if counts[finding]}
    if not losses <= _WRITTEN_BY_PEOPLE:
        return "does not"
    if "comments-lost" in losses:
        return "keeps them"
    return "keeps it" if sum(counts[finding] for finding in losses) == 1 else "keeps them"


def _format_counts(phrases: Mapping[FindingName, tuple[str, str]], counts: Mapping[FindingName, int]) -> list[str]:
    """The phrase for each finding that there is, for a single one or for many."""
    return [
        singular if counts[finding] == 1 else many.format(f"{counts[finding]:,}")
        for finding, (singular, many) in phrases.items()
        if counts[finding]
    ]


def _join_names(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


_TEXT: Schema = {"type": "string"}


def schema() -> Schema:
    """The schema, without an address of its own."""
    counts: Schema = {finding: {"type": "integer", "minimum": 1} for finding in HEADINGS}
    causes: Schema = {cause: {"type": "integer", "minimum": 1} for cause in CAUSES}
    return closed_object(
        "What `kpt pkg update` makes of a package, beside what krm-merge makes of it.",
        {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "package": {**_TEXT, "description": "The package as it was named."},
            "sides": sides_schema(),
            "refusal": {**_TEXT, "description": "The message of kpt where it stops with an error."},
            "files": files_schema(),
            "same": {"type": "boolean", "description": "Whether both make the same package, byte for byte."},
            "lines": closed_object(
                "How many lines of the package each program changes, by cause; those that go and those that come.",
                dict.fromkeys(PROGRAMS, closed_object("By cause.", causes, required=[])),
                required=[],
            ),
            "counts": closed_object("How many differences there are of each finding.", counts, required=[]),
            "differences": {"type": "array", "items": _difference()},
        },
        required=["apiVersion", "kind", "package", "sides", "files", "same", "lines", "counts", "differences"],
    )


def _difference() -> Schema:
    versions: Schema = {name: {"description": f"The value of {name}; absent where it has none."} for name in VERSIONS}
    layout: Schema = {kind: {"type": "integer", "minimum": 1} for kind in LAYOUT}
    return closed_object(
        "One difference.",
        {
            "finding": {"enum": list(HEADINGS)},
            "file": _TEXT,
            "resource": resource_schema(),
            "path": {**_TEXT, "description": "The field; empty for the resource or file as a whole."},
            "message": _TEXT,
            "reported": {"type": "boolean", "description": "Whether krm-merge reports a conflict there."},
            "rule": {**_TEXT, "description": "The number of the rule of that conflict."},
            "redacted": {"const": True, "description": "The values are secret and left out."},
            "layout": closed_object(
                "How many places are written otherwise, by what differs there.", layout, required=[]
            ),
            "values": closed_object("What the versions have there.", versions, required=[]),
        },
        required=["finding", "file", "path", "message", "reported"],
    )
