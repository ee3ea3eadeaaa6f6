"""Who triggers what: which builds bring something to a dependant, and which pull requests carry it there."""

from __future__ import annotations

from collections.abc import Iterator

from krm_merge.components.description import told_by
from krm_merge.components.groups import branch_names
from krm_merge.components.history import latest
from krm_merge.components.model import Build, Component, PullRequest, same_repository
from krm_merge.components.planned import Trigger
from krm_merge.components.planning import Planning, named


def triggers_by_group(planning: Planning, dependant: Component) -> dict[str, list[Trigger]]:
    """What triggers pull requests of a dependant, by group."""
    groups: dict[str, list[Trigger]] = {}
    for dependency in planning.graph.dependencies(dependant.key):
        for group, trigger in _triggers(planning, dependant, planning.graph.components[dependency]):
            groups.setdefault(group, []).append(trigger)
    return groups


def own_by_group(planning: Planning, dependant: Component) -> dict[str, list[PullRequest]]:
    """The pull requests that carry digests to a dependant, by group (R26)."""
    suffix, found = planning.suffix(dependant), dict[str, list[PullRequest]]()
    for one in planning.history.of_repository(dependant.repository):
        group = planning.choices.branches.group(one.source_branch)
        if one.source_branch in branch_names(group, suffix) and told_by(one.description) is not None:
            found.setdefault(group, []).append(one)
    return found


def _triggers(planning: Planning, dependant: Component, dependency: Component) -> Iterator[tuple[str, Trigger]]:
    history, key = planning.history, dependency.key
    promoted = history.promoted(key)
    for one in history.of_repository(dependency.repository):
        group = planning.choices.branches.group(one.source_branch)
        if (
            same_repository(one.repository) == same_repository(dependant.repository)
            and one.source_branch in branch_names(group, planning.suffix(dependant))
            and told_by(one.description) is not None
        ):
            continue  # its own pull request
        built, pushed = latest(history.before_merge(key, one)), latest(history.after_merge(key, one))
        if pushed is None and promoted is not None and _is_later(promoted, history.after_merge(key, one)):
            # What a later push built holds the merge, too.
            pushed = promoted
        if built is None and pushed is None:
            _tell_unbuilt(planning, dependant, dependency, one)
            continue
        digest = built.digest if built is not None else ""
        if one.state == "open":
            yield group, Trigger(key, one, "open", digest)
        elif one.state == "closed":
            yield group, Trigger(key, one, "closed", digest)
        elif pushed is None:
            yield group, Trigger(key, one, "waiting", digest)
        else:
            # The newest push counts, of whichever merge it is.
            yield group, Trigger(key, one, "done", promoted.digest if promoted is not None else pushed.digest)
    # I12: nobody's branch gives it a name.
    group = f"component-update-{key.name}"
    if promoted is not None and (
        not (promoted.pull_request or _is_of_merge(planning, dependency, promoted.revision))
        or _is_open(planning, dependant, group)
    ):
        yield group, Trigger(key, None, "done", promoted.digest)


def _is_open(planning: Planning, dependant: Component, group: str) -> bool:
    """Whether a pull request of ours for this group is open: it goes on."""
    own = own_by_group(planning, dependant).get(group, [])
    return any(one.state == "open" for one in own)


def _is_later(promoted: Build, builds: list[Build]) -> bool:
    """Whether a promoted build started after those of a merge, none of which gave an image."""
    return bool(builds) and promoted.started > builds[-1].started


def _is_of_merge(planning: Planning, dependency: Component, revision: str) -> bool:
    return any(
        one.merge_commit == revision and one.state == "merged"
        for one in planning.history.of_repository(dependency.repository)
    )


def _tell_unbuilt(planning: Planning, dependant: Component, dependency: Component, one: PullRequest) -> None:
    builds = planning.history.before_merge(dependency.key, one)
    if one.state != "open" or not builds:
        return
    why = "failed" if builds[-1].outcome == "failed" else "has not finished"
    message = f"{dependant.key}: nothing of {named(one)} yet: the build {builds[-1].name} of {dependency.key} {why}"
    planning.tell("info", "R19", message, dependant.key)
