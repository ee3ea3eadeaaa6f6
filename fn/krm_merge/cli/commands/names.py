"""`krm-merge names`: names for the functions of pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import click

from krm_merge.checks.names import NamedFunctions, with_names
from krm_merge.cli import options
from krm_merge.cli.package_argument import packages_of
from krm_merge.cli.show import opened_journal, say
from krm_merge.krm.identity import KPTFILE
from krm_merge.packages.files.directory import Directory, PackageError
from krm_merge.packages.files.tree import File, Tree
from krm_merge.text.reading.nodes import TextError


@click.command("names")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say which names would be given, change nothing.")
@options.quiet
@options.form
def command(paths: tuple[Path, ...], dry_run: bool, quiet: bool, form: str) -> None:
    """Give a name to each function that has none, in the Kptfiles at PATH: directories with all below, or files.

    A name is the last part of the image or program, with a number where another function of the list has it. Updates
    recognise functions by their names, whatever becomes of images and order. Comments and layout stay.
    """
    packages = packages_of(paths or (Path("."),))
    named = {package: _named(package) for package in packages}
    if not dry_run:
        for package, (tree, functions) in named.items():
            if functions.names:
                with opened_journal(package) as journal:
                    journal.commit({KPTFILE: File(functions.data, tree[KPTFILE].mode)}, tree)
    names = {str(package / KPTFILE): functions.names for package, (_, functions) in named.items() if functions.names}
    if form == "json":
        click.echo(json.dumps({"names": names}, indent=2))
        return
    for file, given in names.items():
        for place, name in given.items():
            say(f"{file}: {place}: {'would be named' if dry_run else 'named'} {name}", on_stdout=True)
    if not names and not quiet:
        say("every function has a name" if packages else "no packages: no directory has a Kptfile", on_stdout=True)


def _named(package: Path) -> tuple[Tree, NamedFunctions]:
    """The files of a package, and its Kptfile with names. Raises PackageError."""
    tree = Directory(package)
    try:
        return tree, with_names(tree[KPTFILE].data)
    except TextError as error:
        raise PackageError(f"{package / KPTFILE}: {error}; nothing was changed") from None
