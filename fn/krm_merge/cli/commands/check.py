"""`krm-merge check`: what would go wrong with a package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from krm_merge.checks.package import package_problems
from krm_merge.cli import options
from krm_merge.cli.package_argument import packages_of
from krm_merge.cli.show import say
from krm_merge.packages.files.directory import Directory


@click.command("check")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@options.quiet
@options.form
def command(paths: tuple[Path, ...], quiet: bool, form: str) -> None:
    """Look for mistakes in the packages at PATH: directories with all packages below, or files of packages.

    Found are: fields that kpt refuses in a Kptfile, functions with one name, functionConfigs that are not there,
    conflicts between markers, rules and choices of a MergePolicy for what is not there. Nothing is fetched. The exit
    code is 1 where something is found.
    """
    packages = packages_of(paths or (Path("."),))
    found = [(package, problem) for package in packages for problem in package_problems(Directory(package))]
    if form == "json":
        problems = [{**problem.to_value(), "file": str(package / problem.file)} for package, problem in found]
        click.echo(json.dumps({"packages": [str(package) for package in packages], "problems": problems}, indent=2))
    else:
        for package, problem in found:
            place = f"{package / problem.file}:{problem.line}" if problem.line else str(package / problem.file)
            say(f"{place}: {problem.message}", on_stdout=True)
        if not quiet and not found:
            count = "1 package" if len(packages) == 1 else f"{len(packages):,} packages"
            say(
                f"{count} checked, no problems" if packages else "no packages: no directory has a Kptfile",
                on_stdout=True,
            )
    if found:
        sys.exit(1)
