"""`kind: TransformResources`: runs plugins over a package and settles their conflicts by priorities."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.functions.edit_items import edit_items
from krm_merge.functions.one_identity import report_renames
from krm_merge.functions.shapes import definitions_of
from krm_merge.functions.transform_resources.config import read_transformation
from krm_merge.functions.transform_resources.new_resources import add_new
from krm_merge.functions.transform_resources.transforming import Transformer, TransformSummary
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Results
from krm_merge.limits import CopiedInAll
from krm_merge.transform.plugins.directory import PluginDirectory
from krm_merge.transform.plugins.inline import InlinePlugin
from krm_merge.transform.runner import Runner

_SHOWN = 5


def transform_resources(resource_list: ResourceList) -> None:
    """Runs the plugins that the functionConfig names; reports every change that is ignored, and why."""
    transformation = read_transformation(resource_list, PluginDirectory.of_environment())
    if transformation is None:
        return
    results, runner = resource_list.results, transformation.runner
    check_targets(runner, len(resource_list.items))
    definitions = definitions_of(resource_list.items)
    try:
        summaries = edit_items(resource_list, lambda: Transformer(transformation, definitions))
    finally:
        runner.close()
    report_failures(summaries, results)
    copied = CopiedInAll(sum(summary.copied for summary in summaries))
    created = [one for summary in summaries for one in summary.created]
    if created and not results.errors:
        whited_out = set().union(*(summary.whited_out for summary in summaries))
        add_new(resource_list, created, whited_out, runner, transformation.choices.on_conflict, copied)
    if not results.errors:
        renames = (one for summary in summaries for one in summary.renamed)
        report_renames(resource_list.items, renames, results)
    if not results.errors:
        report_idle(runner, summaries, results)


def check_targets(runner: Runner, resources: int) -> None:
    """Raises KrmMergeError where comparing so many resources with the targets of inline patches takes too long."""
    for plugin in runner.plugins:
        if isinstance(plugin, InlinePlugin):
            plugin.targets.check(resources)


def report_failures(summaries: Iterable[TransformSummary], results: Results) -> None:
    """One error for each way in which a plugin failed, whatever the number of resources."""
    failed: dict[tuple[str, str], list[str]] = {}
    for summary in summaries:
        for failure, names in summary.failures.items():
            failed.setdefault(failure, []).extend(names)
    for (plugin, problem), names in failed.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        message = f"{plugin}: {problem} ({', '.join(names[:_SHOWN])}{more})"
        results.error(message, rule="T6", tags={"event": "plugin-error", "plugin": plugin})


def report_idle(runner: Runner, summaries: Iterable[TransformSummary], results: Results) -> None:
    """Warns of a plugin that did nothing: its target may be misspelt."""
    busy = {name for summary in summaries for name in summary.busy}
    for plugin in runner.plugins:
        if plugin.name not in busy:
            tags = {"event": "idle", "plugin": plugin.name}
            results.info(f"{plugin.name} changes nothing", tags=tags)
