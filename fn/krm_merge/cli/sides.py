"""The three versions that a merge is given by name, and where its result is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import click

from krm_merge.cli.options import named_package
from krm_merge.cli.output import STDIN, opened_journal, package_to_look_at, write_result
from krm_merge.krm import KPTFILE
from krm_merge.merge import shorten
from krm_merge.packages import (
    Changed,
    Changes,
    Directory,
    File,
    GitRepositories,
    KptfileText,
    Lock,
    PackageError,
    RefusedError,
    Tree,
    as_fetched,
    path_of,
    read_file,
    without_own_packages,
    write_tree,
)
from krm_merge.usecases import MergeSides
from krm_merge.vendored.documents import resources_of_tree
from krm_merge.vendored.merging import FOR_ONE_FILE, Given, align_manifests
from krm_merge.vendored.vendorfile import FILE, ManifestSource

_ALL: Final = 3
_EMPTY: Final = "stdin is empty; check whether the command before it failed"

Writer: TypeAlias = Callable[[Tree, Changes], None]


def read_sides(places: Sequence[Path], *, allow_partial: bool = False) -> MergeSides:
    """The versions at three places; at two, local is a directory and its Vendorfile names the original.

    Each place is a directory or a file, one of them stdin. Raises PackageError, and RefusedError where upstream is a
    stream that looks cut off, unless that is allowed (I17).
    """
    refuse_missing_inputs(places)
    directories = [place for place in places if is_directory(place)]
    names = tuple(map(str, places))
    if len(places) == _ALL and len(directories) == _ALL:
        original, upstream, local = map(Directory, places)
        return MergeSides(original, upstream, local, names)
    if len(places) == _ALL and not directories:
        files = [read_input(place) for place in places]
        path = path_of(next(place.name for place in reversed(places) if place != STDIN), files[2])
        if places[1] == STDIN and not allow_partial:
            _refuse_partial({path: files[0]}, {path: files[1]}, files[1].data, files[0].data)
        return MergeSides({path: files[0]}, {path: files[1]}, {path: files[2]}, names)
    *before, upstream_given, local_given = map(_read_side, places)
    manifests = align_manifests(before[0] if before else None, upstream_given, local_given)
    if places[-2] == STDIN and not allow_partial:
        given = before[0].content if before else None
        text = given.data if isinstance(given, File) else None
        _refuse_partial(manifests.original, manifests.upstream, manifests.content or b"", text)
    if not before:
        original_name = str(places[-1] / manifests.record.original) if manifests.record is not None else "nothing"
        names = (original_name, *names)
    return MergeSides(manifests.original, manifests.upstream, manifests.local, names, manifests)


def _refuse_partial(original: Tree, upstream: Tree, stream: bytes, before: bytes | None) -> None:
    """Refuses a stream that ends inside a line, or has less than half of what its original has.

    `before` is the text of the original, None where that is no file.
    """
    if not stream.strip():
        raise PackageError(_EMPTY)
    counts = [len(resources_of_tree(side).resources) for side in (original, upstream)]
    if not stream.endswith(b"\n") and (before is None or before.endswith(b"\n")):
        problem = f"stdin ends inside a line: {shorten(stream.splitlines()[-1].decode(errors='replace'))!r}"
    elif counts[1] * 2 < counts[0]:
        problem = f"stdin has {counts[1]:,} resources, and {counts[0]:,} were there before"
    elif before is not None and len(stream) * 2 < len(before):
        problem = f"stdin has {len(stream):,} bytes, and {len(before):,} were there before"
    else:
        return
    raise RefusedError(f"{problem}; check that it is complete, or use --allow-partial; nothing was written")


class FollowingPackage:
    """A package that follows an upstream in git, and the versions of that."""

    def __init__(self, files: Tree, place: Path) -> None:
        """Reads the Kptfile. Raises PackageError where that names no upstream."""
        if KPTFILE not in files:
            raise PackageError(f"{place} has no Kptfile; name the directory of a package")
        self._file = place / KPTFILE
        kptfile = KptfileText(files[KPTFILE].data, str(self._file))
        if kptfile.upstream is None:
            raise PackageError(f"{self._file} has no upstream in git; packages that `kpt pkg get` fetched have one")
        self.upstream, self._lock, self._repositories = kptfile.upstream, kptfile.lock, GitRepositories()

    @property
    def lock(self) -> Lock:
        """The version that was fetched. Raises PackageError where the Kptfile names none."""
        if self._lock is None:
            raise PackageError(f"{self._file} has no upstreamLock, which names the version that was fetched")
        return self._lock

    def fetched(self) -> Tree:
        """The files as they were fetched. Raises PackageError."""
        return self._repositories.tree(self.lock.repository, self.lock.directory, self.lock.commit)

    def at(self, ref: str) -> tuple[Tree, Lock]:
        """The files at another version, and which one that is. Raises PackageError."""
        repository, directory = self.upstream.repository, self.upstream.directory
        version = self._repositories.resolve(repository, directory, ref)
        files = self._repositories.tree(repository, directory, version.commit)
        return files, Lock(repository, directory, version.ref, version.commit)


def read_package_versions(package: str) -> tuple[Tree, Tree, tuple[str, str]]:
    """Two versions of a package `PKG[@REF]`, and their names: as fetched and as it is here, or as fetched and at REF.

    Raises PackageError.
    """
    place, ref = named_package(package)
    local = package_to_look_at(place)
    following = FollowingPackage(local, place)
    original, name = following.fetched(), f"{place}@{following.lock.ref}"
    if ref:
        return original, following.at(ref)[0], (name, package)
    return as_fetched(original, local), without_own_packages(original, local), (name, str(place))


def record_upstream(sides: MergeSides, source: ManifestSource, *, is_requested: bool) -> Changes:
    """The changes that record upstream as merged: where that is asked for, and where local has a record.

    Raises PackageError and, where there can be none, UsageError.
    """
    name = sides.names[-1]
    if sides.vendored is not None and (is_requested or sides.vendored.record is not None):
        return sides.vendored.record_changes(source, Path(name).resolve().name)
    if sides.vendored is None and FILE in sides.local and FILE not in sides.upstream:
        raise PackageError(f"{name}/{FILE} {FOR_ONE_FILE}")
    if is_requested:
        raise click.UsageError("--record is for a version in one file, UPSTREAM, and a directory, LOCAL")
    if source != ManifestSource():
        raise click.UsageError(f"{name} has no {FILE} that could hold it; also give --record")
    return {}


def _read_side(place: Path) -> Given:
    if is_directory(place):
        return Given(str(place), Directory(place), may_be_empty=True)
    file = read_input(place)
    if place == STDIN and not file.data.strip():
        raise PackageError(_EMPTY)
    # A device that is empty, such as /dev/null, is meant to be.
    return Given(name_of_input(place), file, may_be_empty=place != STDIN and not place.is_file())


def read_input(place: Path) -> File:
    """A file, or stdin. Raises PackageError."""
    return File(sys.stdin.buffer.read()) if place == STDIN else read_file(place)


def name_of_input(place: Path) -> str:
    """How messages name it."""
    return "stdin" if place == STDIN else str(place)


def refuse_missing_inputs(places: Sequence[Path]) -> None:
    """Raises PackageError where one of these files and directories is not there."""
    if missing := [place for place in places if place != STDIN and not place.exists()]:
        raise PackageError(f"{missing[0]}: there is no such file or directory")


def is_directory(place: Path) -> bool:
    """Whether it is a directory, not a file or stdin."""
    return place != STDIN and place.is_dir()


@contextmanager
def destination(local: Path, target: Path | None, in_place: bool) -> Iterator[Writer | None]:
    """The writer of the result, None where the result is only shown."""
    if not is_directory(local):
        place = local if in_place else target
        yield None if place is None else lambda tree, changes: _write_file(place, tree, changes, in_place=in_place)
        return
    with opened_journal(local, only_looks=not in_place) as journal:
        if in_place:
            yield lambda tree, changes: journal.commit(changes, tree)
        elif target is not None:
            yield lambda tree, changes: write_tree(target, Changed(tree, changes))
        else:
            yield None


def _write_file(place: Path, tree: Tree, changes: Changes, *, in_place: bool) -> None:
    file = next(iter(Changed(tree, changes).values()), None)
    if file is None:
        # All its resources were deleted.
        file = File(b"")
    write_result(place, file, next(iter(tree.values())) if in_place else None)
