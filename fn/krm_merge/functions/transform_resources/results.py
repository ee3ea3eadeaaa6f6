"""Reports the effects of plugins on resources as results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from krm_merge.functions.transform_resources.bookkeeping import ProtectedChange
from krm_merge.functions.transform_resources.config import WhiteoutAction
from krm_merge.harmless import REDACTED
from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Result, Results, Severity
from krm_merge.schema.secrecy import Secrecy
from krm_merge.text.reading.values import Object, Value
from krm_merge.transform.engine.locations import ABSENT, Absent
from krm_merge.transform.engine.settle import Ignored, Reason, Settlement
from krm_merge.transform.protocol.operation import pointer_text
from krm_merge.transform.runner import Whiteout

_WHY: dict[Reason, str] = {
    "priority": "{winner} has priority ({against})",
    "order": "{winner} is declared earlier ({against})",
    "dependency": "it builds on a change that was ignored",
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

    def __init__(self, results: Results, item: Resource, on_conflict: Severity) -> None:
        """`on_conflict` is the severity of a change that is ignored."""
        self._results = results
        self._item = item
        self._ref = item.ref
        self._on_conflict = on_conflict
        self._secrecy: Secrecy | None = None

    def losses(self, settlement: Settlement) -> None:
        """Reports patches whose test failed, and every change that is ignored (T5)."""
        for skipped in settlement.skipped:
            message = f"{self._ref}: a patch of {skipped.plugin} is skipped: {skipped.test} found another value"
            tags = {"event": "test-skipped", "plugin": skipped.plugin}
            self._add("T4", "info", message, tags, path=".".join(skipped.test.path) or None)
        for one in settlement.ignored:
            self._ignored(one)

    def _ignored(self, one: Ignored) -> None:
        plugin, operation = one.operation.plugin, one.operation.operation
        why = _WHY[one.reason].format(winner=one.winner, against=one.against)
        tags = {
            "event": "ignored",
            "plugin": plugin,
            "winner": one.winner,
            "reason": one.reason,
            "op": operation.kind,
            "pointer": pointer_text(operation.path),
            "unit": str(one.unit + 1),
        }
        if operation.kind in ("add", "replace"):
            tags["value"] = REDACTED if self._is_secret(one.path, operation.value) else _compact(operation.value)
        self._add(
            "T5",
            self._on_conflict,
            f"{self._ref}: {plugin}'s {operation} is ignored: {why}",
            tags,
            path=format_path(one.path) or None,
            current=self._text(one.path, one.current),
            proposed=self._text(one.path, one.proposed),
        )

    def bookkeeping(self, protected_changes: Sequence[ProtectedChange], annotations: Object) -> None:
        """Reports ignored changes of kpt's annotations (T1, T5)."""
        for one in protected_changes:
            plugin, operation = one.operation.plugin, one.operation.operation
            part = "" if one.whole else f" for {one.annotation}"
            tags = {
                "event": "ignored",
                "plugin": plugin,
                "reason": "bookkeeping",
                "op": operation.kind,
                "pointer": pointer_text(operation.path),
            }
            path = ("metadata", "annotations", one.annotation)
            existing = self._text(path, annotations.get(one.annotation, ABSENT))
            self._add(
                "T5",
                self._on_conflict,
                f"{self._ref}: {plugin}'s {operation} is ignored{part}: kpt manages this annotation",
                tags,
                path=format_path(path),
                current=existing,
                proposed=existing,
            )

    def whiteouts(self, whiteouts: Sequence[Whiteout], action: WhiteoutAction | Literal["exclude"]) -> None:
        """Reports the plugins that white the resource out, and the effect."""
        severity, fate = _WHITEOUT[action]
        for one in whiteouts:
            reason = f" ({one.reason})" if one.reason else ""
            tags = {"event": "whiteout", "plugin": one.plugin, "reason": one.reason}
            self._add("T5", severity, f"{self._ref}: {one.plugin} whites it out{reason}; {fate}", tags)

    def applied(self, settlement: Settlement) -> None:
        """Reports the number of changes of each plugin, and agreements."""
        counts = Counter(done.plugin for done in settlement.operations)
        parts = [f"{count} of {plugin}" for plugin, count in counts.items()]
        changes = "1 change" if counts.total() == 1 else f"{counts.total()} changes"
        tags = {"event": "applied", "plugin": ", ".join(counts)}
        agreed = dict.fromkeys(f"{one.operation.plugin} with {one.other}" for one in settlement.agreed)
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
