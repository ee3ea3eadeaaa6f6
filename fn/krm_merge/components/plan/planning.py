"""The input that all plans share, and the findings of planning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from krm_merge.components.graph.findings import finding
from krm_merge.components.graph.graph import Graph
from krm_merge.components.konflux.history import History, PullRequestId
from krm_merge.components.konflux.images import spellings
from krm_merge.components.konflux.model import Component, ComponentKey, PullRequest
from krm_merge.components.plan.description import parse_description
from krm_merge.components.plan.model import PlanChoices, PlanTarget
from krm_merge.forges.addresses import same_repository
from krm_merge.krm.result import Result


class Planning:
    """The observation, the user's choices, and the findings so far.

    `targets` are in the order of the graph, `rank` is that order, `deleted_targets` are those whose Components are
    deleted. `closing` are the pull requests that plans close.
    """

    def __init__(self, graph: Graph, history: History, choices: PlanChoices) -> None:
        """Starts with the findings about targets."""
        self.graph = graph
        self.history = history
        self.rank = {key: at for at, key in enumerate(graph.order)}
        self.findings: list[Result] = []
        self.closing: set[PullRequestId] = set()
        living = self._targets([graph.components[key] for key in graph.order], choices)
        self.targets = list(_with_distinct_suffixes(living))
        taken = {_place(one) for one in self.targets}
        over = self._targets(graph.deleted.values(), choices)
        self.deleted_targets = [one for one in over if _place(one) not in taken]
        suffixes = {one.suffix for one in (*self.targets, *self.deleted_targets) if self._has_branches(one)}
        self.choices = replace(choices, branches=replace(choices.branches, dependants=suffixes))
        self._groups: dict[str, str] = {}
        self._by_place = {_place(one): one for one in self.targets}

    def group(self, branch: str) -> str:
        """The group of a branch."""
        if branch not in self._groups:
            self._groups[branch] = self.choices.branches.group(branch)
        return self._groups[branch]

    def target_of(self, one: PullRequest) -> PlanTarget | None:
        """The target whose digests a pull request updates, None if no plan opened it."""
        suffix = one.source_branch[len(self.group(one.source_branch)) + 1 :]
        found = self._by_place.get((same_repository(one.repository), suffix)) if suffix else None
        return found if found is not None and parse_description(one.description) is not None else None

    def sharing(self, key: ComponentKey) -> list[ComponentKey]:
        """Other Components of the namespace whose images have a name of this one's."""
        found = {
            one for name in self.history.image_names(key) for one in self._by_image[key.namespace, spellings(name)]
        }
        return sorted(found - {key})

    @cached_property
    def _by_image(self) -> dict[tuple[str, tuple[str, ...]], list[ComponentKey]]:
        found: dict[tuple[str, tuple[str, ...]], list[ComponentKey]] = {}
        for key in self.graph.components:
            for name in self.history.image_names(key):
                found.setdefault((key.namespace, spellings(name)), []).append(key)
        return found

    def report(self, severity: Literal["warning", "info"], rule: str, message: str, key: ComponentKey) -> None:
        """Records a finding about a Component."""
        self.findings.append(finding(severity, rule, message, key))

    def _has_branches(self, target: PlanTarget) -> bool:
        """Whether branches end in its suffix: it depends on something, or did when its pull requests were planned."""
        return any(self.graph.dependencies(one.key) for one in target.dependants) or any(
            one.source_branch.endswith((f"/{target.suffix}", f"@{target.suffix}"))
            and parse_description(one.description)
            for one in self.history.of_repository(target.repository)
        )

    def _targets(self, components: Iterable[Component], choices: PlanChoices) -> Iterator[PlanTarget]:
        sharing: dict[tuple[str, ...], list[Component]] = {}
        for one in components:
            place = (one.key.namespace, one.application, same_repository(one.repository), one.branch)
            is_shared = choices.suffix == "repository" or self._has_simple_branch(one)
            sharing.setdefault((*place, "" if is_shared and one.repository else one.key.name), []).append(one)
        for (*_, alone), ones in sharing.items():
            dependants = [one for one in ones if self.graph.dependencies(one.key)] or ones[:1]
            if alone or self._is_chained(dependants):
                yield from (PlanTarget((one,), one.key.name) for one in dependants)
            else:
                name = same_repository(ones[0].repository).rpartition("/")[2] or ones[0].key.name
                branch = ones[0].branch.replace("/", "-")
                yield PlanTarget(tuple(dependants), name if branch in ("", "main") else f"{name}-{branch}")

    def _has_simple_branch(self, one: Component) -> bool:
        """Whether a dependency of this Component asks for one pull request per repository (C10)."""
        return any(self.graph.components[key].simple_branch for key in self.graph.dependencies(one.key))

    def _is_chained(self, dependants: Sequence[Component]) -> bool:
        """Whether one of them depends on another: one branch cannot be on both sides of a merge."""
        keys = {one.key for one in dependants}
        above, level = set[ComponentKey](), keys
        while level:
            level = {key for one in level for key in self.graph.dependencies(one)} - above
            above |= level
        if not above & keys:
            return False
        names = ", ".join(one.key.name for one in dependants)
        message = f"{names} share a repository, but depend on each other: each gets separate branches"
        self.report("info", "I17", message, dependants[0].key)
        return True


def _with_distinct_suffixes(targets: Iterable[PlanTarget]) -> Iterator[PlanTarget]:
    """Changes the suffixes if two namespaces build Components of the same name from one repository."""
    taken = set[tuple[str, str]]()
    for one in targets:
        if _place(one) in taken:
            one = replace(one, suffix=f"{one.suffix}-{one.key.namespace}")
        taken.add(_place(one))
        yield one


def _place(one: PlanTarget) -> tuple[str, str]:
    return same_repository(one.repository), one.suffix


def named(one: PullRequest) -> str:
    """The name of a pull request in findings."""
    return f"{same_repository(one.repository).rpartition('/')[2]}#{one.number}"
