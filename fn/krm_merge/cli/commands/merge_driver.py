"""`krm-merge merge-driver`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from krm_merge.cli import options
from krm_merge.cli.output import say, show_results
from krm_merge.krm.result import Results
from krm_merge.packages.files.disk import write_file
from krm_merge.packages.files.tree import File, read_file
from krm_merge.packages.merge.other_files import MARKER_SIZE
from krm_merge.packages.merge.side import path_of
from krm_merge.policy import NO_POLICY, find_policy_around, memory_path, recall
from krm_merge.startup import replace
from krm_merge.usecases import MergeChoices, MergeSides, merge_sides

_HELP = """Merge a file for git: BASE, OURS and THEIRS are git's %O, %A and %B, NAME is %P.

The result is written to OURS.

\b
In .gitattributes:   *.yaml merge=krm
                     Kptfile merge=krm
Once in each clone:  git config merge.krm.driver 'krm-merge merge-driver --marker-size %L -- %O %A %B %P'

What both branches changed is left between git's conflict markers, and the exit code is 1; all else is merged.
"""


@click.command("merge-driver", cls=options.NamesLast, help=_HELP)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("name", default="")
@click.option(
    "--on-conflict",
    type=click.Choice(["markers", "upstream", "local", "fail"]),
    help="How to settle conflicts; upstream is THEIRS, local is OURS. "
    "Without it, what the package's MergePolicy says, else markers.",
)
@options.rules
@click.option("--marker-size", type=click.IntRange(min=1), default=MARKER_SIZE, show_default=True, help="git's %L.")
def merge_driver_command(
    base: Path,
    ours: Path,
    theirs: Path,
    name: str,
    on_conflict: Literal["markers", "upstream", "local", "fail"] | None,
    rules_file: Path | None,
    marker_size: int,
) -> None:
    """Runs the command."""
    files = [read_file(place) for place in (base, ours, theirs)]
    path = path_of(Path(name or ours).name, files[1])
    original, local, upstream = ({path: file} if file.data else {} for file in files)
    choices = MergeChoices.of(on_conflict, "smart", rules_file, of_branches=True, otherwise="markers")
    choices = choices.obeying(find_policy_around(Path(name)) if name else NO_POLICY)
    choices = choices.remembering(recall(memory_path(Path())))
    outcome = merge_sides(MergeSides(original, upstream, local), choices, marker_size)
    results = outcome.results
    if choices.on_conflict != "markers":
        show_results(_under_name(results, name), quiet=True)
    elif outcome.leaves_conflicts:
        places = "one place" if outcome.marked == 1 else f"{outcome.marked} places"
        what = (
            f"conflicts in {places}, between markers" if outcome.marked else "a binary file in conflict, ours is kept"
        )
        say(f"{name or ours}: {what}")
        for result in (result for result in results if result.severity == "warning"):
            # What is kept is for the person who resolves them.
            say(f"  {result.message.partition('; both are between')[0]}")
    if results.errors:
        sys.exit(1)
    file = outcome.changes.get(path, files[1])
    write_file(ours, file if file is not None else File(b"", files[1].mode))
    if outcome.leaves_conflicts:
        sys.exit(1)


def _under_name(results: Results, name: str) -> Results:
    """The results with the path that git knows the file by."""
    renamed = Results()
    for result in results:
        renamed.add(replace(result, file=name) if name else result)
    return renamed
