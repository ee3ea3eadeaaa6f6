"""The pull requests of earlier plans, and the state in their descriptions: the only memory of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from krm_merge.components.graph.groups import branch_names
from krm_merge.components.konflux.history import PullRequestId
from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.plan.description import DescribedState, parse_description, reference
from krm_merge.components.plan.model import PlanTarget, Trigger
from krm_merge.components.plan.planning import Planning


@dataclass(frozen=True, slots=True)
class TrackedPullRequest:
    """A pull request that we opened, with the state parsed from its description."""

    pull_request: PullRequest
    described: DescribedState

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self.pull_request.state == "open"

    @property
    def brought_nothing(self) -> bool:
        """Whether it was closed because its target had the digests; the target may have changed since."""
        return self.pull_request.state == "closed" and self.described.had

    def names(self, trigger: Trigger) -> bool:
        """Whether its description has the trigger (of a push, the digest) and the trigger was not reopened since."""
        if trigger.pull_request is None:
            return self.described.digests.get(trigger.component.name) == trigger.digest
        state = self.described.triggers.get(reference(trigger.pull_request))
        return state is not None and (state != "closed" or trigger.state == "closed")

    def is_before(self, trigger: Trigger) -> bool:
        """Whether it waited for the merge and build of the trigger when its description was last written."""
        of_whom = trigger.pull_request
        return of_whom is not None and self.described.triggers.get(reference(of_whom)) in ("open", "waiting")


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """Our pull requests of one group, from the oldest to the newest."""

    ones: tuple[TrackedPullRequest, ...] = ()

    @property
    def open(self) -> TrackedPullRequest | None:
        """The open pull request; the newest of several."""
        return next((one for one in reversed(self.ones) if one.is_open), None)

    @property
    def last(self) -> TrackedPullRequest | None:
        """The open pull request, otherwise the newest."""
        return self.open or (self.ones[-1] if self.ones else None)

    @property
    def ended(self) -> Iterator[TrackedPullRequest]:
        """The merged and closed pull requests."""
        return (one for one in self.ones if not one.is_open)


class OurPullRequests:
    """The pull requests that we opened for one target."""

    def __init__(self, planning: Planning, target: PlanTarget) -> None:
        """Finds them by the names of their branches and by their descriptions (R26)."""
        found: dict[str, list[TrackedPullRequest]] = {}
        for one in planning.history.of_repository(target.repository):
            if not one.source_branch.endswith(target.suffix):
                continue
            group = planning.group(one.source_branch)
            if one.source_branch in branch_names(group, target.suffix) and (
                state := parse_description(one.description)
            ):
                found.setdefault(group, []).append(TrackedPullRequest(one, state))
        self.by_group: Mapping[str, GroupHistory] = {group: GroupHistory(tuple(ones)) for group, ones in found.items()}
        self.ids: frozenset[PullRequestId] = frozenset(one.pull_request.id for ones in found.values() for one in ones)

    @property
    def newest_target(self) -> str:
        """The branch that the newest of them is for, '' if there is none."""
        ones = [one.pull_request for ours in self.by_group.values() for one in ours.ones]
        return max(ones, key=lambda one: one.number).target_branch if ones else ""

    def of_group(self, group: str) -> GroupHistory:
        """The pull requests of a group."""
        return self.by_group.get(group) or GroupHistory()

    def digests(self, dependency: str) -> set[str]:
        """The digests of a dependency in their descriptions."""
        digests = (one.described.digests.get(dependency, "") for ours in self.by_group.values() for one in ours.ones)
        return set(filter(None, digests))

    def holder(self, dependency: str) -> TrackedPullRequest | None:
        """The newest merged pull request with a digest of a dependency: the target branch has its digest."""
        return self._holders.get(dependency)

    @cached_property
    def _holders(self) -> dict[str, TrackedPullRequest]:
        merged = [one for ours in self.by_group.values() for one in ours.ones if one.pull_request.state == "merged"]
        merged.sort(key=lambda one: (one.pull_request.merged_at, one.pull_request.number))
        return {name: one for one in merged for name in one.described.digests}
