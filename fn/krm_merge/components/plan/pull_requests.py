"""The pull requests of earlier plans, the only memory of a plan, and when one opens and closes (I15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from krm_merge.components.graph import branch_names
from krm_merge.components.konflux.history import PullRequestId
from krm_merge.components.konflux.model import Build, ComponentKey, PullRequest
from krm_merge.components.plan.model import (
    DescribedState,
    Planning,
    PlanTarget,
    Trigger,
    parse_description,
    pull_name,
    reference,
)


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
        return self.pull_request.state == "closed" and self.described.unneeded

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

    pulls: tuple[TrackedPullRequest, ...] = ()

    @property
    def open(self) -> TrackedPullRequest | None:
        """The open pull request; the newest of several."""
        return next((pull for pull in reversed(self.pulls) if pull.is_open), None)

    @property
    def last(self) -> TrackedPullRequest | None:
        """The open pull request, otherwise the newest."""
        return self.open or (self.pulls[-1] if self.pulls else None)

    @property
    def ended_pulls(self) -> Iterator[TrackedPullRequest]:
        """The merged and closed pull requests."""
        return (pull for pull in self.pulls if not pull.is_open)


class OurPullRequests:
    """The pull requests that we opened for one target."""

    def __init__(self, planning: Planning, target: PlanTarget) -> None:
        """Finds them by the names of their branches and by their descriptions (CR26)."""
        groups: dict[str, list[TrackedPullRequest]] = {}
        for pull in planning.history.of_repository(target.repository):
            if not pull.source_branch.endswith(target.suffix):
                continue
            group = planning.group(pull.source_branch)
            if pull.source_branch in branch_names(group, target.suffix) and (
                state := parse_description(pull.description)
            ):
                groups.setdefault(group, []).append(TrackedPullRequest(pull, state))
        self.by_group: Mapping[str, GroupHistory] = {
            group: GroupHistory(tuple(pulls)) for group, pulls in groups.items()
        }
        self.ids: frozenset[PullRequestId] = frozenset(
            pull.pull_request.id for pulls in groups.values() for pull in pulls
        )

    @property
    def newest_target(self) -> str:
        """The target branch of the newest of them, '' without any."""
        pulls = [pull.pull_request for ours in self.by_group.values() for pull in ours.pulls]
        return max(pulls, key=lambda pull: pull.number).target_branch if pulls else ""

    def of_group(self, group: str) -> GroupHistory:
        """The pull requests of a group."""
        return self.by_group.get(group) or GroupHistory()

    def digests(self, dependency: str) -> set[str]:
        """The digests of a dependency in their descriptions."""
        digests = (pull.described.digests.get(dependency, "") for ours in self.by_group.values() for pull in ours.pulls)
        return set(filter(None, digests))

    def holder(self, dependency: str) -> TrackedPullRequest | None:
        """The newest merged pull request with a digest of a dependency: the target branch has its digest."""
        return self._holders.get(dependency)

    @cached_property
    def _holders(self) -> dict[str, TrackedPullRequest]:
        merged = [pull for ours in self.by_group.values() for pull in ours.pulls if pull.pull_request.state == "merged"]
        merged.sort(key=lambda pull: (pull.pull_request.merged_at, pull.pull_request.number))
        return {name: pull for pull in merged for name in pull.described.digests}


def unsettled_triggers(
    planning: Planning, pulls: OurPullRequests, ours: GroupHistory, triggers: Sequence[Trigger]
) -> list[Trigger]:
    """The triggers that earlier pull requests of the group have not settled."""
    goes_on = ours.open is not None or any(_is_live(trigger) for trigger in triggers)
    return [trigger for trigger in triggers if not _is_settled(planning, pulls, ours, trigger, goes_on)]


def _is_settled(
    planning: Planning, pulls: OurPullRequests, ours: GroupHistory, trigger: Trigger, goes_on: bool
) -> bool:
    if _is_live(trigger) or (ours.open is not None and (trigger.pull_request is None or ours.open.names(trigger))):
        return False
    before = [pull for pull in ours.ended_pulls if pull.names(trigger) and not (goes_on and pull.brought_nothing)]
    # Keep triggers of pull requests that somebody closed by hand: they are reported.
    is_over = goes_on or trigger.state == "closed" or any(_has_settled(pull, trigger) for pull in before)
    return bool(before) and is_over and not _needs_correction(planning, pulls, trigger)


def _has_settled(pull: TrackedPullRequest, trigger: Trigger) -> bool:
    """Whether it was merged in order. A digest that was merged too early is updated again, even after later merges."""
    return pull.pull_request.state == "merged" and not (trigger.state == "done" and pull.is_before(trigger))


def _is_live(trigger: Trigger) -> bool:
    return trigger.state in ("open", "waiting")


def _needs_correction(planning: Planning, pulls: OurPullRequests, trigger: Trigger) -> bool:
    """S8: whether the target branch has an image of the trigger from before its merge was built."""
    holder, promoted = pulls.holder(trigger.component.name), planning.history.promoted_digest(trigger.component)
    return holder is not None and holder.is_before(trigger) and _digest(holder, trigger.component) != promoted


def is_worth_opening(
    planning: Planning,
    target: PlanTarget,
    group: str,
    triggers: Sequence[Trigger],
    desired: Mapping[ComponentKey, str],
    pulls: OurPullRequests,
) -> bool:
    """Whether to open a pull request if none is open; otherwise the reason is reported."""
    ours = pulls.of_group(group)
    last, ended = ours.last, list(ours.ended_pulls)
    # People may reuse a branch: its last pull request does not have the later triggers.
    new = [trigger for trigger in triggers if not any(before.names(trigger) for before in ended)]
    live = [trigger for trigger in triggers if _is_live(trigger)]
    _report_early_merge(planning, target, last, [trigger for trigger in live if trigger not in new])
    if not live and not any(_is_newest(planning, target, group, pulls, trigger) for trigger in triggers):
        return False
    if last is not None and last.pull_request.state == "closed" and not last.described.closed and not new:
        message = (
            f"{target}: {pull_name(last.pull_request)} was closed by hand and is kept closed; reopen it to continue"
        )
        planning.report("info", "CR34", message, target.key)
        return False
    return bool(desired) and (last is None or not _has(last, desired) or last.brought_nothing)


def closed_as_unneeded(ours: GroupHistory, desired: Mapping[ComponentKey, str]) -> TrackedPullRequest | None:
    """The last pull request of a group, if none is open and it was closed because its target had these digests.

    Only `apply` sees the current target: if it still has the digests, `apply` opens nothing.
    """
    last = ours.last
    return last if last is not None and last.brought_nothing and _has(last, desired) else None


def _report_early_merge(
    planning: Planning, target: PlanTarget, last: TrackedPullRequest | None, overtaken: Sequence[Trigger]
) -> None:
    names = [pull_name(trigger.pull_request) for trigger in overtaken if trigger.pull_request is not None]
    if last is None or last.pull_request.state != "merged" or not names:
        return
    message = (
        f"{target}: {pull_name(last.pull_request)} was merged out of order, before {', '.join(dict.fromkeys(names))}: "
        f"{last.pull_request.target_branch} now names images of pull requests, which expire"
    )
    planning.report("warning", "CR34", message, target.key)


def _is_newest(planning: Planning, target: PlanTarget, group: str, pulls: OurPullRequests, trigger: Trigger) -> bool:
    """Whether a merged or closed trigger still needs an update: it is the promoted build, or has to be reverted."""
    if _needs_correction(planning, pulls, trigger):
        return True
    if trigger.state != "done":
        return False
    promoted, holder = planning.history.promoted_build(trigger.component), pulls.holder(trigger.component.name)
    if holder is not None and _digest(holder, trigger.component) == trigger.digest:
        return False  # with another group
    if promoted is not None and _brought(planning, trigger, promoted):
        return True
    message = f"{target}: group {group} is complete: newer digests of its dependencies were promoted since"
    planning.report("info", "CR30", message, target.key)
    return False


def _brought(planning: Planning, trigger: Trigger, promoted: Build) -> bool:
    """Whether a promoted build belongs to the trigger."""
    if trigger.pull_request is None:
        return True
    return promoted in planning.history.after_merge(trigger.component, trigger.pull_request)


def end_of(
    planning: Planning,
    triggers: Sequence[Trigger],
    desired: Mapping[ComponentKey, str],
    pulls: OurPullRequests,
    last: TrackedPullRequest,
) -> tuple[str, str] | None:
    """The rule and the reason for closing an open pull request; None if it is kept open."""
    if any(_is_live(trigger) for trigger in triggers):
        return None
    holders = {key: pulls.holder(key.name) for key in desired}
    having = [holder for key, holder in holders.items() if holder is not None and _has(holder, {key: desired[key]})]
    if desired and len(having) == len(desired) and not last.pull_request.user_commits:
        names = ", ".join(dict.fromkeys(pull_name(holder.pull_request) for holder in having))
        return "CR22", f"{names} has all of its digests"
    is_correction = any(_needs_correction(planning, pulls, trigger) for trigger in triggers)
    all_closed = all(trigger.state == "closed" for trigger in triggers)
    if all_closed and planning.choices.on_closed == "revert" and not is_correction:
        return "S7", "all of its triggers were closed without a merge"
    return None


def _has(pull: TrackedPullRequest, digests: Mapping[ComponentKey, str]) -> bool:
    return all(_digest(pull, key) == digest for key, digest in digests.items())


def _digest(pull: TrackedPullRequest, key: ComponentKey) -> str | None:
    return pull.described.digests.get(key.name)
