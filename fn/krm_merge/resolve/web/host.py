"""The host of a session: keeps choices as they are made, and writes what is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from krm_merge.merge.decisions.resolution import Choice
from krm_merge.resolve.kept import Kept
from krm_merge.resolve.session import Session
from krm_merge.resolve.task import Answer, Saved, Task
from krm_merge.text.reading.values import Value


class Host:
    """One session, from the first look to the end. `write` writes what is saved, all or nothing, or raises.

    `lock` is for those who serve it from several threads.
    """

    def __init__(self, task: Task, kept: Kept, write: Callable[[Saved], None]) -> None:
        """Begins where an earlier session ended. Raises KrmMergeError."""
        self.session = Session(task, kept.steps)
        self.lock = Lock()
        self.is_saved = False
        self._kept = kept
        self._write = write

    def choose(self, identifiers: Sequence[str], choice: Choice, *value: Value, always: bool = False) -> Answer:
        """Settles conflicts. Raises RefusedChoiceError, PackageError."""
        answer = self.session.choose(identifiers, choice, *value, always=always)
        self._kept.add(self.session.steps[-1])
        return answer

    def undo(self) -> Answer:
        """Takes the latest step back. Raises RefusedChoiceError, PackageError."""
        answer = self.session.undo()
        self._kept.add("undo")
        return answer

    def redo(self) -> Answer:
        """Makes an undone step again. Raises RefusedChoiceError, PackageError."""
        answer = self.session.redo()
        self._kept.add("redo")
        return answer

    def save(self) -> Saved:
        """Writes the merged package and the choices.

        Raises NotSettledError or KrmMergeError, and has written nothing then.
        """
        saved = self.session.save()
        self._write(saved)
        self.is_saved = True
        self._kept.remove()
        return saved
