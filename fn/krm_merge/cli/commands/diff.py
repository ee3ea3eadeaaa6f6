"""`krm-merge diff`: two versions, by what they mean."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.output import COLORS, errors_as_json, write_reports
from krm_merge.packages.files.tree import Directory, File, PackageError, Tree, read_file
from krm_merge.packages.merge.side import path_of
from krm_merge.packages.merge.trees import ALL_TAKEN, differences
from krm_merge.policy import collect_redactions
from krm_merge.report.forms.by_suffix import as_json
from krm_merge.report.forms.terminal import changed_lines
from krm_merge.report.reading import records_of
from krm_merge.report.record import Files, MergeReport, RecordedSide
from krm_merge.startup import replace
from krm_merge.vendored.merging import laid_out_alike

_STDIN = Path("-")
_OF_GIT = (7, 9)
"""Numbers of git's arguments to an external diff: path, old file, hex, mode, new file, hex, mode; more for a rename."""


_HELP = """Say what differs from A to B, directories or files: fields, elements and resources, not lines.

Reordered fields, quotes and indentation are not differences; moves and renames are followed. Manifests in one file are
compared with the resources in the files of a directory, wherever these are.

\b
For git:  git difftool -x 'krm-merge diff'
          git config diff.krm.command 'krm-merge diff'   with *.yaml diff=krm in .gitattributes
"""


@click.command("diff", help=_HELP)
@click.argument("places", metavar="A B", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--exit-code", is_flag=True, help="Exit with 1 where there are differences.")
@options.form
@options.reports
def diff_command(places: tuple[Path, ...], exit_code: bool, form: str, reports: tuple[Path, ...]) -> None:
    """Runs the command."""
    name = ""
    if len(places) in _OF_GIT:
        name, places = str(places[0]), (places[1], places[4])
    if len(places) != 2:
        raise click.UsageError("give two versions, each a directory or a file")
    with errors_as_json(form, str(places[1])):
        before, after = _read(places[0], places[1], name)
        report = _report(before, after, places, name)
        write_reports(lambda: report, reports)
    if form == "json":
        click.echo(as_json(report), nl=False)
    else:
        for line in changed_lines(report.records):
            click.echo(click.style(line.text, fg=COLORS[line.style], bold=line.style == "heading"))
    if exit_code and (report.records or report.files.added or report.files.changed or report.files.deleted):
        sys.exit(1)


def _report(before: Tree, after: Tree, places: tuple[Path, ...], name: str) -> MergeReport:
    tree_differences = differences(before, after)
    policy = replace(ALL_TAKEN, redactions=collect_redactions(before, after))
    records = sorted(records_of([tree_differences.decided], policy), key=lambda record: record.file)
    sides = {"original": RecordedSide(str(places[0])), "upstream": RecordedSide(str(places[1]))}
    results = [result.to_value() for result in tree_differences.results]
    return MergeReport(name or str(places[1]), sides, records, Files.of(before, tree_differences.changes), results)


def _read(first: Path, second: Path, name: str) -> tuple[Tree, Tree]:
    if first == second == _STDIN:
        raise click.UsageError("only one of the two can be -")
    missing = [place for place in (first, second) if place != _STDIN and not place.exists()]
    if missing:
        raise PackageError(f"{missing[0]}: there is no such file or directory")
    directories = [place for place in (first, second) if place != _STDIN and place.is_dir()]
    if len(directories) == 2:
        return Directory(first), Directory(second)
    if directories:
        (directory,) = directories
        place = second if directory is first else first
        file, laid_out = laid_out_alike(_file(place), str(place), Directory(directory), str(directory))
        return (laid_out, file) if directory is first else (file, laid_out)
    files = [_file(first), _file(second)]
    named = name or next((place.name for place in (second, first) if place.is_file()), second.name)
    path = path_of(Path(named).name, files[1] if files[1].data else files[0])
    before, after = ({path: file} if file.data else {} for file in files)
    return before, after


def _file(place: Path) -> File:
    return File(sys.stdin.buffer.read()) if place == _STDIN else read_file(place)
