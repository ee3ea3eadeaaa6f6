"""`kind: MergePackage`: three-way merge of a package.

Original and upstream come from the functionConfig, local is the items.
"""

from __future__ import annotations

from krm_merge.functions.merge_package.config import read_settings
from krm_merge.functions.merge_package.merged_items import write_outcomes
from krm_merge.functions.merge_package.notices import report_notices
from krm_merge.functions.merge_package.package_policy import read_policy_of_package
from krm_merge.functions.merge_package.sides import FORMS, has_tagged_items, read_sides
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.merge.package.merger import PackageMerger


def merge_package(resource_list: ResourceList) -> None:
    """Merges the package and reports its decisions to the results."""
    if _has_nothing_to_do(resource_list):
        return
    settings = read_settings(resource_list)
    sides = read_sides(resource_list, settings)
    if sides is None:
        return
    package, policy = read_policy_of_package(resource_list, settings)
    if policy is None:
        return
    merger = PackageMerger(policy, smart=settings.smart, list_keys=settings.list_keys)
    if sides.has_whole_packages and not sides.local.others:
        # With selectors only Kptfiles may be present: then nothing else is merged, added or deleted.
        resource_list.results.info("functionConfig: the items are only Kptfiles, so nothing else is merged")
        for side in sides:
            side.is_whole = False
    files = None
    if sides.has_files:
        # A Kptfile alone does not pay for these imports.
        from krm_merge.functions.merge_package.files import PackageFiles

        files = PackageFiles(resource_list, sides, policy)
    merged = merger.run(*sides)
    if resource_list.results.errors:
        return
    outcomes = merged.outcomes(sides.inhabited(merged.resources))
    write_outcomes(resource_list, sides, outcomes, policy.redactions)
    of_files = files.complete(outcomes) if files is not None and not resource_list.results.errors else []
    report_notices(resource_list, sides, settings.policy, package, PackageDecisions(outcomes, of_files))


def _has_nothing_to_do(resource_list: ResourceList) -> bool:
    config = resource_list.function_config
    data = config.get("data") if config is not None else None
    empty = config is None or (
        config.get("kind") is not None
        and config.get("kind").canonical == "ConfigMap"  # type: ignore[union-attr]
        and (data is None or not getattr(data, "fields", {}))
    )
    if not empty or has_tagged_items(resource_list):
        return False
    if resource_list.items:
        resource_list.results.error(f"functionConfig: nothing to merge; {FORMS}")
    else:
        resource_list.results.info(f"functionConfig: nothing to merge and no items; {FORMS}")
    return True
