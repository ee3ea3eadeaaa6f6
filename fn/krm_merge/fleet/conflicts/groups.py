"""Equal conflicts of many packages as one group. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from posixpath import join

from krm_merge.fleet.merging.job import TargetConflict
from krm_merge.report.record import SIDES, DecisionRecord, MergeReport
from krm_merge.text.reading.values import Value

_EXAMPLES = 3
_LENGTH_OF_ID = 12


@dataclass(frozen=True, slots=True)
class Group:
    """The conflicts with one fingerprint: one of them, and the packages that have it."""

    conflict: TargetConflict
    packages: tuple[str, ...]

    @property
    def id(self) -> str:
        """The id of its record. The first half of a fingerprint does not say what local has."""
        return self.conflict.fingerprint[-_LENGTH_OF_ID:]

    @property
    def place(self) -> str:
        """Where the conflict is, as people name it."""
        one = self.conflict
        return " ".join(part for part in (one.kind, one.path or one.file) if part)

    @property
    def examples(self) -> str:
        """How many packages there are, and some of them."""
        shown = ", ".join(self.packages[:_EXAMPLES])
        more = f" and {len(self.packages) - _EXAMPLES:,} more" if len(self.packages) > _EXAMPLES else ""
        count = "1 package" if len(self.packages) == 1 else f"{len(self.packages):,} packages"
        return f"{count}: {shown}{more}"

    def record(self) -> DecisionRecord:
        """The group as a record, for reports."""
        return self.conflict.record_for(self.id, self.examples)


def groups_of(conflicts: Iterable[tuple[str, TargetConflict]], *, decided: bool = False) -> list[Group]:
    """The groups, the largest first: of conflicts that nothing but the policy settles, or of the others."""
    packages: dict[str, dict[str, None]] = {}
    first: dict[str, TargetConflict] = {}
    for target, conflict in conflicts:
        if conflict.is_undecided != decided:
            first.setdefault(conflict.fingerprint, conflict)
            packages.setdefault(conflict.fingerprint, {})[join(target, conflict.package).rstrip("/")] = None
    groups = [Group(conflict, tuple(packages[name])) for name, conflict in first.items()]
    return sorted(groups, key=lambda group: (-len(group.packages), group.place, group.conflict.fingerprint))


def report_of(name: str, groups: Sequence[Group]) -> MergeReport:
    """The groups as a report, in the same forms as that of a merge."""
    return MergeReport(name, records=[group.record() for group in groups])


def values_of(group: Group) -> list[tuple[str, Value]]:
    """The values of a group, side by side; an open conflict has no result."""
    values, is_open = group.conflict.values, group.conflict.status == "open"
    return [(side, values[side]) for side in SIDES if side in values and not (is_open and side == "result")]
