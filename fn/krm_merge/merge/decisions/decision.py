"""The decisions of a merge, as data: the values of three sides, the verdict, resources and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from posixpath import basename
from typing import Literal, NamedTuple, TypeAlias

from krm_merge.krm import KPTFILE, KPTFILE_GROUP, FieldPath, Identity, Severity, generate_name_of
from krm_merge.merge.decisions.policy import Choice, Nature, Policy, Resolution, nature_of
from krm_merge.startup import frozen
from krm_merge.text import (
    Child,
    Collection,
    Comments,
    Editor,
    MappingNode,
    Node,
    Object,
    is_requoted,
    to_value,
)


class Verdict(NamedTuple):
    """The merged value at one place and why, with the decisions inside. `message` is empty where the values explain it.

    `node` is local's where that is edited inside.
    """

    node: Node | None
    rule: str = "V2"
    side: Side = "upstream"
    severity: Severity = "info"
    message: str = ""
    resolution: Resolution | None = None
    decisions: Sequence[Decision] = ()

    @property
    def is_reported(self) -> bool:
        """Whether the verdict is worth a result of its own."""
        return bool(self.message)


class Sides(NamedTuple):
    """The values of the three sides at one place; None where a side has none."""

    original: Node | None
    upstream: Node | None
    local: Node | None

    @property
    def nodes(self) -> tuple[Node | None, Node | None, Node | None]:
        """Original, upstream, local."""
        return self.original, self.upstream, self.local

    @property
    def present(self) -> list[Node]:
        """The values of the sides that have one."""
        return [node for node in (self.original, self.upstream, self.local) if node is not None]

    def are_same(self) -> bool:
        """Whether all three sides have one value."""
        return self.local is not None and same(self.original, self.upstream) and same(self.original, self.local)

    def are_local_alone(self) -> bool:
        """Whether upstream left a value alone that local has."""
        return self.original is not None and self.local is not None and same(self.original, self.upstream)

    def settled(self) -> Verdict | None:
        """V2: the verdict where at most one side changed the value, else None."""
        # Local's node in every case where it has the value: another node is an edit of its text.
        if same(self.upstream, self.original):
            return Verdict(self.local, side="local")
        if same(self.local, self.original):
            return Verdict(self.upstream)
        if same(self.upstream, self.local):
            return Verdict(self.local, side="both")
        return None


def same(first: Node | None, second: Node | None) -> bool:
    """V1: absence equals only absence, and a word in quotes that means something else without them only such a word."""
    if first is None or second is None:
        return first is second
    return first.canonical == second.canonical and not is_requoted(first, second)


Side: TypeAlias = Literal["upstream", "local", "both"]


@frozen
class Replace:
    """The child gets this value."""

    child: Child
    value: Node


@frozen
class Insert:
    """Inserts a child of upstream behind `after` (first where None), with its comments."""

    collection: Collection
    child: Child
    after: Child | None
    comments: Comments


@frozen
class Remove:
    """Removes the child."""

    collection: Collection
    child: Child


@frozen
class Move:
    """Moves the child behind `after`."""

    collection: Collection
    child: Child
    after: Child | None


@frozen
class Comment:
    """The child gets these comments."""

    child: Child
    comments: Comments


@frozen
class DiscardedComments:
    """The comments that a side had changed together with a value that lost (V8).

    `kept` are the comments that this side's child keeps, None where nothing of the child is left.
    """

    side: Literal["upstream", "local"]
    child: Child
    lines: tuple[str, ...]
    kept: Comments | None = None


Edit: TypeAlias = Replace | Insert | Remove | Move | Comment


@frozen
class Decision:
    """One decision: where, by which rule, what each side had, the merged value, why, and the edits of local's text.

    `is_reported` gives the decision a result of its own; the others are summed up. A decision without edits
    leaves local as it is, unless it `is_by_lines`: then merged lines have the value. `merged` is None where no value
    remains. `discarded_comments` belonged to a discarded value. `resolution` is the choice that settled a conflict.
    """

    rule: str
    path: FieldPath
    message: str
    side: Side
    severity: Severity = "info"
    is_reported: bool = False
    original: Node | None = None
    upstream: Node | None = None
    local: Node | None = None
    merged: Node | None = None
    edits: tuple[Edit, ...] = ()
    discarded_comments: DiscardedComments | None = None
    resolution: Resolution | None = None
    is_by_lines: bool = False

    @property
    def changes_local(self) -> bool:
        """Whether local's value becomes another one."""
        return bool(self.edits) or self.is_by_lines

    @property
    def nature(self) -> Nature:
        """The kind of place that was decided."""
        if self.resolution is not None:
            return self.resolution.nature
        one_side = self.upstream is None or self.local is None
        added_twice = self.original is None and not one_side and self.side == "both"
        return nature_of(self.rule, self.path, added_twice=added_twice, one_side=one_side)

    @property
    def is_question(self) -> bool:
        """Whether it is a conflict, or was one until somebody chose."""
        return self.is_conflict or self.resolution is not None

    @property
    def is_conflict(self) -> bool:
        """Whether both sides wanted something here; neither a comment (V8) nor a possible rename (R1) is a conflict."""
        return self.severity != "info" and self.rule not in ("V8", "R1")


@frozen
class FileDecision:
    """A decision on a file that is merged as a whole or by lines; each side is its content, None without it.

    `choices` are those that the content does not show.
    """

    path: str
    rule: str
    message: str
    side: Side
    severity: Severity = "info"
    original: bytes | None = None
    upstream: bytes | None = None
    local: bytes | None = None
    merged: bytes | None = None
    resolution: Resolution | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def nature(self) -> Nature:
        """The kind of place that was decided: the file, a reference in it (law I), or a comment (V8)."""
        if self.rule == "V8":
            return "comment"
        return "reference" if self.rule == "I" else "file"

    @property
    def is_conflict(self) -> bool:
        """Whether both sides wanted something here."""
        return self.severity != "info"


def apply(decisions: Sequence[Decision], editor: Editor) -> None:
    """Carries the edits of the decisions out. Nothing is decided here."""
    for decision in decisions:
        for edit in decision.edits:
            match edit:
                case Replace(child, value):
                    editor.replace(child, value)
                case Insert(collection, child, after, comments):
                    editor.insert(collection, child, after, comments)
                case Remove(collection, child):
                    editor.remove(collection, child)
                case Move(collection, child, after):
                    editor.move(collection, child, after)
                case Comment(child, comments):
                    editor.comment(child, comments)


MERGE_POLICY = ("fn.kpt.dev", "MergePolicy")
"""Group and kind of a package's own policy."""

UPSTREAM_IDENTIFIER = "internal.kpt.dev/upstream-identifier"
"""The annotation in which kpt notes group, kind, namespace and name that a resource had upstream (R1)."""

InputSide: TypeAlias = Literal["original", "upstream", "local"]
INPUT_SIDES: tuple[InputSide, ...] = ("original", "upstream", "local")
Fate: TypeAlias = Literal["merged", "added", "deleted", "kept"]


@frozen
class Member:
    """A resource of one side. `place` is its path in the package, `file` where the host has it.

    `index` says which document of its file it is; `is_placed` is False where nobody said which file it is in.
    """

    place: str
    identity: Identity
    root: MappingNode
    file: str
    index: int = 0
    is_placed: bool = True

    # One resource read twice is two members: maps of members use id() as key.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def generate_name(self) -> str:
        """The prefix from which the cluster makes its name, or ''."""
        return generate_name_of(self.root)

    @property
    def value(self) -> Object:
        """The plain value."""
        return to_value(self.root)

    @property
    def text(self) -> str:
        """The text that it was read from."""
        return self.root.source.text if self.root.source is not None else ""

    @property
    def is_kptfile(self) -> bool:
        """Whether it is the Kptfile of a package; other files may hold Kptfiles as data."""
        identity = self.identity
        return identity.kind == KPTFILE and identity.group == KPTFILE_GROUP and basename(self.place) == KPTFILE


@frozen
class ResourceOutcome:
    """The outcome of the merge for one resource, with every decision that led to it.

    `text` is the merged document where it is made of lines, or by edits of local's text that have aliases (V9); `root`
    is its tree where it was read.
    """

    fate: Fate
    original: Member | None
    upstream: Member | None
    local: Member | None
    decisions: list[Decision]
    text: str | None = None
    root: MappingNode | None = None

    @property
    def member(self) -> Member:
        """The resource as the nearest side has it."""
        member = self.local or self.upstream or self.original
        assert member is not None
        return member

    @property
    def members(self) -> dict[InputSide, Member]:
        """The resource on the sides that have it."""
        members = zip(INPUT_SIDES, (self.original, self.upstream, self.local), strict=True)
        return {side: member for side, member in members if member is not None}

    @property
    def roots(self) -> list[MappingNode]:
        """The trees of the resource on the sides that have it."""
        return [member.root for member in self.members.values()]


@frozen
class PackageDecisions:
    """All decisions of one merge: on resources, and on files that are merged as such. `folder` is where it was.

    `again` decides on one of them once more, under another policy; None where that cannot be done alone.
    """

    outcomes: Sequence[ResourceOutcome] = ()
    files: Sequence[FileDecision] = ()
    folder: str = ""
    again: DecideAgain | None = None

    def resolutions(self) -> Iterator[Resolution]:
        """The choices that settled something."""
        for outcome in self.outcomes:
            yield from (decision.resolution for decision in outcome.decisions if decision.resolution is not None)
        yield from (decision.resolution for decision in self.files if decision.resolution is not None)

    def __reduce__(self) -> tuple[object, ...]:
        # What is stored or sent elsewhere is what was decided, without the merge that decided it.
        return PackageDecisions, (self.outcomes, self.files, self.folder)


DecideAgain: TypeAlias = Callable[[ResourceOutcome | FileDecision, Policy], PackageDecisions]
"""Decides on one resource, or one file that is merged as such, under another policy; ignores all others."""


NOTHING_DECIDED = PackageDecisions()
