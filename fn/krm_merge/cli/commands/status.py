"""`krm-merge status`: which packages need attention."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.krm.identity import KPTFILE
from krm_merge.packages.files.tree import Directory, PackageError, packages_below
from krm_merge.packages.git import GitRepositories, uncommitted_files
from krm_merge.packages.kptfile import KptfileText, newer_versions
from krm_merge.packages.merge.other_files import lines_of_conflicts
from krm_merge.text.reading.values import Value


@dataclass(frozen=True, slots=True)
class _Package:
    """State of a package: `latest` is the commit that its ref names now, '' where no server was asked.

    `newer` are the versions after its own, the highest last.
    """

    path: Path
    ref: str
    commit: str
    latest: str
    dirty: list[str]
    conflicts: list[str]
    newer: list[str]
    problem: str = ""

    @property
    def is_part(self) -> bool:
        """Whether the package is one inside another, updated with that."""
        return not self.ref and any((folder / KPTFILE).is_file() for folder in self.path.parents)

    @property
    def needs_attention(self) -> bool:
        return bool(self.dirty or self.conflicts or self.problem)

    @property
    def is_behind(self) -> bool:
        return bool(self.latest) and self.latest != self.commit

    def to_value(self) -> dict[str, Value]:
        value: dict[str, Value] = {"path": str(self.path), "ref": self.ref, "commit": self.commit}
        if self.latest:
            value |= {"latest": self.latest, "newer": [*self.newer]}
        value |= {"behind": self.is_behind, "dirty": [*self.dirty], "conflicts": [*self.conflicts]}
        return value | {"problem": self.problem} if self.problem else value

    def summary(self) -> str:
        """One line."""
        parts = [f"{self.ref or 'no upstream'}{f' ({self.commit[:7]})' if self.commit else ''}"]
        if self.is_behind:
            parts.append(f"behind: {self.ref} is {self.latest[:7]} now" if self.commit else "never fetched")
        if self.newer:
            between = f" ({len(self.newer) - 1:,} more before it)" if self.newer[1:] else ""
            parts.append(f"newer: {self.newer[-1]}{between}")
        if self.dirty:
            parts.append(f"{len(self.dirty)} uncommitted")
        if self.conflicts:
            parts.append(f"open conflicts in {', '.join(self.conflicts)}")
        if self.problem:
            parts.append(self.problem)
        return f"{self.path}: {'; '.join(parts)}"


@click.command("status")
@click.argument("directories", metavar="[DIR...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Do not ask repositories what there is now.")
@options.form
def status_command(directories: tuple[Path, ...], offline: bool, form: str) -> None:
    """Say of each package in DIR, or below it, which version it is at, and what needs attention.

    That is: its upstream has a newer version or its ref another commit, files are not committed, conflicts are between
    markers. Packages inside others without an upstream of their own are shown where they need attention. The exit code
    is 1 where there are open conflicts, 3 where a repository cannot be reached.

    Example:  krm-merge status environments
    """
    places = [place for directory in directories or (Path("."),) for place in packages_below(directory)]
    repositories = None if offline else GitRepositories()
    packages = [_looked_at(place, repositories) for place in places]
    if form == "json":
        click.echo(json.dumps({"packages": [package.to_value() for package in packages]}, indent=2))
    else:
        for package in packages:
            if not package.is_part or package.needs_attention:
                click.echo(package.summary())
        if not packages:
            click.echo("no packages: no directory has a Kptfile")
    if any(package.conflicts for package in packages):
        sys.exit(1)
    if any(package.problem for package in packages):
        sys.exit(3)


def _looked_at(place: Path, repositories: GitRepositories | None) -> _Package:
    tree = Directory(place)
    conflicts = [*lines_of_conflicts(tree)]
    newer: list[str] = []
    ref = commit = latest = problem = ""
    try:
        kptfile = KptfileText(tree[KPTFILE].data, str(place / KPTFILE))
        upstream, lock = kptfile.upstream, kptfile.lock
        commit = lock.commit if lock is not None else ""
        if upstream is not None:
            ref = upstream.ref
            if repositories is not None:
                latest = repositories.resolve(upstream.repository, upstream.directory, ref).commit
                newer = newer_versions(ref, upstream.directory, repositories.names(upstream.repository).tags)
    except PackageError as error:
        problem = str(error)
    return _Package(place, ref, commit, latest, uncommitted_files(place), conflicts, newer, problem)
