"""What all sessions have: all that a page and a terminal need, whether one is about a package or about many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from krm_merge.errors import KrmMergeError
from krm_merge.krm.result import Results
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.packages.files.tree import Changes
from krm_merge.policy import RecordedChoice
from krm_merge.report.record import Context, DecisionRecord, MergeReport, SideName
from krm_merge.resolve.selectable import RefusedChoiceError, place_name
from krm_merge.text.reading.values import Value

NO_VALUE: Final = object()
"""The value of a choice that has none."""

NOT_ALWAYS: Final = (
    "this cannot hold always: a rule says upstream or local, for a field "
    "of a resource that no position in a list leads to"
)

Step = TypeVar("Step")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a step changed: records that are new or other ones, and the ids of those that are gone."""

    records: Sequence[DecisionRecord]
    removed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """What saving writes: local's files, and all that was chosen; `results` are the messages."""

    changes: Changes
    made: tuple[RecordedChoice, ...]
    results: Results


class NotSettledError(KrmMergeError):
    """Why nothing can be saved yet."""


class ConflictSession(ABC, Generic[Step]):
    """A session in which somebody settles conflicts. `revision` grows with every step."""

    def __init__(self, steps: Iterable[Step]) -> None:
        """Begins with the `steps` of an earlier session."""
        self.revision = 0
        self._steps = list(steps)
        self._undone: list[Step] = []

    @property
    @abstractmethod
    def policy_file(self) -> str:
        """The file that choices are written to, '' for none."""

    @property
    @abstractmethod
    def records(self) -> Sequence[DecisionRecord]:
        """All records, in the order in which they are shown."""

    @property
    def open(self) -> Sequence[DecisionRecord]:
        """The conflicts that are left."""
        return [record for record in self.records if record.status == "open"]

    @property
    def steps(self) -> Sequence[Step]:
        """All that was chosen, in its order, and not undone."""
        return self._steps

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._steps)

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone step."""
        return bool(self._undone)

    @property
    @abstractmethod
    def can_save(self) -> bool:
        """Whether what was chosen may be saved as it is now."""

    @abstractmethod
    def report(self) -> MergeReport:
        """All that is decided now."""

    @abstractmethod
    def record(self, identifier: str) -> DecisionRecord:
        """The record of this id. Raises RefusedChoiceError."""

    @abstractmethod
    def contexts(self, identifier: str) -> Mapping[SideName, Context]:
        """The lines around the place of a record, by side. Raises RefusedChoiceError."""

    @abstractmethod
    def hidden_values(self, identifier: str) -> Mapping[SideName, Value]:
        """The hidden values at the place of a record; none where nothing is hidden. Raises RefusedChoiceError."""

    @abstractmethod
    def packages(self, identifier: str) -> Sequence[str]:
        """The packages that have the conflict of a record, where there may be several; else none."""

    @abstractmethod
    def alike(self, identifier: str) -> Sequence[str]:
        """The ids of the records with the same conflict, itself among them. Raises RefusedChoiceError."""

    @abstractmethod
    def choose(
        self, identifiers: Sequence[str], choice: Choice, value: object = ..., *, always: bool = False
    ) -> Answer:
        """Settles conflicts in the same way; `always` for good, by a rule. Raises RefusedChoiceError."""

    @abstractmethod
    def set_apart(self, identifier: str, patterns: Sequence[str]) -> Answer:
        """Lets some of the packages with a conflict be settled apart from the others. Raises RefusedChoiceError."""

    def undo(self) -> Answer:
        """Takes the latest step back. Raises RefusedChoiceError where there is none."""
        if not self._steps:
            raise RefusedChoiceError("there is nothing to undo")
        step = self._steps[-1]
        answer = self._carry_out(self._steps[:-1], step)
        self._undone.append(step)
        self.revision += 1
        return answer

    def redo(self) -> Answer:
        """Makes an undone step again. Raises RefusedChoiceError where there is none."""
        if not self._undone:
            raise RefusedChoiceError("there is nothing to do again")
        step = self._undone.pop()
        answer = self._carry_out([*self._steps, step], step)
        self.revision += 1
        return answer

    @abstractmethod
    def save(self) -> Saved:
        """What is to be written. Raises NotSettledError where that is too early."""

    # ---- for the sessions themselves -----------------------------------------------------------------------------

    @abstractmethod
    def _carry_out(self, steps: list[Step], changed: Step) -> Answer:
        """Takes another list of steps, which differs from the one before by the step that `changed`."""

    def _asked_about(
        self, identifiers: Sequence[str], choice: Choice, value: object, what: str
    ) -> list[DecisionRecord]:
        """The records that a choice is made for. Raises RefusedChoiceError where one of them does not have it."""
        if not identifiers:
            raise RefusedChoiceError(f"ids is empty; name at least one {what}")
        if (choice == "value") != (value is not NO_VALUE):
            raise RefusedChoiceError("a value is given with the choice value, and only with that")
        records = [self.record(identifier) for identifier in identifiers]
        for record in records:
            if choice not in record.choices:
                known = ", ".join(record.choices) or "nothing"
                raise RefusedChoiceError(f"{place_name(record)}: {choice} cannot be chosen here; {known} can")
        return records
