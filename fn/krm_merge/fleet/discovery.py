"""Finds the targets of a new campaign: directories of a working tree, and what upstream they follow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from krm_merge.fleet.campaign import CampaignTarget, CampaignUpstream, folder_of
from krm_merge.forges.interface import same_repository
from krm_merge.git.program import GitError, WorkingTree
from krm_merge.krm import KPTFILE
from krm_merge.packages import GitRepositories, KptfileText, PackageError, UnavailableError, packages_below, read_file

_UNREACHABLE = "cannot be reached"


@dataclass(frozen=True, slots=True)
class Follower:
    """A package that follows the upstream: its directory there, and the version that it is at."""

    directory: str
    ref: str
    commit: str

    def is_at(self, version: str) -> bool:
        """Whether it is at a version: a ref, or a commit id."""
        return not version or version in (self.ref, self.commit)


def follower(upstream: CampaignUpstream, kptfile: bytes, file: str) -> Follower | None:
    """What a package follows, None where that is nothing of this upstream. Raises PackageError."""
    if b"upstream" not in kptfile:
        return None
    read = KptfileText(kptfile, file)
    followed = read.upstream
    if followed is None or same_repository(followed.repository) != same_repository(upstream.repository):
        return None
    if upstream.folder not in ("", folder_of(followed.directory)):
        return None
    lock = read.lock
    return Follower(followed.directory, lock.ref if lock else followed.ref, lock.commit if lock else "")


def working_tree_of(directories: Iterable[Path]) -> Path:
    """The working tree that directories are in. Raises PackageError where that is none, or several."""
    trees: dict[Path, Path] = {}
    for directory in directories:
        real = directory.resolve()
        if not any(real.is_relative_to(tree) for tree in trees):
            try:
                around = WorkingTree.around(real)
            except GitError as error:
                raise PackageError(f"{directory}: {error}") from None
            if around is None:
                raise PackageError(f"{directory}: packages are directories of a git working tree, and this is in none")
            trees[around.top] = directory
    if len(trees) != 1:
        names = ", ".join(map(str, trees)) or "no directory"
        raise PackageError(f"one working tree is expected, not {names}; make a campaign for each")
    return next(iter(trees))


def targets_in(
    tree: Path, directories: Iterable[Path], upstream: CampaignUpstream, version: str
) -> tuple[list[CampaignTarget], list[str]]:
    """The packages in directories that follow the upstream and are at a version, those inside others with these.

    Gives why others cannot be read, too. Raises PackageError.
    """
    problems: list[str] = []
    by_target: dict[str, list[tuple[str, Follower]]] = {}
    places = sorted({place for directory in directories for place in packages_below(directory.resolve())})
    for place in places:
        kptfile = place / KPTFILE
        try:
            package = follower(upstream, read_file(kptfile).data, str(kptfile))
        except PackageError as error:
            problems.append(str(error))
            continue
        if package is None or not package.is_at(version):
            continue
        name = os.path.relpath(place, tree)
        around = next((outer for outer in by_target if name.startswith(f"{outer}/") or outer == "."), None)
        inside = "" if around is None else os.path.relpath(name, around)
        by_target.setdefault(around or name, []).append((inside, package))
    targets = [
        CampaignTarget(name, False, tuple(inside for inside, _ in packages), at=packages[0][1].ref)
        for name, packages in by_target.items()
    ]
    return targets, problems


def split_upstream(text: str, ref: str, repositories: GitRepositories) -> CampaignUpstream:
    """The repository and the directory of `REPO[/DIRECTORY]`, as kpt reads it.

    What ends in `.git` is the repository; without that, the longest start of it that is one and has the ref. Raises
    PackageError.
    """
    for separator in (".git/", ".git//"):
        repository, extension, directory = text.partition(separator)
        if extension:
            upstream = CampaignUpstream(f"{repository}.git", f"/{directory.strip('/')}", ref)
            repositories.resolve(upstream.repository, upstream.directory, ref)
            return upstream
    problems: list[PackageError] = []
    for repository, directory in _splits(text):
        try:
            repositories.resolve(repository, directory, ref)
        except UnavailableError:
            raise
        except PackageError as error:
            problems.append(error)
        else:
            return CampaignUpstream(repository, f"/{directory}", ref)
    # What answered is a repository, and lacks the ref; the others are none.
    raise next((problem for problem in problems if _UNREACHABLE not in str(problem)), problems[0])


def _splits(text: str) -> Sequence[tuple[str, str]]:
    scheme, _, rest = text.rpartition("://")
    parts = rest.rstrip("/").split("/")
    if not scheme and os.path.isdir(text):
        # What packages were fetched from by a path is named by its absolute path.
        parts = os.path.abspath(text).split("/")
    head = f"{scheme}://" if scheme else ""
    return [(head + "/".join(parts[:at]), "/".join(parts[at:])) for at in range(len(parts), 1, -1)]
