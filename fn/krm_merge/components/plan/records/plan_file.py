"""Reads plans to apply. Plans are untrusted input: anybody may have written or edited them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

from krm_merge.components.digests.image_identity import ImageIdentity
from krm_merge.components.digests.replacement import TagPolicy
from krm_merge.components.konflux.fields import Fields, Place
from krm_merge.components.konflux.images import is_tag
from krm_merge.components.plan.description import parse_description
from krm_merge.components.plan.records.resources import DigestPolicy
from krm_merge.text.reading.values import Value

# Source: git-check-ref-format(1); besides, a branch must not look like an option or HEAD.
_NO_BRANCH = re.compile(r"^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|/\.|@\{|\.lock(?:/|$)|[/.]$|^(?:@|HEAD|refs/.*)?$")


@dataclass(frozen=True, slots=True)
class Copy:
    """Changes of a pull request at some paths, to be copied: its head, and its target branch."""

    pull_request: str
    head: str
    target_branch: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """Digests of a component to be replaced in the files of a directory. `known` includes the new digest."""

    component: str
    repositories: tuple[str, ...]
    known: ImageIdentity
    digest: str
    manifests: frozenset[str] = frozenset()
    tag: str = ""

    @property
    def image(self) -> str:
        """The name of the image in messages."""
        return self.repositories[0] if self.repositories else self.component


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
    description: str
    actions: frozenset[str]
    copies: tuple[Copy, ...]
    edits: tuple[PlannedEdit, ...]
    policy: DigestPolicy = field(default_factory=DigestPolicy)
    dependants: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    """What it waits for, in words."""


def read_recorded_plan(value: Value) -> RecordedPlan:
    """Reads a plan from its resource. Raises UnreadableError with all problems."""
    fields = Fields(value)
    branch, base = _branch(fields, "spec", "sourceBranch"), ""
    if fields.at("spec", "targetBranch") is not None:
        base = _branch(fields, "spec", "targetBranch")
    if branch and branch == base:
        fields.wrong("it is the target branch; another one is expected", "spec", "sourceBranch")
    fields.needed("spec", "state")
    state = _one_of(fields, ("open", "closed"), "spec", "state")
    number = fields.pull_request_number("spec", "number")
    if not isinstance(fields.at("spec", "draft"), bool):
        fields.wrong("true or false is expected, without quotes", "spec", "draft")
    description = fields.text("spec", "description")
    if parse_description(description) is None:
        problem = "the block between the two comments is missing; plan again, it identifies the pull request"
        fields.wrong(problem, "spec", "description")
    components = fields.maps("spec", "components")
    if not components:
        fields.wrong("at least one Component is expected", "spec", "components")
    copies, edits = list[Copy](), list[PlannedEdit]()
    for one in fields.maps("spec", "commits"):
        if _one_of(fields, ("synthetic", "digest"), *one, "kind") == "synthetic":
            copies.append(_copy(fields, one))
        else:
            edits.append(_edit(fields, one))
    order = RecordedPlan(
        fields.needed("metadata", "name"),
        _needed_url(fields, "spec", "repository"),
        branch,
        fields.needed("spec", "group"),
        base,
        tuple(fields.directory(*one, "context") or "." for one in components),
        number,
        (fields.text("spec", "reason") or "as planned") if state == "closed" else "",
        fields.flag("spec", "draft"),
        fields.needed("spec", "title"),
        description,
        frozenset(fields.texts("spec", "actions") or ()),
        tuple(copies),
        tuple(edits),
        _policy(fields),
        tuple(fields.text(*one, "name") for one in components),
        tuple(dict.fromkeys(_wait(fields, one) for one in fields.maps("spec", "waitingFor"))),
    )
    fields.check()
    return order


def _copy(fields: Fields, at: Place) -> Copy:
    head = fields.commit(*at, "headSHA")
    if not head:
        fields.wrong("the whole id of a commit is expected", *at, "headSHA")
    return Copy(
        fields.needed(*at, "pullRequest"),
        head,
        _branch(fields, *at, "targetBranch"),
        fields.texts(*at, "paths") or (),
    )


def _edit(fields: Fields, at: Place) -> PlannedEdit:
    fields.needed(*at, "to")
    new, tag = fields.digest(*at, "to"), fields.text(*at, "tag")
    if tag and not is_tag(tag):
        fields.wrong("the tag of an image is expected", *at, "tag")
    return PlannedEdit(
        fields.needed(*at, "component"),
        fields.texts(*at, "repositories") or (),
        ImageIdentity(
            _digests(fields, *at, "from") | {new},
            frozenset(fields.texts(*at, "tags") or ()),
            _digests(fields, *at, "otherDigests"),
            frozenset(fields.texts(*at, "otherTags") or ()),
        ),
        new,
        _digests(fields, *at, "manifests"),
        tag,
    )


def _wait(fields: Fields, at: Place) -> str:
    what, component = fields.text(*at, "pullRequest"), fields.text(*at, "component")
    if fields.text(*at, "until") == "validated":
        return f"the tests of {component}"
    if fields.text(*at, "until") == "mergeBuild":
        return f"the build of {component} after {what or 'its push'}"
    return f"the merge of {what}"


def _policy(fields: Fields) -> DigestPolicy:
    at: Place = ("spec", "digest")
    return DigestPolicy(
        "any" if _one_of(fields, ("known", "any"), *at, "match") == "any" else "known",
        "replace" if _one_of(fields, ("refuse", "replace"), *at, "multiDigestFile") == "replace" else "refuse",
        cast(TagPolicy, _one_of(fields, get_args(TagPolicy), *at, "tag")),
        fields.texts(*at, "files") or (),
        fields.texts(*at, "exclude") or (),
    )


def _needed_url(fields: Fields, *at: str | int) -> str:
    fields.needed(*at)
    return fields.url(*at)


def _branch(fields: Fields, *at: str | int) -> str:
    written = fields.needed(*at)
    if written and _NO_BRANCH.search(written):
        fields.wrong("the name of a branch is expected", *at)
    return written


def _one_of(fields: Fields, known: Sequence[str], *at: str | int) -> str:
    """One of the known texts; the first if it is missing."""
    written = fields.text(*at) or known[0]
    if written not in known:
        fields.wrong(f"{' or '.join(known)} is expected", *at)
    return written


def _digests(fields: Fields, *at: str | int) -> frozenset[str]:
    return frozenset(fields.digest(*at, n) for n in range(len(fields.texts(*at) or ())))
