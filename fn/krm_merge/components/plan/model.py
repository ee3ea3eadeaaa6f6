"""A plan as data: pull requests for dependants, and the user's choices for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from krm_merge.components.graph.groups import BranchNames
from krm_merge.components.konflux.model import Component, ComponentKey, PullRequest

OnClosed: TypeAlias = Literal["revert", "keep"]
Suffix: TypeAlias = Literal["component", "repository"]
TriggerState: TypeAlias = Literal["open", "waiting", "done", "closed"]
"""Of a pull request that triggers another: open, merged but not built since, merged and built, closed unmerged."""
Action: TypeAlias = Literal["create", "addCommit", "regenerate", "rebase", "describe", "draft", "undraft", "close"]


@dataclass(frozen=True, slots=True)
class PlanChoices:
    """What the user chose for plans."""

    branches: BranchNames = field(default_factory=BranchNames)
    suffix: Suffix = "component"
    on_closed: OnClosed = "revert"


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """One dependant, or several that share a repository and a branch: it gets one pull request for each group (I17).

    `suffix` ends the names of its branches.
    """

    dependants: tuple[Component, ...]
    suffix: str

    def __str__(self) -> str:
        """Its name in messages."""
        return ", ".join(str(one.key) for one in self.dependants)

    @property
    def key(self) -> ComponentKey:
        """The Component that findings are about."""
        return self.dependants[0].key

    @property
    def application(self) -> str:
        """The Application of all of them."""
        return self.dependants[0].application

    @property
    def repository(self) -> str:
        """The repository of all of them."""
        return self.dependants[0].repository

    @property
    def branch(self) -> str:
        """The branch that they are built from, '' for the default branch of the repository (C12)."""
        return self.dependants[0].branch

    @property
    def contexts(self) -> tuple[str, ...]:
        """Their directories."""
        return tuple(dict.fromkeys(one.context for one in self.dependants))


@dataclass(frozen=True, slots=True)
class Trigger:
    """A build with a new digest: of a Component, from a pull request or from a push (None)."""

    component: ComponentKey
    pull_request: PullRequest | None
    state: TriggerState
    digest: str


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A commit with the changes of a pull request in the directories of dependants (R28)."""

    pull_request: PullRequest
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DigestEdit:
    """A commit that replaces digests of a Component. `known` are those that may be replaced (C5).

    Where other Components have images of the same name, `other_digests` are theirs; `tags` belong only to the
    Component, `other_tags` only to these. `manifests` are digests of its images for single architectures: files that
    name one are reported. `tag` is the tag of the image with the new digest, '' where it is unknown.
    """

    component: ComponentKey
    repositories: tuple[str, ...]
    known: tuple[str, ...]
    digest: str
    manifests: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    other_digests: tuple[str, ...] = ()
    other_tags: tuple[str, ...] = ()
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a plan is a draft: it waits for a merge, for the build of a merge (I10) or for tests."""

    component: ComponentKey
    pull_request: PullRequest | None
    until: Literal["merged", "mergeBuild", "validated"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The pull request of one target and group. `own` is its observed state; `closed` says why it is closed.

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
    synthetic: tuple[Synthetic, ...] = ()
    digests: tuple[DigestEdit, ...] = ()
    actions: tuple[Action, ...] = ()
    title: str = ""
    description: str = ""
    own: PullRequest | None = None
    closed: str = ""
    is_remembered: bool = False

    @property
    def state(self) -> Literal["open", "closed"]:
        """The desired state of the pull request."""
        return "closed" if self.closed else "open"
