"""Reads packages from the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import join, normpath

from krm_merge.errors import KrmMergeError
from krm_merge.harmless import without_credentials
from krm_merge.krm.identity import KPTFILE
from krm_merge.packages.files.tree import Changes, File, Mode, Tree, belongs, new_repositories


class PackageError(KrmMergeError):
    """Why a package cannot be read, fetched or written; says what to do about it. Nothing was changed."""

    def __init__(self, message: str) -> None:
        """Credentials in URLs are hidden."""
        super().__init__(without_credentials(message))


class UnavailableError(PackageError):
    """A failure that may be temporary: somebody else changes a file, or a server does not answer."""


class RefusedError(PackageError):
    """A change that could overwrite what somebody edited; the user decides whether to make it."""


class Directory(Mapping[str, File]):
    """The files below a directory, each read at the first look; git's own and journals are left out."""

    def __init__(self, directory: Path) -> None:
        """Lists the files. Raises PackageError where that cannot be done."""
        self.path = directory
        self._modes: dict[str, Mode] = {}
        self._files: dict[str, File] = {}
        try:
            self._list(directory, "")
        except OSError as error:
            raise PackageError(f"{error.filename}: {reason(error)}") from None

    def _list(self, directory: Path | str, prefix: str) -> None:
        with os.scandir(directory) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if not belongs(entry.name):
                    continue
                if entry.is_symlink():
                    self._modes[prefix + entry.name] = "link"
                elif entry.is_dir():
                    self._list(entry.path, f"{prefix}{entry.name}/")
                elif entry.is_file():
                    self._modes[prefix + entry.name] = "executable" if entry.stat().st_mode & 0o100 else "file"

    def __getitem__(self, path: str) -> File:
        """The file. Raises PackageError where it cannot be read."""
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = read_file(self.path / path, self._modes[path])
        return known

    def __contains__(self, path: object) -> bool:
        """Whether there is such a file; it is not read."""
        return path in self._modes

    def __iter__(self) -> Iterator[str]:
        """The paths, in order."""
        return iter(self._modes)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self._modes)


def packages_below(directory: Path) -> Iterator[Path]:
    """The directories with a Kptfile: this one, and those below it. Raises PackageError where there is no directory."""
    if not directory.is_dir():
        raise PackageError(f"{directory}: there is no such directory")
    for folder, inside, files in os.walk(directory):
        inside[:] = sorted(name for name in inside if belongs(name))
        if KPTFILE in files:
            yield Path(folder)


def read_file(path: Path, mode: Mode = "file") -> File:
    """One file, or where a link points to. Raises PackageError."""
    try:
        return File(os.fsencode(os.readlink(path)) if mode == "link" else path.read_bytes(), mode)
    except OSError as error:
        raise PackageError(f"{path}: {reason(error)}") from None


def refuse_repositories(place: str, before: Tree, changes: Changes) -> None:
    """Raises PackageError where changes would make a folder that is a repository to git, and starts its programs."""
    for folder in new_repositories(before, changes):
        raise PackageError(
            f"{normpath(join(place, folder))} would be a git repository, with HEAD, objects and refs, whose settings "
            "can start programs; no package may have one, and nothing was written"
        )


def reason(error: OSError) -> str:
    """The system's message of an error."""
    return error.strerror or str(error)
