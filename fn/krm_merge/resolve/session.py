"""A session in which somebody settles the conflicts of one merge. It reads and writes nothing: its host does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krm_merge.krm import NO_RESOURCE, Identity, Resource, Results, parse_path
from krm_merge.merge import (
    Choice,
    FileDecision,
    OnConflict,
    PackageDecisions,
    Policy,
    Resolution,
    Resolutions,
    ResourceOutcome,
    carry_out,
)
from krm_merge.packages import Changed
from krm_merge.policy import combine, edit_policy, resolution_value, rule_value
from krm_merge.report import (
    Context,
    DecisionRecord,
    MergeReport,
    SideName,
    contexts_of,
    records_of,
    values_at,
)
from krm_merge.resolve.choices import Choices, ChoiceStep, choice_for, rule_for
from krm_merge.resolve.interface import (
    NO_VALUE,
    NOT_ALWAYS,
    Answer,
    ConflictSession,
    NotSettledError,
    RefusedChoiceError,
    Saved,
    place_name,
    selectable_records,
)
from krm_merge.startup import replace
from krm_merge.text import Value, document_text
from krm_merge.usecases import LineCommit, LineHistory, Mergeable, MergeChoices, local_commit

if TYPE_CHECKING:
    from krm_merge.packages import File


_CHECKED = ("G", "K3")
"""Rules of what is looked at in a merged resource."""


@dataclass(frozen=True, slots=True)
class Part:
    """What was first decided on one resource or file, what is decided on it now, and the records of that."""

    first: ResourceOutcome | FileDecision
    decided: PackageDecisions
    records: Sequence[DecisionRecord]

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
            texts: dict[SideName, str] = {side: document_text(member.root) for side, member in outcome.members.items()}
            for side, text in (texts | {"result": _carried_out(outcome)[0]}).items():
                member = contexts_of([record], lambda _, text=text: text.encode())  # type: ignore[misc]
                if record.id in member:
                    yield side, member[record.id]


def parts_of(decided: Sequence[PackageDecisions], policy: Policy) -> Iterator[Part]:
    """The parts of a merge, in its order."""
    for whole in decided:
        for outcome in whole.outcomes:
            yield _part(outcome, replace(whole, outcomes=(outcome,), files=()), policy)
        for file in whole.files:
            yield _part(file, replace(whole, outcomes=(), files=(file,)), policy)


def _part(first: ResourceOutcome | FileDecision, decided: PackageDecisions, policy: Policy) -> Part:
    records = records_of([decided], policy, left_open=True)
    return Part(first, decided, records)


def _carried_out(outcome: ResourceOutcome) -> tuple[str, Results]:
    """The merged document, and what there is to say of it."""
    results = Results()
    if outcome.fate == "merged":
        resource = Resource.from_tree(outcome.member.root)
        carry_out(resource, outcome, results)
        return resource.text(), results
    contexts = {"deleted": None, "added": outcome.upstream}.get(outcome.fate, outcome.local)
    return ("" if contexts is None else document_text(contexts.root)), results


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a session: what is merged, and the settings that it begins with.

    `writes_policy` says that what is chosen is written into the package. `history` has the commits of local's lines.
    """

    name: str
    sides: Mergeable
    choices: MergeChoices
    writes_policy: bool = True
    history: LineHistory | None = None


class Session(ConflictSession[ChoiceStep]):
    """The state of one session. `revision` grows with every step."""

    def __init__(self, task: Task, steps: Iterable[ChoiceStep] = ()) -> None:
        """Merges, with the `steps` of an earlier session. Raises KrmMergeError."""
        super().__init__(steps)
        self.task = task
        self._merge_all()

    def _merge_all(self) -> None:
        self._choices = Choices.after(self._steps)
        policy = self._policy(self._choices, self._choices.all)
        self._outcome = self.task.sides.merge(self.task.choices.merger_under(policy))
        self._parts = list(parts_of(self._outcome.decided, policy))
        self._notices = MergeReport(records=self.records, results=self._outcome.results).notices()
        self._by_identity: dict[Identity, list[int]] = {}
        self._by_fingerprint: dict[str, set[int]] = {}
        self._by_id: dict[str, tuple[int, DecisionRecord]] = {}
        for number, part in enumerate(self._parts):
            for identity in part.identities:
                self._by_identity.setdefault(identity, []).append(number)
            self._put(number, part)

    def _put(self, number: int, part: Part) -> None:
        """Takes a part in, and makes the ids of its records this session's own."""
        records = []
        for settled in selectable_records(part.records):
            while self._by_id.get(settled.id, (number,))[0] != number:
                # Two documents of one file may name the same resource.
                settled = replace(settled, id=f"{settled.id}-{number}")
            self._by_id[settled.id] = number, settled
            self._by_fingerprint.setdefault(settled.fingerprint, set()).add(number)
            records.append(settled)
        self._parts[number] = replace(part, records=records)

    # ---- what there is -----------------------------------------------------------------------------------------

    @property
    def records(self) -> list[DecisionRecord]:
        """All records, in the order of the merge."""
        return [record for part in self._parts for record in part.records]

    @property
    def can_save(self) -> bool:
        """Whether every conflict is settled."""
        return not self.open

    @property
    def policy_file(self) -> str:
        """The file of the package that choices are written to, '' for none."""
        return self.task.choices.package.target_file if self.task.writes_policy else ""

    def report(self) -> MergeReport:
        """All that is decided now; its results are the warnings and errors that no record is about."""
        outcome = self._outcome
        return MergeReport(self.task.name, outcome.sides, self.records, outcome.files, self._notices, outcome.packages)

    def record(self, identifier: str) -> DecisionRecord:
        """The record of this id. Raises RefusedChoiceError."""
        return self._place_of(identifier)[1]

    def contexts(self, identifier: str) -> dict[SideName, Context]:
        """The lines around the place of a record, on each side that has it and as merged.

        Raises RefusedChoiceError.
        """
        number, record = self._place_of(identifier)
        return dict(self._parts[number].contexts(record))

    def hidden_values(self, identifier: str) -> dict[SideName, Value]:
        """The hidden values at the place of a record, which are in no record. Raises RefusedChoiceError."""
        number, record = self._place_of(identifier)
        return values_at(self._parts[number].decided, record.path, record.nature) if record.is_redacted else {}

    def local_commit(self, identifier: str) -> LineCommit | None:
        """The commit that made local's value at the place of a record; None where git does not say.

        Raises RefusedChoiceError.
        """
        number, record = self._place_of(identifier)
        task = self.task
        if task.history is None:
            return None
        path = parse_path(record.path) if record.path else ()
        package = task.choices.package
        return local_commit(self._parts[number].decided, path, task.sides.local, package, task.history)

    def alike(self, identifier: str) -> list[str]:
        """The ids of the conflicts with the fingerprint of this one, itself among them. Raises RefusedChoiceError."""
        record = self.record(identifier)
        places = sorted(self._by_fingerprint[record.fingerprint])
        records = [other for number in places for other in self._parts[number].records]
        return [other.id for other in records if other.fingerprint == record.fingerprint and other.choices]

    def _place_of(self, identifier: str) -> tuple[int, DecisionRecord]:
        place = self._by_id.get(identifier)
        if place is None:
            raise RefusedChoiceError(f"there is no decision {identifier!r} here; request the report again")
        return place

    # ---- steps -------------------------------------------------------------------------------------------------

    def choose(
        self, identifiers: Sequence[str], choice: Choice, value: Value | object = NO_VALUE, *, always: bool = False
    ) -> Answer:
        """The same; afterwards every conflict is as it was chosen to be, or all are as before."""
        step = self._step(self._asked_about(identifiers, choice, value, always=always), choice, always)
        before = {identifier: self._parts[self._place_of(identifier)[0]] for identifier in identifiers}
        steps = self._steps
        try:
            answer = self._carry_out([*steps, step], step)
            for identifier in identifiers:
                self._check(identifier, choice, before[identifier])
        except Exception:
            self._carry_out(steps, step)
            raise
        self._undone = []
        self.revision += 1
        return answer

    def _step(self, values: Sequence[tuple[DecisionRecord, Value]], choice: Choice, always: bool) -> ChoiceStep:
        records = [record for record, _ in values]
        file = self.task.choices.package.target_file
        if always:
            rules = [rule_for(record, choice, file) for record in records]
            if None in rules:
                raise RefusedChoiceError(NOT_ALWAYS)
            return ChoiceStep(rules=tuple(rule for rule in rules if rule is not None))
        # One choice for all alike, where it is made for all of them.
        counts = Counter(record.fingerprint for record in records if not record.is_redacted)
        firsts = {record.fingerprint: record.id for record in records}
        alike = {identifier for identifier, n in counts.items() if n > 1 and n == len(self.alike(firsts[identifier]))}
        new: dict[object, Resolution] = {}
        for record, value in values:
            resource = None if record.fingerprint in alike else record.resource
            resolution = choice_for(record, choice, value, resource, file)
            new[resolution.key] = resolution
        return ChoiceStep(choices=tuple(new.values()))

    def _check(self, identifier: str, choice: Choice, before: Part) -> None:
        """Whether a conflict is settled as it was chosen to be (M2). Raises RefusedChoiceError."""
        number, record = self._by_id.get(identifier, (-1, None))
        if record is None or number < 0:
            # What was chosen left no conflict here.
            return
        if record.status != "settled" or (record.chosen not in (choice, None)):
            raise RefusedChoiceError(
                f"{place_name(record)}: {choice} has no effect; another choice or rule takes precedence"
            )
        if choice == "value":
            new = self._parts[number].faults() - before.faults()
            if new:
                raise RefusedChoiceError(f"this value would make the resource invalid: {'; '.join(sorted(new))}")

    def _carry_out(self, steps: list[ChoiceStep], changed: ChoiceStep) -> Answer:
        """Takes another list of steps: what differs is decided once more, and nothing else."""
        self._steps = steps
        self._choices = Choices.after(steps)
        numbers: set[int] = set()
        for recorded in changed.choices:
            places = self._by_fingerprint.get(recorded.fingerprint, ())
            numbers |= set(places if recorded.identity is None else self._by_identity.get(recorded.identity, ()))
        for rule in changed.rules:
            identity = Identity(str(rule.group), str(rule.kind), str(rule.namespace), str(rule.name))
            numbers |= set(self._by_identity.get(identity, ()))
        records: list[DecisionRecord] = []
        removed: list[str] = []
        for number in sorted(numbers):
            before = self._parts[number]
            part = before.under(self._policy(self._choices, self._choices.of(before.identities)))
            if part.closes_others or before.closes_others:
                return self._all_anew()
            for record in before.records:
                del self._by_id[record.id]
            self._put(number, part)
            earlier = {record.id: record for record in before.records}
            records += [record for record in self._parts[number].records if earlier.pop(record.id, None) != record]
            removed += earlier
        return Answer(records, removed)

    def _all_anew(self) -> Answer:
        before = {record.id for record in self.records}
        self._merge_all()
        after = self.records
        return Answer(after, sorted(before - {record.id for record in after}))

    def _policy(self, choices: Choices, of_part: Iterable[Resolution]) -> Policy:
        """M3. What nothing settles stays open; what nobody can choose about is as it would be without asking."""
        of_run, package = self.task.choices.rules, self.task.choices.package
        winner: OnConflict = "local" if package.on_conflict in ("local", "fail") else "upstream"
        resolutions = Resolutions((*of_part, *package.resolutions.all))
        everything = replace(package, resolutions=resolutions)
        return combine(winner, (*of_run.rules, *choices.rules), everything)

    # ---- the end -----------------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """What is to be written. Raises NotSettledError, and KrmMergeError where what comes out is not valid."""
        before = self.records
        self._merge_all()
        # A page that knows the records by an older revision has to ask again.
        self.revision += self.records != before
        left = self.open
        if left:
            noun = "1 conflict is" if len(left) == 1 else f"{len(left)} conflicts are"
            raise NotSettledError(f"{noun} open; settle all of them, then save")
        errors = self._outcome.results.errors
        if errors:
            raise NotSettledError("; ".join(error.message for error in errors))
        used = {resolution.key for part in self._parts for resolution in part.decided.resolutions()}
        chosen = self._in_order(choice for choice in self._choices.all if choice.key in used)
        changes: dict[str, File | None] = dict(self._outcome.changes)
        if self.task.writes_policy and (chosen or self._choices.rules):
            file = self.task.choices.package.target_file
            now = Changed(self.task.sides.local, changes).get(file)
            changes[file] = edit_policy(
                now, file, [*map(resolution_value, chosen)], [*map(rule_value, self._choices.rules)]
            )
        return Saved(changes, tuple(chosen), self._outcome.results)

    def _in_order(self, choices: Iterable[Resolution]) -> list[Resolution]:
        """Choices in the order of the merge, in whatever order they were made."""
        order: dict[tuple[str, str], int] = {}
        for record in self.records:
            for about in (str(record.resource), "None"):
                order.setdefault((about, record.fingerprint), len(order))
        return sorted(choices, key=lambda choice: order.get((str(choice.resource), choice.fingerprint), len(order)))
