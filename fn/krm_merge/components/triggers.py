"""Who triggers what: which builds bring something to dependants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from krm_merge.components.description import Told, reference
from krm_merge.components.history import latest
from krm_merge.components.model import Build, Component, PullRequest
from krm_merge.components.own import Own
from krm_merge.components.planned import Target, Trigger, TriggerState
from krm_merge.components.planning import Planning, named

_NOTHING = Told({}, {}, {})


def triggers_by_group(planning: Planning, target: Target, own: Own) -> dict[str, list[Trigger]]:
    """What triggers pull requests of a target, by group."""
    groups: dict[str, list[Trigger]] = {}
    above = {key for one in target.dependants for key in planning.graph.dependencies(one.key)}
    for key in sorted(above):
        dependency = planning.graph.components[key]
        for group, trigger in (
            *_of_pull_requests(planning, target, own, dependency),
            *_of_pushes(planning, own, dependency),
        ):
            groups.setdefault(group, []).append(trigger)
    return groups


def _of_pull_requests(
    planning: Planning, target: Target, own: Own, dependency: Component
) -> Iterator[tuple[str, Trigger]]:
    history, key = planning.history, dependency.key
    for observed in history.of_repository(dependency.repository):
        if observed.id in own.ids:
            continue
        # What the plan of another target closes is as good as closed.
        one = replace(observed, state="closed") if observed.id in planning.closing else observed
        group = planning.group(one.source_branch)
        last = own.of_group(group).last
        told = last.told if last is not None else _NOTHING
        built = latest(history.before_merge(key, one))
        # Builds are not kept for long: then what was told of them counts.
        recorded = told.digests.get(key.name, "") if reference(one) in told.triggers else ""
        digest = built.digest if built is not None else recorded
        merged = _merged(planning, dependency, one, told) if one.state == "merged" else ""
        if merged:
            yield group, Trigger(key, one, "done", merged)
        elif digest:
            state: TriggerState = "waiting" if one.state == "merged" else one.state
            yield group, Trigger(key, one, state, digest)
        else:
            _tell_unbuilt(planning, target, dependency, one)


def _merged(planning: Planning, dependency: Component, one: PullRequest, told: Told) -> str:
    """The digest in the candidate list, if the merge of a pull request is in it; else ''."""
    history, key = planning.history, dependency.key
    after, promoted = history.after_merge(key, one), history.promoted(key)
    is_built = (
        latest(after) is not None
        # What a later push built holds the merge, too.
        or (promoted is not None and bool(after) and promoted.started > after[-1].started)
        or (one.merged_at != "" and _last_promoted(planning, dependency) >= one.merged_at)
        or (dependency.commit != "" and dependency.commit == one.merge_commit)
        or told.triggers.get(reference(one)) == "done"
    )
    # The newest push counts, of whichever merge it is.
    return history.promoted_digest(key) if is_built else ""


def _last_promoted(planning: Planning, dependency: Component) -> str:
    """When the build in the candidate list started, as far as that is known."""
    promoted = planning.history.promoted(dependency.key)
    return max(promoted.started if promoted is not None else "", dependency.promoted)


def _of_pushes(planning: Planning, own: Own, dependency: Component) -> Iterator[tuple[str, Trigger]]:
    """I12: nobody's branch gives these a name."""
    promoted = planning.history.promoted(dependency.key)
    group = f"component-update-{dependency.key.name}"
    if promoted is not None and (not _is_of_merge(planning, dependency, promoted) or own.of_group(group).open):
        yield group, Trigger(dependency.key, None, "done", promoted.digest)


def _is_of_merge(planning: Planning, dependency: Component, build: Build) -> bool:
    return bool(build.pull_request) or any(
        one.merge_commit == build.revision and one.state == "merged"
        for one in planning.history.of_repository(dependency.repository)
    )


def _tell_unbuilt(planning: Planning, target: Target, dependency: Component, one: PullRequest) -> None:
    builds = planning.history.before_merge(dependency.key, one)
    if one.state != "open" or not builds:
        return
    why = "failed" if builds[-1].outcome == "failed" else "has not finished"
    message = f"{target}: nothing of {named(one)} yet: the build {builds[-1].name} of {dependency.key} {why}"
    planning.tell("info", "R19", message, target.key)
