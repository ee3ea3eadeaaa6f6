"""The policy of a target: what its package says, what the campaign says, and which of that touches it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from posixpath import join

from krm_merge.fleet.campaign.campaign import Campaign
from krm_merge.fleet.merging.job import TargetConflict
from krm_merge.krm.fieldpath import covers, parse_path
from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.decisions.resolution import Resolution, Resolutions
from krm_merge.policy import PackagePolicy, combine


def policy_for(campaign: Campaign, package: PackagePolicy, name: str) -> Policy:
    """How the conflicts of a package are settled: by its own choices, then by the campaign's for it, then for all.

    What none of them settles leaves the package as it is.
    """
    ours = campaign.policy
    exceptions = [one.resolution for one in campaign.exceptions if one.is_for(name)]
    everything = PackagePolicy(
        package.on_conflict or ours.on_conflict,
        (*package.rules, *ours.rules),
        Resolutions((*package.resolutions.all, *exceptions, *ours.resolutions.all)),
        (*package.redactions, *ours.redactions),
        package.file,
        package.root,
    )
    return combine(campaign.on_conflict, (), everything, stops=True)


def choices_digest(campaign: Campaign, target: str, conflicts: Iterable[TargetConflict]) -> str:
    """What the campaign says of these conflicts of a target: where that changes, the target is merged again."""
    touching: list[object] = []
    policy = campaign.policy
    for conflict in conflicts:
        touching.append(conflict.fingerprint)
        package = join(target, conflict.package).rstrip("/")
        exceptions = [one.resolution for one in campaign.exceptions if one.is_for(package)]
        chosen = [one for one in (*exceptions, *policy.resolutions.all) if _is_for(one, conflict)]
        if chosen:
            # Of several, the one for this very resource comes first. What comes after a choice does not matter.
            touching.append(_choice(min(chosen, key=lambda one: one.identity is None)))
            continue
        touching += [_said(rule) for rule in policy.rules if _selects(rule, conflict)]
        touching.append((campaign.on_conflict, policy.on_conflict))
    return hashlib.sha256(repr(touching).encode()).hexdigest()[:16] if touching else ""


def _is_for(resolution: Resolution, conflict: TargetConflict) -> bool:
    same = resolution.fingerprint == conflict.fingerprint
    return same and (resolution.identity is None or resolution.identity == _identity(conflict))


def _selects(rule: Rule, conflict: TargetConflict) -> bool:
    path = parse_path(conflict.path) if conflict.path else ()
    return rule.selects(_identity(conflict)) and (rule.path is None or covers(rule.path, path))


def _choice(resolution: Resolution) -> tuple[object, ...]:
    return (resolution.fingerprint, str(resolution.identity), resolution.choice, repr(resolution.value))


def _said(rule: Rule) -> tuple[object, ...]:
    return (rule.on_conflict, rule.on_delete)


def _identity(conflict: TargetConflict) -> Identity:
    return Identity(conflict.api_version.rpartition("/")[0], conflict.kind, conflict.namespace, conflict.name)
