"""The effects of plugins as results, and kpt's annotations, which plugins neither see nor change (rule T1)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from krm_merge.functions.edit_items import bookkeeping_of, without_bookkeeping
from krm_merge.functions.transform_config import WhiteoutAction
from krm_merge.krm import FieldPath, Resource, Result, Results, Severity, format_path
from krm_merge.safe_text import REDACTED
from krm_merge.schema import Secrecy
from krm_merge.text import Value
from krm_merge.transform.engine.locations import ABSENT, Absent
from krm_merge.transform.engine.settle import Ignored, Reason, Settlement
from krm_merge.transform.protocol import pointer_text
from krm_merge.transform.runner import Whiteout

_ANNOTATIONS: Final = ("metadata", "annotations")


def take_bookkeeping(settlement: Settlement) -> list[str]:
    """Takes kpt's annotations, which no plugin saw, out of the settled value; returns those that plugins wrote."""
    names = list(bookkeeping_of(settlement.value))
    if names:
        settlement.value = without_bookkeeping(settlement.value)
    return names


_WHY: dict[Reason, str] = {
    "priority": "{winner} has priority ({against})",
    "order": "{winner} is declared earlier ({against})",
    "whiteout": "{winner} whites the resource out",
}
_WHITEOUT = {
    "annotate": "it is marked local-config and will not be applied",
    "drop": "it is removed from the package",
    "exclude": "it is left out of what is applied",
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

    def bookkeeping(self, annotations: Sequence[str], plugins: str) -> None:
        """Reports that plugins wrote kpt's annotations, which are kept as they were (T1, T5)."""
        tags = {"event": "ignored", "plugin": plugins, "reason": "bookkeeping"}
        for annotation in annotations:
            message = f"{self._ref}: {plugins}'s {annotation} is ignored: kpt manages this annotation"
            self._add("T5", self._severity, message, tags, path=format_path((*_ANNOTATIONS, annotation)))

    def whiteouts(self, whiteouts: Sequence[Whiteout], action: WhiteoutAction | Literal["exclude"]) -> None:
        """Reports the plugins that white the resource out, and the effect."""
        for whiteout in whiteouts:
            reason = f" ({whiteout.reason})" if whiteout.reason else ""
            tags = {"event": "whiteout", "plugin": whiteout.plugin, "reason": whiteout.reason}
            self._add("T5", "info", f"{self._ref}: {whiteout.plugin} whites it out{reason}; {_WHITEOUT[action]}", tags)

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
