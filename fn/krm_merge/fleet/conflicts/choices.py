"""Choices for groups of conflicts, as resolutions of the campaign's `policy.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krm_merge.fleet.campaign.campaign import POLICY_FILE
from krm_merge.fleet.conflicts.groups import Group
from krm_merge.functions.policy.merge_policy import KIND, policy_in
from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.report.record import API_VERSION
from krm_merge.text.document import written
from krm_merge.text.reading import nodes
from krm_merge.text.reading.values import Value, from_value, to_value

_EMPTY: Mapping[str, Value] = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "metadata": {"name": "choices", "annotations": {"config.kubernetes.io/local-config": "true"}},
}


def resolution_for(group: Group, choice: Choice, value: Value = None) -> dict[str, Value]:
    """A choice for every conflict of a group: for its fingerprint, wherever it is found."""
    conflict = group.conflict
    made: dict[str, Value] = {"path": conflict.path} if conflict.path else {}
    made |= {"nature": conflict.nature, "fingerprint": conflict.fingerprint, "choice": choice}
    return made | ({"value": value} if choice == "value" else {})


def rule_for(group: Group, choice: Choice) -> dict[str, Value]:
    """The same as a rule: for this kind and path, whatever the values are."""
    conflict = group.conflict
    rule: dict[str, Value] = {"group": conflict.api_version.rpartition("/")[0], "kind": conflict.kind}
    rule |= {"path": conflict.path} if conflict.path else {}
    return rule | {"onDelete" if conflict.nature == "resource" else "onConflict": choice}


def with_choices(policy: bytes, resolutions: list[dict[str, Value]], rules: list[dict[str, Value]]) -> bytes:
    """The text of a `policy.yaml`, empty where there is none, with more choices. Raises KrmMergeError."""
    root = policy_in([(POLICY_FILE, policy)]).root if policy else None
    if root is None:
        fresh = from_value({**_EMPTY, **_fields({}, resolutions, rules)})
        assert isinstance(fresh, nodes.Mapping)
        return written(fresh).encode()
    value = to_value(root)
    assert isinstance(value, dict)
    resource = Resource.from_tree(root)
    for name, items in _fields(value, resolutions, rules).items():
        resource.set(name, items)
    return resource.text().encode()


def _fields(
    known: Mapping[str, Any], resolutions: list[dict[str, Value]], rules: list[dict[str, Value]]
) -> dict[str, Value]:
    replaced = {(one["fingerprint"], one.get("path")) for one in resolutions}
    kept = [one for one in known.get("resolutions") or [] if (one["fingerprint"], one.get("path")) not in replaced]
    found: dict[str, Value] = {"rules": [*rules, *(known.get("rules") or [])]} if rules else {}
    return found | ({"resolutions": [*kept, *resolutions]} if resolutions else {})
