"""The resources of a package's sides, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from posixpath import basename
from typing import Literal, TypeAlias

from krm_merge.merge.decision import Decision, FileDecision
from krm_merge.merge.policy import Policy, Subject
from krm_merge.startup import frozen
from krm_merge.text.nodes import Mapping, Node, Scalar
from krm_merge.text.values import key_text

KPTFILE = "Kptfile"
KPTFILE_GROUP = "kpt.dev"
MERGE_POLICY = ("fn.kpt.dev", "MergePolicy")
"""Group and kind of a package's own policy."""

UPSTREAM_IDENTIFIER = "internal.kpt.dev/upstream-identifier"
"""The annotation in which kpt notes group, kind, namespace and name that a resource had upstream (R1)."""

Decide: TypeAlias = Callable[[Mapping], list[Decision]]
"""Merges original and upstream with a local document, by fields."""

Fate: TypeAlias = Literal["merged", "added", "deleted", "kept"]


@frozen
class Member:
    """A resource of one side. `place` is where it stands in the package, `file` where the host has it.

    `index` says which document of its file it is; `is_placed` is False where nobody said which file it is in.
    """

    place: str
    subject: Subject
    root: Mapping
    file: str
    index: int = 0
    is_placed: bool = True

    # One resource read twice is two members: what is known of each goes by id().
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def generate_name(self) -> str:
        """What the cluster makes its name from, or ''."""
        return generate_name_of(self.root)

    @property
    def text(self) -> str:
        """The text that it was read from."""
        return self.root.source.text if self.root.source is not None else ""

    @property
    def is_kptfile(self) -> bool:
        """Whether it is the Kptfile of a package; other files may hold Kptfiles as data."""
        subject = self.subject
        return subject.kind == KPTFILE and subject.group == KPTFILE_GROUP and basename(self.place) == KPTFILE


@frozen
class Outcome:
    """What becomes of one resource, and every decision that led there.

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
    def roots(self) -> list[Mapping]:
        """The resource on the sides that have it."""
        return [member.root for member in (self.original, self.upstream, self.local) if member is not None]


@frozen
class Decided:
    """All decisions of one merge: on resources, and on files that are merged as such. `folder` is where it was.

    `again` decides on one of them once more, under another policy; None where that cannot be done alone.
    """

    outcomes: Sequence[Outcome] = ()
    files: Sequence[FileDecision] = ()
    folder: str = ""
    again: DecideAgain | None = None


DecideAgain: TypeAlias = Callable[[Outcome | FileDecision, Policy], Decided]
"""What is decided on a resource, or a file that is merged as such, under another policy: nothing else is looked at."""


NOTHING_DECIDED = Decided()


def subject_of(root: Mapping) -> Subject:
    """The resource as rules name it."""
    metadata = root.get("metadata")
    name, namespace = (
        ("", "") if not isinstance(metadata, Mapping) else (_text(metadata, "name"), _text(metadata, "namespace"))
    )
    return Subject(_text(root, "apiVersion").rpartition("/")[0], _text(root, "kind"), namespace, name)


def generate_name_of(root: Mapping) -> str:
    """What the cluster makes the name of an object from, or ''."""
    metadata = root.get("metadata")
    return _text(metadata, "generateName") if isinstance(metadata, Mapping) else ""


def flaw_of(root: Node) -> str:
    """What keeps an object from being a Kubernetes resource, or ''."""
    if not isinstance(root, Mapping) or not _text(root, "kind") or not _text(root, "apiVersion"):
        return "is not a Kubernetes object: apiVersion and kind are expected"
    metadata = root.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    for name, node in (("metadata", metadata), ("metadata.annotations", annotations)):
        if node is not None and not isinstance(node, Mapping) and node.canonical != ("null",):
            return f"has no mapping in {name}"
    return ""


def _text(root: Mapping, name: str) -> str:
    node = root.get(name)
    return key_text(node) if isinstance(node, Scalar) else ""
