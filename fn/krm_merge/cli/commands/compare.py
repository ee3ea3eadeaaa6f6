"""`krm-merge compare`: an update by kpt beside ours."""

from __future__ import annotations

import sys
from pathlib import Path
from posixpath import join

import click

from krm_merge.cli import options
from krm_merge.cli.options import named_package, refuse_missing
from krm_merge.cli.output import COLORS
from krm_merge.cli.terminal import StagedRepositories, counted_files, fit, stages, width_of
from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.packages.files.disk import write_file
from krm_merge.packages.files.journal import Journal
from krm_merge.packages.files.tree import Directory, File, RefusedError, Tree
from krm_merge.packages.git import GitRepositories
from krm_merge.packages.kpt import fetched_by_kpt, updated_by_kpt
from krm_merge.packages.kptfile import STRATEGIES
from krm_merge.packages.merge.side import PackageVersion
from krm_merge.packages.merge.trees import differences
from krm_merge.packages.update import RememberedRepositories
from krm_merge.policy import find_policy
from krm_merge.report.comparison.comparing import Compared, changed_lines, compare
from krm_merge.report.comparison.difference import Comparison, VersionName
from krm_merge.report.comparison.versions import ComparedVersion
from krm_merge.report.forms.by_suffix import FORMS, as_json, render_document
from krm_merge.report.forms.terminal import comparison_lines
from krm_merge.startup import replace
from krm_merge.usecases import MergeChoices, Outcome, PackageUpdate


@click.command("compare")
@click.argument("package", metavar="PKG[@REF]", default=".")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How to take the changes; by default the Kptfile's.")
@options.on_conflict_or_policy
@options.rules
@options.function_identity
@options.form
@options.reports_in(FORMS)
def compare_command(
    package: str,
    strategy: str | None,
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
    """
    place, ref = named_package(package)
    refuse_missing(place)
    choices = MergeChoices.of(on_conflict, function_identity, rules_file)
    if Journal(place).directory.exists():
        raise RefusedError(f"an update of {place} was interrupted; complete it first with krm-merge update {place}")
    comparison = _compare(place, ref, strategy, choices, form)
    for file in reports:
        write_file(file, File(render_document(comparison, file.suffix).encode()))
    if form == "json":
        click.echo(as_json(comparison), nl=False)
        return
    for line in comparison_lines(comparison):
        indent = len(line.text) - len(line.text.lstrip()) + 2
        text = fit(line.text, width_of(sys.stdout), indent)
        click.echo(click.style(text, fg=COLORS[line.style], bold=line.style == "heading"))


def _compare(place: Path, ref: str, strategy: str | None, choices: MergeChoices, form: str) -> Comparison:
    local = dict(Directory(place))
    policy = _without_refusals(choices.obeying(find_policy(local)).policy)
    with stages(f"reading {counted_files(len(local))} of {place}", form) as stage:
        repositories = RememberedRepositories(StagedRepositories(GitRepositories(), stage))
        sides = PackageUpdate(local, repositories, str(place), ref or None, strategy)
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
    all_differences = compare(
        Compared(outcome.decided, outcome.policy, between, versions, _newly_unreadable(merged, by_kpt))
    )
    return Comparison(differences=all_differences, lines=changed_lines(versions), is_same=merged == dict(by_kpt))


def _without_refusals(policy: Policy) -> Policy:
    """The policy with local's way where it refuses: what is merged beside a conflict can be compared all the same."""
    rules = tuple(replace(rule, on_conflict="local") if rule.on_conflict == "fail" else rule for rule in policy.rules)
    return replace(policy, on_conflict="local" if policy.on_conflict == "fail" else policy.on_conflict, rules=rules)


def _fetch(
    place: Path, outcome: Outcome, repositories: RememberedRepositories
) -> tuple[dict[str, File], dict[str, File]]:
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
