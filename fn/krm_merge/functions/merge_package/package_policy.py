"""The policy of a merge: that of the functionConfig, with the MergePolicy among the items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.functions.merge_package.config import MergeSettings
from krm_merge.functions.places import place_of, root_package
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.decisions.policy import Policy

if TYPE_CHECKING:
    from krm_merge.functions.policy.merge_policy import PackagePolicy

_MERGE_POLICY = b"MergePolicy"


def read_policy_of_package(
    resource_list: ResourceList, settings: MergeSettings
) -> tuple[PackagePolicy | None, Policy | None]:
    """The package's own MergePolicy, if it has one, and the combined policy (M3); None if the package's is invalid."""
    items = [item for item in resource_list.items if _MERGE_POLICY in item.slice.data]
    if not items:
        return None, settings.policy
    from krm_merge.errors import KrmMergeError
    from krm_merge.functions.policy.merge_policy import NO_POLICY, combined, is_policy, read_policy

    root = root_package(resource_list)
    places = ((place_of(item.annotations, root) or "", item) for item in items)
    found = [(place, item.root) for place, item in places if "/" not in place and is_policy(item.root)]
    try:
        if len(found) > 1:
            raise KrmMergeError(f"{found[1][0]}: a second MergePolicy; the package has one in {found[0][0]}, keep one")
        package = read_policy(found[0][0] or "MergePolicy", found[0][1]) if found else NO_POLICY
    except KrmMergeError as error:
        resource_list.results.error(str(error), file=found[0][0] or None)
        return None, None
    asked = settings.policy.on_conflict if settings.is_policy_given else None
    return package, combined(asked, settings.policy.rules, package, settings.policy.redactions)
