"""`krm-merge merge-driver`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from krm_merge.cli.show import show_results
from krm_merge.krm.result import Results
from krm_merge.merge.package import PackageMerge
from krm_merge.merge.policy import OnConflict, Policy, Rule
from krm_merge.packages.conflict_markers import marked
from krm_merge.packages.directory import read_file
from krm_merge.packages.merge import MergedTree, merge_trees
from krm_merge.packages.side import path_of
from krm_merge.packages.tree import File
from krm_merge.packages.write import write_file

_HELP = """Merge a file for git: BASE, OURS and THEIRS are git's %O, %A and %B, NAME is %P.

The result is written to OURS.

\b
In .gitattributes:   *.yaml merge=krm
                     Kptfile merge=krm
Once in each clone:  git config merge.krm.driver 'krm-merge merge-driver %O %A %B %P --marker-size %L'

What both branches changed stands between git's conflict markers, and the exit code is 1; all else is merged.
"""


@click.command("merge-driver", help=_HELP)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("name", default="")
@click.option(
    "--on-conflict",
    type=click.Choice(["markers", "upstream", "local", "fail"]),
    default="markers",
    show_default=True,
    help="What becomes of conflicts; upstream is THEIRS, local is OURS.",
)
@click.option("--marker-size", type=click.IntRange(min=1), default=7, show_default=True, help="git's %L.")
def command(
    base: Path,
    ours: Path,
    theirs: Path,
    name: str,
    on_conflict: Literal["markers", "upstream", "local", "fail"],
    marker_size: int,
) -> None:
    """Runs the command."""
    files = [read_file(place) for place in (base, ours, theirs)]
    path = path_of(Path(name or ours).name, files[1])
    sides = [{path: file} if file.data else {} for file in files]
    if on_conflict == "markers":
        merged = [_merged(sides, winner) for winner in ("local", "upstream")]
        texts = [_text(one, path, files[1]) for one in merged]
        data, conflicts = marked(texts[0].data, texts[1].data, marker_size)
        results = next((one.results for one in merged if one.results.errors), merged[0].results)
        file = File(data, texts[0].mode)
        if conflicts:
            places = "one place" if conflicts == 1 else f"{conflicts} places"
            click.echo(f"{name or ours}: conflicts in {places}, between markers", err=True)
            for result in (result for result in results if result.severity == "warning"):
                # What stands is for whoever resolves them.
                click.echo(f"  {result.message.partition('; local')[0]}", err=True)
    else:
        one = _merged(sides, on_conflict)
        results, file, conflicts = one.results, _text(one, path, files[1]), 0
        show_results(_under_name(results, name), quiet=True)
    if results.errors:
        sys.exit(1)
    write_file(ours, file)
    if conflicts:
        sys.exit(1)


def _merged(sides: list[dict[str, File]], winner: OnConflict) -> MergedTree:
    original, local, upstream = sides
    # Whoever wins has its way in what was deleted, too: between markers both ways are shown.
    rules = (Rule(on_delete="upstream" if winner == "upstream" else "local"),)
    return merge_trees(original, upstream, local, PackageMerge(Policy(winner, rules), of_branches=True))


def _under_name(results: Results, name: str) -> Results:
    """The results with the path that git knows the file by."""
    renamed = Results()
    for result in results:
        renamed.add(replace(result, file=name) if name else result)
    return renamed


def _text(merged: MergedTree, path: str, local: File) -> File:
    file = merged.changes.get(path, local)
    return file if file is not None else File(b"", local.mode)
