"""Reads plans to apply, which anybody may have edited."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.konflux.reading import Fields, Place
from krm_merge.components.plan.model import MARK, Copy, DigestEdit
from krm_merge.components.plan.records import DigestPolicy
from krm_merge.forges.proposals import MarkedPart, part_in
from krm_merge.text import Value

# Source: git-check-ref-format(1); besides, a branch must not look like an option or HEAD.
_NO_BRANCH = re.compile(r"^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|/\.|@\{|\.lock(?:/|$)|[/.]$|^(?:@|HEAD|refs/.*)?$")


@dataclass(frozen=True, slots=True)
class RecordedPlan:
    """A plan that was read from a file.

    `contexts` are the directories of the dependants, `number` is the pull request that was open when it was planned, 0
    for none, and `closed` is why it is to be closed.
    """

    name: str
    repository: str
    branch: str
    group: str
    base: str
    contexts: tuple[str, ...]
    number: int
    closed: str
    draft: bool
    title: str
    description: MarkedPart
    actions: frozenset[str]
    copies: tuple[Copy, ...]
    edits: tuple[DigestEdit, ...]
    policy: DigestPolicy = field(default_factory=DigestPolicy)


def read_recorded_plan(value: Value) -> RecordedPlan:
    """Reads a plan from its resource. Raises UnreadableError with all problems."""
    fields = Fields(value)
    branch, base = _branch(fields, "spec", "sourceBranch"), ""
    if fields.at("spec", "targetBranch") is not None:
        base = _branch(fields, "spec", "targetBranch")
    if branch and branch == base:
        fields.wrong("it is the target branch; another one is expected", "spec", "sourceBranch")
    fields.require("spec", "state")
    state = fields.choice(("open", "closed"), "spec", "state")
    number = fields.pull_request_number("spec", "number")
    if not isinstance(fields.at("spec", "draft"), bool):
        fields.wrong("true or false is expected, without quotes", "spec", "draft")
    description = part_in(fields.text("spec", "description")) or MarkedPart()
    if description.mark != MARK:
        problem = "the block between the two comments is missing; plan again, it identifies the pull request"
        fields.wrong(problem, "spec", "description")
    components = fields.maps("spec", "components")
    if not components:
        fields.wrong("at least one Component is expected", "spec", "components")
    copies, edits = list[Copy](), list[DigestEdit]()
    for place in fields.maps("spec", "commits"):
        if fields.choice(("synthetic", "digest"), *place, "kind") == "synthetic":
            copies.append(_copy(fields, place))
        else:
            edits.append(_edit(fields, place))
    name = fields.require("metadata", "name")
    fields.require("spec", "repository")
    plan = RecordedPlan(
        name,
        fields.url("spec", "repository"),
        branch,
        fields.require("spec", "group"),
        base,
        tuple(fields.directory(*place, "context") or "." for place in components),
        number,
        (fields.text("spec", "reason") or "as planned") if state == "closed" else "",
        fields.flag("spec", "draft"),
        fields.require("spec", "title"),
        description,
        frozenset(fields.texts("spec", "actions") or ()),
        tuple(copies),
        tuple(edits),
        _policy(fields),
    )
    fields.check()
    return plan


def _copy(fields: Fields, at: Place) -> Copy:
    head = fields.commit(*at, "headSHA")
    if not head:
        fields.wrong("the full id of a commit is expected", *at, "headSHA")
    return Copy(
        fields.require(*at, "pullRequest"),
        head,
        _branch(fields, *at, "targetBranch"),
        fields.texts(*at, "paths") or (),
    )


def _edit(fields: Fields, at: Place) -> DigestEdit:
    fields.require(*at, "to")
    new = fields.digest(*at, "to")
    return DigestEdit(
        ComponentKey("", fields.require(*at, "component")),
        repositories=fields.texts(*at, "repositories") or (),
        replaceable=_digests(fields, *at, "from"),
        digest=new,
        tags=fields.texts(*at, "tags") or (),
        other_digests=_digests(fields, *at, "otherDigests"),
        other_tags=fields.texts(*at, "otherTags") or (),
    )


def _policy(fields: Fields) -> DigestPolicy:
    at: Place = ("spec", "digest")
    return DigestPolicy(fields.texts(*at, "files") or (), fields.texts(*at, "exclude") or ())


def _branch(fields: Fields, *at: str | int) -> str:
    written = fields.require(*at)
    if written and _NO_BRANCH.search(written):
        fields.wrong("the name of a branch is expected", *at)
    return written


def _digests(fields: Fields, *at: str | int) -> tuple[str, ...]:
    return tuple(fields.digest(*at, n) for n in range(len(fields.texts(*at) or ())))
