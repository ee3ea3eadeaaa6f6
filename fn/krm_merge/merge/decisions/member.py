"""The resources of a package's sides, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from posixpath import basename
from typing import Literal, TypeAlias

from krm_merge.krm.identity import KPTFILE, KPTFILE_GROUP, Identity, generate_name_of
from krm_merge.merge.decisions.decision import Decision, FileDecision
from krm_merge.merge.decisions.policy import Policy
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import MappingNode, Scalar
from krm_merge.text.reading.values import key_text

MERGE_POLICY = ("fn.kpt.dev", "MergePolicy")
"""Group and kind of a package's own policy."""

UPSTREAM_IDENTIFIER = "internal.kpt.dev/upstream-identifier"
"""The annotation in which kpt notes group, kind, namespace and name that a resource had upstream (R1)."""

Decide: TypeAlias = Callable[[MappingNode], list[Decision]]
"""Merges original and upstream with a local document, by fields."""

InputSide: TypeAlias = Literal["original", "upstream", "local"]
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

    `text` is its document where the lines of both sides settle it (law H); there are no edits then. `decide` merges
    upstream's changes into another local version.
    """

    fate: Fate
    original: Member | None
    upstream: Member | None
    local: Member | None
    decisions: list[Decision]
    text: str | None = None
    decide: Decide | None = None

    @property
    def member(self) -> Member:
        """The resource as the nearest side has it."""
        member = self.local or self.upstream or self.original
        assert member is not None
        return member

    @property
    def members(self) -> dict[InputSide, Member]:
        """The resource on the sides that have it."""
        sides: tuple[tuple[InputSide, Member | None], ...] = (
            ("original", self.original),
            ("upstream", self.upstream),
            ("local", self.local),
        )
        return {side: member for side, member in sides if member is not None}

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


DecideAgain: TypeAlias = Callable[[ResourceOutcome | FileDecision, Policy], PackageDecisions]
"""Decides on one resource, or one file that is merged as such, under another policy; ignores all others."""


NOTHING_DECIDED = PackageDecisions()


def _text(root: MappingNode, name: str) -> str:
    node = root.get(name)
    return key_text(node) if isinstance(node, Scalar) else ""
