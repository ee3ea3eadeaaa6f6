"""A plan as data, the description that the next plan parses, the user's choices, and the input of all plans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

from krm_merge.components.digests import ImageIdentity
from krm_merge.components.graph import BranchNames, Graph, finding
from krm_merge.components.konflux.history import History, PullRequestId
from krm_merge.components.konflux.model import Component, ComponentKey, PullRequest, spellings
from krm_merge.forges.interface import same_repository
from krm_merge.forges.proposals import MarkedPart, part_in
from krm_merge.krm import Result
from krm_merge.startup import group_by_key

TriggerState: TypeAlias = Literal["open", "waiting", "done", "closed"]
"""Of a pull request that triggers another: open, merged but not built since, merged and built, closed unmerged."""
Action: TypeAlias = Literal["create", "addCommit", "regenerate", "rebase", "describe", "draft", "undraft", "close"]


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """A dependant: it gets one pull request for each group. `suffix` ends the names of its branches."""

    dependant: Component
    suffix: str

    def __str__(self) -> str:
        """Its name in messages."""
        return str(self.key)

    @property
    def key(self) -> ComponentKey:
        """The Component that findings are about."""
        return self.dependant.key

    @property
    def repository(self) -> str:
        """The dependant's repository."""
        return self.dependant.repository


@dataclass(frozen=True, slots=True)
class Trigger:
    """A build with a new digest: of a Component, from a pull request or from a push (None).

    `commit` was built with the digest, '' where that is unknown; `failure` is about a later build without an image.
    """

    component: ComponentKey
    pull_request: PullRequest | None
    state: TriggerState
    digest: str
    commit: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """A commit with the changes of a pull request in the directories of dependants (CR28): up to its `head`.

    `pull_request` is as a forge links it, `target_branch` the branch that it will be merged into.
    """

    pull_request: str
    head: str
    target_branch: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DigestEdit:
    """A commit that replaces digests of a Component. `replaceable` are the digests before (C5).

    Where other Components have images of the same name, `other_digests` are theirs; `tags` belong only to the
    Component, `other_tags` only to these.
    """

    component: ComponentKey
    repositories: tuple[str, ...]
    replaceable: tuple[str, ...]
    digest: str
    tags: tuple[str, ...] = ()
    other_digests: tuple[str, ...] = ()
    other_tags: tuple[str, ...] = ()

    @property
    def image(self) -> str:
        """The name of the image in messages."""
        return self.repositories[0] if self.repositories else self.component.name

    @property
    def identity(self) -> ImageIdentity:
        """The digests and tags of the image, the new one included, and those of other images of that name."""
        known = frozenset((*self.replaceable, self.digest))
        return ImageIdentity(known, frozenset(self.tags), frozenset(self.other_digests), frozenset(self.other_tags))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a plan is a draft: it waits for a merge, or for the build of a merge (I10)."""

    component: ComponentKey
    pull_request: PullRequest | None
    until: Literal["merged", "mergeBuild"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The pull request of one target and group. `pull_request` is observed; `closed` says why it is closed.

    `is_remembered` says that its target had the digests when the last one was closed: only `apply` sees whether it
    still has them.
    """

    target: PlanTarget
    group: str
    branch: str
    base: str
    draft: bool
    triggers: tuple[Trigger, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    synthetic: tuple[Copy, ...] = ()
    digests: tuple[DigestEdit, ...] = ()
    actions: tuple[Action, ...] = ()
    title: str = ""
    description: MarkedPart = field(default_factory=MarkedPart)
    pull_request: PullRequest | None = None
    closed: str = ""
    is_remembered: bool = False

    @property
    def state(self) -> Literal["open", "closed"]:
        """The desired state of the pull request."""
        return "closed" if self.closed else "open"


MARK = "components"
"""The mark of our part of the description of a planned pull request."""
_DIGEST = re.compile(r"^- `([^`@]+)` is `[^`@]*@(sha256:[0-9a-f]{64})`", re.MULTILINE)
_TRIGGER = re.compile(r"^- ([^ ]+) \((open|waiting|done|closed)\)(?::.*; built as (.*))?", re.MULTILINE)
_BUILT = re.compile(r"`([^`]+)`(?: at ([0-9a-f]+))?")
_PUSH = "- a push to "
NOTHING_LEFT = "nothing is left to update"
"""The reason for closing a pull request whose target has its digests; the name of the branch follows."""
_CLOSED = re.compile(r"^Closed: ", re.MULTILINE)
_HAD = re.compile(rf"^Closed: {NOTHING_LEFT} in ", re.MULTILINE)
_SYNTHETIC = re.compile(r"^- files of ([^ ]+) at ([0-9a-f]+)", re.MULTILINE)
_WORDS = {
    "open": "not merged yet",
    "waiting": "merged, but the merge is not built",
    "done": "merged and built",
    "closed": "closed without a merge",
}


@dataclass(frozen=True, slots=True)
class DescribedState:
    """The state in a description: digests by name of the dependency, states by trigger, heads by copied pull request.

    `built_as` are the dependencies that each trigger was built as, with the commit of the digest, '' where it has none;
    `closed` says that a plan closed it, `unneeded` that it did because the target had the digests, `by_push` that a
    push triggered it, too.
    """

    digests: Mapping[str, str]
    triggers: Mapping[str, str]
    synthetic: Mapping[str, str]
    built_as: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    closed: bool = False
    unneeded: bool = False
    by_push: bool = False


def parse_description(description: str) -> DescribedState | None:
    """Parses our part of a description; None if it has none, so that the pull request is not ours."""
    part = part_in(description)
    return described_state(part) if part is not None and part.mark == MARK else None


def described_state(part: MarkedPart) -> DescribedState:
    """The state in our part of a description."""
    text = part.body
    triggers = _TRIGGER.findall(text)
    return DescribedState(
        dict(_DIGEST.findall(text)),
        {name: state for name, state, _ in triggers},
        dict(_SYNTHETIC.findall(text)),
        {name: dict(_BUILT.findall(built_as)) for name, _, built_as in triggers},
        _CLOSED.search(text) is not None,
        _HAD.search(text) is not None,
        f"\n{_PUSH}" in text,
    )


def planned_state(pull: PullRequest) -> DescribedState | None:
    """The state in the description of a pull request, else the digests of our commits; None if it is not ours."""
    described = parse_description(pull.body)
    if described is None and pull.planned_digests:
        return DescribedState(dict(pull.planned_digests), {}, {})
    return described


def description_of(
    target: PlanTarget,
    group: str,
    triggers: Sequence[Trigger],
    digests: Sequence[DigestEdit],
    waiting: Sequence[Waiting],
    synthetic: Sequence[Copy],
    closed: str = "",
) -> tuple[str, MarkedPart]:
    """Title and description of a pull request.

    `closed` is why it is closed.
    """
    names = ", ".join(edit.component.name for edit in digests) or "nothing"
    lines = [f"This updates images in `{target.key.name}`, for the group `{group}`.", ""]
    for edit in digests:
        lines.append(f"- `{edit.component.name}` is `{edit.image}@{edit.digest}`")
    if triggers:
        lines += ["", "It was triggered by:", ""]
    pulls = ((trigger.pull_request, trigger) for trigger in triggers)
    by_pull_request = group_by_key((reference(pull), trigger) for pull, trigger in pulls if pull is not None)
    for name, causes in by_pull_request.items():
        # If it is built as several components, the last of them counts.
        state = next((trigger.state for trigger in causes if trigger.state == "waiting"), causes[0].state)
        commits = {trigger.component.name: f" at {trigger.commit}" if trigger.commit else "" for trigger in causes}
        built_as = ", ".join(f"`{component}`{commit}" for component, commit in commits.items())
        lines.append(f"- {name} ({state}): {_WORDS[state]}; built as {built_as}")
        lines += [f"  - {trigger.failure}" for trigger in causes if trigger.failure]
    lines += [f"{_PUSH}`{trigger.component.name}`" for trigger in triggers if trigger.pull_request is None]
    if synthetic:
        lines += ["", "It holds the changes to this directory of:", ""]
        lines += [f"- files of {copy.pull_request} at {copy.head}" for copy in synthetic]
    lines += ["", _closing_line(closed) if closed else _order(waiting, bool(digests))]
    return f"Update {names} in {target.key.name} ({group})", MarkedPart(MARK, "\n".join(lines))


def closed_description(description: MarkedPart, reason: str) -> MarkedPart:
    """A description that ends with why it is closed instead of what it waits for."""
    lines = description.body.rstrip("\n").split("\n")[:-1]
    return MarkedPart(MARK, "\n".join([*lines, _closing_line(reason)]))


def reference(pull_request: PullRequest) -> str:
    """A pull request as a forge links it: owner/name#number."""
    return link(pull_request.repository, pull_request.number)


def link(repository: str, number: int) -> str:
    """A pull request of a repository as a forge links it: owner/name#number."""
    return f"{'/'.join(same_repository(repository).rsplit('/', 2)[-2:])}#{number}"


def _closing_line(reason: str) -> str:
    return f"Closed: {reason}."


def _order(waiting: Sequence[Waiting], updates: bool) -> str:
    if not updates:
        return "It no longer updates anything: its triggers will not be merged."
    if not waiting:
        return "It can be merged."
    names = {wait: reference(wait.pull_request) for wait in waiting if wait.pull_request is not None}
    unmerged = dict.fromkeys(name for wait, name in names.items() if wait.until == "merged")
    if unmerged:
        return f"Merge it after {', '.join(unmerged)}: until then it names images that expire, and stays a draft."
    unbuilt = ", ".join(dict.fromkeys(names.values()))
    return f"Merge it when the merge of {unbuilt} is built: until then it names images that expire, and stays a draft."


class Planning:
    """The observation, the user's names of branches, and the findings so far.

    `targets` are in the order of the graph, `rank` is that order, `deleted_targets` are those whose Components are
    deleted. `closing` are the pull requests that plans close.
    """

    def __init__(self, graph: Graph, history: History, branches: BranchNames) -> None:
        """Starts with the findings about targets."""
        self.graph = graph
        self.history = history
        self.rank = {key: at for at, key in enumerate(graph.order)}
        self.findings: list[Result] = []
        self.closing: set[PullRequestId] = set()
        self.targets = list(_with_distinct_suffixes(_targets(graph.components[key] for key in graph.order)))
        places = {_place(target) for target in self.targets}
        over = _targets(graph.deleted.values())
        self.deleted_targets = [target for target in over if _place(target) not in places]
        suffixes = {target.suffix for target in (*self.targets, *self.deleted_targets) if self._has_branches(target)}
        self.branches = replace(branches, dependants=suffixes)
        self._groups: dict[str, str] = {}
        self._by_place = {_place(target): target for target in self.targets}

    def group(self, branch: str) -> str:
        """The group of a branch."""
        if branch not in self._groups:
            self._groups[branch] = self.branches.group(branch)
        return self._groups[branch]

    def target_of(self, pull: PullRequest) -> PlanTarget | None:
        """The target whose digests a pull request updates, None if no plan opened it."""
        suffix = pull.source_branch[len(self.group(pull.source_branch)) + 1 :]
        target = self._by_place.get((same_repository(pull.repository), suffix)) if suffix else None
        return target if target is not None and planned_state(pull) is not None else None

    def sharing(self, key: ComponentKey) -> list[ComponentKey]:
        """Other Components of the namespace whose images have a name of this one's."""
        keys = {
            other for name in self.history.image_names(key) for other in self._by_image[key.namespace, spellings(name)]
        }
        return sorted(keys - {key})

    @cached_property
    def _by_image(self) -> dict[tuple[str, tuple[str, ...]], list[ComponentKey]]:
        names = ((key, name) for key in self.graph.components for name in self.history.image_names(key))
        return group_by_key(((key.namespace, spellings(name)), key) for key, name in names)

    def report(self, severity: Literal["warning", "info"], rule: str, message: str, key: ComponentKey) -> None:
        """Records a finding about a Component."""
        self.findings.append(finding(severity, rule, message, key))

    def _has_branches(self, target: PlanTarget) -> bool:
        """Whether branches end in its suffix: it depends on something, or did when its pull requests were planned."""
        return bool(self.graph.dependencies(target.key)) or any(
            pull.source_branch.endswith((f"/{target.suffix}", f"@{target.suffix}")) and planned_state(pull)
            for pull in self.history.of_repository(target.repository)
        )


def _targets(components: Iterable[Component]) -> Iterator[PlanTarget]:
    return (PlanTarget(component, component.key.name) for component in components)


def _with_distinct_suffixes(targets: Iterable[PlanTarget]) -> Iterator[PlanTarget]:
    """Changes the suffixes if two namespaces build Components of the same name from one repository."""
    places = set[tuple[str, str]]()
    for target in targets:
        if _place(target) in places:
            target = replace(target, suffix=f"{target.suffix}-{target.key.namespace}")
        places.add(_place(target))
        yield target


def _place(target: PlanTarget) -> tuple[str, str]:
    return same_repository(target.repository), target.suffix


def pull_name(pull: PullRequest) -> str:
    """The name of a pull request in findings: name#number."""
    return f"{same_repository(pull.repository).rpartition('/')[2]}#{pull.number}"
