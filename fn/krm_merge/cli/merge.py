"""`krm-merge merge`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeAlias

import click

from krm_merge.cli import options
from krm_merge.cli.git_diff import show_diff
from krm_merge.cli.merging import MergeChoices, OnConflictOrMarkers
from krm_merge.cli.reports import errors_as_json, report_of, shows_contexts, write_reports
from krm_merge.cli.show import opened_journal, say, show_conflicts_left, show_results, summary
from krm_merge.packages.directory import Directory, PackageError, read_file
from krm_merge.packages.merge import merge_trees
from krm_merge.packages.side import path_of
from krm_merge.packages.tree import Changed, Changes, File, Tree
from krm_merge.packages.write import write_file, write_tree
from krm_merge.report.forms import as_json
from krm_merge.report.record import SIDES, MergeReport, RecordedSide

STDIN = STDOUT = Path("-")

Writer: TypeAlias = Callable[[Tree, Changes], None]


@click.command("merge")
@click.argument("original", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("upstream", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("local", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "target", type=click.Path(path_type=Path, allow_dash=True), help="Write the result there.")
@click.option("--in-place", is_flag=True, help="Write the result to LOCAL.")
@options.show_diff
@options.on_conflict_or_markers
@options.rules
@options.function_identity
@options.quiet
@options.form
@options.reports
def command(
    original: Path,
    upstream: Path,
    local: Path,
    target: Path | None,
    in_place: bool,
    with_diff: bool,
    on_conflict: OnConflictOrMarkers | None,
    rules_file: Path | None,
    function_identity: str,
    quiet: bool,
    form: str,
    reports: tuple[Path, ...],
) -> None:
    """Merge what changed from ORIGINAL to UPSTREAM into LOCAL: three directories, or three files.

    One of three files may be - for stdin, and -o - is stdout. Without -o and --in-place the difference to LOCAL is
    printed. What was decided goes to stderr.

    The exit code is 1 where conflicts are refused (then nothing is written) or left between markers, and 3 where
    something cannot be read or written.
    """
    if target is not None and in_place:
        raise click.UsageError("give -o or --in-place, not both")
    if target == STDOUT and (with_diff or form == "json" or (local != STDIN and local.is_dir())):
        raise click.UsageError("-o - writes one merged file, and nothing else can go to stdout with it")
    places = (original, upstream, local)
    if places.count(STDIN) > 1 or (in_place and local == STDIN):
        raise click.UsageError("only one file can be -, and none that is to be written in place")
    with errors_as_json(form, str(local)):
        choices = MergeChoices.of(on_conflict, function_identity, rules_file)
    with errors_as_json(form, str(local)), _destination(local, target, in_place) as write:
        trees = _read(places)
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
                with_contexts=shows_contexts(reports),
            )

        write_reports(report, reports)
        if (with_diff or write is None) and form == "text" and not refused:
            show_diff(trees[2], changes)
        if write is not None and not refused:
            write(trees[2], changes)
    if form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        show_results(merged.results, quiet=quiet)
        if not quiet:
            said = "refused; nothing was written" if refused else summary(trees[2], changes, merged.results)
            say(said)
    show_conflicts_left(outcome.marked, outcome.binary)
    if refused or outcome.are_left:
        sys.exit(1)


def _read(places: tuple[Path, Path, Path]) -> tuple[Tree, Tree, Tree]:
    missing = [place for place in places if place != STDIN and not place.exists()]
    if missing:
        raise PackageError(f"{missing[0]}: there is no such file or directory")
    directories = [place for place in places if place != STDIN and place.is_dir()]
    if directories and len(directories) < len(places):
        file = next(place for place in places if place not in directories)
        raise PackageError(f"{file} is a file and {directories[0]} a directory; give three files or three directories")
    if directories:
        original, upstream, local = (Directory(place) for place in places)
        return original, upstream, local
    files = [File(sys.stdin.buffer.read()) if place == STDIN else read_file(place) for place in places]
    path = path_of(next(place.name for place in reversed(places) if place != STDIN), files[2])
    return {path: files[0]}, {path: files[1]}, {path: files[2]}


@contextmanager
def _destination(local: Path, target: Path | None, in_place: bool) -> Iterator[Writer | None]:
    """What writes the result; None where it is only shown."""
    if local == STDIN or not local.is_dir():
        place = local if in_place else target
        yield None if place is None else lambda tree, changes: _write_file(place, tree, changes, in_place=in_place)
        return
    with opened_journal(local) as journal:
        if in_place:
            yield lambda tree, changes: journal.commit(changes, tree)
        elif target is not None:
            yield lambda tree, changes: write_tree(target, Changed(tree, changes))
        else:
            yield None


def _write_file(place: Path, tree: Tree, changes: Changes, *, in_place: bool) -> None:
    file = next(iter(Changed(tree, changes).values()), None)
    if file is None:
        # All its resources were deleted.
        file = File(b"")
    if place == STDOUT:
        sys.stdout.buffer.write(file.data)
        sys.stdout.buffer.flush()
    else:
        write_file(place, file, next(iter(tree.values())) if in_place else None)
