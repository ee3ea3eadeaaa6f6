"""`kind: MergePackage`: three-way merge of a package.

Original and upstream come from the functionConfig, local is the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join
from typing import TYPE_CHECKING

from krm_merge.functions.merge_package.config import MergeSettings, read_settings
from krm_merge.functions.merge_package.document_indexes import DocumentIndexes
from krm_merge.functions.merge_package.merged_items import MergedItem, merged_items
from krm_merge.functions.merge_package.sides import FORMS, PackageSides, has_tagged_items, read_sides
from krm_merge.functions.places import new_resource, place_of, root_package
from krm_merge.krm.resource import PACKAGE_PATH, Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.decisions.member import PackageDecisions, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.report import report
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.merge.package.reach import reaches

if TYPE_CHECKING:
    from krm_merge.functions.policy.merge_policy import PackagePolicy

_MERGE_POLICY = b"MergePolicy"


def merge_package(resource_list: ResourceList) -> None:
    """Merges the package and reports its decisions to the results."""
    if _has_nothing_to_do(resource_list):
        return
    settings = read_settings(resource_list)
    sides = read_sides(resource_list, settings)
    if sides is None:
        return
    package, policy = _policy_of(resource_list, settings)
    if policy is None:
        return
    merger = PackageMerger(policy, smart=settings.smart, list_keys=settings.list_keys)
    if sides.has_whole_packages and not sides.local.others:
        # With selectors only Kptfiles may be present: then nothing else is merged, added or deleted.
        resource_list.results.info("functionConfig: the items are only Kptfiles, so nothing else is merged")
        for side in sides:
            side.is_whole = False
    merged = merger.run(*sides)
    if resource_list.results.errors:
        return
    outcomes = merged.outcomes(_inhabited(sides, merged.resources))
    refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
    added = [] if refused else [outcome for outcome in outcomes if outcome.fate == "added"]
    indexes = DocumentIndexes(resource_list, sides, outcomes) if added else None
    merging = [] if refused else [outcome for outcome in outcomes if outcome.fate == "merged"]
    merged_by_id = dict(zip(map(id, merging), merged_items(sides, merging), strict=True))
    for outcome in outcomes:
        _carry_out(resource_list, sides, outcome, indexes, merged_by_id.get(id(outcome)), refused=refused)
    _report_idle_rules(resource_list, sides, settings.policy)
    if package is not None:
        from krm_merge.functions.policy.merge_policy import stale, stale_message

        for resolution in stale(package, [PackageDecisions(outcomes)]):
            resource_list.results.info(stale_message(resolution), file=package.file)
    _report_if_declared(resource_list)


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


def _policy_of(resource_list: ResourceList, settings: MergeSettings) -> tuple[PackagePolicy | None, Policy | None]:
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
    return package, combined(asked, settings.policy.rules, package)


def _inhabited(sides: PackageSides, resources: list[ResourceOutcome]) -> Iterator[str]:
    """The places of the resources that local has after the merge."""
    gone = {id(outcome.local) for outcome in resources if outcome.fate == "deleted"}
    members = (document.member() for document in sides.local.others)
    return (m.place for m in members if m is not None and id(m) not in gone)


def _carry_out(
    resource_list: ResourceList,
    sides: PackageSides,
    outcome: ResourceOutcome,
    indexes: DocumentIndexes | None,
    merged: MergedItem | None,
    *,
    refused: bool,
) -> None:
    """Applies the decisions to the list, unless part of the package is refused, and reports them."""
    member = outcome.member
    resource = Resource.from_tree(member.root) if outcome.local is None else sides.resource(outcome.local)
    if merged is not None:
        if merged.data is not None:
            resource.settle(merged.data)
        for result in merged.results:
            resource_list.results.add(result)
        return
    if not refused:
        if outcome.fate == "added":
            assert indexes is not None
            resource = new_resource(member, join(sides.folder, member.place), indexes.of(outcome))
            resource_list.items.append(resource)
        elif outcome.fate == "deleted":
            resource_list.items.remove(resource)
    report(outcome, resource, resource_list.results, refused=refused)


def _report_idle_rules(resource_list: ResourceList, sides: PackageSides, policy: Policy) -> None:
    members = sides.members if policy.rules else []
    for number, rule in enumerate(policy.rules):
        if not reaches(rule, members):
            resource_list.results.warning(
                f"functionConfig: rules[{number}] matches nothing in the package; check its kind, name and path",
                path=f"rules[{number}]",
            )


def _report_if_declared(resource_list: ResourceList) -> None:
    # Only `kpt fn render` gives package paths: the function is declared in a pipeline.
    if any(PACKAGE_PATH.encode() in item.slice.data for item in resource_list.items):
        resource_list.results.info(
            "functionConfig: declared in a pipeline, this merge runs at every render and would undo later local edits "
            "of what upstream changed; remove it when the update is done"
        )
