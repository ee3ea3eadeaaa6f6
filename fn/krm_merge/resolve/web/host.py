"""The host of a session: keeps choices as they are made, and writes what is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic

from krm_merge.merge.decisions.resolution import Choice
from krm_merge.resolve.interface import Answer, ConflictSession, Saved
from krm_merge.resolve.kept import Kept, Step
from krm_merge.text.reading.values import Value


class Host(Generic[Step]):
    """One session, from the first look to the end. `write` writes what is saved, all or nothing, or raises.

    `lock` is for those who serve it from several threads.
    """

    def __init__(self, session: ConflictSession[Step], kept: Kept[Step], write: Callable[[Saved], None]) -> None:
        """Takes a session that has the steps that were kept."""
        self.session = session
        self.lock = Lock()
        self.is_saved = False
        self._kept = kept
        self._write = write

    def choose(self, identifiers: Sequence[str], choice: Choice, *value: Value, always: bool = False) -> Answer:
        """Settles conflicts. Raises RefusedChoiceError, PackageError."""
        answer = self.session.choose(identifiers, choice, *value, always=always)
        self._kept.add(self.session.steps[-1])
        return answer

    def set_apart(self, identifier: str, patterns: Sequence[str]) -> Answer:
        """Lets some packages of a group be settled apart from the others. Raises RefusedChoiceError, PackageError."""
        answer = self.session.set_apart(identifier, patterns)
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
