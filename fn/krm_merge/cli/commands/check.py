"""`krm-merge check`: what would go wrong with a package; `krm-merge names`: names for functions of pipelines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from krm_merge.checks.names import NamedFunctions, with_names
from krm_merge.checks.package import package_problems
from krm_merge.cli import options
from krm_merge.cli.options import packages_of
from krm_merge.cli.output import opened_journal, say
from krm_merge.krm.identity import KPTFILE
from krm_merge.packages.files.tree import Directory, File, PackageError, Tree
from krm_merge.text.reading.nodes import TextError


@click.command("check")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@options.quiet
@options.form
def check_command(paths: tuple[Path, ...], quiet: bool, form: str) -> None:
    """Look for mistakes in the packages at PATH: directories with all packages below, or files of packages.

    Found are: fields that kpt refuses in a Kptfile, functions with one name, functionConfigs that are not there,
    conflicts between markers, rules and choices of a MergePolicy for what is not there. Nothing is fetched. The exit
    code is 1 where something is found.
    """
    packages = packages_of(paths or (Path("."),))
    problems_by_package = [
        (package, problem) for package in packages for problem in package_problems(Directory(package))
    ]
    if form == "json":
        problems = [
            {**problem.to_value(), "file": str(package / problem.file)} for package, problem in problems_by_package
        ]
        click.echo(json.dumps({"packages": [str(package) for package in packages], "problems": problems}, indent=2))
    else:
        for package, problem in problems_by_package:
            place = f"{package / problem.file}:{problem.line}" if problem.line else str(package / problem.file)
            say(f"{place}: {problem.message}", on_stdout=True)
        if not quiet and not problems_by_package:
            count = "1 package" if len(packages) == 1 else f"{len(packages):,} packages"
            say(
                f"{count} checked, no problems" if packages else "no packages: no directory has a Kptfile",
                on_stdout=True,
            )
    if problems_by_package:
        sys.exit(1)


@click.command("names")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say which names would be given, change nothing.")
@options.quiet
@options.form
def names_command(paths: tuple[Path, ...], dry_run: bool, quiet: bool, form: str) -> None:
    """Give a name to each function that has none, in the Kptfiles at PATH: directories with all below, or files.

    A name is the last part of the image or program, with a number where another function of the list has it. Updates
    recognise functions by their names, whatever becomes of images and order. Comments and layout stay.
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
        click.echo(json.dumps({"names": names}, indent=2))
        return
    for file, names_by_place in names.items():
        for place, name in names_by_place.items():
            say(f"{file}: {place}: {'would be named' if dry_run else 'named'} {name}", on_stdout=True)
    if not names and not quiet:
        say("every function has a name" if packages else "no packages: no directory has a Kptfile", on_stdout=True)


def _name_functions(package: Path) -> tuple[Tree, NamedFunctions]:
    """The files of a package, and its Kptfile with names. Raises PackageError."""
    tree = Directory(package)
    try:
        return tree, with_names(tree[KPTFILE].data)
    except TextError as error:
        raise PackageError(f"{package / KPTFILE}: {error}; nothing was changed") from None
