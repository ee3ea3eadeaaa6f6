"""A plan as data: what shall happen to dependants, and what the user chose for all of them."""

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
    """Who gets one pull request for each group: a dependant, or several that share a repository and a branch (I17).

    `suffix` ends the names of its branches.
    """

    dependants: tuple[Component, ...]
    suffix: str

    def __str__(self) -> str:
        """As messages name it."""
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
    """What brings a digest: a build of a Component from a pull request, None for a push without one."""

    component: ComponentKey
    pull_request: PullRequest | None
    state: TriggerState
    digest: str


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A commit of what a pull request changes in the directories of dependants (R28)."""

    pull_request: PullRequest
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DigestEdit:
    """A commit that replaces digests of a Component. `known` are those that may be replaced (C5).

    Where other Components have images of the same name, `other_digests` are theirs; `tags` are only of the Component,
    `other_tags` only of these. `manifests` are digests of its images for single architectures: files that name one are
    told of.
    """

    component: ComponentKey
    repositories: tuple[str, ...]
    known: tuple[str, ...]
    digest: str
    manifests: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    other_digests: tuple[str, ...] = ()
    other_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """What keeps a plan a draft: a pull request to be merged, the build that follows its merge (I10), or its tests."""

    component: ComponentKey
    pull_request: PullRequest | None
    until: Literal["merged", "mergeBuild", "validated"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The pull request of one target and group. `own` is it as observed; `closed` says why it shall not be.

    `is_remembered` says that its target had the digests when the last one was closed: `apply` alone sees whether it
    still has.
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
        """What it shall be."""
        return "closed" if self.closed else "open"
