"""`krm-merge check`, `status` and `names`: mistakes in packages, new versions, names for functions."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from krm_merge.checks import NamedFunctions, package_problems, with_names
from krm_merge.cli import options
from krm_merge.cli.options import packages_of
from krm_merge.cli.output import opened_journal, package_to_look_at, print_json, say
from krm_merge.errors import KrmMergeError
from krm_merge.krm import KPTFILE
from krm_merge.packages import (
    DeclaredMerge,
    File,
    GitRepositories,
    KptfileText,
    PackageError,
    Tree,
    declared_merges,
    lines_of_conflicts,
    packages_below,
    uncommitted_files,
)
from krm_merge.safe_text import quantity
from krm_merge.text import TextError, Value


@dataclass(frozen=True, slots=True)
class _Package:
    """State of a package: `latest` is the commit that its ref names now, '' where no server was asked.

    `newer` are the versions after its own, the highest last, `merges` those that its pipeline declares.
    """

    path: Path
    ref: str
    commit: str
    latest: str
    dirty: list[str]
    conflicts: list[str]
    newer: list[str]
    merges: list[DeclaredMerge]
    problem: str = ""

    @property
    def is_part(self) -> bool:
        """Whether the package is one inside another, updated with that."""
        return not self.ref and any((folder / KPTFILE).is_file() for folder in self.path.parents)

    @property
    def needs_attention(self) -> bool:
        return bool(self.dirty or self.conflicts or self.merges or self.problem)

    @property
    def is_behind(self) -> bool:
        return bool(self.latest) and self.latest != self.commit

    def to_value(self) -> dict[str, Value]:
        value: dict[str, Value] = {"path": str(self.path), "ref": self.ref, "commit": self.commit}
        if self.latest:
            value |= {"latest": self.latest, "newer": [*self.newer]}
        value |= {"behind": self.is_behind, "dirty": [*self.dirty], "conflicts": [*self.conflicts]}
        if self.merges:
            merges = ((merge.file, merge.record) for merge in self.merges)
            value["merges"] = [
                {"file": file, "made": r is not None, "result": r.counts if r else ""} for file, r in merges
            ]
        return value | {"problem": self.problem} if self.problem else value

    def summary(self) -> str:
        """One line."""
        parts = [f"{self.ref or 'no upstream'}{f' ({self.commit[:7]})' if self.commit else ''}"]
        if self.problem and not self.ref and not self.commit:
            # The Kptfile cannot be read.
            parts = []
        if self.is_behind:
            parts.append(f"behind: {self.ref} is {self.latest[:7]} now" if self.commit else "never fetched")
        if self.newer:
            between = f" ({len(self.newer) - 1:,} more before it)" if self.newer[1:] else ""
            parts.append(f"newer: {self.newer[-1]}{between}")
        if self.dirty:
            parts.append(f"{len(self.dirty)} uncommitted")
        if self.conflicts:
            parts.append(f"open conflicts in {', '.join(self.conflicts)}")
        for merge in self.merges:
            done = f"merged: {merge.record.counts}" if merge.record else "declared, not merged until kpt fn render"
            parts.append(f"{merge.file} {done}")
        if self.problem:
            parts.append(self.problem)
        return f"{self.path}: {'; '.join(parts)}"


@click.command("status")
@click.argument("directories", metavar="[DIR...]", nargs=-1, type=options.PATH)
@click.option("--offline", is_flag=True, help="Do not ask repositories for newer versions.")
@click.option("--exit-code", is_flag=True, help="Also exit with 1 if a package is outdated or has uncommitted files.")
@options.form
def status_command(directories: tuple[Path, ...], offline: bool, exit_code: bool, form: str) -> None:
    """Show the version of each package in DIR and below, and what needs attention.

    That is a newer version of upstream, a ref that moved to another commit, uncommitted files, conflict markers, and a
    declared merge that has not run yet. Subpackages without an upstream of their own are listed only if they need
    attention. The exit code is 1 if there are open conflicts, 3 if a repository cannot be reached.

    Example:  krm-merge status environments
    """
    places = [place for directory in directories or (Path("."),) for place in packages_below(directory)]
    repositories = None if offline else GitRepositories()
    packages = [_looked_at(place, repositories) for place in places]
    if form == "json":
        print_json({"packages": [package.to_value() for package in packages]})
    else:
        for package in packages:
            if not package.is_part or package.needs_attention:
                say(package.summary(), on_stdout=True)
        if not packages:
            say("no packages: no directory has a Kptfile", on_stdout=True)
    is_outdated = exit_code and any(package.is_behind or package.newer or package.dirty for package in packages)
    if is_outdated or any(package.conflicts for package in packages):
        sys.exit(1)
    if any(package.problem for package in packages):
        sys.exit(3)


def _looked_at(place: Path, repositories: GitRepositories | None) -> _Package:
    conflicts: list[str] = []
    newer: list[str] = []
    ref = commit = latest = problem = ""
    merges: list[DeclaredMerge] = []
    try:
        tree = package_to_look_at(place)
        merges = declared_merges(tree)
        conflicts = [*lines_of_conflicts(tree)]
        kptfile = KptfileText(tree[KPTFILE].data, str(place / KPTFILE))
        upstream, lock = kptfile.upstream, kptfile.lock
        commit = lock.commit if lock is not None else ""
        if upstream is not None:
            ref = upstream.ref
            if repositories is not None:
                latest = repositories.resolve(upstream.repository, upstream.directory, ref).commit
                newer = repositories.newer(upstream)
    except KrmMergeError as error:
        problem = str(error)
    return _Package(place, ref, commit, latest, uncommitted_files(place), conflicts, newer, merges, problem)


@click.command("check")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=options.PATH)
@options.quiet
@options.form
def check_command(paths: tuple[Path, ...], quiet: bool, form: str) -> None:
    """Find mistakes in the packages at PATH: directories with all packages below them, or files of packages.

    It finds files that kpt cannot read, fields that kpt refuses in a Kptfile, functions that share a name, missing
    functionConfigs, mistakes in krm-merge's functionConfigs and their patches, resources that are defined twice,
    conflict markers, and rules and choices of a MergePolicy that match nothing. It fetches nothing. The exit code is 1
    if it finds something.

    Example:  krm-merge check environments
    """
    packages = packages_of(paths or (Path("."),))
    problems_by_package = [
        (package, problem) for package in packages for problem in package_problems(package_to_look_at(package))
    ]
    if form == "json":
        problems = [
            {**problem.to_value(), "file": str(package / problem.file)} for package, problem in problems_by_package
        ]
        print_json({"packages": [str(package) for package in packages], "problems": problems})
    else:
        for package, problem in problems_by_package:
            place = f"{package / problem.file}:{problem.line}" if problem.line else str(package / problem.file)
            say(f"{place}: {problem.message}", on_stdout=True)
        if not quiet and not problems_by_package:
            checked = f"{quantity(len(packages), 'package')} checked, no problems"
            say(checked if packages else "no packages: no directory has a Kptfile", on_stdout=True)
    if problems_by_package:
        sys.exit(1)


@click.command("names")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=options.PATH)
@click.option("--dry-run", is_flag=True, help="Show which names would be given, and change nothing.")
@options.quiet
@options.form
def names_command(paths: tuple[Path, ...], dry_run: bool, quiet: bool, form: str) -> None:
    """Give a name to each function that has none, in the Kptfiles at PATH: files, or directories and all below them.

    The name is the last part of the image or program, with a number added if another function in the list has that
    name. Updates recognise functions by their names, even if images and order change. Comments and layout stay.

    Example:  krm-merge names environments --dry-run
    """
    packages = packages_of(paths or (Path("."),))
    named = {package: _name_functions(package) for package in packages}
    if not dry_run:
        for package, (tree, functions) in named.items():
            if functions.names:
                with opened_journal(package) as journal:
                    journal.commit({KPTFILE: File(functions.data, tree[KPTFILE].mode)}, tree)
    names = {str(package / KPTFILE): functions.names for package, (_, functions) in named.items() if functions.names}
    if form == "json":
        print_json({"names": names})
        return
    for file, names_by_place in names.items():
        for place, name in names_by_place.items():
            say(f"{file}: {place}: {'would be named' if dry_run else 'named'} {name}", on_stdout=True)
    if not names and not quiet:
        say("every function has a name" if packages else "no packages: no directory has a Kptfile", on_stdout=True)


def _name_functions(package: Path) -> tuple[Tree, NamedFunctions]:
    """The files of a package, and its Kptfile with names. Raises PackageError."""
    tree = package_to_look_at(package)
    try:
        return tree, with_names(tree[KPTFILE].data)
    except TextError as error:
        raise PackageError(f"{package / KPTFILE}: {error}; nothing was changed") from None
