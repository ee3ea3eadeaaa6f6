"""The pull requests of earlier plans, the only memory of a plan: what triggers one, when it opens and closes (I15)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from krm_merge.components.graph import branch_names
from krm_merge.components.konflux.history import History, PullRequestId, is_usable, latest
from krm_merge.components.konflux.model import Build, BuildOutcome, Component, ComponentKey, PullRequest
from krm_merge.components.plan.model import (
    DescribedState,
    Planning,
    PlanTarget,
    Trigger,
    TriggerState,
    planned_state,
    pull_name,
    reference,
)
from krm_merge.startup import group_by_key


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

    def digest(self, key: ComponentKey) -> str | None:
        """The digest of a dependency in its description."""
        return self.described.digests.get(key.name)

    def has(self, digests: Mapping[ComponentKey, str]) -> bool:
        """Whether its description has all of these digests."""
        return all(self.digest(key) == digest for key, digest in digests.items())


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

    def closed_as_unneeded(self, desired: Mapping[ComponentKey, str]) -> TrackedPullRequest | None:
        """The last pull request, if none is open and it was closed because its target had these digests.

        Only `apply` sees the current target: if it still has the digests, `apply` opens nothing.
        """
        last = self.last
        return last if last is not None and last.brought_nothing and last.has(desired) else None


class OurPullRequests:
    """The pull requests that we opened for one target."""

    def __init__(self, planning: Planning, target: PlanTarget) -> None:
        """Finds them by the names of their branches and by their descriptions (CR26)."""
        self.planning = planning
        self.target = target
        groups: dict[str, list[TrackedPullRequest]] = {}
        for pull in planning.history.of_repository(target.repository):
            if not pull.source_branch.endswith(target.suffix):
                continue
            group = planning.group(pull.source_branch)
            if pull.source_branch in branch_names(group, target.suffix) and (state := planned_state(pull)):
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

    @cached_property
    def holders(self) -> dict[str, TrackedPullRequest]:
        """The newest merged pull request with a digest of each dependency: the target branch has its digest."""
        merged = [pull for ours in self.by_group.values() for pull in ours.pulls if pull.pull_request.state == "merged"]
        merged.sort(key=lambda pull: (pull.pull_request.merged_at, pull.pull_request.number))
        return {name: pull for pull in merged for name in pull.described.digests}

    def needs_correction(self, trigger: Trigger) -> bool:
        """S8: whether the target branch has an image of the trigger from before its merge was built."""
        holder = self.holders.get(trigger.component.name)
        promoted = self.planning.history.promoted_digest(trigger.component)
        return holder is not None and holder.is_before(trigger) and holder.digest(trigger.component) != promoted

    def report(self, severity: Literal["warning", "info"], rule: str, message: str) -> None:
        """Records a finding about the target."""
        self.planning.report(severity, rule, message, self.target.key)


def unsettled_triggers(pulls: OurPullRequests, group: str, triggers: Sequence[Trigger]) -> list[Trigger]:
    """The triggers that earlier pull requests of the group have not settled."""
    ours = pulls.of_group(group)
    goes_on = ours.open is not None or any(_is_live(trigger) for trigger in triggers)
    return [trigger for trigger in triggers if not _is_settled(pulls, ours, trigger, goes_on)]


def _is_settled(pulls: OurPullRequests, ours: GroupHistory, trigger: Trigger, goes_on: bool) -> bool:
    if _is_live(trigger) or (ours.open is not None and (trigger.pull_request is None or ours.open.names(trigger))):
        return False
    before = [pull for pull in ours.ended_pulls if pull.names(trigger) and not (goes_on and pull.brought_nothing)]
    # Keep triggers of pull requests that somebody closed by hand: they are reported.
    is_over = goes_on or trigger.state == "closed" or any(_has_settled(pull, trigger) for pull in before)
    return bool(before) and is_over and not pulls.needs_correction(trigger)


def _has_settled(pull: TrackedPullRequest, trigger: Trigger) -> bool:
    """Whether it was merged in order. A digest that was merged too early is updated again, even after later merges."""
    return pull.pull_request.state == "merged" and not (trigger.state == "done" and pull.is_before(trigger))


def _is_live(trigger: Trigger) -> bool:
    return trigger.state in ("open", "waiting")


def is_worth_opening(
    pulls: OurPullRequests, group: str, triggers: Sequence[Trigger], desired: Mapping[ComponentKey, str]
) -> bool:
    """Whether to open a pull request if none is open; otherwise the reason is reported."""
    ours = pulls.of_group(group)
    last, ended = ours.last, list(ours.ended_pulls)
    # People may reuse a branch: its last pull request does not have the later triggers.
    new = [trigger for trigger in triggers if not any(before.names(trigger) for before in ended)]
    live = [trigger for trigger in triggers if _is_live(trigger)]
    _report_early_merge(pulls, last, [trigger for trigger in live if trigger not in new])
    if not live and not any(_is_newest(pulls, group, trigger) for trigger in triggers):
        return False
    if last is not None and last.pull_request.state == "closed" and not last.described.closed and not new:
        name = pull_name(last.pull_request)
        pulls.report("info", "CR34", f"{name} was closed by hand and is kept closed; reopen it to continue")
        return False
    return bool(desired) and (last is None or not last.has(desired) or last.brought_nothing)


def _report_early_merge(pulls: OurPullRequests, last: TrackedPullRequest | None, overtaken: Sequence[Trigger]) -> None:
    names = [pull_name(trigger.pull_request) for trigger in overtaken if trigger.pull_request is not None]
    if last is None or last.pull_request.state != "merged" or not names:
        return
    message = (
        f"{pull_name(last.pull_request)} was merged out of order, before {', '.join(dict.fromkeys(names))}: "
        f"{last.pull_request.target_branch} now names images of pull requests, which expire"
    )
    pulls.report("warning", "CR34", message)


def _is_newest(pulls: OurPullRequests, group: str, trigger: Trigger) -> bool:
    """Whether a merged or closed trigger still needs an update: it is the promoted build, or has to be reverted."""
    if pulls.needs_correction(trigger):
        return True
    if trigger.state != "done":
        return False
    history = pulls.planning.history
    promoted, holder = history.promoted_builds.get(trigger.component), pulls.holders.get(trigger.component.name)
    if holder is not None and holder.digest(trigger.component) == trigger.digest:
        return False  # with another group
    pull = trigger.pull_request
    if promoted is not None and (pull is None or promoted in history.after_merge(trigger.component, pull)):
        return True
    pulls.report("info", "CR30", f"group {group} is complete: newer digests of its dependencies were promoted since")
    return False


def end_of(
    pulls: OurPullRequests,
    triggers: Sequence[Trigger],
    desired: Mapping[ComponentKey, str],
    last: TrackedPullRequest,
) -> tuple[str, str] | None:
    """The rule and the reason for closing an open pull request; None if it is kept open."""
    if any(_is_live(trigger) for trigger in triggers):
        return None
    holders = {key: pulls.holders.get(key.name) for key in desired}
    having = [holder for key, holder in holders.items() if holder is not None and holder.digest(key) == desired[key]]
    if desired and len(having) == len(desired) and not last.pull_request.user_commits:
        names = ", ".join(dict.fromkeys(pull_name(holder.pull_request) for holder in having))
        return "CR22", f"{names} has all of its digests"
    all_closed = all(trigger.state == "closed" for trigger in triggers)
    if all_closed and not any(map(pulls.needs_correction, triggers)):
        return "S7", "all of its triggers were closed without a merge"
    return None


_NOTHING = DescribedState({}, {}, {})
_OF_PUSHES = "component-update-"
"""Prefix of the group of pushes; the name of a dependency follows."""
_WHY_UNBUILT: Mapping[BuildOutcome, str] = {
    "failed": "failed",
    "running": "has not finished",
    "succeeded": "has no digest as its result IMAGE_DIGEST",
}


def triggers_by_group(pulls: OurPullRequests) -> dict[str, list[Trigger]]:
    """The triggers of a target's pull requests, by group: one for each, whatever its dependencies (CR31, CR32)."""
    pairs: list[tuple[str, Trigger]] = []
    graph = pulls.planning.graph
    # CR20: a build concerns direct dependants only.
    above = sorted(graph.dependencies(pulls.target.key))
    for key in above:
        if not pulls.planning.history.image_names(key):
            continue  # no file could name it
        pairs += _of_pull_requests(pulls, graph.components[key])
    return group_by_key([*pairs, *_of_pushes(pulls, above)])


def _of_pull_requests(pulls: OurPullRequests, dependency: Component) -> Iterator[tuple[str, Trigger]]:
    planning, history, key = pulls.planning, pulls.planning.history, dependency.key
    for observed in history.of_repository(dependency.repository):
        if observed.id in pulls.ids or not _may_trigger(planning, observed, dependency):
            continue
        # A pull request that the plan of another target closes counts as closed.
        pull = replace(observed, state="closed") if observed.id in planning.closing else observed
        group = planning.group(pull.source_branch)
        last = pulls.of_group(group).last
        described = last.described if last is not None else _NOTHING
        built = latest(history.before_merge(key, pull))
        # Clusters soon delete builds: then the description of the last pull request counts.
        recorded = (
            described.digests.get(key.name, "") if key.name in described.built_as.get(reference(pull), ()) else ""
        )
        digest = built.digest if built is not None else recorded
        recorded_commit = described.built_as.get(reference(pull), {}).get(key.name, "")
        is_known = bool(digest) or bool(history.after_merge(key, pull))
        merged = _merge_digest(planning, dependency, pull, described) if pull.state == "merged" and is_known else ""
        if merged:
            yield group, Trigger(key, pull, "done", merged, _promoted_commit(planning, dependency, merged))
        elif digest:
            state: TriggerState = "waiting" if pull.state == "merged" else pull.state
            commit = built.revision if built is not None else recorded_commit
            failure = _newest_without_image(history, key, pull, ("failed", "succeeded"))
            if failure:
                pulls.report("warning" if state == "waiting" else "info", "CR19", f"{pull_name(pull)}: {failure}")
            yield group, Trigger(key, pull, state, digest, commit, failure)
        elif problem := _newest_without_image(history, key, pull, ("failed", "succeeded", "running")):
            pulls.report("info", "CR19", f"nothing of {pull_name(pull)} yet: {problem}")


def _may_trigger(planning: Planning, pull: PullRequest, dependency: Component) -> bool:
    """Whether builds of a pull request can trigger: its target is the branch that the dependency is built from.

    Pull requests of ours with digests for other targets do not trigger.
    """
    if not planning.history.is_built_from(dependency.key, pull.target_branch):
        return False
    target = planning.target_of(pull)
    return target is None or target.key == dependency.key


def _merge_digest(planning: Planning, dependency: Component, pull: PullRequest, described: DescribedState) -> str:
    """The digest in the candidate list, if the merge of a pull request is in it; else ''."""
    history, key = planning.history, dependency.key
    after, promoted = history.after_merge(key, pull), history.promoted_builds.get(key)
    is_built = (
        latest(after) is not None
        # The build of a later push contains the merge, too.
        or (promoted is not None and bool(after) and promoted.started > after[-1].started)
        or (pull.merged_at != "" and _last_promoted(planning, dependency, pull) >= pull.merged_at)
        or (dependency.commit != "" and dependency.commit == pull.merge_commit)
        or described.triggers.get(reference(pull)) == "done"
    )
    # The newest push counts, whichever merge it belongs to.
    is_recorded = described.triggers.get(reference(pull)) == "done"
    return _lasting_digest(planning, dependency, described if is_recorded else _NOTHING) if is_built else ""


def _lasting_digest(planning: Planning, dependency: Component, described: DescribedState) -> str:
    """The promoted digest. If neither builds nor the Component have it any more, the one in the description (C14)."""
    promoted = planning.history.promoted_digest(dependency.key)
    is_known = planning.history.promoted_builds.get(dependency.key) is not None or not dependency.is_declared
    return promoted if is_known else described.digests.get(dependency.key.name, promoted)


def _last_promoted(planning: Planning, dependency: Component, pull: PullRequest) -> str:
    """When the build in the candidate list started, as far as that is known.

    '' where it is of an earlier merge: builds may wait for each other.
    """
    promoted = planning.history.promoted_builds.get(dependency.key)
    merge = planning.history.merge_of(promoted) if promoted is not None else None
    if merge is not None and merge.merged_at and merge.merged_at < pull.merged_at:
        return ""
    return max(promoted.started if promoted is not None else "", dependency.promoted)


def _of_pushes(pulls: OurPullRequests, above: Sequence[ComponentKey]) -> Iterator[tuple[str, Trigger]]:
    """The triggers of pushes without a pull request, whose group no branch names (I12).

    One pull request gets all new digests (C12): the open one, otherwise a new one.
    """
    planning, names = pulls.planning, {key.name for key in above}
    open_group = next(
        (group for group, ours in sorted(pulls.by_group.items()) if _takes_pushes(group, ours, names)), ""
    )
    pairs: list[tuple[str, Trigger]] = []
    new: list[Trigger] = []
    for key in above:
        ours, promoted = pulls.of_group(open_group).open, planning.history.promoted_builds.get(key)
        described = ours.described if ours is not None else _NOTHING
        digest = _lasting_digest(planning, planning.graph.components[key], described)
        if not digest or not planning.history.image_names(key):
            continue
        trigger = Trigger(key, None, "done", digest)
        if ours is not None and (key.name in ours.described.digests or open_group == f"{_OF_PUSHES}{key.name}"):
            pairs.append((open_group, trigger))
        elif promoted is not None and _is_news(pulls, promoted):
            if before := _ended_with(pulls, trigger):
                pairs.append((before, trigger))
            else:
                new.append(trigger)
    group = open_group or (f"{_OF_PUSHES}{new[0].component.name}" if new else "")
    yield from sorted([*pairs, *((group, trigger) for trigger in new)], key=lambda pair: pair[1].component)


def _takes_pushes(group: str, ours: GroupHistory, names: Collection[str]) -> bool:
    """Whether a group of pushes has an open pull request; that of a dependency's own planned one is another (C14)."""
    if ours.open is None or not _is_of_pushes(group):
        return False
    return group.removeprefix(_OF_PUSHES) in names or not ours.open.described.triggers


def _is_of_pushes(group: str) -> bool:
    return group.startswith(_OF_PUSHES)


def _ended_with(pulls: OurPullRequests, trigger: Trigger) -> str:
    """The group of the merged or closed pull request with the digest of the push, '' for none."""
    for group, ours in sorted(pulls.by_group.items()):
        if _is_of_pushes(group) and any(pull.names(trigger) for pull in ours.ended_pulls):
            return group
    return ""


def _is_news(pulls: OurPullRequests, build: Build) -> bool:
    """Whether a push belongs to no pull request of the dependency, or is a later build of its merge."""
    history = pulls.planning.history
    merge = history.merge_of(build)
    if merge is None:
        return not build.pull_request
    # A pull request to another branch, merged into the Component's branch later, triggered nothing.
    return not history.is_built_from(build.component, merge.target_branch) or _is_built_again(pulls, build, merge)


def _is_built_again(pulls: OurPullRequests, build: Build, merge: PullRequest) -> bool:
    """Whether it is another build of a merge whose digest one of our pull requests has."""
    return any(
        pull.pull_request.state == "merged"
        and pull.described.triggers.get(reference(merge)) == "done"
        and pull.described.digests.get(build.component.name, build.digest) != build.digest
        for pull in pulls.of_group(pulls.planning.group(merge.source_branch)).ended_pulls
    )


def _promoted_commit(planning: Planning, dependency: Component, digest: str) -> str:
    """The commit of the build in the candidate list, if it has this digest."""
    promoted = planning.history.promoted_builds.get(dependency.key)
    if promoted is not None:
        return promoted.revision if promoted.digest == digest else ""
    return dependency.commit if dependency.digest == digest else ""


def _newest_without_image(
    history: History, key: ComponentKey, pull: PullRequest, outcomes: Collection[BuildOutcome]
) -> str:
    """What became of the newest build of a pull request, or of its merge, if it has no image; otherwise ''."""
    builds = history.after_merge(key, pull) if pull.state == "merged" else history.before_merge(key, pull)
    if pull.state == "closed" or not builds or is_usable(builds[-1]) or builds[-1].outcome not in outcomes:
        return ""
    what = (
        f"the build {builds[-1].name} of its merge" if pull.state == "merged" else f"its newest build {builds[-1].name}"
    )
    return f"{what} {_WHY_UNBUILT[builds[-1].outcome]}"
