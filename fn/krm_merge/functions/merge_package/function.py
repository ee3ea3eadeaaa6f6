"""`kind: MergePackage`: three-way merge of a package.

Original and upstream come from the functionConfig, local is the items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.functions.merge_package.config import MergeSettings, read_settings
from krm_merge.functions.merge_package.merged_items import write_outcomes
from krm_merge.functions.merge_package.sides import FORMS, PackageSides, has_tagged_items, read_sides
from krm_merge.functions.places import place_of, root_package
from krm_merge.krm.resource import PACKAGE_PATH
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.decisions.member import PackageDecisions
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.merge.package.reach import reaches

if TYPE_CHECKING:
    from krm_merge.policy import PackagePolicy

_MERGE_POLICY = b"MergePolicy"


def merge_package(resource_list: ResourceList) -> None:
    """Merges the package and reports its decisions to the results."""
    if _has_nothing_to_do(resource_list):
        return
    settings = read_settings(resource_list)
    sides = read_sides(resource_list, settings)
    if sides is None:
        return
    package, policy = _read_policies(resource_list, settings)
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
    _report_notices(resource_list, sides, settings.policy, package, PackageDecisions(outcomes, of_files))


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


def _read_policies(resource_list: ResourceList, settings: MergeSettings) -> tuple[PackagePolicy | None, Policy | None]:
    """The package's own MergePolicy, if it has one, and the combined policy (M3); None if the package's is invalid."""
    items = [item for item in resource_list.items if _MERGE_POLICY in item.slice.data]
    if not items:
        return None, settings.policy
    from krm_merge.errors import KrmMergeError
    from krm_merge.policy import NO_POLICY, combine, is_policy, read_policy

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
    return package, combine(asked, settings.policy.rules, package, settings.policy.redactions)


def _report_notices(
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
        from krm_merge.policy import stale_message, stale_resolutions

        for resolution in stale_resolutions(package, [decided]):
            resource_list.results.info(stale_message(resolution), file=package.file)
    # Only `kpt fn render` gives package paths: the function is declared in a pipeline.
    if any(PACKAGE_PATH.encode() in item.slice.data for item in resource_list.items):
        resource_list.results.info(
            "functionConfig: declared in a pipeline, this merge runs at every render and would undo later local edits "
            "of what upstream changed; remove it when the update is done"
        )
