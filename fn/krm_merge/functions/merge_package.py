"""`kind: MergePackage`: three-way merge of a package.

Original and upstream come from the functionConfig, local is the items.
"""

from __future__ import annotations

import sys
from posixpath import basename, join

from krm_merge.functions.config import read_settings
from krm_merge.functions.sides import FORMS, Sides, has_tagged_items, new_resource, place_of, read_sides
from krm_merge.krm.resource import PACKAGE_PATH, Resource
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.edit import edit
from krm_merge.merge.folders import Folders
from krm_merge.merge.member import Outcome
from krm_merge.merge.package import PackageMerge
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
    outcomes = merge.kptfiles(sides.original, sides.upstream, sides.local)
    # With selectors only Kptfiles may be present: then nothing else is merged, added or deleted.
    if sides.has_whole_packages and sides.others["local"]:
        from krm_merge.merge.schemas import CRD, Schemas

        others = sides.others
        known = [member for side in ("original", "upstream", "local") for member in others[side]]
        schemas = Schemas(lambda: [member.root for member in known if member.subject.kind == CRD])
        folders = Folders(outcomes, settings.policy)
        resources = merge.resources(others["original"], others["upstream"], others["local"], folders, schemas.of)
        gone = {id(outcome.local) for outcome in resources if outcome.fate == "deleted"}
        outcomes = folders.emptied(m.place for m in others["local"] if id(m) not in gone) + resources
    elif sides.has_whole_packages:
        resource_list.results.info("functionConfig: the items are only Kptfiles, so nothing else is merged")
    refused = any(decision.severity == "error" for outcome in outcomes for decision in outcome.decisions)
    for outcome in outcomes:
        _carry_out(resource_list, sides, outcome, refused=refused)
    members = [*sides.original, *sides.upstream, *sides.local, *(m for side in sides.others.values() for m in side)]
    for number, rule in enumerate(settings.policy.rules):
        if not reaches(rule, members):
            resource_list.results.warning(
                f"functionConfig: rules[{number}] matches nothing in the package; check its kind, name and path",
                path=f"rules[{number}]",
            )
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


def _carry_out(resource_list: ResourceList, sides: Sides, outcome: Outcome, *, refused: bool) -> None:
    """Changes the list as decided, unless something in the package is refused, and tells."""
    member = outcome.member
    resource = Resource.from_tree(member.root) if outcome.local is None else sides.resource(outcome.local)
    if not refused:
        if outcome.fate == "added":
            path = join(sides.folder, member.place)
            resource = new_resource(member, path, _free_index(resource_list, path, sides.root_package))
            resource_list.items.append(resource)
        elif outcome.fate == "deleted":
            resource_list.items.remove(resource)
        elif outcome.fate == "merged":
            edit(resource, outcome, resource_list.results)
            if resource.used_fallback:
                # W2: never silently.
                print(f"{member.file}: {_REWRITTEN}", file=sys.stderr)
    report(outcome, resource, resource_list.results, refused=refused)


def _free_index(resource_list: ResourceList, path: str, root: str | None) -> int:
    """The next free document of a file (R2)."""
    needle = basename(path).encode()
    maybe = [item for item in resource_list.items if needle in item.slice.data]
    beside = [item for item in maybe if place_of(item.annotations, root) == path]
    return max((item.index for item in beside), default=-1) + 1


def _tell_if_declared(resource_list: ResourceList) -> None:
    # Only `kpt fn render` gives package paths: the function is declared in a pipeline.
    if any(PACKAGE_PATH.encode() in item.slice.data for item in resource_list.items):
        resource_list.results.info(
            "functionConfig: declared in a pipeline, this merge runs at every render and would undo later local edits "
            "of what upstream changed; remove it when the update is done"
        )
