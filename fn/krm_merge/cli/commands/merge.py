"""`krm-merge merge`."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import click

from krm_merge.cli.options import MergeOptions, merge_options, output, record, source, version
from krm_merge.cli.output import (
    ALL_IN,
    errors_as_json,
    say,
    show_conflicts_left,
    show_diff,
    show_results,
    show_stop,
    shows_contexts,
    summary,
    write_reports,
)
from krm_merge.cli.sides import STDIN, STDOUT, destination, read_sides, record_upstream
from krm_merge.cli.terminal import counted_files, recap, stages
from krm_merge.policy import find_policy
from krm_merge.report.forms.by_suffix import as_json
from krm_merge.report.record import MergeReport
from krm_merge.usecases import MergeChoices, Outcome, merge_sides
from krm_merge.vendored.vendorfile import FILE, ManifestSource


@click.command("merge")
@click.argument(
    "places", metavar="[ORIGINAL] UPSTREAM LOCAL", nargs=-1, type=click.Path(path_type=Path, allow_dash=True)
)
@output("Write the result there: a new directory, or a file.")
@click.option("--in-place", is_flag=True, help="Write the result to LOCAL.")
@record
@version
@source
@merge_options
def merge_command(
    places: tuple[Path, ...],
    target: Path | None,
    in_place: bool,
    record: bool,
    version: str,
    source: str,
    options: MergeOptions,
) -> None:
    """Merge what changed from ORIGINAL to UPSTREAM into LOCAL: each a directory or a file.

    Manifests in one file are merged into the files of a directory: each resource stays where LOCAL has it. ORIGINAL is
    not needed where LOCAL has a Vendorfile, which --record writes, or holds no resources yet.

    One of the files may be - for stdin, and -o - is stdout. Without -o and --in-place the difference to LOCAL is
    printed. The decisions are printed on stderr.

    A conflict that neither --on-conflict nor LOCAL's MergePolicy settles stops the merge: nothing is written. The exit
    code is 1 then, and where conflicts are left between markers; it is 3 where something cannot be read or written.
    """
    if len(places) not in (2, 3):
        raise click.UsageError("give ORIGINAL UPSTREAM LOCAL, or UPSTREAM LOCAL where LOCAL has a Vendorfile")
    local = places[-1]
    if target is not None and in_place:
        raise click.UsageError("give -o or --in-place, not both")
    if target == STDOUT and (options.with_diff or options.form == "json" or (local != STDIN and local.is_dir())):
        raise click.UsageError("-o - writes one merged file, and nothing else can go to stdout with it")
    if places.count(STDIN) > 1 or (in_place and local == STDIN):
        raise click.UsageError("only one file can be -, and none that is to be written in place")
    with errors_as_json(options.form, str(local)):
        choices = MergeChoices.of(options.on_conflict, options.function_identity, options.rules_file, otherwise="fail")
    with errors_as_json(options.form, str(local)), destination(local, target, in_place) as write:
        sides = read_sides(places)
        upstream_record = record_upstream(sides, ManifestSource(source, version), is_requested=record)
        choices = choices.obeying(find_policy(sides.local))
        with stages(f"merging {counted_files(len(sides.local))} of {local}", options.form):
            outcome = merge_sides(sides, choices)
        choices.report_unused(outcome)

        @cache
        def report() -> MergeReport:
            return outcome.report(str(local), with_contexts=shows_contexts(options.reports))

        write_reports(report, options.reports)
        if (options.with_diff or write is None) and options.form == "text" and not outcome.is_refused:
            show_diff(sides.local, outcome.changes)
        if write is not None and not outcome.is_refused:
            with stages(f"writing {counted_files(len(outcome.changes))}", options.form):
                write(sides.local, {**outcome.changes, **upstream_record})
    if options.form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        show_results(outcome.results, quiet=options.quiet, all_in=ALL_IN)
        if not options.quiet and not outcome.is_refused:
            say(summary(sides.local, outcome.changes, outcome.results))
            if sides.vendored is not None and sides.vendored.is_known:
                say(f"nothing new: {local} has this version of upstream already")
            elif upstream_record and write is not None:
                say(f"recorded {version or 'this version'} in {(target or local) / FILE}")
    show_conflicts_left(outcome.marked, outcome.binary)
    if options.form == "text" and not options.quiet and not outcome.leaves_conflicts:
        recording = [*(["--record"] if record else []), *(["--version", version] if version else [])]
        _show_end(outcome, [*recording, *map(str, places)], options)
    if outcome.is_refused or outcome.leaves_conflicts:
        sys.exit(1)


def _show_end(outcome: Outcome, arguments: list[str], options: MergeOptions) -> None:
    if errors := outcome.results.errors:
        # resolve reads answers on stdin.
        resolve = None if str(STDIN) in arguments else [*options.of_resolve(), *arguments]
        show_stop(outcome.decided, len(errors), resolve, options.on_conflict, "nothing was written")
    elif conflicts := recap(outcome.decided):
        say(conflicts)
