"""`krm-merge merge`."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import click

from krm_merge.cli.git_diff import show_diff
from krm_merge.cli.merging import MergeChoices
from krm_merge.cli.options import MergeOptions, merge_options, output
from krm_merge.cli.reports import errors_as_json, report_of, shows_contexts, write_reports
from krm_merge.cli.show import say, show_conflicts_left, show_results, summary
from krm_merge.cli.sides import STDIN, STDOUT, destination, read_sides
from krm_merge.packages.merge.trees import merge_trees
from krm_merge.report.forms.by_suffix import as_json
from krm_merge.report.record import SIDES, MergeReport, RecordedSide


@click.command("merge")
@click.argument("original", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("upstream", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("local", type=click.Path(path_type=Path, allow_dash=True))
@output("Write the result there: a new directory, or a file.")
@click.option("--in-place", is_flag=True, help="Write the result to LOCAL.")
@merge_options
def command(
    original: Path, upstream: Path, local: Path, target: Path | None, in_place: bool, options: MergeOptions
) -> None:
    """Merge what changed from ORIGINAL to UPSTREAM into LOCAL: three directories, or three files.

    One of three files may be - for stdin, and -o - is stdout. Without -o and --in-place the difference to LOCAL is
    printed. The decisions are printed on stderr.

    The exit code is 1 where conflicts are refused (then nothing is written) or left between markers, and 3 where
    something cannot be read or written.
    """
    if target is not None and in_place:
        raise click.UsageError("give -o or --in-place, not both")
    if target == STDOUT and (options.with_diff or options.form == "json" or (local != STDIN and local.is_dir())):
        raise click.UsageError("-o - writes one merged file, and nothing else can go to stdout with it")
    places = (original, upstream, local)
    if places.count(STDIN) > 1 or (in_place and local == STDIN):
        raise click.UsageError("only one file can be -, and none that is to be written in place")
    with errors_as_json(options.form, str(local)):
        choices = MergeChoices.of(options.on_conflict, options.function_identity, options.rules_file)
    with errors_as_json(options.form, str(local)), destination(local, target, in_place) as write:
        trees = read_sides(places)
        choices = choices.obeying(trees[2])
        outcome = choices.merge(lambda merger: merge_trees(*trees, merger), trees[2])
        merged, changes = outcome.merged, outcome.changes
        choices.warn_of_idle_rules(merged)
        choices.tell_of_stale_choices(merged, [merged.decided])
        refused = bool(merged.results.errors)

        @cache
        def report() -> MergeReport:
            return report_of(
                merged,
                [merged.decided],
                choices,
                trees[2],
                changes,
                package=str(local),
                sides={name: RecordedSide(str(place)) for name, place in zip(SIDES[:3], places, strict=True)},
                with_contexts=shows_contexts(options.reports),
            )

        write_reports(report, options.reports)
        if (options.with_diff or write is None) and options.form == "text" and not refused:
            show_diff(trees[2], changes)
        if write is not None and not refused:
            write(trees[2], changes)
    if options.form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        show_results(merged.results, quiet=options.quiet)
        if not options.quiet:
            said = "refused; nothing was written" if refused else summary(trees[2], changes, merged.results)
            say(said)
    show_conflicts_left(outcome.marked, outcome.binary)
    if refused or outcome.are_left:
        sys.exit(1)
