"""`kind: TransformResources`: transforms resources by plugins as edits of their texts (rule T10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from krm_merge.functions.edit_items import (
    CHANGED,
    LOCAL_CONFIG,
    REMOVED,
    SAME,
    Definitions,
    ItemFate,
    Renamed,
    Shapes,
    bookkeeping_of,
    definitions_of,
    edit_items,
    edit_parts,
    kind_of,
    rename_of,
    report_renames,
    root_of,
    with_annotations,
    with_bookkeeping,
    without_bookkeeping,
)
from krm_merge.functions.transform_config import Transformation, read_transformation
from krm_merge.functions.transform_results import TransformReporter, take_bookkeeping
from krm_merge.krm import (
    KPTFILE,
    Resource,
    ResourceList,
    Results,
    flaw_of,
    value_at,
)
from krm_merge.limits import CopiedInAll
from krm_merge.patch.json_patch import create_json
from krm_merge.policy import list_keys_of
from krm_merge.safe_text import abridge
from krm_merge.startup import group_by_key
from krm_merge.text import Change, KeysOf, MappingNode, Object, from_value, same, to_value
from krm_merge.transform.plugins.sources import InlinePlugin, PluginDirectory
from krm_merge.transform.protocol import pointer_text
from krm_merge.transform.runner import Runner, RunOutcome


@dataclass(slots=True)
class TransformSummary:
    """The summary of many resources.

    `failures` have plugin and problem, with the resources concerned; `busy` are the plugins that proposed changes.
    `copied` counts nodes.
    """

    failures: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    renames: list[Renamed] = field(default_factory=list)
    copied: int = 0


@dataclass(frozen=True, slots=True)
class DecidedTransform:
    """The decision about a resource with the value `before`.

    `writes_bookkeeping` says that plugins wrote annotations of kpt.
    """

    before: Object
    outcome: RunOutcome
    writes_bookkeeping: bool
    keys_of: KeysOf
    reporter: TransformReporter

    @property
    def patch(self) -> list[Object]:
        """The accepted operations as a JSON patch that leaves kpt's annotations alone, which no plugin saw (T1)."""
        settlement, before = self.outcome.settlement, self.before
        if self.writes_bookkeeping or bookkeeping_of(before):
            return create_json(before, with_bookkeeping(settlement.value, before))
        return [done.operation.to_value() for done in settlement.patch]


class Transformer:
    """Runs plugins on resources and applies their settled operations."""

    def __init__(self, transformation: Transformation, definitions: Definitions) -> None:
        """`definitions` returns the CRDs of the package when one is needed."""
        self.results = Results()
        self._settings = transformation.settings
        self._runner = transformation.runner
        self._shapes = Shapes(definitions, list_keys_of(transformation.settings.listKeys))
        self._summary = TransformSummary()
        self._copied = CopiedInAll()

    def finish(self) -> TransformSummary:
        """What became of the resources."""
        self._summary.copied = self._copied.nodes
        return self._summary

    def decide(self, item: Resource) -> DecidedTransform | None:
        """Runs the plugins on a resource; None if there is nothing to decide. Reports failures."""
        root = root_of(item, self.results) if kind_of(item) != KPTFILE else None
        if root is None:
            return None
        if item.annotations.get(LOCAL_CONFIG) == "true":
            # Not applied to a cluster, such as a functionConfig or a whited-out resource.
            return None
        before = to_value(root)
        keys_at = self._shapes.of(item).keys_at
        visible = without_bookkeeping(before)
        outcome = self._runner.run(visible, keys_at, self._copied)
        for failure in outcome.failures:
            self._fail(failure.plugin, failure.problem, item)
        if outcome.failures:
            return None
        self._summary.busy |= _busy(outcome)
        reporter = TransformReporter(self.results, item, self._settings.conflicts.severity)
        plugins = ", ".join(dict.fromkeys(done.plugin for done in outcome.settlement.patch))
        bookkeeping = take_bookkeeping(outcome.settlement)
        reporter.bookkeeping(bookkeeping, plugins)
        if problem := _flaw(outcome.settlement.value, visible):
            self._fail(plugins, problem, item)
            return None
        if not outcome.whiteouts and (change := rename_of(str(item.ref), before, outcome.settlement.value, plugins)):
            self._summary.renames.append(change)
        return DecidedTransform(before, outcome, bool(bookkeeping), keys_at, reporter)

    def edit(self, item: Resource) -> ItemFate:
        """Transforms a resource, or those of a list, as edits of its text; reports what cannot be read."""
        root = root_of(item, self.results) if kind_of(item) != KPTFILE else None
        return SAME if root is None else edit_parts(item, root, self._edit_part)

    def _edit_part(self, item: Resource, node: MappingNode, part: Resource) -> ItemFate:
        decided = self.decide(part)
        if decided is None:
            return SAME
        before, outcome, reporter = decided.before, decided.outcome, decided.reporter
        if outcome.whiteouts:
            reporter.whiteouts(outcome.whiteouts, self._settings.whiteout.action)
        reporter.losses(outcome.settlement)
        change = Change(item.editor, decided.keys_of)
        if outcome.whiteouts:
            return self._whited_out(change, node, before)
        after = outcome.settlement.value
        if same(after, without_bookkeeping(before)):
            return SAME
        for plugin, problem in second_run(self._runner, after, self._copied, decided.keys_of):
            reporter.unstable(plugin, problem)
        change.mapping(node, before, with_bookkeeping(after, before))
        reporter.report_applied(outcome.settlement)
        return CHANGED

    def _fail(self, plugin: str, problem: str, item: Resource) -> None:
        self._summary.failures.setdefault((plugin, problem), []).append(str(item.ref))

    def _whited_out(self, change: Change, node: MappingNode, before: Object) -> ItemFate:
        if self._settings.whiteout.action == "drop":
            return REMOVED
        change.mapping(node, before, with_annotations(before, {LOCAL_CONFIG: "true"}))
        return CHANGED


def second_run(
    runner: Runner, after: Object, copied: CopiedInAll, keys_of: KeysOf = lambda _: ()
) -> Iterator[tuple[str, str]]:
    """The further changes that plugins would make to their own result, by plugin (T8)."""
    again = runner.run(after, keys_of, copied)
    take_bookkeeping(again.settlement)
    if again.failures:
        failure = again.failures[0]
        yield failure.plugin, f"fails: {failure.problem}"
    elif again.whiteouts:
        yield again.whiteouts[0].plugin, "would white it out"
    elif not same(again.settlement.value, after):
        changes = dict.fromkeys((done.plugin, done.operation.path) for done in again.settlement.patch)
        for plugin, path in changes:
            # Skip containers created only to hold another reported path.
            if not any(other != path and other[: len(path)] == path for _, other in changes):
                yield plugin, f"would change {pointer_text(path)} again"


def _busy(outcome: RunOutcome) -> set[str]:
    """The plugins that propose changes."""
    settlement = outcome.settlement
    ignored = (change.operation for change in settlement.ignored)
    agreed = (agreement.operation for agreement in settlement.agreed)
    plugins = {operation.plugin for operation in (*settlement.operations, *ignored, *agreed)}
    return plugins | {skip.plugin for skip in settlement.skipped} | {whiteout.plugin for whiteout in outcome.whiteouts}


def _flaw(value: Object, before: Object) -> str:
    """Why a transformed object is not a resource, or ''."""
    if value is before:
        return ""
    name_before, name = (value_at(side, ("metadata", "name")) for side in (before, value))
    is_unnamed = bool(name_before) and not (isinstance(name, str) and name)
    flaw = flaw_of(from_value(value)) or ("has no name" if is_unnamed else "")
    return f"the result {flaw}" if flaw else ""


_SHOWN = 5


def transform_resources(resource_list: ResourceList) -> None:
    """Runs the plugins that the functionConfig names; reports every change that is ignored, and why."""
    transformation = read_transformation(resource_list, PluginDirectory.of_environment())
    if transformation is not None:
        transform_items(resource_list, transformation)


def transform_items(resource_list: ResourceList, transformation: Transformation) -> None:
    """Runs plugins over the items; reports every change that is ignored, and why."""
    results, runner = resource_list.results, transformation.runner
    check_targets(runner, len(resource_list.items))
    definitions = definitions_of(resource_list.items)
    summaries = edit_items(resource_list, lambda: Transformer(transformation, definitions))
    report_failures(summaries, results)
    CopiedInAll(sum(summary.copied for summary in summaries))
    if not results.errors:
        renames = (rename for summary in summaries for rename in summary.renames)
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
    failures = (failure for summary in summaries for failure in summary.failures.items())
    failed = group_by_key((failure, name) for failure, names in failures for name in names)
    for (plugin, problem), names in failed.items():
        message = f"{plugin}: {problem} ({abridge(names, _SHOWN)})"
        results.error(message, rule="T6", tags={"event": "plugin-error", "plugin": plugin})


def report_idle(runner: Runner, summaries: Iterable[TransformSummary], results: Results) -> None:
    """Warns of a plugin that did nothing: its target may be misspelt."""
    busy = {name for summary in summaries for name in summary.busy}
    for plugin in runner.plugins:
        if plugin.name not in busy:
            tags = {"event": "idle", "plugin": plugin.name}
            results.info(f"{plugin.name} changes nothing", tags=tags)
