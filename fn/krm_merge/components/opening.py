"""Whether a pull request is opened where none is open, or kept where all that triggered it is closed."""

from __future__ import annotations

from krm_merge.components.description import Told, reference, told_by
from krm_merge.components.model import Build, Component, Key, PullRequest
from krm_merge.components.planned import Trigger
from krm_merge.components.planning import Planning, named


def is_worth_opening(
    planning: Planning,
    dependant: Component,
    group: str,
    triggers: list[Trigger],
    desired: dict[Key, str],
    current: PullRequest | None,
    carried: Told | None,
) -> bool:
    """Whether a pull request is to be opened where none is open; if not, why is told."""
    live = [one for one in triggers if one.state in ("open", "waiting")]
    # A branch may be used again: what came after the last pull request from it says nothing of that.
    recorded = carried.triggers if carried is not None else {}
    new = [one for one in triggers if one.pull_request is None or reference(one.pull_request) not in recorded]
    missing = {key: digest for key, digest in desired.items() if not carried or carried.digests.get(key.name) != digest}
    overtaken = [one.pull_request for one in live if one.pull_request is not None and one not in new]
    if current is not None and current.state == "merged" and overtaken:
        early = ", ".join(map(named, overtaken))
        message = (
            f"{dependant.key}: {named(current)} was merged out of order, before {early}: {current.target_branch} "
            "now names images of pull requests, which expire"
        )
        planning.tell("warning", "R34", message, dependant.key)
    if not missing:
        return False
    if current is not None and current.state == "closed" and all(one.state == "closed" for one in triggers):
        return False  # S7: it was closed with them
    if current is not None and current.state == "closed" and not new:
        message = f"{dependant.key}: {named(current)} was closed by hand and stays closed; reopen it to go on"
        planning.tell("info", "R34", message, dependant.key)
        return False
    if not live and current is None:
        return _is_newest(planning, dependant, group, triggers, desired)
    return True


def _is_newest(
    planning: Planning, dependant: Component, group: str, triggers: list[Trigger], desired: dict[Key, str]
) -> bool:
    """Whether a group that was merged before anything was opened for it is the one that the digests are of."""
    done = [one for one in triggers if one.state == "done"]
    for one in done:
        promoted = planning.history.promoted(one.component)
        if promoted is None or not _brought(planning, one, promoted):
            continue
        if not _has_digest(planning, dependant, one, desired):
            return True
    if done:
        message = f"{dependant.key}: group {group} is done: newer digests of its dependencies were promoted since"
        planning.tell("info", "R30", message, dependant.key)
    return False


def _brought(planning: Planning, trigger: Trigger, promoted: Build) -> bool:
    """Whether a promoted build is of what triggers."""
    if trigger.pull_request is None:
        return not promoted.pull_request
    return promoted in planning.history.after_merge(trigger.component, trigger.pull_request)


def _has_digest(planning: Planning, dependant: Component, trigger: Trigger, desired: dict[Key, str]) -> bool:
    """Whether a merged pull request brought the digest already, for another group."""
    for one in planning.history.of_repository(dependant.repository):
        told = told_by(one.description) if one.state == "merged" else None
        if told is not None and told.digests.get(trigger.component.name) == desired.get(trigger.component):
            return True
    return False


def is_correction(own: list[PullRequest], desired: dict[Key, str]) -> bool:
    """Whether what was merged out of order has to be taken back (S8)."""
    merged = next((told_by(one.description) for one in reversed(own) if one.state == "merged"), None)
    return merged is not None and any(merged.digests.get(key.name) != digest for key, digest in desired.items())
