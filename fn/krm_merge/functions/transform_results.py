"""The effects of plugins as results, and kpt's annotations, which plugins neither see nor change (rule T1)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from krm_merge.functions.edit_items import annotations_of, bookkeeping_of, with_bookkeeping, without_bookkeeping
from krm_merge.functions.transform_config import WhiteoutAction
from krm_merge.krm import FieldPath, Resource, Result, Results, Severity, format_path, value_at
from krm_merge.safe_text import REDACTED
from krm_merge.schema import Secrecy, is_bookkeeping
from krm_merge.text import Object, Value
from krm_merge.transform.engine.locations import ABSENT, Absent
from krm_merge.transform.engine.settle import Ignored, Reason, Settlement
from krm_merge.transform.protocol import Operation, PluginOperation, pointer_text
from krm_merge.transform.runner import Whiteout

_ANNOTATIONS: Final = ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class ProtectedChange:
    """An ignored change of an annotation that belongs to kpt. If not the `whole` operation, the rest is accepted."""

    operation: PluginOperation
    annotation: str
    whole: bool


def take_protected_changes(settlement: Settlement, visible: Object) -> list[ProtectedChange]:
    """Removes changes of kpt's annotations from a settlement and returns them. `visible` is what the plugins saw."""
    if not settlement.operations and not settlement.agreed:
        return []
    agreed = (agreement.operation for agreement in settlement.agreed)
    protected_changes = [
        change
        for operation in (*settlement.operations, *agreed)
        for change in _protected_changes(operation, settlement.value)
    ]
    if protected_changes:
        settlement.operations = [
            operation for operation in settlement.operations if not _is_protected_change(operation.operation)
        ]
        settlement.agreed = [
            agreement for agreement in settlement.agreed if not _is_protected_change(agreement.operation.operation)
        ]
        settlement.value = without_bookkeeping(settlement.value)
        settlement.patch = _with_annotations(
            settlement.patch, annotations_of(visible), annotations_of(settlement.value)
        )
    return protected_changes


def _protected_changes(plugin_operation: PluginOperation, after: Object) -> list[ProtectedChange]:
    operation = plugin_operation.operation
    if _is_protected_change(operation):
        return [ProtectedChange(plugin_operation, operation.path[2], whole=True)]
    if not _is_around(operation) or operation.kind == "remove":
        return []
    # The operation does not hold a moved or copied value.
    holder: Value = operation.value if operation.kind in ("add", "replace") else value_at(after, operation.path)
    for name in reversed(operation.path):
        holder = {name: holder}
    return [
        ProtectedChange(plugin_operation, name, whole=False)
        for name in bookkeeping_of(holder if isinstance(holder, dict) else {})
    ]


def patch_of(settlement: Settlement, before: Object) -> list[Operation]:
    """The accepted operations as a JSON patch of the resource with the annotations that no plugin saw."""
    patch = settlement.patch
    if bookkeeping_of(before) and any(_is_around(plugin_operation.operation) for plugin_operation in patch):
        after = with_bookkeeping(settlement.value, before)
        patch = _with_annotations(patch, annotations_of(before), annotations_of(after))
    return [plugin_operation.operation for plugin_operation in patch]


def _with_annotations(patch: Sequence[PluginOperation], before: Object, after: Object) -> list[PluginOperation]:
    """The patch that turns the original annotations into the wanted ones."""
    of_annotations = [change for change in patch if change.operation.path[:2] == _ANNOTATIONS]
    others = [
        replace(plugin_operation, operation=_holding(plugin_operation.operation, after))
        for plugin_operation in patch
        if plugin_operation.operation.path[:2] != _ANNOTATIONS
    ]
    if any(_is_around(operation.operation) for operation in others) or not of_annotations or before == after:
        return others
    operation = (
        Operation("replace" if before else "add", _ANNOTATIONS, value=after)
        if after
        else Operation("remove", _ANNOTATIONS)
    )
    return [*others, replace(of_annotations[-1], operation=operation)]


def _holding(operation: Operation, annotations: Object) -> Operation:
    """An operation that replaces the metadata, with these annotations."""
    value = operation.value
    if operation.path == () and isinstance(value, dict) and isinstance(value.get("metadata"), dict):
        inner = _holding(replace(operation, path=("metadata",), value=value["metadata"]), annotations)
        return replace(operation, value={**value, "metadata": inner.value})
    if operation.path != ("metadata",) or not isinstance(value, dict):
        return operation
    others = {name: inner for name, inner in value.items() if name != "annotations"}
    return replace(operation, value={**others, "annotations": annotations} if annotations else others)


def _is_protected_change(operation: Operation) -> bool:
    """Whether an operation changes only an annotation of kpt."""
    return len(operation.path) > 2 and operation.path[:2] == _ANNOTATIONS and is_bookkeeping(operation.path[2])


def _is_around(operation: Operation) -> bool:
    """Whether an operation changes all annotations, or a parent of them."""
    return operation.path == _ANNOTATIONS[: len(operation.path)]


_WHY: dict[Reason, str] = {
    "priority": "{winner} has priority ({against})",
    "order": "{winner} is declared earlier ({against})",
    "whiteout": "{winner} whites the resource out",
}
_WHITEOUT: dict[str, tuple[Severity, str]] = {
    "annotate": ("info", "it is marked local-config and will not be applied"),
    "drop": ("info", "it is removed from the package"),
    "error": ("error", "whiteout.action is error"),
    "exclude": ("info", "it is left out of what is applied"),
}


class TransformReporter:
    """Reports on one resource, without secret values."""

    def __init__(self, results: Results, item: Resource, severity: Severity) -> None:
        """`severity` is the severity of a change that is ignored."""
        self._results = results
        self._item = item
        self._ref = item.ref
        self._severity = severity
        self._secrecy: Secrecy | None = None

    def losses(self, settlement: Settlement) -> None:
        """Reports patches whose test failed, and every change that is ignored (T5)."""
        for skipped in settlement.skipped:
            message = f"{self._ref}: a patch of {skipped.plugin} is skipped: {skipped.test} found another value"
            tags = {"event": "test-skipped", "plugin": skipped.plugin}
            self._add("T4", "info", message, tags, path=".".join(skipped.test.path) or None)
        for change in settlement.ignored:
            self._report_ignored(change)

    def _report_ignored(self, change: Ignored) -> None:
        plugin, operation = change.operation.plugin, change.operation.operation
        why = _WHY[change.reason].format(winner=change.winner, against=change.against)
        tags = {
            "event": "ignored",
            "plugin": plugin,
            "winner": change.winner,
            "reason": change.reason,
            "op": operation.kind,
            "pointer": pointer_text(operation.path),
            "unit": str(change.unit + 1),
        }
        if operation.kind in ("add", "replace"):
            tags["value"] = REDACTED if self._is_secret(change.path, operation.value) else _compact(operation.value)
        self._add(
            "T5",
            self._severity,
            f"{self._ref}: {plugin}'s {operation} is ignored: {why}",
            tags,
            path=format_path(change.path) or None,
            current=self._text(change.path, change.current),
            proposed=self._text(change.path, change.proposed),
        )

    def bookkeeping(self, protected_changes: Sequence[ProtectedChange], annotations: Object) -> None:
        """Reports ignored changes of kpt's annotations (T1, T5)."""
        for change in protected_changes:
            plugin, operation = change.operation.plugin, change.operation.operation
            part = "" if change.whole else f" for {change.annotation}"
            tags = {
                "event": "ignored",
                "plugin": plugin,
                "reason": "bookkeeping",
                "op": operation.kind,
                "pointer": pointer_text(operation.path),
            }
            path = ("metadata", "annotations", change.annotation)
            existing = self._text(path, annotations.get(change.annotation, ABSENT))
            self._add(
                "T5",
                self._severity,
                f"{self._ref}: {plugin}'s {operation} is ignored{part}: kpt manages this annotation",
                tags,
                path=format_path(path),
                current=existing,
                proposed=existing,
            )

    def whiteouts(self, whiteouts: Sequence[Whiteout], action: WhiteoutAction | Literal["exclude"]) -> None:
        """Reports the plugins that white the resource out, and the effect."""
        severity, fate = _WHITEOUT[action]
        for whiteout in whiteouts:
            reason = f" ({whiteout.reason})" if whiteout.reason else ""
            tags = {"event": "whiteout", "plugin": whiteout.plugin, "reason": whiteout.reason}
            self._add("T5", severity, f"{self._ref}: {whiteout.plugin} whites it out{reason}; {fate}", tags)

    def report_applied(self, settlement: Settlement) -> None:
        """Reports the number of changes of each plugin, and agreements."""
        counts = Counter(done.plugin for done in settlement.operations)
        parts = [f"{count} of {plugin}" for plugin, count in counts.items()]
        changes = "1 change" if counts.total() == 1 else f"{counts.total()} changes"
        tags = {"event": "applied", "plugin": ", ".join(counts)}
        agreed = dict.fromkeys(
            f"{agreement.operation.plugin} with {agreement.other}" for agreement in settlement.agreed
        )
        if agreed:
            tags["agreed"] = ", ".join(agreed)
        also = f"; {', '.join(agreed)} agreed" if agreed else ""
        self._add("T2", "info", f"{self._ref}: {changes}: {', '.join(parts)}{also}", tags)

    def unstable(self, plugin: str, problem: str) -> None:
        """Warns of a plugin that would change its own result again (T8)."""
        tags = {"event": "not-idempotent", "plugin": plugin}
        message = f"{self._ref}: run again on its own result, {plugin} {problem}; in a pipeline it runs at every render"
        self._add("T8", "warning", message, tags)

    def _add(
        self,
        rule: str,
        severity: Severity,
        message: str,
        tags: dict[str, str],
        path: str | None = None,
        current: str | None = None,
        proposed: str | None = None,
    ) -> None:
        item = self._item
        result = Result(severity, message, self._ref, item.file, item.index, path, current, proposed, tags, rule)
        self._results.add(result)

    def _is_secret(self, path: FieldPath, value: Value) -> bool:
        # Most resources have no conflict: they do not pay for this.
        self._secrecy = self._secrecy or Secrecy((self._item.root,))
        return self._secrecy.hides(path, (value,))

    def _text(self, path: FieldPath, value: Value | Absent) -> str | None:
        if value is ABSENT:
            return None
        if self._is_secret(path, value):
            return REDACTED
        return value if isinstance(value, str) else _compact(value)


def _compact(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
