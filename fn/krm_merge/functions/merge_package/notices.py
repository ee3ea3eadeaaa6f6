"""Results about the configuration of a merge: what in it had no effect, and that it is declared in a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.functions.merge_package.sides import PackageSides
from krm_merge.krm.resource import PACKAGE_PATH
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.reach import reaches

if TYPE_CHECKING:
    from krm_merge.functions.policy.merge_policy import PackagePolicy


def report_notices(
    resource_list: ResourceList,
    sides: PackageSides,
    policy: Policy,
    package: PackagePolicy | None,
    decided: PackageDecisions,
) -> None:
    """Reports rules of the functionConfig (`policy`) that match nothing, and stale choices of the package's policy."""
    members = sides.members if policy.rules else []
    for number, rule in enumerate(policy.rules):
        if not reaches(rule, members):
            resource_list.results.warning(
                f"functionConfig: rules[{number}] matches nothing in the package; check its kind, name and path",
                path=f"rules[{number}]",
            )
    if package is not None:
        from krm_merge.functions.policy.merge_policy import stale, stale_message

        for resolution in stale(package, [decided]):
            resource_list.results.info(stale_message(resolution), file=package.file)
    # Only `kpt fn render` gives package paths: the function is declared in a pipeline.
    if any(PACKAGE_PATH.encode() in item.slice.data for item in resource_list.items):
        resource_list.results.info(
            "functionConfig: declared in a pipeline, this merge runs at every render and would undo later local edits "
            "of what upstream changed; remove it when the update is done"
        )
