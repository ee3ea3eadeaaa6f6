"""The merge of the packages of one target, and its outcome. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from posixpath import join

from krm_merge.fleet.merging.job import LEFT_ALONE, Settings, TargetConflict, TargetOutcome, TargetState
from krm_merge.fleet.merging.policy import policy_for
from krm_merge.fleet.merging.upstream import CampaignRepositories
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, Changes, Subtree, Tree
from krm_merge.policy import find_policy
from krm_merge.report.forms.by_suffix import as_json
from krm_merge.report.forms.markdown import render as as_markdown
from krm_merge.report.record import DecisionRecord, MergeReport, RecordedSide
from krm_merge.usecases import Outcome, PackageUpdate


@dataclass(frozen=True, slots=True)
class TargetPackage:
    """One package of a target that was merged: its directory in the target, and the outcome."""

    package: str
    outcome: Outcome

    @property
    def changes(self) -> Changes:
        """What becomes of its files, by their paths in the target."""
        return {join(self.package, path): file for path, file in self.outcome.changes.items()}

    def report(self, name: str, records: Sequence[DecisionRecord]) -> MergeReport:
        """The report of this package."""
        sides = {**self.outcome.sides, "local": RecordedSide(name)}
        ordered: dict[str, RecordedSide] = {
            side: sides[side] for side in ("original", "local", "upstream") if side in sides
        }
        results = [result.to_value() for result in self.outcome.results]
        return MergeReport(name, ordered, records, self.outcome.files, results)


class Merging:
    """Merges as one campaign wants it."""

    def __init__(self, settings: Settings) -> None:
        """Reads upstream's trees when they are needed, and each of them once."""
        self.settings = settings
        self._repositories = CampaignRepositories(settings)

    def merged(self, base: Tree, target: str, packages: Iterable[str]) -> list[TargetPackage]:
        """The packages of a target one after the other, each with what was merged before. Raises KrmMergeError."""
        done: list[TargetPackage] = []
        tree = base
        for package in packages:
            local = Subtree(tree, package) if package else tree
            merged = TargetPackage(package, self._outcome_of(local, join(target, package) if package else target))
            tree = Changed(tree, merged.changes) if merged.outcome.changes else tree
            done.append(merged)
        return done

    def _outcome_of(self, local: Tree, name: str) -> Outcome:
        campaign = self.settings.campaign
        policy = policy_for(campaign, find_policy(local), name)
        sides = PackageUpdate(local, self._repositories, name, campaign.upstream.ref)
        return sides.merge(PackageMerger(policy, campaign.smart, list_keys=campaign.list_keys))

    def outcome(self, target: str, merged: Sequence[TargetPackage], *, with_body: bool = False) -> TargetOutcome:
        """What became of a target; `with_body` writes the text of a pull request."""
        pairs = [(package, package.outcome.records()) for package in merged]
        conflicts = [conflict for package, records in pairs for conflict in _conflicts_in(package.package, records)]
        state = _state_of(merged, conflicts)
        is_left = state in LEFT_ALONE
        reports = [
            package.report(join(target, package.package).rstrip("/"), records)
            for package, records in pairs
            if conflicts or is_left or with_body
        ]
        return TargetOutcome(
            target=target,
            state=state,
            message=_message_of(merged),
            files=0 if is_left else sum(len(package.outcome.changes) for package in merged),
            packages=tuple(package.package for package in merged),
            conflicts=tuple(conflicts),
            report="".join(map(as_json, reports)) if conflicts or is_left else "",
            body="\n".join(map(as_markdown, reports)) if with_body else "",
        )


def after(base: Tree, merged: Iterable[TargetPackage]) -> Tree:
    """A target with all of its packages merged."""
    together = {path: file for package in merged for path, file in package.changes.items()}
    return Changed(base, together) if together else base


def _state_of(merged: Sequence[TargetPackage], conflicts: Sequence[TargetConflict]) -> TargetState:
    """What became of a target. A conflict that a rule, a choice or the policy settled needs nobody's attention."""
    if any(conflict.status == "open" for conflict in conflicts):
        return "conflicts"
    if any(package.outcome.is_refused for package in merged):
        return "refused"
    return "clean" if any(package.outcome.changes for package in merged) else "unchanged"


def _message_of(merged: Sequence[TargetPackage]) -> str:
    """Why a target was refused, '' where it was not."""
    errors = [error.message for package in merged for error in package.outcome.results.errors]
    return f"{errors[0]}{f' and {len(errors) - 1} more' if len(errors) > 1 else ''}" if errors else ""


def _conflicts_in(package: str, records: Sequence[DecisionRecord]) -> list[TargetConflict]:
    """The conflicts among records, settled or not. What nobody can choose and nothing waits for is none."""
    return [
        TargetConflict.of(package, record)
        for record in records
        if record.status == "open" or (record.choices and record.status != "automatic")
    ]
