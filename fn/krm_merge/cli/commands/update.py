"""`krm-merge update`."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import click

from krm_merge.cli.git_diff import show_diff
from krm_merge.cli.merging import MergeChoices
from krm_merge.cli.options import MergeOptions, merge_options
from krm_merge.cli.package_argument import named_package, refuse_missing
from krm_merge.cli.reports import errors_as_json, report_of, shows_contexts, write_reports
from krm_merge.cli.show import ALL_IN, opened_journal, say, show_conflicts_left, show_results, show_stop, summary
from krm_merge.cli.terminal.recap import recap, what_next
from krm_merge.cli.terminal.stages import StagedRepositories, counted_files, stages
from krm_merge.krm.identity import KPTFILE
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.directory import Directory, PackageError, RefusedError
from krm_merge.packages.files.tree import Changed
from krm_merge.packages.git import GitRepositories, uncommitted
from krm_merge.packages.kptfile import STRATEGIES, KptfileText
from krm_merge.packages.update import RememberedRepositories, Update, Updated, update
from krm_merge.packages.versions import is_version, newer_versions, same_major
from krm_merge.policy import find_policy
from krm_merge.report.forms.by_suffix import as_json
from krm_merge.report.record import SIDES, MergeReport, RecordedSide
from krm_merge.startup import replace
from krm_merge.text.reading.values import Value

_SHOWN = 5


@click.command("update")
@click.argument("package", metavar="PKG[@REF]", default=".")
@click.option("--latest", is_flag=True, help="Update to the newest version that the upstream has a tag of.")
@click.option("--to-latest-minor", is_flag=True, help="The same among those with the same first number.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How to take the changes; by default the Kptfile's.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, change nothing.")
@click.option("--allow-dirty", is_flag=True, help="Update a package with changes that are not committed.")
@merge_options
def command(
    package: str,
    latest: bool,
    to_latest_minor: bool,
    strategy: str | None,
    dry_run: bool,
    allow_dirty: bool,
    options: MergeOptions,
) -> None:
    """Update the package in the directory PKG to the version REF of its upstream.

    Without REF, to what the ref in its Kptfile names now. REF is a tag, a branch or a commit id. The repository is the
    one in the Kptfile, as with `kpt pkg update`; only the two commits are fetched. Packages inside that follow an
    upstream of their own are updated too.

    The package changes as a whole or not at all. A conflict that neither --on-conflict nor the package's MergePolicy
    settles stops the update: nothing is changed. The exit code is 1 then, and where conflicts are left between markers;
    it is 3 where something cannot be read, reached or written.

    Example:  krm-merge update web --latest --dry-run
    """
    place, ref = named_package(package)
    if latest + to_latest_minor + bool(ref) > 1:
        raise click.UsageError("give one of PKG@REF, --latest and --to-latest-minor")
    with errors_as_json(options.form, str(place)):
        refuse_missing(place)
        choices = MergeChoices.of(options.on_conflict, options.function_identity, options.rules_file, otherwise="fail")
    with errors_as_json(options.form, str(place)), opened_journal(place) as journal:
        # What was just completed is not committed yet.
        if not allow_dirty and not dry_run and journal.recovered != "completed":
            refuse_uncommitted(place)
        local = Directory(place)
        choices = choices.obeying(find_policy(local))
        with stages(f"reading {counted_files(len(local))} of {place}", options.form) as stage:
            remote = GitRepositories()
            if latest or to_latest_minor:
                ref = _newest(place, local, remote, same=to_latest_minor)
            repositories = RememberedRepositories(StagedRepositories(remote, stage))

            def merged(merger: PackageMerger) -> Update:
                return update(local, repositories, merger, name=str(place), ref=ref or None, strategy=strategy)

            outcome = choices.merge(merged, local)
        done = replace(outcome.merged, changes=dict(outcome.changes))
        choices.warn_of_idle_rules(done)
        choices.report_stale_choices(done, done.decided)

        @cache
        def report() -> MergeReport:
            made = report_of(
                done,
                done.decided,
                choices,
                local,
                done.changes,
                package=str(place),
                sides=sides_of(done, place),
                with_contexts=shows_contexts(options.reports),
            )
            return replace(made, packages=[version_of(updated) for updated in done.packages])

        write_reports(report, options.reports)
        if options.with_diff and options.form == "text":
            show_diff(local, done.changes)
        if done.changes and not dry_run:
            with stages(f"writing {counted_files(len(done.changes))} of {place}", options.form):
                journal.commit(done.changes, local)
    if options.form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        _show(local, done, quiet=options.quiet, dry_run=dry_run)
    show_conflicts_left(outcome.marked, outcome.binary)
    if options.form == "text" and not options.quiet:
        is_written = bool(done.changes) and not dry_run
        if is_written and (following := what_next(place, Changed(local, done.changes), done.decided)):
            say(following)
        if errors := done.results.errors:
            dirty = ["--allow-dirty"] if allow_dirty else []
            resolve = [*options.of_resolve(), *dirty, f"{place}@{ref}" if ref else str(place)]
            # resolve takes the strategy of the Kptfile.
            asks = resolve if strategy is None else None
            show_stop(done.decided, len(errors), asks, options.on_conflict, "nothing was changed")
        elif not outcome.are_left and (conflicts := recap(done.decided)):
            say(conflicts)
    if done.results.errors or outcome.are_left:
        sys.exit(1)


def _newest(place: Path, local: Directory, repositories: GitRepositories, *, same: bool) -> str:
    """The newest version of the upstream, with the `same` first number if asked; the package's own if none is newer."""
    upstream = KptfileText(local[KPTFILE].data, str(place / KPTFILE)).upstream if KPTFILE in local else None
    if upstream is None:
        raise PackageError(f"{place} follows no upstream in git; name one in {place / KPTFILE}: upstream.git")
    if not is_version(upstream.ref):
        what = f"{upstream.ref}, which is no version such as v1.2.3" if upstream.ref else "a default branch"
        raise PackageError(f"{place} follows {what}; update it without --latest, or to PKG@REF")
    versions = newer_versions(upstream.ref, upstream.directory, repositories.names(upstream.repository).tags)
    return next(reversed(same_major(upstream.ref, versions) if same else versions), upstream.ref)


def refuse_uncommitted(place: Path) -> None:
    """Raises PackageError where a package has changes that git could not give back."""
    if dirty := uncommitted(place):
        more = f" and {len(dirty) - _SHOWN} more" if len(dirty) > _SHOWN else ""
        names = f"{', '.join(dirty[:_SHOWN])}{more}"
        raise RefusedError(f"{place} has uncommitted changes: {names}; commit them first, or use --allow-dirty")


def sides_of(done: Update, place: Path) -> dict[str, RecordedSide]:
    """The versions of the package itself; none where it was refused before they were known."""
    sides = {"local": RecordedSide(str(place))}
    for updated in done.packages[:1]:
        if updated.before is not None:
            sides["original"] = RecordedSide(updated.before.ref, updated.before.commit)
        sides["upstream"] = RecordedSide(updated.after.ref, updated.after.commit)
    return {name: sides[name] for name in SIDES if name in sides}


def _show(local: Directory, done: Update, *, quiet: bool, dry_run: bool) -> None:
    show_results(done.results, quiet=quiet, all_in=ALL_IN)
    if quiet or done.results.errors:
        return
    for updated in done.packages:
        before, after = updated.before, f"{updated.after.ref} ({updated.after.commit[:7]})"
        version_before = f"{before.ref} ({before.commit[:7]}) -> " if before else "no upstreamLock -> "
        stays = before is not None and before.commit == updated.after.commit
        say(f"{local.path / updated.folder}: {'is at ' if stays else version_before}{after}", on_stdout=True)
    said = summary(local, done.changes, done.results)
    say(f"{said}; nothing was changed: --dry-run" if dry_run and done.changes else said, on_stdout=True)


def version_of(updated: Updated) -> dict[str, Value]:
    """An updated package as reports have it: from which version to which."""
    before = updated.before
    return {
        "path": updated.folder or ".",
        "from": None if before is None else {"ref": before.ref, "commit": before.commit},
        "to": {"ref": updated.after.ref, "commit": updated.after.commit},
    }
