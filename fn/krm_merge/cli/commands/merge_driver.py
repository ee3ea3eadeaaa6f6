"""`krm-merge merge-driver`: merge a file for git."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from krm_merge.cli import options
from krm_merge.cli.output import say, show_recalled, show_results
from krm_merge.krm import Results
from krm_merge.packages import MARKER_SIZE
from krm_merge.startup import replace
from krm_merge.usecases import GitMerge, MergeChoices, merge_for_git


@click.command("merge-driver", context_settings=options.NAMES_LAST)
@click.argument("base", type=options.PATH)
@click.argument("ours", type=options.PATH)
@click.argument("theirs", type=options.PATH)
@click.argument("name", default="")
@click.option(
    "--on-conflict",
    type=click.Choice(["markers", "upstream", "local", "fail"]),
    help="How to settle conflicts; upstream is THEIRS, local is OURS. "
    "By default as the package's MergePolicy says, else markers.",
)
@options.rules
@click.option("--marker-size", type=click.IntRange(min=1), default=MARKER_SIZE, show_default=True, help="git's %L.")
@click.pass_obj
def merge_driver_command(
    done: GitMerge | None,
    base: Path,
    ours: Path,
    theirs: Path,
    name: str,
    on_conflict: Literal["markers", "upstream", "local", "fail"] | None,
    rules_file: Path | None,
    marker_size: int,
) -> None:
    """Merge a file for git: BASE, OURS and THEIRS are git's %O, %A and %B, NAME is %P.

    The result is written to OURS.

    Conflicts are left between git's conflict markers, and the exit code is 1; the rest is merged.

    \b
    In .gitattributes:  *.yaml merge=krm
                        Kptfile merge=krm
    Once in each clone:
      git config merge.krm.driver \\
        'krm-merge merge-driver --marker-size %L -- %O %A %B %P'

    Example:  git merge main
    """
    choices = MergeChoices.of(on_conflict, "smart", rules_file, of_branches=True, otherwise="markers")
    merge = done or merge_for_git((base, ours, theirs), name, choices, marker_size)
    outcome = merge.outcome
    show_recalled(merge.recalled, name)
    if not outcome.leaves_conflicts:
        # A conflict whose result is the same whoever wins has no markers, so it is reported here.
        results = Results()
        for result in merge.reported:
            results.add(replace(result, file=name or result.file))
        show_results(results, quiet=False, files={name or merge.path: merge.ours})
    else:
        places = "one place" if outcome.marked == 1 else f"{outcome.marked} places"
        what = (
            f"conflicts in {places}, between markers" if outcome.marked else "a binary file in conflict, ours is kept"
        )
        say(f"{name or ours}: {what}")
        for result in (result for result in merge.reported if result.severity != "error"):
            # What is kept is for the person who resolves them.
            say(f"  {result.message.partition('; both are between')[0]}")
    if outcome.results.errors:
        sys.exit(1)
    merge.write()
    if outcome.leaves_conflicts:
        sys.exit(1)
