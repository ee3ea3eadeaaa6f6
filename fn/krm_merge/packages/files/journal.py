"""Writes changes to a package so that it is one of its two whole states, whatever happens on the way.

The new files are prepared in a directory beside the package. When all of them are there, a plan is written: from then
on the update counts as done, and the next command completes it. Each file then changes places with its new version,
which needs no space; the package's Kptfile is last. Replaced files are checked again: where somebody else has
changed it, or something fails, all files change back, so that no edit is lost. Of what is found after a kill nothing is
believed: all files are compared with the plan's digests.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
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
    Tree,
    UnavailableError,
    leads_out,
    reason,
    refuse_repositories,
)
from krm_merge.posix import file_locks, is_own, keep_owner, locked_soon

Recovery: TypeAlias = Literal["nothing", "completed", "rolled back"]

_PLAN = "plan.json"
_UNDO = "undo.json"
_FILES = "files"
_OLD_VERSION = ".before-update"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file: digests of its content before and after the update, None for no file."""

    number: int
    path: str
    before: str | None
    after: str | None


class _ObstacleError(Exception):
    """Somebody else changed the file of a step."""

    def __init__(self, step: _Step) -> None:
        self.step = step


class Journal:
    """The journal of one package. Use `open`, which also recovers the package."""

    def __init__(self, package: Path) -> None:
        """Takes the directory of the package."""
        self.package = package.resolve()
        beside = self.package.parent
        if beside.stat().st_dev != self.package.stat().st_dev:
            # A mount: nothing can be renamed into it from beside it.
            beside = self.package
        self.directory = beside / f".{self.package.name}.krm-merge"
        self._finished = self.directory.with_name(f"{self.directory.name}.done")

    @classmethod
    @contextmanager
    def open(cls, package: Path) -> Iterator[Journal]:
        """The journal, for this process alone; an interrupted update of the package is completed or rolled back first.

        Raises PackageError where another process has it, or the package was changed since the interruption.
        """
        fcntl = file_locks()
        try:
            journal = cls(package)
            lock = os.open(journal.package, os.O_RDONLY)
        except OSError as error:
            raise PackageError(f"{package}: {reason(error)}") from None
        try:
            if not locked_soon(lock, fcntl):
                raise PackageError(f"{package}: another krm-merge is at work on it; wait for its end")
            try:
                with interrupts.held():
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
            created = self._missing_folders(step.path for step in steps if step.after is not None)
            self._check_folders([step.path for step in steps])
            self._prepare(steps, created, changes, is_lasting)
            with interrupts.held():
                is_begun = True
                self._carry_out(steps, created, is_lasting)
                note(f"{self.package} was changed as a whole")
        except BaseException as error:
            # Once it began, the plan must stay: the next command goes on by it.
            if not is_begun:
                with interrupts.held():
                    self._discard()
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
            raise PackageError(f"{path!r} leads out of the package; nothing was written")
        if (link := self._link_around(path)) is not None:
            raise PackageError(f"{link} is a link, and {path} would be written behind it; remove the link")

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

    def _missing_folders(self, paths: Iterable[str]) -> set[str]:
        """The folders that are made for files."""
        folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
        return {folder for folder in folders if not (self.package / folder).is_dir()}

    def _prepare(self, steps: list[_Step], created: set[str], changes: Changes, is_lasting: bool) -> None:
        self.directory.mkdir()
        (self.directory / _FILES).mkdir()
        staged = []
        for step in steps:
            file = changes[step.path]
            if file is not None:
                target, slot = self._places(step)
                self._write(slot, file, target, self._folder(step.path))
                staged += [slot] if file.mode != "link" else []
        # It counts as soon as it has its name, and must be whole by then.
        plan = self.directory / f"{_PLAN}.tmp"
        with plan.open("w") as out:
            plan_of = {"journal": self._identity(), "created": sorted(created)}
            json.dump({**plan_of, "steps": [asdict(step) for step in steps]}, out)
        if is_lasting:
            # Before the plan has its name: without its files it would be worth nothing after a power cut.
            disk.sync([*staged, plan, self.directory / _FILES, self.directory, self.directory.parent], self.directory)
        plan.rename(self.directory / _PLAN)
        if is_lasting:
            _sync(self.directory)

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

    def _discard(self) -> None:
        """Removes the prepared files; the plan first, since nothing counts without it."""
        with suppress(OSError):
            (self.directory / _PLAN).unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- after it ----------------------------------------------------------------------------------------------

    def _recover(self) -> Recovery:
        # Left by a kill after all was done.
        shutil.rmtree(self._finished, ignore_errors=True)
        if not self.directory.is_dir():
            return "nothing"
        undo = self.directory / _UNDO
        # A rollback that was killed goes on as one.
        plan = undo if undo.is_file() else self.directory / _PLAN
        # Killed before the plan was there: no file was touched.
        if not plan.is_file():
            self._finish()
            return "rolled back"
        try:
            # Somebody else could make us write files by such a plan.
            if not is_own(plan):
                raise PackageError(
                    f"{plan} was written by another user; let that user go on, or remove {self.directory}"
                )
            read = json.loads(plan.read_text())
            steps, created = [_Step(**step) for step in read["steps"]], set(read["created"])
            is_ours = read["journal"] == self._identity()
        except (ValueError, KeyError, TypeError):
            is_ours = False
        if not is_ours:
            raise PackageError(f"{plan}: not a plan for this package; remove {self.directory} to go on") from None
        for step in steps:
            self._check_path(step.path)
            self._settle(step)
        cannot_go_on = [step for step in steps if not self._can(step, back=False)]
        if plan != undo and not cannot_go_on:
            self.because = "; ".join(self._carry_out(steps, created))
            return "completed"
        why = self._obstacle(cannot_go_on[0]) if cannot_go_on else ""
        self.because = "; ".join(filter(None, (why, *self._roll_back(steps, created))))
        return "rolled back"

    def _settle(self, step: _Step) -> None:
        """Ends what was killed between two steps of one exchange."""
        target, slot = self._places(step)
        disk.settle(slot)
        are_there = os.path.lexists(slot) and os.path.lexists(target)
        if step.before is None and are_there and os.path.samestat(slot.lstat(), target.lstat()):
            slot.unlink()

    def _obstacle(self, step: _Step) -> str:
        """Why a step cannot be applied."""
        place, slot = self._places(step)
        if _digest_at(slot) == step.after:
            return f"{place} was changed since"
        return f"what was prepared for {place} is missing or damaged"

    def _can(self, step: _Step, *, back: bool) -> bool:
        """Whether a step is applied or can be; with `back`, undone. Other people's changes stay in both cases."""
        target, slot = self._places(step)
        now, slot_digest = _digest_at(target), _digest_at(slot)
        current, wanted_digest = (step.after, step.before) if back else (step.before, step.after)
        if now == wanted_digest or (now == current and slot_digest == wanted_digest):
            return True
        if now != current:
            # Changed by somebody: after this step was carried out or undone, or where there is nothing to save.
            return slot_digest == current or (back and wanted_digest is None)
        # Deleted by somebody, before we could.
        return current is None and slot_digest is None and back

    def _carry_out(self, steps: list[_Step], created: set[str], is_lasting: bool = True) -> list[str]:
        """Does what is still to do; says what became of files that somebody wrote to before a kill."""
        here: list[_Step] = []
        edited = []
        try:
            # The steps that are left; others were done before a kill.
            here += (step for step in steps if _digest_at(self._places(step)[1]) == step.after)
            for step in steps:
                if not self._turn(step, back=False):
                    raise _ObstacleError(step)
            for step in here:
                # A program that had opened a file before it was exchanged may have written to it since.
                if self._was_written_to(step):
                    raise _ObstacleError(step)
            for step in steps:
                # The same before a kill. It may as well be damaged, and is not put in place.
                if self._was_written_to(step):
                    edited.append(
                        f"what was written to {self._places(step)[0]} meanwhile is {self._save_old_version(step)}"
                    )
            for step in steps:
                if step.after is None:
                    self._remove_empty((self.package / step.path).parent)
            if is_lasting:
                disk.sync({self._folder(step.path) for step in steps} | {self.package}, self.package)
        except (OSError, _ObstacleError) as error:
            why = self._why(error)
            # After a kill, the next run continues to roll back instead of starting again.
            try:
                os.replace(self.directory / _PLAN, self.directory / _UNDO)
                for step in here:
                    self._give_back(step)
                edited = self._roll_back(steps, created)
            except OSError as second:
                what = f"{second.filename or self.package}: {reason(second)}"
                raise PackageError(f"{what}; the old files are in {self.directory}, and the next run goes on") from None
            kind = UnavailableError if isinstance(error, _ObstacleError) else PackageError
            raise kind("; ".join([why, "the package is as it was", *edited])) from None
        with suppress(OSError):  # all is done; the next run removes what is left
            self._finish()
        return edited

    def _give_back(self, step: _Step) -> None:
        """Puts a file back in its place that was exchanged just now, and written to since."""
        target, slot = self._places(step)
        if self._was_written_to(step) and _digest_at(target) == step.after:
            self._swap(target, slot)

    def _why(self, error: OSError | _ObstacleError) -> str:
        if isinstance(error, OSError):
            return f"{error.filename or self.package}: {reason(error)}"
        return f"{self.package / error.step.path} was changed meanwhile; that change is kept"

    def _was_written_to(self, step: _Step) -> bool:
        slot = self._places(step)[1]
        return os.path.lexists(slot) and _digest_at(slot) not in (step.before, step.after)

    def _turn(self, step: _Step, *, back: bool) -> bool:
        """Exchanges a file and what is kept for it, unless that is done; False where somebody else changed it.

        Then it stays as that somebody has it.
        """
        target, slot = self._places(step)
        current, wanted_digest = (step.after, step.before) if back else (step.before, step.after)
        if _digest_at(target) != current or _digest_at(slot) != wanted_digest:
            return self._can(step, back=back)
        if (link := self._link_around(step.path)) is not None:
            raise OSError(errno.ELOOP, f"is a link, and {step.path} would be written behind it", str(link))
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

    def _roll_back(self, steps: list[_Step], created: set[str]) -> list[str]:
        """Undoes what was done; says what could not be, because somebody has changed it since."""
        edited = []
        # The Kptfile first, which came last: it must not name a version whose files are gone.
        for step in reversed(steps):
            target, slot = self._places(step)
            if not self._turn(step, back=True):
                old = f", its old version is {self._save_old_version(step)}" if os.path.lexists(slot) else ""
                edited.append(f"{target} was changed after it was written, and stays{old}")
            elif step.before is None:
                self._remove_empty(target.parent, created)
        self._finish()
        return edited

    def _save_old_version(self, step: _Step) -> Path:
        """Puts the old version of a file beside it, and gives the place."""
        target, slot = self._places(step)
        for number in count(1):
            saved = target.with_name(f"{target.name}{_OLD_VERSION}{f'.{number}' if number > 1 else ''}")
            with suppress(FileExistsError):
                disk.move_to_free(slot, saved)
                return saved
        raise AssertionError("there is always a free name")

    def _identity(self) -> list[int]:
        """Where the journal is on this disk. A plan that was delivered with a package cannot know it."""
        status = self.directory.stat()
        return [status.st_dev, status.st_ino]

    def _finish(self) -> None:
        """Removes the journal at once: half a journal could be read as another one."""
        os.rename(self.directory, self._finished)
        disk.remove_files(self._finished / _FILES)
        shutil.rmtree(self._finished, ignore_errors=True)

    def _places(self, step: _Step) -> tuple[Path, Path]:
        """Where a file is, and where its other version is: the new one before the exchange, the old one after it."""
        return self.package / step.path, self.directory / _FILES / str(step.number)

    def _remove_empty(self, folder: Path, only: set[str] | None = None) -> None:
        while folder != self.package and (only is None or str(folder.relative_to(self.package)) in only):
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


def _sync(directory: Path) -> None:
    """Makes the renames in a directory last."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
