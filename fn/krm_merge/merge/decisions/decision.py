"""The decisions of a merge, as data: every reader (the text, the results, a diff, a report) reads these."""

from __future__ import annotations

from typing import Literal, TypeAlias

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.krm.result import Severity
from krm_merge.merge.decisions.nature import Nature, nature_of
from krm_merge.merge.decisions.resolution import Choice, Resolution
from krm_merge.startup import frozen
from krm_merge.text.editing.editor import Editor
from krm_merge.text.reading.layout import Comments
from krm_merge.text.reading.nodes import Child, Collection, Node

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
    leaves local as it is. `merged` is None where no value remains. `discarded_comments` belonged to a discarded value.
    `resolution` is the choice that settled a conflict.
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

    @property
    def nature(self) -> Nature:
        """The kind of place that was decided."""
        if self.resolution is not None:
            return self.resolution.nature
        one_side = self.upstream is None or self.local is None
        added_twice = self.original is None and not one_side and self.side == "both"
        return nature_of(self.rule, self.path, added_twice=added_twice, one_side=one_side)

    @property
    def is_conflict(self) -> bool:
        """Whether both sides wanted something here; a comment never makes a conflict (V8)."""
        return self.severity != "info" and self.rule != "V8"


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
        """The kind of place that was decided: the file, or a reference in it (law I)."""
        return "reference" if self.rule == "I" else "file"

    @property
    def is_conflict(self) -> bool:
        """Whether both sides wanted something here."""
        return self.severity != "info"


def is_doubtful(decision: Decision) -> bool:
    """Whether lines may know better: a conflict, or an element that nothing but its likeness identifies."""
    return decision.is_conflict or any(isinstance(step, int) for step in decision.path)


def apply(decisions: list[Decision], editor: Editor) -> None:
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
