"""Tries choices on one package of each group before anybody runs the campaign: nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import join

from krm_merge.fleet.conflicts.groups import Group
from krm_merge.fleet.merging.job import Job, Settings, TargetOutcome
from krm_merge.fleet.merging.worker import prepare, run_target

_MOST = 20


def without_effect(settings: Settings, chosen: Iterable[tuple[Group, str]]) -> Iterator[tuple[Group, str]]:
    """The groups, each with one of its packages, whose conflict is still open in it with the campaign's choices."""
    prepare(settings)
    outcomes: dict[str, TargetOutcome] = {}
    for group, package in list(chosen)[:_MOST]:
        parts = package.split("/")
        names = [package, *("/".join(parts[:at]) for at in range(len(parts) - 1, 0, -1)), "."]
        target = next((name for name in names if name in settings.campaign.targets), None)
        if target is None:
            continue
        if target not in outcomes:
            outcomes[target] = run_target(Job(target, is_dry_run=True))
        for one in outcomes[target].conflicts:
            is_same = one.fingerprint == group.conflict.fingerprint and join(target, one.package).rstrip("/") == package
            if is_same and one.status == "open" and one.api_version == group.conflict.api_version:
                yield group, package
                break
