"""Finds the triggers of pull requests: builds with new digests for dependants."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from krm_merge.components.konflux.history import latest
from krm_merge.components.konflux.model import Build, BuildOutcome, Component, ComponentKey, PullRequest
from krm_merge.components.plan.model import (
    DescribedState,
    Planning,
    PlanTarget,
    Trigger,
    TriggerState,
    pull_name,
    reference,
)
from krm_merge.components.plan.pull_requests import GroupHistory, OurPullRequests

_NOTHING = DescribedState({}, {}, {})
_OF_PUSHES = "component-update-"
"""Prefix of the group of pushes; the name of a dependency follows."""
_WHY_UNBUILT: Mapping[BuildOutcome, str] = {
    "failed": "failed",
    "running": "has not finished",
    "succeeded": "has no digest as its result IMAGE_DIGEST",
}


def triggers_by_group(planning: Planning, target: PlanTarget, pulls: OurPullRequests) -> dict[str, list[Trigger]]:
    """The triggers of a target's pull requests, by group: one for each, whatever its dependencies (CR31, CR32)."""
    groups: dict[str, list[Trigger]] = {}
    # CR20: a build concerns direct dependants only.
    above = {key for dependant in target.dependants for key in planning.graph.dependencies(dependant.key)}
    for key in sorted(above):
        if not planning.history.image_names(key):
            continue  # no file could name it
        for group, trigger in _of_pull_requests(planning, target, pulls, planning.graph.components[key]):
            groups.setdefault(group, []).append(trigger)
    for group, trigger in _of_pushes(planning, pulls, sorted(above)):
        groups.setdefault(group, []).append(trigger)
    return groups


def _of_pull_requests(
    planning: Planning, target: PlanTarget, pulls: OurPullRequests, dependency: Component
) -> Iterator[tuple[str, Trigger]]:
    history, key = planning.history, dependency.key
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
        is_known = bool(digest) or bool(history.after_merge(key, pull))
        merged = _merge_digest(planning, dependency, pull, described) if pull.state == "merged" and is_known else ""
        if merged:
            yield group, Trigger(key, pull, "done", merged)
        elif digest:
            state: TriggerState = "waiting" if pull.state == "merged" else pull.state
            yield group, Trigger(key, pull, state, digest)
        else:
            _report_unbuilt(planning, target, dependency, pull)


def _may_trigger(planning: Planning, pull: PullRequest, dependency: Component) -> bool:
    """Whether builds of a pull request can trigger: its target is the branch that the dependency is built from.

    Pull requests of ours with digests for other targets do not trigger.
    """
    if not planning.history.is_built_from(dependency.key, pull.target_branch):
        return False
    target = planning.target_of(pull)
    return target is None or any(dependant.key == dependency.key for dependant in target.dependants)


def _merge_digest(planning: Planning, dependency: Component, pull: PullRequest, described: DescribedState) -> str:
    """The digest in the candidate list, if the merge of a pull request is in it; else ''."""
    history, key = planning.history, dependency.key
    after, promoted = history.after_merge(key, pull), history.promoted_build(key)
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
    is_known = planning.history.promoted_build(dependency.key) is not None or not dependency.is_declared
    return promoted if is_known else described.digests.get(dependency.key.name, promoted)


def _last_promoted(planning: Planning, dependency: Component, pull: PullRequest) -> str:
    """When the build in the candidate list started, as far as that is known.

    '' where it is of an earlier merge: builds may wait for each other.
    """
    promoted = planning.history.promoted_build(dependency.key)
    merge = planning.history.merge_of(promoted) if promoted is not None else None
    if merge is not None and merge.merged_at and merge.merged_at < pull.merged_at:
        return ""
    return max(promoted.started if promoted is not None else "", dependency.promoted)


def _of_pushes(
    planning: Planning, pulls: OurPullRequests, above: Sequence[ComponentKey]
) -> Iterator[tuple[str, Trigger]]:
    """The triggers of pushes without a pull request, whose group no branch names (I12).

    One pull request gets all new digests (C12): the open one, otherwise a new one.
    """
    names = {key.name for key in above}
    is_open = next((group for group, ours in sorted(pulls.by_group.items()) if _takes_pushes(group, ours, names)), "")
    pairs: list[tuple[str, Trigger]] = []
    new: list[Trigger] = []
    for key in above:
        ours, promoted = pulls.of_group(is_open).open, planning.history.promoted_build(key)
        described = ours.described if ours is not None else _NOTHING
        digest = _lasting_digest(planning, planning.graph.components[key], described)
        if not digest or not planning.history.image_names(key):
            continue
        trigger = Trigger(key, None, "done", digest)
        if ours is not None and (key.name in ours.described.digests or is_open == f"{_OF_PUSHES}{key.name}"):
            pairs.append((is_open, trigger))
        elif promoted is not None and _is_news(planning, pulls, promoted):
            before = _ended_with(pulls, trigger)
            if before:
                pairs.append((before, trigger))
            else:
                new.append(trigger)
    group = is_open or (f"{_OF_PUSHES}{new[0].component.name}" if new else "")
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


def _is_news(planning: Planning, pulls: OurPullRequests, build: Build) -> bool:
    """Whether a push belongs to no pull request of the dependency, or is a later build of its merge."""
    return not _is_of_merge(planning, build) or _is_built_again(planning, pulls, build)


def _is_of_merge(planning: Planning, build: Build) -> bool:
    merge = planning.history.merge_of(build)
    # A pull request to another branch, merged into the Component's branch later, triggered nothing.
    return planning.history.is_built_from(build.component, merge.target_branch) if merge else bool(build.pull_request)


def _is_built_again(planning: Planning, pulls: OurPullRequests, build: Build) -> bool:
    """Whether it is another build of a merge whose digest one of our pull requests has."""
    merge, name = planning.history.merge_of(build), build.component.name
    return merge is not None and any(
        pull.pull_request.state == "merged"
        and pull.described.triggers.get(reference(merge)) == "done"
        and pull.described.digests.get(name, build.digest) != build.digest
        for pull in pulls.of_group(planning.group(merge.source_branch)).ended_pulls
    )


def _report_unbuilt(planning: Planning, target: PlanTarget, dependency: Component, pull: PullRequest) -> None:
    builds = planning.history.before_merge(dependency.key, pull)
    if pull.state != "open" or not builds:
        return
    why = _WHY_UNBUILT[builds[-1].outcome]
    message = f"{target}: nothing of {pull_name(pull)} yet: the build {builds[-1].name} of {dependency.key} {why}"
    planning.report("info", "CR19", message, target.key)
