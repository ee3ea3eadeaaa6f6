"""Reads plans to apply, which anybody may have edited, and summarizes many by dependant, group and cause (C7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast, get_args

from krm_merge.components.digests import TagPolicy
from krm_merge.components.konflux.model import ComponentKey, is_tag
from krm_merge.components.konflux.reading import Fields, Place
from krm_merge.components.plan.model import Copy, DigestEdit, parse_description
from krm_merge.components.plan.records import DigestPolicy
from krm_merge.safe_text import abridge
from krm_merge.startup import group_by_key
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
    description: str
    actions: frozenset[str]
    copies: tuple[Copy, ...]
    edits: tuple[DigestEdit, ...]
    policy: DigestPolicy = field(default_factory=DigestPolicy)
    dependants: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    """The reasons why it is a draft, in words."""


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
    description = fields.text("spec", "description")
    if parse_description(description) is None:
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
        tuple(fields.text(*place, "name") for place in components),
        tuple(dict.fromkeys(_wait(fields, place) for place in fields.maps("spec", "waitingFor"))),
    )
    fields.check()
    return plan


def _copy(fields: Fields, at: Place) -> Copy:
    head = fields.commit(*at, "headSHA")
    if not head:
        fields.wrong("the whole id of a commit is expected", *at, "headSHA")
    return Copy(
        fields.require(*at, "pullRequest"),
        head,
        _branch(fields, *at, "targetBranch"),
        fields.texts(*at, "paths") or (),
    )


def _edit(fields: Fields, at: Place) -> DigestEdit:
    fields.require(*at, "to")
    new, tag = fields.digest(*at, "to"), fields.text(*at, "tag")
    if tag and not is_tag(tag):
        fields.wrong("the tag of an image is expected", *at, "tag")
    return DigestEdit(
        ComponentKey("", fields.require(*at, "component")),
        repositories=fields.texts(*at, "repositories") or (),
        replaceable=_digests(fields, *at, "from"),
        digest=new,
        tags=fields.texts(*at, "tags") or (),
        other_digests=_digests(fields, *at, "otherDigests"),
        other_tags=fields.texts(*at, "otherTags") or (),
        manifests=_digests(fields, *at, "manifests"),
        tag=tag,
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
        "any" if fields.choice(("known", "any"), *at, "match") == "any" else "known",
        "replace" if fields.choice(("refuse", "replace"), *at, "multiDigestFile") == "replace" else "refuse",
        cast(TagPolicy, fields.choice(get_args(TagPolicy), *at, "tag")),
        fields.texts(*at, "files") or (),
        fields.texts(*at, "exclude") or (),
    )


def _branch(fields: Fields, *at: str | int) -> str:
    written = fields.require(*at)
    if written and _NO_BRANCH.search(written):
        fields.wrong("the name of a branch is expected", *at)
    return written


def _digests(fields: Fields, *at: str | int) -> tuple[str, ...]:
    return tuple(fields.digest(*at, n) for n in range(len(fields.texts(*at) or ())))


View: TypeAlias = Literal["dependant", "group", "wait"]
_TITLES: Final[Mapping[View, str]] = {
    "wait": "Waiting for",
    "group": "Groups",
    "dependant": "Dependants",
}
_SHOWN: Final = 10
"""How many entries of a view are listed when all views are shown."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Plans by each view: names with their plans, the ones with most plans first."""

    plans: Sequence[RecordedPlan]
    views: Mapping[View, Mapping[str, Sequence[RecordedPlan]]]

    @property
    def headline(self) -> str:
        """All plans in one line."""
        drafts = sum(plan.draft and not plan.closed for plan in self.plans)
        closed = sum(bool(plan.closed) for plan in self.plans)
        acting = sum(bool(plan.actions) for plan in self.plans)
        ready = len(self.plans) - drafts - closed
        noun = "plan" if len(self.plans) == 1 else "plans"
        return f"{len(self.plans)} {noun}: {ready} ready, {drafts} draft, {closed} to close; {acting} with actions"


def summarize(plans: Iterable[RecordedPlan]) -> Summary:
    """The plans by dependant, group and what they wait for."""
    ordered = sorted(plans, key=lambda plan: plan.name)
    names: Mapping[View, Callable[[RecordedPlan], Iterable[str]]] = {
        "wait": lambda plan: plan.waits,
        "group": lambda plan: (plan.group,),
        "dependant": lambda plan: plan.dependants,
    }
    views: dict[View, dict[str, list[RecordedPlan]]] = {}
    for view, names_of in names.items():
        entries = group_by_key((name, plan) for plan in ordered for name in names_of(plan))
        views[view] = dict(sorted(entries.items(), key=lambda pair: (-len(pair[1]), pair[0])))
    return Summary(ordered, views)


def as_text(summary: Summary, view: View | None = None) -> str:
    """The summary for a terminal: the first entries of all views, or all entries of one."""
    lines = [summary.headline]
    for name, title in _TITLES.items():
        entries = summary.views[name]
        if view not in (None, name) or not entries:
            continue
        first = list(entries.items())[: None if view else _SHOWN]
        lines += ["", f"{title}:"]
        lines += [f"  {key}: {_about(plans, name)}" for key, plans in first]
        if len(first) < len(entries):
            lines.append(f"  and {len(entries) - len(first)} more: --by {name}")
    return "\n".join(lines) + "\n"


def _about(plans: Sequence[RecordedPlan], view: View) -> str:
    if view == "dependant":
        return abridge([f"{plan.branch} ({state_of(plan)})" for plan in plans], 3, "; ")
    targets = sorted({name for plan in plans for name in plan.dependants})
    what = "1 plan" if len(plans) == 1 else f"{len(plans)} plans"
    return f"{what} for {abridge(targets, 5)}"


def state_of(plan: RecordedPlan) -> str:
    """The desired state of a plan's pull request, and what it waits for."""
    if plan.closed:
        return f"to close: {plan.closed}"
    if plan.waits:
        return f"draft, waits for {abridge(plan.waits, 3)}"
    return "draft" if plan.draft else "ready"


def as_value(summary: Summary) -> Value:
    """The summary for a program: each plan once, and the names of plans by each view."""
    plans: dict[str, Value] = {
        plan.name: {
            "repository": plan.repository,
            "branch": plan.branch,
            "group": plan.group,
            "dependants": list(plan.dependants),
            "draft": plan.draft,
            "closed": plan.closed,
            "waitsFor": list(plan.waits),
            "actions": [*sorted(plan.actions)],
        }
        for plan in summary.plans
    }
    views: dict[str, Value] = {}
    for view, entries in summary.views.items():
        names: dict[str, Value] = {name: [plan.name for plan in group] for name, group in entries.items()}
        views[f"by{view.capitalize()}"] = names
    return {"summary": summary.headline, "plans": plans, **views}
