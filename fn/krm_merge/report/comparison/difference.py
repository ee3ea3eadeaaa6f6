"""The public form of a comparison with kpt: one document that every report of it is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from krm_merge.krm.result import ResourceRef
from krm_merge.report.record import API_VERSION, NO_FILES, Files, RecordedSide, resource_value
from krm_merge.text.reading.values import Value

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

    `values` are the versions that have something there; none where they are hidden (`is_redacted`).
    `is_reported` says that krm-merge reports a conflict there, by the `rule`. `layout` are the places in which the
    document is written otherwise, by what differs there.
    """

    finding: FindingName
    file: str
    resource: ResourceRef | None
    path: str
    message: str
    values: Mapping[VersionName, Value] = field(default_factory=dict)
    rule: str = ""
    is_reported: bool = False
    is_redacted: bool = False
    layout: Mapping[str, int] = field(default_factory=dict)

    def to_value(self) -> dict[str, Value]:
        """As it is in the document; a version that has nothing at this place is left out."""
        value: dict[str, Value] = {"finding": self.finding, "file": self.file}
        if self.resource is not None:
            value["resource"] = resource_value(self.resource)
        value |= {"path": self.path, "message": self.message, "reported": self.is_reported}
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
        files = self.files
        value["files"] = {"added": [*files.added], "changed": [*files.changed], "deleted": [*files.deleted]}
        value["same"] = self.is_same
        value["lines"] = {
            program: {str(cause): counts[cause] for cause in counts} for program, counts in self.lines.items()
        }
        value["counts"] = dict(sorted(self.counts.items()))
        value["differences"] = [difference.to_value() for difference in self.differences]
        return value
