"""The parts of a merge that are decided apart: a resource, or a file that is merged as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krm_merge.krm.identity import NO_RESOURCE, Identity
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.merge.decisions.decision import FileDecision
from krm_merge.merge.decisions.member import PackageDecisions, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.resolution import Resolution
from krm_merge.merge.writing.carry_out import carry_out
from krm_merge.report.context import contexts_of
from krm_merge.report.reading import records_of, values_at
from krm_merge.report.record import Context, DecisionRecord, SideName
from krm_merge.schema.secrecy import Redaction
from krm_merge.startup import replace
from krm_merge.text.document import document_text
from krm_merge.text.reading.values import Value

_CHECKED = ("G", "K3")
"""Rules of what is looked at in a merged resource."""


@dataclass(frozen=True, slots=True)
class Part:
    """What was first decided on one resource or file, what is decided on it now, and the records of that.

    `redactions` say what the records hide.
    """

    first: ResourceOutcome | FileDecision
    decided: PackageDecisions
    records: Sequence[DecisionRecord]
    redactions: Sequence[Redaction] = ()

    @property
    def identities(self) -> set[Identity]:
        """The names that it has on the three sides."""
        if not isinstance(self.first, ResourceOutcome):
            return {NO_RESOURCE}
        return {member.identity for member in self.first.members.values()}

    @property
    def closes_others(self) -> bool:
        """Whether what becomes of it says what becomes of other parts: a package inside is deleted with its Kptfile."""
        return any(outcome.member.is_kptfile and outcome.fate != "merged" for outcome in self.decided.outcomes)

    def under(self, policy: Policy) -> Part:
        """The same, decided once more."""
        again = self.decided.again
        if again is None:
            return self
        decided = replace(again(self.first, policy), folder=self.decided.folder, again=again)
        return _part(self.first, decided, policy)

    def resolutions(self) -> Iterator[Resolution]:
        """The choices that settled something in it."""
        of_fields = [decision.resolution for outcome in self.decided.outcomes for decision in outcome.decisions]
        of_files = [decision.resolution for decision in self.decided.files]
        return (resolution for resolution in of_fields + of_files if resolution is not None)

    def faults(self) -> set[str]:
        """What is wrong with the merged resource, by the rules on what comes out of a merge."""
        return {
            result.message
            for outcome in self.decided.outcomes
            for result in _carried_out(outcome)[1]
            if result.severity == "error" or result.rule in _CHECKED
        }

    def contexts(self, record: DecisionRecord) -> Iterator[tuple[SideName, Context]]:
        """The lines around the place of a record: of each side that has it, and as merged. No hidden value."""
        for outcome in self.decided.outcomes:
            texts: dict[SideName, str] = {side: document_text(one.root) for side, one in outcome.members.items()}
            for side, text in (texts | {"result": _carried_out(outcome)[0]}).items():
                found = contexts_of([record], lambda _, text=text: text.encode(), self.redactions)  # type: ignore[misc]
                if record.id in found:
                    yield side, found[record.id]

    def values(self, record: DecisionRecord) -> dict[SideName, Value]:
        """What the sides have at the place of a record, also where that is hidden."""
        return values_at(self.decided, record.path, record.nature)


def parts_of(decided: Sequence[PackageDecisions], policy: Policy) -> Iterator[Part]:
    """The parts of a merge, in its order."""
    for whole in decided:
        for outcome in whole.outcomes:
            yield _part(outcome, replace(whole, outcomes=(outcome,), files=()), policy)
        for file in whole.files:
            yield _part(file, replace(whole, outcomes=(), files=(file,)), policy)


def _part(first: ResourceOutcome | FileDecision, decided: PackageDecisions, policy: Policy) -> Part:
    return Part(first, decided, records_of([decided], policy, left_open=True), policy.redactions)


def _carried_out(outcome: ResourceOutcome) -> tuple[str, Results]:
    """The merged document, and what there is to say of it."""
    results = Results()
    if outcome.fate == "merged":
        resource = Resource.from_tree(outcome.member.root)
        carry_out(resource, outcome, results)
        return resource.text(), results
    kept = {"deleted": None, "added": outcome.upstream}.get(outcome.fate, outcome.local)
    return ("" if kept is None else document_text(kept.root)), results
