"""The interface of sessions: what a page and a terminal need of one, whether it is about a package or about many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from krm_merge.merge.decisions.resolution import Choice
from krm_merge.report.record import Context, DecisionRecord, MergeReport, SideName
from krm_merge.resolve.task import Answer, Saved
from krm_merge.text.reading.values import Value

Step = TypeVar("Step", covariant=True)


class ConflictSession(Protocol[Step]):
    """A session in which somebody settles conflicts. `revision` grows with every step."""

    @property
    def revision(self) -> int:
        """Which state this is."""
        ...

    @property
    def policy_file(self) -> str:
        """The file that choices are written to, '' for none."""
        ...

    @property
    def records(self) -> Sequence[DecisionRecord]:
        """All records, in the order in which they are shown."""
        ...

    @property
    def open(self) -> Sequence[DecisionRecord]:
        """The conflicts that are left."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """All that was chosen, in its order, and not undone."""
        ...

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        ...

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone step."""
        ...

    @property
    def can_save(self) -> bool:
        """Whether what was chosen may be saved as it is now."""
        ...

    def report(self) -> MergeReport:
        """All that is decided now."""
        ...

    def record(self, identifier: str) -> DecisionRecord:
        """The record of this id. Raises RefusedChoiceError."""
        ...

    def contexts(self, identifier: str) -> Mapping[SideName, Context]:
        """The lines around the place of a record, by side. Raises RefusedChoiceError."""
        ...

    def hidden_values(self, identifier: str) -> Mapping[SideName, Value]:
        """The values of a Secret at the place of a record; none where nothing is hidden. Raises RefusedChoiceError."""
        ...

    def packages(self, identifier: str) -> Sequence[str]:
        """The packages that have the conflict of a record, where there may be several; else none."""
        ...

    def alike(self, identifier: str) -> Sequence[str]:
        """The ids of the records with the same conflict, itself among them. Raises RefusedChoiceError."""
        ...

    def choose(
        self, identifiers: Sequence[str], choice: Choice, value: object = ..., *, always: bool = False
    ) -> Answer:
        """Settles conflicts in the same way; `always` for good, by a rule. Raises RefusedChoiceError."""
        ...

    def set_apart(self, identifier: str, patterns: Sequence[str]) -> Answer:
        """Lets some of the packages with a conflict be settled apart from the others. Raises RefusedChoiceError."""
        ...

    def undo(self) -> Answer:
        """Takes the latest step back. Raises RefusedChoiceError where there is none."""
        ...

    def redo(self) -> Answer:
        """Makes an undone step again. Raises RefusedChoiceError where there is none."""
        ...

    def save(self) -> Saved:
        """What is to be written. Raises NotSettledError where that is too early."""
        ...
