"""Chooses the digests for a branch among those of its triggers, and the digests that they may replace there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krm_merge.components.konflux.history import is_usable, latest
from krm_merge.components.konflux.model import ComponentKey
from krm_merge.components.plan.model import DigestEdit, PlanTarget, Trigger
from krm_merge.components.plan.our_pull_requests import OurPullRequests, TrackedPullRequest
from krm_merge.components.plan.planning import Planning


def desired_digests(
    planning: Planning, triggers: Sequence[Trigger], last: TrackedPullRequest | None
) -> dict[ComponentKey, str]:
    """The digest of each dependency for the branch; `last` is the last pull request of the group."""
    desired: dict[ComponentKey, str] = {}
    for key in sorted({one.component for one in triggers}, key=planning.rank.__getitem__):
        of_key = [one for one in triggers if one.component == key]
        found = _chosen(planning, key, of_key)
        if found is None and last is not None and key.name in last.described.digests:
            # S7: the digest of a closed pull request is replaced by the promoted one.
            found = planning.history.promoted_digest(key)
        if found:
            desired[key] = found
    return desired


def _chosen(planning: Planning, key: ComponentKey, triggers: Sequence[Trigger]) -> str | None:
    """The digest of one dependency; None if all its triggers are closed pull requests."""
    for state in ("open", "waiting", "done"):
        found = [one for one in triggers if one.state == state and one.digest]
        if not found:
            continue
        # I13: within one group, prefer builds that hold the digests of the group; then the newest build.
        ours = [one for one in found if one.pull_request and planning.target_of(one.pull_request) is not None]
        return _newest(planning, key, ours or found).digest
    if planning.choices.on_closed == "keep":
        return next((one.digest for one in reversed(triggers) if one.digest), None)
    return None


def _newest(planning: Planning, key: ComponentKey, triggers: Sequence[Trigger]) -> Trigger:
    def started(one: Trigger) -> str:
        build = latest(planning.history.before_merge(key, one.pull_request)) if one.pull_request else None
        return build.started if build is not None else ""

    return max(triggers, key=started)


def digest_edit(
    planning: Planning,
    target: PlanTarget,
    key: ComponentKey,
    desired: Mapping[ComponentKey, str],
    group: str,
    own: OurPullRequests,
) -> DigestEdit:
    """The edit that sets a digest, with those it may replace: the digests that this or another plan set before."""
    component, digest, ours = planning.graph.components[key], desired[key], own.of_group(group)
    before = (ours.last, own.holder(key.name))
    known = {component.digest, *(one.described.digests.get(key.name, "") for one in before if one is not None)}
    for build in planning.history.by_component.get(key, ()):
        if is_usable(build) and (build.event == "push" or planning.group(build.source_branch) == group):
            known.add(build.digest)
    manifests = {one for build in planning.history.by_component.get(key, ()) for one in build.manifests}
    tags, others, other_tags = set(component.tags), set[str](), set[str]()
    # C5: digests of another Component are kept, although its image has the same name.
    sharing = planning.sharing(key)
    for other in sharing:
        is_meant = any(other in planning.graph.dependencies(one.key) for one in target.dependants)
        others |= _all_digests(planning, other, desired, own) - (set() if is_meant else {*known, digest})
        other_tags |= set(planning.graph.components[other].tags)
    return DigestEdit(
        key,
        planning.history.image_names(key),
        tuple(sorted(known - {"", digest})),
        digest,
        tuple(sorted(manifests - {digest})),
        tuple(sorted(tags - other_tags)) if sharing else (),
        tuple(sorted(others)),
        tuple(sorted(other_tags - tags)),
        next((one.tag for one in reversed(planning.history.by_component.get(key, ())) if one.digest == digest), ""),
    )


def _all_digests(
    planning: Planning, key: ComponentKey, desired: Mapping[ComponentKey, str], own: OurPullRequests
) -> set[str]:
    """All digests that are known to be of a Component, of any group."""
    built = {build.digest for build in planning.history.by_component.get(key, ()) if is_usable(build)}
    return (built | own.digests(key.name) | {planning.graph.components[key].digest, desired.get(key, "")}) - {""}
