"""Writes changes to a package so that it is one of its two whole states, whatever happens on the way.

What is to be done is written to a plan where no package can bring one (A9), and the new files to a directory inside of
the package whose name only the plan knows. When all are there, the plan gets another name: from then on the update
counts as done, and the next command completes it. Each file then changes places with its new version, which needs no
space; the package's Kptfile is last. Where somebody else has changed a file, or something fails, the files change
places again, so that no edit is lost. How far an update came is not recorded: before each exchange, and after a kill,
files are compared with the plan's digests.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from krm_merge import interrupts
from krm_merge.krm import KPTFILE
from krm_merge.packages.files import disk
from krm_merge.packages.files.disk import note
from krm_merge.packages.files.tree import (
    Changes,
    File,
    PackageError,
    RefusedError,
    Tree,
    UnavailableError,
    leads_out,
    reason,
    refuse_repositories,
)
from krm_merge.posix import StateFile, file_locks, is_own, keep_owner, locked_soon

Recovery: TypeAlias = Literal["nothing", "completed", "rolled back"]

_OLD_VERSION = ".before-update"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file: digests of its content before and after the update, None for no file."""

    number: int
    path: str
    before: str | None
    after: str | None


class Journal:
    """The journal of one package. Use `open`, which also recovers the package."""

    def __init__(self, package: Path) -> None:
        """Takes the directory of the package. Raises OSError, KrmMergeError."""
        self.package = package.resolve()
        # The plan, by its name: the files are being prepared, or left over; the update is decided.
        self._begun = disk.state_file(self.package, "begun")
        self._plan = self._begun.beside("plan")
        # Inside: what is beside the package may be on another disk.
        self.directory = self.package / f".{os.urandom(16).hex()}.krm-merge"

    @classmethod
    @contextmanager
    def open(cls, package: Path, *, only_looks: bool = False) -> Iterator[Journal]:
        """The journal, for this process alone; an interrupted update of the package is completed or rolled back first.

        For a command that `only_looks` it is neither (A10). Raises KrmMergeError where another process has it, where
        an update must be completed first, or where the plan was not written by this program for this user.
        """
        fcntl = file_locks()
        try:
            journal = cls(package)
            lock = os.open(journal.package, os.O_RDONLY)
        except OSError as error:
            raise PackageError(f"{package}: {reason(error)}") from None
        try:
            if not locked_soon(lock, fcntl):
                raise PackageError(f"{package}: another krm-merge is working on it; wait until it ends")
            try:
                if only_looks:
                    journal.refuse_interrupted()
                with interrupts.held():
                    if not only_looks:
                        journal.recovered = journal._recover()
                    if journal.recovered != "nothing":
                        note(f"an interrupted update of {package} was {journal.recovered}")
            except OSError as error:
                raise PackageError(f"{error.filename or journal.directory}: {reason(error)}; try again") from None
            yield journal
        finally:
            os.close(lock)

    recovered: Recovery = "nothing"
    """How an interrupted update was recovered."""
    because: str = ""
    """Why it was rolled back although its plan was complete, and what happened to files that somebody changed."""

    def refuse_interrupted(self) -> None:
        """Raises RefusedError where an update of the package was interrupted half way."""
        if self._plan.read() is not None:
            raise RefusedError(
                f"an update of {self.package} was interrupted ({self._plan.path}), and nothing was changed; complete "
                f"it first: run that command again, or krm-merge update {self.package}"
            )

    def commit(self, changes: Changes, before: Tree, *, is_lasting: bool = True) -> None:
        """Makes the changes, if the files are still as they were `before`.

        Unless `is_lasting`, the disk is not asked to have all of it in the end: a kill leaves one of two whole states,
        and where the machine itself fails, git has the files. A signal in the meantime ends it before anything is
        changed, or when everything is. Raises PackageError, and then the package is as it was.
        """
        refuse_repositories(str(self.package), before, changes)
        # Removals first: a file may become a folder. The Kptfile last: it says which version the package has.
        ordered = sorted(changes, key=lambda path: (path == KPTFILE, changes[path] is not None, path))
        is_begun = False
        try:
            steps = [
                _Step(number, path, self._digest(path), _digest(changes[path])) for number, path in enumerate(ordered)
            ]
            self._check_steps(steps, before)
            # Checked all the same: they are part of what was merged.
            steps = [step for step in steps if step.before != step.after]
            if not steps:
                return
            self._check_folders([step.path for step in steps])
            self._prepare(steps, changes, is_lasting)
            with interrupts.held():
                is_begun = True
                is_completed, notes = self._carry_out(steps, is_lasting=is_lasting)
                if not is_completed:
                    raise UnavailableError("; ".join([notes[0], "the package is as it was", *notes[1:]]))
                note(f"{self.package} was changed as a whole")
        except BaseException as error:
            # Once it began, the plan must stay: the next command goes on by it.
            if not is_begun:
                with interrupts.held(), suppress(OSError):
                    self._finish()
            if isinstance(error, OSError):
                raise PackageError(
                    f"{error.filename or self.directory}: {reason(error)}; nothing was changed"
                ) from None
            raise

    def _check_steps(self, steps: list[_Step], before: Tree) -> None:
        for step in steps:
            self._check_path(step.path)
            if step.before != _digest(before.get(step.path)):
                raise UnavailableError(
                    f"{self.package / step.path} was changed meanwhile; nothing was written, try again"
                )

    def _check_path(self, path: str) -> None:
        """Refuses what would write elsewhere than into the package: the last gate."""
        if leads_out(path):
            raise PackageError(f"{path!r} is outside the package; nothing was written")
        if (link := self._link_around(path)) is not None:
            raise PackageError(f"{link} is a link, and {path} would be written through it; remove the link")

    def _link_around(self, path: str) -> Path | None:
        """A folder around a file that is a link, if one is."""
        folder = self.package
        for part in PurePosixPath(path).parent.parts:
            folder = folder / part
            if folder.is_symlink():
                return folder
        return None

    # ---- before the plan is written ----------------------------------------------------------------------------

    def _check_folders(self, paths: list[str]) -> None:
        """Looks for what would stop the renaming half way."""
        for folder in {self._folder(path) for path in paths}:
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied: the folder cannot be written to", str(folder))

    def _folder(self, path: str) -> Path:
        """The nearest folder around a file that is there already."""
        folder = (self.package / path).parent
        while not folder.is_dir():
            folder = folder.parent
        return folder

    def _prepare(self, steps: list[_Step], changes: Changes, is_lasting: bool) -> None:
        plan = {"name": self.directory.name, "steps": [asdict(step) for step in steps]}
        self._begun.write(json.dumps(plan).encode())
        self.directory.mkdir(0o700)
        staged = []
        for step in steps:
            file = changes[step.path]
            if file is not None:
                target, slot = self._places(step)
                self._write(slot, file, target, self._folder(step.path))
                staged += [slot] if file.mode != "link" else []
        if is_lasting:
            # Before the plan counts: without its files it would be worth nothing after a power cut.
            disk.sync([*staged, self.directory, self.package], self.directory)
        self._begun.rename(self._plan, is_lasting=is_lasting)

    @staticmethod
    def _write(staged: Path, file: File, target: Path, folder: Path) -> None:
        like = target if os.path.lexists(target) else folder
        if file.mode == "link":
            os.symlink(os.fsdecode(file.data), staged)
            keep_owner(staged, like)
            return
        staged.write_bytes(file.data)
        # It takes some bits of the mode away.
        keep_owner(staged, like)
        if target.is_file() and not target.is_symlink():
            shutil.copymode(target, staged)
        bits = staged.stat().st_mode
        # Who may read may run.
        staged.chmod(bits | (bits & 0o444) >> 2 if file.mode == "executable" else bits & ~0o111)

    def _finish(self) -> None:
        """All is done, or undone: removes the prepared files, and then the record of them."""
        with suppress(FileNotFoundError):
            self._plan.rename(self._begun, is_lasting=False)
        with suppress(OSError):  # the next run removes what is left
            if self._is_ours():
                shutil.rmtree(self.directory)
            self._begun.remove()

    def _is_ours(self) -> bool:
        """Whether the directory of prepared files is there. Raises PackageError where it is not the one we made."""
        if not os.path.lexists(self.directory):
            return False
        if not stat.S_ISDIR(self.directory.lstat().st_mode) or not is_own(self.directory):
            raise PackageError(f"{self.directory} was replaced by something else; remove it, and try again")
        return True

    # ---- after it ----------------------------------------------------------------------------------------------

    def _recover(self) -> Recovery:
        text = self._plan.read()
        if text is None:
            # No file of the package was touched, or all were done.
            if begun := self._begun.read():
                self._parse(begun, self._begun)
            self._finish()
            return "nothing"
        steps = self._parse(text, self._plan)
        self._is_ours()
        for step in steps:
            self._check_path(step.path)
            self._settle(step)
        is_completed, notes = self._carry_out(steps, is_recovery=True)
        self.because = "; ".join(notes)
        return "completed" if is_completed else "rolled back"

    def _parse(self, text: bytes, plan: StateFile) -> list[_Step]:
        """The steps of a plan. Raises PackageError."""
        try:
            read = json.loads(text)
            self.directory = self.package / read["name"]
            return [_Step(**step) for step in read["steps"]]
        except (ValueError, KeyError, TypeError):
            raise PackageError(f"{plan.path}: not a plan for this package; remove it to continue") from None

    def _settle(self, step: _Step) -> None:
        """Ends what was killed between two steps of one exchange."""
        target, slot = self._places(step)
        disk.settle(slot)
        are_there = os.path.lexists(slot) and os.path.lexists(target)
        if step.before is None and are_there and os.path.samestat(slot.lstat(), target.lstat()):
            slot.unlink()

    def _carry_out(
        self, steps: list[_Step], *, is_lasting: bool = True, is_recovery: bool = False
    ) -> tuple[bool, list[str]]:
        """Does what is left to do, or undoes all where somebody else changed a file; says what became of such files.

        Raises PackageError where something fails; then all is undone, too.
        """
        try:
            for step in steps:
                if not self._apply(step):
                    return False, [self._obstacle(step), *self._roll_back(steps)]
            # A program that had opened a file before it was exchanged may have written to it since.
            written = [step for step in steps if self._was_written_to(step)]
            if written and not is_recovery:
                return False, [self._obstacle(written[0]), *self._roll_back(steps)]
            # After a kill it may as well be damaged, and is not put in place.
            notes = [
                f"what was written to {self._places(step)[0]} meanwhile is {self._save_old_version(step)}"
                for step in written
            ]
            for step in steps:
                if step.after is None:
                    self._remove_empty((self.package / step.path).parent)
            if is_lasting:
                disk.sync({self._folder(step.path) for step in steps} | {self.package}, self.package)
        except OSError as error:
            why = f"{error.filename or self.package}: {reason(error)}"
            raise PackageError("; ".join([why, "the package is as it was", *self._roll_back(steps)])) from None
        with suppress(OSError):  # all is done; the next run removes what is left
            self._finish()
        return True, notes

    def _obstacle(self, step: _Step) -> str:
        """Why a step cannot be applied."""
        place = self._places(step)[0]
        if self._digest(step.path) == step.before:
            return f"what was prepared for {place} is missing or damaged"
        return f"{place} was changed meanwhile and is kept"

    def _was_written_to(self, step: _Step) -> bool:
        """Whether the version that is not in the package is neither the old nor the new one."""
        return _digest_at(self._places(step)[1]) not in (step.before, step.after, None)

    def _is_applied(self, step: _Step) -> bool:
        """Whether a file has its new version, or had it before somebody else changed it."""
        now, other = self._digests(step)
        return now == step.after or (now != step.before and other == step.before)

    def _apply(self, step: _Step) -> bool:
        """Exchanges a file and its new version, unless that is done; False where somebody else changed it."""
        if self._digests(step) != (step.before, step.after):
            return self._is_applied(step)
        return self._exchange(step, step.before)

    def _exchange(self, step: _Step, current: str | None) -> bool:
        """Exchanges a file and its other version; False where it is not as `current` says by then, and stays."""
        target, slot = self._places(step)
        if (link := self._link_around(step.path)) is not None:
            raise OSError(errno.ELOOP, f"is a link, and {step.path} would be written through it", str(link))
        try:
            self._swap(target, slot)
            if _digest_at(slot) == current:
                return True
            # It was changed between the look at it and the exchange.
            self._swap(target, slot)
        except (FileExistsError, FileNotFoundError):
            # Its name was taken, or it was removed.
            pass
        return False

    def _roll_back(self, steps: list[_Step]) -> list[str]:
        """Undoes what was done; says what could not be, because somebody has changed it since. Raises PackageError."""
        notes = []
        try:
            # The Kptfile first, which came last: it must not name a version whose files are gone.
            for step in reversed(steps):
                target, slot = self._places(step)
                now, other = self._digests(step)
                # Its old version comes back whatever it holds by now: that may be somebody's edit.
                is_undone = now == step.before or (now == step.after != other and self._exchange(step, step.after))
                if not is_undone and other != step.after:
                    old = f", its old version is {self._save_old_version(step)}" if os.path.lexists(slot) else ""
                    notes.append(f"{target} was changed after it was written and is kept{old}")
                if step.before is None:
                    self._remove_empty(target.parent)
            self._finish()
        except OSError as error:
            what = f"{error.filename or self.package}: {reason(error)}"
            raise PackageError(f"{what}; the old files are in {self.directory}, and the next run goes on") from None
        return notes

    def _swap(self, target: Path, slot: Path) -> None:
        if _is_file(target):
            if os.path.lexists(slot):
                disk.exchange(target, slot)
            else:
                os.rename(target, slot)
        elif os.path.lexists(slot):
            # A folder becomes a file: the steps before removed what was in it.
            if target.is_dir():
                self._remove_folders(target)
            _make_folder(target.parent)
            disk.move_to_free(slot, target)

    def _save_old_version(self, step: _Step) -> Path:
        """Puts the old version of a file beside it, and gives the place."""
        target, slot = self._places(step)
        for number in count(1):
            saved = target.with_name(f"{target.name}{_OLD_VERSION}{f'.{number}' if number > 1 else ''}")
            with suppress(FileExistsError):
                disk.move_to_free(slot, saved)
                return saved
        raise AssertionError("there is always a free name")

    def _places(self, step: _Step) -> tuple[Path, Path]:
        """Where a file is, and where its other version is: the new one before the exchange, the old one after it."""
        return self.package / step.path, self.directory / str(step.number)

    def _digests(self, step: _Step) -> tuple[str | None, str | None]:
        """Of a file, and of its other version."""
        target, slot = self._places(step)
        return _digest_at(target), _digest_at(slot)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.package:
            if folder.is_dir():
                if any(folder.iterdir()):
                    return
                folder.rmdir()
            folder = folder.parent

    @staticmethod
    def _remove_folders(folder: Path) -> None:
        """Removes a folder whose files were removed."""
        for entry in list(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                Journal._remove_folders(entry)
        folder.rmdir()

    def _digest(self, path: str) -> str | None:
        return _digest_at(self.package / path)


def _digest_at(place: Path) -> str | None:
    """The digest of the file or link at a place, None where there is none."""
    if place.is_symlink():
        return _digest(File(os.fsencode(os.readlink(place)), "link"))
    if not place.is_file():
        return None
    mode: Literal["file", "executable"] = "executable" if place.stat().st_mode & 0o100 else "file"
    return _digest(File(place.read_bytes(), mode))


def _digest(file: File | None) -> str | None:
    return None if file is None else f"{file.mode}:{hashlib.sha256(file.data).hexdigest()}"


def _make_folder(folder: Path) -> None:
    """Makes a folder with those around it, each for the owner of the one around it."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        keep_owner(folder, folder.parent)


def _is_file(place: Path) -> bool:
    return os.path.lexists(place) and (place.is_symlink() or not place.is_dir())
