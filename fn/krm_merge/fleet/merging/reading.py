"""What was decided in a target, as its outcome: the state, the conflicts, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from krm_merge.fleet.merging.job import TargetConflict, TargetState
from krm_merge.merge.decisions.policy import Policy
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.packages.update import Update
from krm_merge.report.reading import records_of
from krm_merge.report.record import DecisionRecord, Files, MergeReport, RecordedSide


@dataclass(frozen=True, slots=True)
class TargetPackage:
    """One package of a target that was merged: its directory in the target, and what was decided."""

    package: str
    local: Tree
    update: Update
    policy: Policy

    @property
    def changes(self) -> Changes:
        """What becomes of its files."""
        return self.update.changes

    @property
    def is_refused(self) -> bool:
        """Whether it is left as it is, because something is an error."""
        return bool(self.update.results.errors)

    def records(self) -> list[DecisionRecord]:
        """Every decision."""
        return records_of(self.update.decided, self.policy)

    def report(self, name: str, records: Sequence[DecisionRecord]) -> MergeReport:
        """The report of this package."""
        changes, local = self.changes, self.local
        files = Files(
            sorted(path for path, file in changes.items() if file is not None and path not in local),
            sorted(path for path, file in changes.items() if file is not None and path in local),
            sorted(path for path, file in changes.items() if file is None),
        )
        sides = {"local": RecordedSide(name)}
        for updated in self.update.packages[:1]:
            if updated.before is not None:
                sides = {"original": RecordedSide(updated.before.ref, updated.before.commit)} | sides
            sides["upstream"] = RecordedSide(updated.after.ref, updated.after.commit)
        results = [result.to_value() for result in self.update.results]
        return MergeReport(name, sides, records, files, results)


def state_of(merged: Sequence[TargetPackage], conflicts: Sequence[TargetConflict]) -> TargetState:
    """What became of a target. A conflict that a rule, a choice or the policy settled needs nobody's attention."""
    if any(conflict.status == "open" for conflict in conflicts):
        return "conflicts"
    if any(one.is_refused for one in merged):
        return "refused"
    return "clean" if any(one.changes for one in merged) else "unchanged"


def message_of(merged: Sequence[TargetPackage]) -> str:
    """Why a target was refused, '' where it was not."""
    errors = [error.message for one in merged for error in one.update.results.errors]
    return f"{errors[0]}{f' and {len(errors) - 1} more' if len(errors) > 1 else ''}" if errors else ""


def conflicts_in(package: str, records: Sequence[DecisionRecord]) -> list[TargetConflict]:
    """The conflicts among records, settled or not. What nobody can choose and nothing waits for is none."""
    return [
        TargetConflict.of(package, record)
        for record in records
        if record.status == "open" or (record.choices and record.status != "automatic")
    ]
