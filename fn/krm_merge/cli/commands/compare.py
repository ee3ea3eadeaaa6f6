"""`krm-merge compare`: an update by kpt beside ours; `krm-merge diff`: two versions, by what they mean."""

from __future__ import annotations

import sys
from pathlib import Path
from posixpath import join

import click

from krm_merge.cli import options
from krm_merge.cli.options import named_package, refuse_missing
from krm_merge.cli.output import COLORS, STDIN, errors_as_json, package_to_look_at, write_reports
from krm_merge.cli.sides import is_directory, read_input, refuse_missing_inputs
from krm_merge.cli.terminal import fit, stages, width_of
from krm_merge.merge import OnConflict, Policy
from krm_merge.packages import (
    ALL_TAKEN,
    STRATEGIES,
    File,
    GitRepositories,
    PackageVersion,
    RefusedError,
    Tree,
    differences,
    fetched_by_kpt,
    path_of,
    updated_by_kpt,
)
from krm_merge.policy import collect_redactions, find_policy
from krm_merge.report import (
    ComparedVersion,
    Comparison,
    MergeReport,
    RecordedSide,
    VersionName,
    as_json,
    changed_lines,
    compare,
    comparison_lines,
)
from krm_merge.safe_text import quantity
from krm_merge.startup import replace
from krm_merge.usecases import MergeChoices, Outcome, PackageUpdate
from krm_merge.vendored.merging import laid_out_alike

_OF_GIT = (7, 9)
"""Numbers of git's arguments to an external diff: path, old file, hex, mode, new file, hex, mode; more for a rename."""


@click.command("diff")
@click.argument("places", metavar="A B", nargs=-1, required=True, type=options.PATH_OR_STDIN)
@click.option("--exit-code", is_flag=True, help="Exit with 1 where there are differences.")
@options.form
@options.reports
def diff_command(places: tuple[Path, ...], exit_code: bool, form: str, reports: tuple[Path, ...]) -> None:
    """Show what differs between A and B, directories or files: fields, elements and resources instead of lines.

    Reordered fields, quotes and indentation are not differences; moves and renames are followed. Manifests in one file
    are compared with the resources in the files of a directory, wherever these are.

    \b
    For git, with *.yaml diff=krm in .gitattributes, or once by difftool:
      git config diff.krm.command 'krm-merge diff'
      git difftool -x 'krm-merge diff'

    Example:  krm-merge diff v1 v2
    """
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
    if exit_code and (report.records or report.files.count):
        sys.exit(1)


def _report(before: Tree, after: Tree, places: tuple[Path, ...], name: str) -> MergeReport:
    merged = differences(before, after)
    policy = replace(ALL_TAKEN, redactions=collect_redactions(before, after))
    sides = {"original": RecordedSide(str(places[0])), "upstream": RecordedSide(str(places[1]))}
    outcome = Outcome(before, policy, merged.changes, merged.results, [merged.decided], sides=sides)
    report = outcome.report(name or str(places[1]))
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


@click.command("compare", cls=options.AtVersion)
@click.argument("package", metavar="PKG[@REF]", default=".")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How to take the changes; by default the Kptfile's.")
@options.allow_address
@options.on_conflict_or_policy
@options.rules
@options.function_identity
@options.form
@options.reports
def compare_command(
    package: str,
    strategy: str | None,
    allowed: tuple[str, ...],
    on_conflict: OnConflict | None,
    rules_file: Path | None,
    function_identity: str,
    form: str,
    reports: tuple[Path, ...],
) -> None:
    """Say what `kpt pkg update` would make of the package in PKG, beside what `krm-merge update` makes of it.

    Both update a copy: nothing in PKG changes, and what is not committed is compared too. Reported are local changes
    that kpt would lose, parts that it would bring back or leave, changes of upstream that it would not take, comments,
    order and layout; how many lines each program changes, and why; then the conflicts that both decide alike, and that
    only krm-merge reports. What nothing explains is listed as unexplained. The program kpt must be on the PATH.

    Example:  krm-merge compare web@v2
    """
    place, ref = named_package(package)
    refuse_missing(place)
    choices = MergeChoices.of(on_conflict, function_identity, rules_file)
    comparison = _compare(place, ref, strategy, allowed, choices, form)
    write_reports(lambda: comparison, reports)
    if form == "json":
        click.echo(as_json(comparison), nl=False)
        return
    for line in comparison_lines(comparison):
        indent = len(line.text) - len(line.text.lstrip()) + 2
        text = fit(line.text, width_of(sys.stdout), indent)
        click.echo(click.style(text, fg=COLORS[line.style], bold=line.style == "heading"))


def _compare(
    place: Path, ref: str, strategy: str | None, allowed: tuple[str, ...], choices: MergeChoices, form: str
) -> Comparison:
    local = dict(package_to_look_at(place))
    policy = _without_refusals(choices.obeying(find_policy(local)).policy)
    with stages(f"reading {quantity(len(local), 'file')} of {place}", form) as stage:
        repositories = GitRepositories(report=stage)
        sides = PackageUpdate(local, repositories, str(place), ref or None, strategy, allowed)
        outcome = sides.merge(choices.merger_under(policy))
    if errors := outcome.results.errors:
        raise RefusedError(f"{place}: krm-merge refuses the update: {'; '.join(error.message for error in errors)}")
    with stages(f"updating a copy of {place} with kpt", form):
        by_kpt = updated_by_kpt(place, local, ref=ref, strategy=strategy)
    if by_kpt.refusal:
        return Comparison(str(place), outcome.sides, files=outcome.files, refusal=by_kpt.refusal)
    with stages("fetching both versions with kpt", form):
        fetched = _fetch(place, outcome, repositories)
    comparison = comparison_of(*fetched, by_kpt.tree, outcome)
    return replace(comparison, package=str(place), sides=outcome.sides, files=outcome.files)


def comparison_of(original: Tree, upstream: Tree, by_kpt: Tree, outcome: Outcome) -> Comparison:
    """The outcome of an update beside what kpt makes of local; original and upstream as kpt fetches them."""
    merged = dict(outcome.tree)
    trees: dict[VersionName, Tree] = {
        "original": original,
        "upstream": upstream,
        "local": outcome.local,
        "kpt": by_kpt,
        "krm-merge": merged,
    }
    versions = {name: ComparedVersion(tree) for name, tree in trees.items()}
    between = differences(merged, by_kpt).decided
    return compare(outcome.decided, outcome.policy, between, versions, _newly_unreadable(merged, by_kpt))


def _without_refusals(policy: Policy) -> Policy:
    """The policy with local's way where it refuses: what is merged beside a conflict can be compared all the same."""
    rules = tuple(replace(rule, on_conflict="local") if rule.on_conflict == "fail" else rule for rule in policy.rules)
    return replace(policy, on_conflict="local" if policy.on_conflict == "fail" else policy.on_conflict, rules=rules)


def _fetch(place: Path, outcome: Outcome, repositories: GitRepositories) -> tuple[dict[str, File], dict[str, File]]:
    """The files of original and upstream of all packages that were updated, as `kpt pkg get` writes them."""
    original: dict[str, File] = {}
    upstream: dict[str, File] = {}
    for updated in outcome.updated:
        locks = updated.before, updated.after
        trees = [{} if k is None else repositories.tree(k.repository, k.directory, k.commit) for k in locks]
        name = (place.resolve() / updated.folder).name
        fetched = fetched_by_kpt(name, trees)
        for files, tree, by_kpt in zip((original, upstream), trees, fetched, strict=True):
            # kpt leaves out files beside a subpackage that begin with its name; local may have them from elsewhere.
            left_out = {path: file for path, file in tree.items() if join(updated.folder, path) in outcome.local}
            files.update({join(updated.folder, path): file for path, file in {**left_out, **by_kpt}.items()})
    return original, upstream


def _newly_unreadable(before: Tree, after: Tree) -> dict[str, str]:
    """The files that can be read in the first tree only, each with the reason."""
    changed = {path: file for path, file in after.items() if before.get(path) != file}
    versions = [PackageVersion(name, tree) for name, tree in (("krm-merge", before), ("kpt", changed))]
    for version in versions:
        version.members()
    ours, kpt = (version.unreadable for version in versions)
    return {path: why.reason for path, why in kpt.items() if why.broken and path not in ours}
