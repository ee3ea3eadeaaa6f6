"""`krm-merge compare`: an update by kpt beside ours; `krm-merge diff`: two versions, by what they mean."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.options import named_package, refuse_missing
from krm_merge.cli.output import (
    COLORS,
    STDIN,
    package_to_look_at,
    print_json,
    show_patch,
    write_reports,
)
from krm_merge.cli.sides import is_directory, read_input, read_package_versions, refuse_missing_inputs
from krm_merge.cli.terminal import fit, stages, width_of
from krm_merge.packages import (
    ALL_TAKEN,
    STRATEGIES,
    GitRepositories,
    Tree,
    differences,
    path_of,
)
from krm_merge.report import (
    Files,
    Line,
    MergeReport,
    RecordedSide,
    as_json,
    changed_lines,
    comparison_lines,
)
from krm_merge.startup import replace
from krm_merge.usecases import Outcome, PackageUpdate, compare_with_kpt
from krm_merge.vendored.merging import laid_out_alike

_OF_GIT = (7, 9)
"""Numbers of git's arguments to an external diff: path, old file, hex, mode, new file, hex, mode; more for a rename."""


@click.command("diff")
@click.argument("places", metavar="PKG[@REF] | A B", nargs=-1, required=True, type=options.PATH_OR_STDIN)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there are differences.")
@options.form
@options.reports
def diff_command(places: tuple[Path, ...], exit_code: bool, form: str, reports: tuple[Path, ...]) -> None:
    """Show the differences between the directories or files A and B: fields, elements and resources, not lines.

    For one package PKG, show its local changes, or with @REF what that version of upstream changes.

    Reordered fields, quotes and indentation are not differences; moves and renames are followed. If one side is a file
    of manifests and the other a directory, resources are compared whichever file they are in.

    \b
    For git, with *.yaml diff=krm in .gitattributes, or once by difftool:
      git config diff.krm.command 'krm-merge diff'
      git difftool -x 'krm-merge diff'

    Example:  krm-merge diff v1 v2
    """
    name = ""
    if len(places) in _OF_GIT:
        name, places = str(places[0]), (places[1], places[4])
    if len(places) > 2:
        raise click.UsageError("give two versions, each a directory or a file, or one package")
    if len(places) == 1:
        before, after, names = read_package_versions(str(places[0]))
    else:
        (before, after), names = _read(places[0], places[1], name), (str(places[0]), str(places[1]))
    report = _report(before, after, names, name)
    if len(places) == 1:
        # kpt wrote the layout.
        records = [record for record in report.records if record.rule != "W1"]
        report = replace(report, records=records, files=report.files if records else Files())
    write_reports(lambda: report, reports)
    if form == "json":
        click.echo(as_json(report), nl=False)
    else:
        _show(changed_lines(report.records))
    if exit_code and (report.records or report.files.count):
        sys.exit(1)


def _report(before: Tree, after: Tree, names: tuple[str, str], name: str) -> MergeReport:
    merged = differences(before, after)
    sides = {"original": RecordedSide(names[0]), "upstream": RecordedSide(names[1])}
    outcome = Outcome(before, ALL_TAKEN, merged.changes, merged.results, [merged.decided], sides=sides)
    report = outcome.report(name or names[1])
    return replace(report, records=sorted(report.records, key=lambda record: record.file))


def _read(first: Path, second: Path, name: str) -> tuple[Tree, Tree]:
    if first == second == STDIN:
        raise click.UsageError("only one of the two can be -")
    refuse_missing_inputs((first, second))
    directories = [place for place in (first, second) if is_directory(place)]
    if len(directories) == 2:
        return package_to_look_at(first), package_to_look_at(second)
    if directories:
        (directory,) = directories
        place = second if directory is first else first
        file, laid_out = laid_out_alike(read_input(place), str(place), package_to_look_at(directory), str(directory))
        return (laid_out, file) if directory is first else (file, laid_out)
    files = [read_input(first), read_input(second)]
    named = name or next((place.name for place in (second, first) if place.is_file()), second.name)
    path = path_of(Path(named).name, files[1] if files[1].data else files[0])
    before, after = ({path: file} if file.data else {} for file in files)
    return before, after


@click.command("compare")
@click.argument("package", metavar="PKG[@REF]", default=".")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How to take changes; by default as in the Kptfile.")
@options.allow_address
@click.option("--diff", "with_diff", is_flag=True, help="Print the difference from krm-merge's files to kpt's.")
@options.form
def compare_command(package: str, strategy: str | None, allowed: tuple[str, ...], with_diff: bool, form: str) -> None:
    """Show which changes in PKG `kpt pkg update` would lose, and what `krm-merge update` would ask.

    Each updates a copy: PKG does not change, and uncommitted changes are compared too. Where krm-merge asks, its copy
    has your value. kpt must be on the PATH.

    Example:  krm-merge compare web@v2
    """
    place, ref = named_package(package)
    refuse_missing(place)
    local = dict(package_to_look_at(place))
    with stages(f"updating two copies of {place}", form) as stage:
        repositories = GitRepositories(report=stage)
        update = PackageUpdate(local, repositories, str(place), ref or None, strategy, allowed)
        comparison = compare_with_kpt(place, update)
    if form == "json":
        print_json(comparison.model_dump())
        return
    _show(comparison_lines(comparison), width_of(sys.stdout))
    if with_diff:
        show_patch(comparison.difference.encode("utf-8", "surrogateescape"))


def _show(lines: Iterable[Line], width: int | None = None) -> None:
    for line in lines:
        text = fit(line.text, width, len(line.text) - len(line.text.lstrip()) + 2)
        click.echo(click.style(text, fg=COLORS[line.style], bold=line.style == "heading"))
