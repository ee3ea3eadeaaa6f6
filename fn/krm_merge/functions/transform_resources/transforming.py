"""Transforms single resources by plugins as edits of their texts (rule T10), and reports the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from krm_merge.functions.edit_items import CHANGED, REMOVED, SAME, ItemFate
from krm_merge.functions.renames import Renamed, renamed
from krm_merge.functions.shapes import Definitions, Shapes
from krm_merge.functions.transform_resources.bookkeeping import (
    ProtectedChange,
    annotations_of,
    take_protected_changes,
    with_bookkeeping,
    without_bookkeeping,
)
from krm_merge.functions.transform_resources.config import Transformation
from krm_merge.functions.transform_resources.results import TransformReporter
from krm_merge.krm.identity import KPTFILE, flaw_of
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import ResourceRef, Results
from krm_merge.limits import CopiedInAll
from krm_merge.text.editing.change import KeysOf
from krm_merge.text.reading.values import Object, same, to_value
from krm_merge.transform.protocol.operation import pointer_text
from krm_merge.transform.runner import Runner, RunOutcome

LOCAL_CONFIG = "config.kubernetes.io/local-config"


ItemKey: TypeAlias = "tuple[ResourceRef, str | None, int]"
"""Identity of a resource in the package: its names, and its place."""


def key_of(item: Resource) -> ItemKey:
    """The key of a resource."""
    return item.ref, item.file, item.index


@dataclass(frozen=True, slots=True)
class Created:
    """A resource that a plugin wants added, and the one that it is for, with its file and annotations.

    `declared` is the plugin's place in the order of declaration.
    """

    plugin: str
    declared: int
    resource: Object
    source: ResourceRef
    file: str | None
    annotations: dict[str, str]


@dataclass(slots=True)
class TransformSummary:
    """The summary of many resources.

    `created` and `renamed` are new and renamed resources, `whited_out` are keys. `failures` have plugin and problem,
    with the resources concerned; `busy` are the plugins that proposed changes. `copied` counts nodes.
    """

    created: list[Created] = field(default_factory=list)
    whited_out: set[ItemKey] = field(default_factory=set)
    failures: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    renamed: list[Renamed] = field(default_factory=list)
    copied: int = 0


@dataclass(frozen=True, slots=True)
class DecidedTransform:
    """The decision about a resource with the value `before`; `protected_changes` are ignored."""

    before: Object
    outcome: RunOutcome
    protected_changes: list[ProtectedChange]
    keys_of: KeysOf
    reporter: TransformReporter


class Transformer:
    """Runs plugins on resources and applies their settled operations."""

    def __init__(self, transformation: Transformation, definitions: Definitions) -> None:
        """`definitions` returns the CRDs of the package when one is needed."""
        self.results = Results()
        self._choices = transformation.choices
        self._runner = transformation.runner
        self._shapes = Shapes(definitions, transformation.choices.list_keys)
        self._summary = TransformSummary()
        self._copied = CopiedInAll()

    @property
    def refuses_whiteouts(self) -> bool:
        """Whether a whiteout is an error."""
        return self._choices.whiteout == "error"

    def finish(self) -> TransformSummary:
        """Ends the plugins' processes."""
        self._runner.close()
        self._summary.copied = self._copied.nodes
        return self._summary

    def decide(self, item: Resource) -> DecidedTransform | None:
        """Runs the plugins on a resource; None if there is nothing to decide. Reports failures."""
        try:
            if item.kind == KPTFILE:
                return None
            root, annotations = item.root, item.annotations
        except ResourceError as error:
            self.results.error(str(error), file=error.file)
            return None
        if flaw := flaw_of(root):
            self.results.error(f"{item.file or 'an item'}: {flaw}", file=item.file)
            return None
        if annotations.get(LOCAL_CONFIG) == "true":
            # Not applied to a cluster, such as a functionConfig or a whited-out resource.
            return None
        before = to_value(root)
        assert isinstance(before, dict)
        keys_at = self._shapes.of(item).keys_at
        shown = without_bookkeeping(before)
        outcome = self._runner.run(shown, keys_at, self._copied)
        for failure in outcome.failures:
            self._fail(failure.plugin, failure.problem, item)
        if outcome.failures:
            return None
        self._summary.busy |= _busy(outcome)
        reporter = TransformReporter(self.results, item, self._choices.on_conflict)
        protected_changes = take_protected_changes(outcome.settlement, shown)
        reporter.bookkeeping(protected_changes, annotations_of(before))
        plugins = ", ".join(dict.fromkeys(done.plugin for done in outcome.settlement.patch))
        if problem := _flaw(outcome.settlement.value, shown):
            self._fail(plugins, problem, item)
            return None
        for new in outcome.new_resources:
            resource = without_bookkeeping(new.resource)
            self._summary.created.append(Created(new.plugin, new.declared, resource, item.ref, item.file, annotations))
        if outcome.whiteouts:
            self._summary.whited_out.add(key_of(item))
        elif change := renamed(str(item.ref), before, outcome.settlement.value, plugins):
            self._summary.renamed.append(change)
        return DecidedTransform(before, outcome, protected_changes, keys_at, reporter)

    def edit(self, item: Resource) -> ItemFate:
        """Transforms a resource as edits of its text."""
        decided = self.decide(item)
        if decided is None:
            return SAME
        before, outcome, reporter = decided.before, decided.outcome, decided.reporter
        if outcome.whiteouts:
            reporter.whiteouts(outcome.whiteouts, self._choices.whiteout)
        reporter.losses(outcome.settlement)
        if outcome.whiteouts:
            return self._whited_out(item, before)
        after = outcome.settlement.value
        if same(after, without_bookkeeping(before)):
            return SAME
        self._check_second_run(after, decided)
        item.change(before, with_bookkeeping(after, before), decided.keys_of)
        reporter.applied(outcome.settlement)
        return CHANGED

    def _fail(self, plugin: str, problem: str, item: Resource) -> None:
        self._summary.failures.setdefault((plugin, problem), []).append(str(item.ref))

    def _whited_out(self, item: Resource, before: Object) -> ItemFate:
        match self._choices.whiteout:
            case "drop":
                return REMOVED
            case "error":
                return SAME
            case "annotate":
                item.change(before, _annotated(before))
                return CHANGED

    def _check_second_run(self, after: Object, decided: DecidedTransform) -> None:
        for plugin, problem in second_run(self._runner, after, self._copied, decided.keys_of):
            decided.reporter.unstable(plugin, problem)


def second_run(
    runner: Runner, after: Object, copied: CopiedInAll, keys_of: KeysOf = lambda _: ()
) -> Iterator[tuple[str, str]]:
    """The further changes that plugins would make to their own result, by plugin (T8)."""
    again = runner.run(after, keys_of, copied)
    take_protected_changes(again.settlement, after)
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
    ignored = (one.operation for one in settlement.ignored)
    agreed = (one.operation for one in settlement.agreed)
    plugins = {one.plugin for one in (*settlement.operations, *ignored, *agreed)}
    plugins |= {one.plugin for one in settlement.skipped} | {one.plugin for one in outcome.whiteouts}
    return plugins | {one.plugin for one in outcome.new_resources}


def _annotated(before: Object) -> Object:
    metadata = before.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**before, "metadata": {**metadata, "annotations": {**annotations_of(before), LOCAL_CONFIG: "true"}}}


def _flaw(value: Object, before: Object) -> str:
    """Why a transformed object is not a resource, or ''."""
    if value is before:
        return ""
    for name in ("apiVersion", "kind"):
        if not isinstance(value.get(name), str) or not value[name]:
            return f"leaves the resource without {name}"
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return "leaves the resource without metadata"
    if not isinstance(metadata.get("annotations", {}), dict | None):
        return "leaves the resource without a map in metadata.annotations"
    had = before.get("metadata")
    if isinstance(had, dict) and had.get("name") and not (isinstance(metadata.get("name"), str) and metadata["name"]):
        return "leaves the resource without a name"
    return ""
