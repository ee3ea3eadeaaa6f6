"""`kind: MergePackage`: three-way merge of a package.

Original and upstream come from the functionConfig, local is the items.
"""

from __future__ import annotations

import sys
from posixpath import join

from krm_merge.functions.config import read_settings
from krm_merge.functions.places import FreeIndexes, new_resource
from krm_merge.functions.sides import FORMS, Sides, has_tagged_items, read_sides
from krm_merge.krm.resource import PACKAGE_PATH, Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.edit import edit
from krm_merge.merge.folders import Folders
from krm_merge.merge.member import Outcome
from krm_merge.merge.package import PackageMerge
from krm_merge.merge.policy import Policy
from krm_merge.merge.reach import reaches
from krm_merge.merge.report import report

_REWRITTEN = "edited beyond what can be done in its text; written again by ruamel.yaml"


def merge_package(resource_list: ResourceList) -> None:
    """Merges the package; reports every decision worth telling to the results."""
    if _has_nothing_to_do(resource_list):
        return
    settings = read_settings(resource_list)
    sides = read_sides(resource_list, settings)
    if sides is None:
        return
    merge = PackageMerge(settings.policy, smart=settings.smart, list_keys=settings.list_keys)
    outcomes = merge.kptfiles(sides.original.kptfiles, sides.upstream.kptfiles, sides.local.kptfiles)
    # With selectors only Kptfiles may be present: then nothing else is merged, added or deleted.
    if sides.has_whole_packages and sides.local.others:
        outcomes = _with_resources(sides, merge, outcomes)
        if resource_list.results.errors:
            return
    elif sides.has_whole_packages:
        resource_list.results.info("functionConfig: the items are only Kptfiles, so nothing else is merged")
    refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
    free = FreeIndexes(resource_list, sides.root_package) if any(o.fate == "added" for o in outcomes) else None
    for outcome in outcomes:
        _carry_out(resource_list, sides, outcome, free, refused=refused)
    _tell_of_idle_rules(resource_list, sides, settings.policy)
    _tell_if_declared(resource_list)


def _has_nothing_to_do(resource_list: ResourceList) -> bool:
    config = resource_list.function_config
    data = config.get("data") if config is not None else None
    empty = config is None or (
        config.get("kind") is not None
        and config.get("kind").canonical == ("str", "ConfigMap")  # type: ignore[union-attr]
        and (data is None or not getattr(data, "fields", {}))
    )
    if not empty or has_tagged_items(resource_list):
        return False
    if resource_list.items:
        resource_list.results.error(f"functionConfig: nothing to merge; {FORMS}")
    else:
        resource_list.results.info(f"functionConfig: nothing to merge and no items; {FORMS}")
    return True


def _with_resources(sides: Sides, merge: PackageMerge, kptfiles: list[Outcome]) -> list[Outcome]:
    from krm_merge.merge.narrow import narrow
    from krm_merge.merge.schemas import Schemas, definitions_in

    folders = Folders(kptfiles, merge.policy)
    original, upstream, local = narrow(*(side.others for side in sides))
    resources = merge.resources(
        original,
        upstream,
        local,
        folders,
        Schemas(lambda: definitions_in(document for side in sides for document in side.others)).of,
    )
    gone = {id(outcome.local) for outcome in resources if outcome.fate == "deleted"}
    members = (document.member() for document in sides.local.others)
    return folders.emptied(m.place for m in members if m is not None and id(m) not in gone) + resources


def _carry_out(
    resource_list: ResourceList, sides: Sides, outcome: Outcome, free: FreeIndexes | None, *, refused: bool
) -> None:
    """Changes the list as decided, unless something in the package is refused, and tells."""
    member = outcome.member
    resource = Resource.from_tree(member.root) if outcome.local is None else sides.resource(outcome.local)
    if not refused:
        if outcome.fate == "added":
            assert free is not None
            path = join(sides.folder, member.place)
            resource = new_resource(member, path, free.take(path))
            resource_list.items.append(resource)
        elif outcome.fate == "deleted":
            resource_list.items.remove(resource)
        elif outcome.fate == "merged":
            edit(resource, outcome, resource_list.results)
            if resource.used_fallback:
                # W2: never silently.
                print(f"{member.file}: {_REWRITTEN}", file=sys.stderr)
    report(outcome, resource, resource_list.results, refused=refused)


def _tell_of_idle_rules(resource_list: ResourceList, sides: Sides, policy: Policy) -> None:
    members = sides.members if policy.rules else []
    for number, rule in enumerate(policy.rules):
        if not reaches(rule, members):
            resource_list.results.warning(
                f"functionConfig: rules[{number}] matches nothing in the package; check its kind, name and path",
                path=f"rules[{number}]",
            )


def _tell_if_declared(resource_list: ResourceList) -> None:
    # Only `kpt fn render` gives package paths: the function is declared in a pipeline.
    if any(PACKAGE_PATH.encode() in item.slice.data for item in resource_list.items):
        resource_list.results.info(
            "functionConfig: declared in a pipeline, this merge runs at every render and would undo later local edits "
            "of what upstream changed; remove it when the update is done"
        )
