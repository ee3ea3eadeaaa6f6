"""Choices for groups of conflicts, as resolutions and rules of the campaign's `policy.yaml`."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.fleet.campaign.campaign import POLICY_FILE
from krm_merge.fleet.conflicts.groups import Group
from krm_merge.fleet.conflicts.steps import GroupChoice
from krm_merge.krm.fieldpath import parse_path
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.packages.files.tree import File
from krm_merge.policy import edit_policy
from krm_merge.report.record import resource_value
from krm_merge.text.reading.values import Value


def _resolutions(group: Group, chosen: GroupChoice) -> list[dict[str, Value]]:
    """For every conflict of a group, or for those of some packages: by its fingerprint, or by resource as well."""
    conflict = group.conflict
    about: dict[str, Value] = {"path": conflict.path} if conflict.path else {}
    about |= {"nature": conflict.nature, "fingerprint": conflict.fingerprint, "choice": chosen.choice}
    about |= {"value": chosen.value} if chosen.choice == "value" else {}
    if not group.is_by_place:
        packages: dict[str, Value] = {"packages": list(chosen.apart)} if chosen.apart else {}
        return [packages | about]
    made: list[dict[str, Value]] = []
    for resource, its_packages in group.resources.items():
        apart: list[Value] = [package for package in its_packages if package in chosen.apart]
        if apart or not chosen.apart:
            place: dict[str, Value] = {"resource": resource_value(resource)}
            made.append(place | ({"packages": apart} if apart else {}) | about)
    return made


def may_be_rule(group: Group, choice: Choice) -> bool:
    """Whether a choice can hold always: positions in lists are others after the next change."""
    conflict = group.conflict
    steps = parse_path(conflict.path) if conflict.path else ()
    return bool(conflict.kind) and choice in ("upstream", "local") and not any(isinstance(one, int) for one in steps)


def _rule(group: Group, chosen: GroupChoice) -> dict[str, Value]:
    """For this kind and path, whatever the values are."""
    conflict = group.conflict
    rule: dict[str, Value] = {"group": conflict.api_version.rpartition("/")[0], "kind": conflict.kind}
    rule |= {"path": conflict.path} if conflict.path else {}
    return rule | {"onDelete" if conflict.nature == "resource" else "onConflict": chosen.choice}


def policy_with(policy: bytes, choices: Iterable[tuple[Group, GroupChoice]]) -> File:
    """The `policy.yaml`, empty where there is none, with more choices on groups. Raises KrmMergeError."""
    resolutions: list[dict[str, Value]] = []
    rules: list[dict[str, Value]] = []
    dropped: list[dict[str, Value]] = []
    for group, chosen in choices:
        written = _resolutions(group, chosen)
        if chosen.always:
            # A resolution for all packages would come before the rule.
            dropped += written
            rules.append(_rule(group, chosen))
        else:
            resolutions += written
    return edit_policy(File(policy) if policy else None, POLICY_FILE, resolutions, rules, dropped)
