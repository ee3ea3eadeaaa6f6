"""A package as files, read from the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from typing import Literal, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.krm import KPTFILE
from krm_merge.safe_text import without_credentials
from krm_merge.startup import frozen, pattern

Mode: TypeAlias = Literal["file", "executable", "link"]


@frozen
class File:
    """The content of a file; of a link, its target."""

    data: bytes
    mode: Mode = "file"


Tree: TypeAlias = Mapping[str, File]
"""The files of a package by path: relative, with slashes."""

Changes: TypeAlias = Mapping[str, File | None]
"""New files by path; None removes a file."""


# Git's own files, and what an update prepares.
# Some disks take `.GIT` for `.git`.
_NOT_OF_A_PACKAGE = pattern(r"\.git|\..*\.krm-merge(\.done)?", re.IGNORECASE | re.ASCII)


def belongs(name: str) -> bool:
    """Whether a file or folder of this name is part of a package."""
    return _NOT_OF_A_PACKAGE.fullmatch(name) is None


# Names that git refuses where `core.protectNTFS` or `core.protectHFS` is on, and so on some disks and some systems
# (A15). Some disks cut blanks and dots at the end, read `:` as the begin of something else, or skip characters; behind
# bytes that are not UTF-8 git looks no further. Source: git's read-cache.c, path.c and utf8.c.
_SKIPPED = pattern("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_CUT = r"[. ]*(:.*)?"
_FLAGS = re.ASCII | re.IGNORECASE | re.DOTALL
_GIT_FOLDER = pattern(rf"(\.git|git~1){_CUT}|\.git[\udc80-\udcff\ufffe\uffff].*", _FLAGS)
# As a link it would have git read what it points to.
_MODULES = pattern(
    rf"(\.gitmodules|gitmod~[1-4]|(?=.{{8}}([. :]|\Z))(gi7eba|gi7eb|gi7e|gi7|gi|g|)~[1-9][0-9]*){_CUT}"
    r"|\.gitmodules[\udc80-\udcff\ufffe\uffff].*",
    _FLAGS,
)
_DRIVE = pattern("[A-Za-z]:")


def leads_out(path: str, *, is_link: bool = False) -> bool:
    """Whether writing to a path would write outside of the package, or to a path that is not part of it.

    It is the same on every system: a package that some cannot check out is refused by all.
    """
    # The system ends a path at NUL; a backslash separates folders on some.
    if "\0" in path or "\\" in path or _DRIVE.match(path):
        return True
    return any(part in ("", ".", "..") or not belongs(part) or _is_git(part, is_link) for part in path.split("/"))


def _is_git(name: str, is_link: bool) -> bool:
    """Whether a disk can take the name for `.git`, or that of a link for `.gitmodules`."""
    name = name if name.isascii() else _SKIPPED.sub("", name)
    # Hardly any name is looked at closely.
    if name[:1] not in (".", "g", "G", "~"):
        return False
    return bool(_GIT_FOLDER.fullmatch(name)) or (is_link and bool(_MODULES.fullmatch(name)))


_OF_A_REPOSITORY = frozenset(("head", "objects", "refs", "commondir"))


def new_repositories(before: Tree, changes: Changes) -> list[str]:
    """The folders that git would take for a repository after the changes, and did not take for one before (A1).

    Git obeys the settings in such a folder, and some of those start programs. Some disks take `head` for `HEAD`.
    """
    # Hardly any change has such a name: then two walks over all paths are saved.
    if not any(_OF_A_REPOSITORY.intersection(path.lower().split("/")) for path, file in changes.items() if file):
        return []
    return sorted(_repositories(Changed(before, changes)) - _repositories(before))


def _repositories(paths: Iterable[str]) -> set[str]:
    git_files: dict[str, set[str]] = {}
    for path in paths:
        parts = path.lower().split("/")
        for depth, part in enumerate(parts):
            if part in _OF_A_REPOSITORY:
                git_files.setdefault("/".join(path.split("/")[:depth]), set()).add(part)
    return {
        folder or "."
        for folder, names in git_files.items()
        if "head" in names and ("commondir" in names or names.issuperset(("objects", "refs")))
    }


def holds_resources(path: str) -> bool:
    """Whether kpt reads resources from a file of this name."""
    return path.endswith((".yaml", ".yml")) or basename(path) == KPTFILE


def is_json(path: str) -> bool:
    """Whether a file is JSON, which may hold one resource and cannot have comments."""
    return path.endswith(".json")


def is_kptfile(path: str) -> bool:
    """Whether the file makes its folder a package."""
    return basename(path) == KPTFILE


def merged_mode(original: File | None, upstream: File | None, local: File) -> Mode:
    """The mode of a file after a merge; local's where both sides changed it (V2)."""
    if original is None or upstream is None or local.mode != original.mode:
        return local.mode
    return upstream.mode


def data_of(file: File | None) -> bytes:
    """The content of a file; nothing where there is none."""
    return b"" if file is None else file.data


class Changed(Mapping[str, File]):
    """A tree with changes made to it."""

    def __init__(self, tree: Tree, changes: Changes) -> None:
        """Takes both as they are; neither is copied."""
        self._tree = tree
        self._changes = changes

    def __getitem__(self, path: str) -> File:
        """The file as it is after the changes."""
        if path in self._changes:
            file = self._changes[path]
            if file is None:
                raise KeyError(path)
            return file
        return self._tree[path]

    def __iter__(self) -> Iterator[str]:
        """The paths after the changes, new ones last."""
        # `...` for no change: None removes the file.
        yield from (path for path in self._tree if self._changes.get(path, ...) is not None)
        yield from (path for path, file in self._changes.items() if file is not None and path not in self._tree)

    def __len__(self) -> int:
        """How many files there are after the changes."""
        return sum(1 for _ in self)


class Subtree(Mapping[str, File]):
    """The files in one folder of a tree."""

    def __init__(self, tree: Tree, folder: str) -> None:
        """Takes the tree as it is; `folder` is a path in it."""
        self._tree = tree
        self._folder = f"{folder}/"

    def __getitem__(self, path: str) -> File:
        """The file by its path in the folder."""
        return self._tree[self._folder + path]

    def __iter__(self) -> Iterator[str]:
        """The paths in the folder."""
        return (path.removeprefix(self._folder) for path in self._tree if path.startswith(self._folder))

    def __len__(self) -> int:
        """How many files are in the folder."""
        return sum(1 for _ in self)


def clash(tree: Tree, changes: Changes) -> str:
    """A path that would be both a file and a folder after the changes, or ''."""
    after = Changed(tree, changes)
    folders = {folder for path in after for folder in folders_around(path)}
    new = [path for path, file in changes.items() if file is not None]
    # A new file in the place of a folder, or a file where a new one needs a folder.
    clashes = [path for path in new if path in folders]
    return next(iter([*clashes, *(folder for path in new for folder in folders_around(path) if folder in after)]), "")


def folders_around(path: str) -> Iterator[str]:
    """The folders that a file or folder is in, the nearest first; without the package's own, whose path is ''."""
    while path := dirname(path):
        yield path


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
            # The order of a directory depends on the disk; results must not.
            for entry in sorted(entries, key=lambda entry: entry.name):
                if not belongs(entry.name):
                    continue
                # Before folders: followed, a link could lead out of the package.
                if entry.is_symlink():
                    self._modes[prefix + entry.name] = "link"
                elif entry.is_dir():
                    self._list(entry.path, f"{prefix}{entry.name}/")
                # Devices, pipes and sockets have no content to merge.
                elif entry.is_file():
                    self._modes[prefix + entry.name] = "executable" if entry.stat().st_mode & 0o100 else "file"

    def __getitem__(self, path: str) -> File:
        """The file. Raises PackageError where it cannot be read."""
        file = self._files.get(path)
        if file is None:
            # Once: the whole merge sees one content, even if somebody edits the file meanwhile.
            file = self._files[path] = read_file(self.path / path, self._modes[path])
        return file

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
        # os.walk descends into what is left in this list.
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
    """Raises PackageError where changes would make a folder that is a repository to git, or a name that it refuses."""
    for path, file in changes.items():
        if file is not None and leads_out(path, is_link=file.mode == "link"):
            raise PackageError(f"{join(place, path)!r} is outside the package, or git refuses it; nothing was written")
    for folder in new_repositories(before, changes):
        raise PackageError(
            f"{normpath(join(place, folder))} would be a git repository, with HEAD, objects and refs, whose settings "
            "can start programs; no package may have one, and nothing was written"
        )


def reason(error: OSError) -> str:
    """The system's message of an error."""
    return error.strerror or str(error)
