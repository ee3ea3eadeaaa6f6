"""Writes changes to a package so that it is one of its two whole states, whatever happens on the way.

The new files are prepared in a directory beside the package. When all of them are there, a plan is written: from then
on the update counts as done, and whoever comes next completes it. The plan is carried out by renaming, which needs no
space; the package's Kptfile comes last. Where that fails, the old files, kept beside the new ones, come back.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from krm_merge.merge.member import KPTFILE
from krm_merge.packages.directory import PackageError, reason
from krm_merge.packages.tree import Changes, File, Tree, leads_out

Recovery: TypeAlias = Literal["nothing", "completed", "rolled back"]

_PLAN = "plan.json"
_UNDO = "undo.json"
_NEW = "new"
_OLD = "old"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file: digests of what it held and shall hold, None where there is no file."""

    number: int
    path: str
    before: str | None
    after: str | None


class Journal:
    """The journal of one package. Use `opened`, which also recovers the package."""

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
    def opened(cls, package: Path) -> Iterator[Journal]:
        """The journal, for this process alone; an interrupted update of the package is completed or rolled back first.

        Raises PackageError where another process has it, or the package was changed since the interruption.
        """
        try:
            journal = cls(package)
            lock = os.open(journal.package, os.O_RDONLY)
        except OSError as error:
            raise PackageError(f"{package}: {reason(error)}") from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PackageError(f"{package}: another krm-merge is at work on it; wait for its end") from None
            try:
                journal.recovered = journal._recover()
            except OSError as error:
                raise PackageError(f"{error.filename or journal.directory}: {reason(error)}; try again") from None
            yield journal
        finally:
            os.close(lock)

    recovered: Recovery = "nothing"
    """What was done about an interrupted update."""

    def commit(self, changes: Changes, before: Tree) -> None:
        """Makes the changes, if the files are still as they were `before`.

        Raises PackageError, and then the package is as it was.
        """
        ordered = sorted(changes, key=lambda path: (path == KPTFILE, changes[path] is not None, path))
        try:
            steps = [
                _Step(number, path, self._digest(path), _digest(changes[path])) for number, path in enumerate(ordered)
            ]
            self._check_steps(steps, before)
            created = self._missing_folders(path for path in ordered if changes[path] is not None)
            self._check_folders(ordered)
            self._prepare(steps, created, changes)
        except OSError as error:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise PackageError(f"{error.filename or self.directory}: {reason(error)}; nothing was changed") from None
        self._carry_out(steps, created)

    def _check_steps(self, steps: list[_Step], before: Tree) -> None:
        for step in steps:
            self._check_path(step.path)
            if step.before != _digest(before.get(step.path)):
                raise PackageError(f"{self.package / step.path} was changed meanwhile; nothing was written, try again")

    def _check_path(self, path: str) -> None:
        """Refuses what would write elsewhere than into the package: the last gate."""
        if leads_out(path):
            raise PackageError(f"{path!r} leads out of the package; nothing was written")
        folder = self.package
        for part in PurePosixPath(path).parent.parts:
            folder = folder / part
            if folder.is_symlink():
                raise PackageError(f"{folder} is a link, and {path} would be written behind it; remove the link")

    # ---- before the plan stands --------------------------------------------------------------------------------

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

    def _prepare(self, steps: list[_Step], created: set[str], changes: Changes) -> None:
        self.directory.mkdir()
        (self.directory / _NEW).mkdir()
        (self.directory / _OLD).mkdir()
        for step in steps:
            file = changes[step.path]
            if file is not None:
                self._write(self.directory / _NEW / str(step.number), file, self.package / step.path)
        plan = self.directory / f"{_PLAN}.tmp"
        with plan.open("w") as out:
            plan_of = {"journal": self._identity(), "created": sorted(created)}
            json.dump({**plan_of, "steps": [asdict(step) for step in steps]}, out)
            out.flush()
            os.fsync(out.fileno())
        plan.rename(self.directory / _PLAN)
        _sync(self.directory)

    @staticmethod
    def _write(staged: Path, file: File, target: Path) -> None:
        if file.mode == "link":
            os.symlink(os.fsdecode(file.data), staged)
            return
        with staged.open("wb") as out:
            out.write(file.data)
            out.flush()
            os.fsync(out.fileno())
        if target.is_file() and not target.is_symlink():
            shutil.copymode(target, staged)
        bits = staged.stat().st_mode
        # Who may read may run.
        staged.chmod(bits | (bits & 0o444) >> 2 if file.mode == "executable" else bits & ~0o111)

    # ---- after it ----------------------------------------------------------------------------------------------

    def _recover(self) -> Recovery:
        shutil.rmtree(self._finished, ignore_errors=True)
        if not self.directory.is_dir():
            return "nothing"
        undo = self.directory / _UNDO
        plan = undo if undo.is_file() else self.directory / _PLAN
        if not plan.is_file():
            self._finish()
            return "rolled back"
        try:
            read = json.loads(plan.read_text())
            steps, created = [_Step(**step) for step in read["steps"]], set(read["created"])
            is_ours = read["journal"] == self._identity()
        except (ValueError, KeyError, TypeError):
            is_ours = False
        if not is_ours:
            raise PackageError(f"{plan}: not a plan for this package; remove {self.directory} to go on") from None
        for step in steps:
            self._check_path(step.path)
        for step in steps:
            if self._digest(step.path) not in (step.before, step.after):
                raise PackageError(
                    f"{self.package / step.path} was changed after an update was interrupted; remove {self.directory} "
                    "to keep the package as it is, or restore the file to have the update completed"
                )
        if plan == undo:
            self._roll_back(steps, created)
            return "rolled back"
        self._carry_out(steps, created)
        return "completed"

    def _carry_out(self, steps: list[_Step], created: set[str]) -> None:
        try:
            for step in steps:
                self._carry_out_one(step)
            for step in steps:
                if step.after is None:
                    self._remove_empty((self.package / step.path).parent)
            _sync(self.package)
        except OSError as error:
            # Whoever comes after a kill goes on with this, and does not begin again.
            os.replace(self.directory / _PLAN, self.directory / _UNDO)
            try:
                self._roll_back(steps, created)
            except OSError as second:
                what = f"{second.filename or self.package}: {reason(second)}"
                raise PackageError(f"{what}; the old files are in {self.directory}, and the next run goes on") from None
            raise PackageError(f"{error.filename or self.package}: {reason(error)}; the package is as it was") from None
        with suppress(OSError):  # all is done; what is left is cleared up by whoever comes next
            self._finish()

    def _carry_out_one(self, step: _Step) -> None:
        target, new, old = self._places(step)
        if step.before is not None and _is_file(target) and not os.path.lexists(old):
            os.link(target, old, follow_symlinks=False)
        if step.after is None:
            if _is_file(target):
                target.unlink()
        elif os.path.lexists(new):
            if not _is_file(target) and target.is_dir():
                self._remove_folders(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(new, target)

    def _roll_back(self, steps: list[_Step], created: set[str]) -> None:
        for step in reversed(steps):
            target, _, old = self._places(step)
            if os.path.lexists(old):
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(old, target)
                # Of two links to one file, replacing one by the other leaves both.
                old.unlink(missing_ok=True)
            elif step.before is None and step.after is not None:
                if self._digest(step.path) == step.after:
                    target.unlink()
                self._remove_empty(target.parent, created)
        self._finish()

    def _identity(self) -> list[int]:
        """What no plan can know that came with a package: where the journal stands on the disk."""
        found = self.directory.stat()
        return [found.st_dev, found.st_ino]

    def _finish(self) -> None:
        """Takes the journal away at once: half of one would be taken for another."""
        os.rename(self.directory, self._finished)
        shutil.rmtree(self._finished, ignore_errors=True)

    def _places(self, step: _Step) -> tuple[Path, Path, Path]:
        number = str(step.number)
        return self.package / step.path, self.directory / _NEW / number, self.directory / _OLD / number

    def _remove_empty(self, folder: Path, only: set[str] | None = None) -> None:
        while folder != self.package and (only is None or str(folder.relative_to(self.package)) in only):
            if folder.is_dir():
                if any(folder.iterdir()):
                    return
                folder.rmdir()
            folder = folder.parent

    @staticmethod
    def _remove_folders(folder: Path) -> None:
        """Removes a folder whose files are gone."""
        for entry in list(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                Journal._remove_folders(entry)
        folder.rmdir()

    def _digest(self, path: str) -> str | None:
        place = self.package / path
        if place.is_symlink():
            return _digest(File(os.fsencode(os.readlink(place)), "link"))
        if not place.is_file():
            return None
        mode: Literal["file", "executable"] = "executable" if place.stat().st_mode & 0o100 else "file"
        return _digest(File(place.read_bytes(), mode))


def _digest(file: File | None) -> str | None:
    return None if file is None else f"{file.mode}:{hashlib.sha256(file.data).hexdigest()}"


def _is_file(place: Path) -> bool:
    return os.path.lexists(place) and (place.is_symlink() or not place.is_dir())


def _sync(directory: Path) -> None:
    """Makes the renames in a directory last."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
