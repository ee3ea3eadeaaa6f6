"""Finds the targets of a new campaign: directories of a working tree, and what upstream they follow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from krm_merge.fleet.campaign import CampaignTarget, CampaignUpstream, folder_of
from krm_merge.forges.interface import same_repository
from krm_merge.git.program import GitError, WorkingTree
from krm_merge.krm import KPTFILE
from krm_merge.packages import GitRepositories, KptfileText, PackageError, UnavailableError, packages_below, read_file

_UNREACHABLE = "cannot be reached"


def follows(upstream: CampaignUpstream, kptfile: bytes, file: str) -> bool:
    """Whether a package follows this upstream. Raises PackageError."""
    if b"upstream" not in kptfile:
        return False
    followed = KptfileText(kptfile, file).upstream
    if followed is None or same_repository(followed.repository) != same_repository(upstream.repository):
        return False
    return upstream.folder in ("", folder_of(followed.directory))


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
    tree: Path, directories: Iterable[Path], upstream: CampaignUpstream
) -> tuple[list[CampaignTarget], list[str]]:
    """The packages in directories that follow the upstream, those inside others with these.

    Gives why others cannot be read, too. Raises PackageError.
    """
    problems: list[str] = []
    by_target: dict[str, list[str]] = {}
    places = sorted({place for directory in directories for place in packages_below(directory.resolve())})
    for place in places:
        kptfile = place / KPTFILE
        try:
            if not follows(upstream, read_file(kptfile).data, str(kptfile)):
                continue
        except PackageError as error:
            problems.append(str(error))
            continue
        name = os.path.relpath(place, tree)
        around = next((outer for outer in by_target if name.startswith(f"{outer}/") or outer == "."), None)
        by_target.setdefault(around or name, []).append("" if around is None else os.path.relpath(name, around))
    return [CampaignTarget(name, False, tuple(packages)) for name, packages in by_target.items()], problems


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
