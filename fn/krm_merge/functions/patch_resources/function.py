"""`kind: PatchResources`: patches the resources of a package."""

from __future__ import annotations

from krm_merge.functions.edit_items import edit_items
from krm_merge.functions.one_identity import report_renames
from krm_merge.functions.patch_resources.jobs import read_jobs
from krm_merge.functions.patch_resources.patching import Patcher, check_copies, report
from krm_merge.functions.shapes import definitions_of
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.selector import Targets


def patch_resources(resource_list: ResourceList) -> None:
    """Applies the patches in their order; reports the matches and changes of each."""
    results = resource_list.results
    config = read_jobs(resource_list)
    if results.errors:
        return
    Targets([job.target for job in config.jobs]).check(len(resource_list.items))
    definitions = definitions_of(resource_list.items)
    parts = edit_items(resource_list, lambda: Patcher(config, definitions))
    check_copies(parts)
    if results.errors:
        return
    report_renames(resource_list.items, (one for part in parts for tally in part for one in tally.renamed), results)
    for at, job in enumerate(config.jobs):
        report(results, job, [tallies[at] for tallies in parts], "functionConfig: ")
