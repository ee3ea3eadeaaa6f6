"""`krm-merge update`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.git_diff import show_diff
from krm_merge.cli.merging import MergeChoices, OnConflictOrMarkers
from krm_merge.cli.reports import errors_as_json, report_of, shows_contexts, write_reports
from krm_merge.cli.show import opened_journal, say, show_conflicts_left, show_results, summary
from krm_merge.merge.package import PackageMerger
from krm_merge.packages.directory import Directory, PackageError, RefusedError
from krm_merge.packages.git import GitRepositories, uncommitted
from krm_merge.packages.kptfile import STRATEGIES
from krm_merge.packages.update import RememberedRepositories, Update, Updated, update
from krm_merge.report.forms import as_json
from krm_merge.report.record import SIDES, MergeReport, RecordedSide
from krm_merge.startup import replace
from krm_merge.text.values import Value

_SHOWN = 5


@click.command("update")
@click.argument("package", metavar="PKG[@REF]", default=".")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How to take the changes; by default the Kptfile's.")
@options.on_conflict_or_markers
@options.rules
@options.function_identity
@click.option("--dry-run", is_flag=True, help="Say what would be done, change nothing.")
@options.show_diff
@click.option("--allow-dirty", is_flag=True, help="Update a package with changes that are not committed.")
@options.quiet
@options.form
@options.reports
def command(
    package: str,
    strategy: str | None,
    on_conflict: OnConflictOrMarkers | None,
    rules_file: Path | None,
    function_identity: str,
    dry_run: bool,
    with_diff: bool,
    allow_dirty: bool,
    quiet: bool,
    form: str,
    reports: tuple[Path, ...],
) -> None:
    """Update the package in the directory PKG to the version REF of its upstream.

    Without REF, to what the ref in its Kptfile names now. REF is a tag, a branch or a commit id. The repository is the
    one in the Kptfile, as with `kpt pkg update`; only the two commits are fetched. Packages inside that follow an
    upstream of their own are updated too.

    The package changes as a whole or not at all. The exit code is 1 where conflicts are refused, or are left between
    markers, and 3 where something cannot be read, reached or written.
    """
    directory, ref = (package, "") if "@" not in package or Path(package).is_dir() else package.rsplit("@", 1)
    place = Path(directory or ".")
    with errors_as_json(form, str(place)):
        if not place.is_dir():
            raise PackageError(f"{place}: there is no such directory")
        choices = MergeChoices.of(on_conflict, function_identity, rules_file)
    with errors_as_json(form, str(place)), opened_journal(place) as journal:
        # What was just completed is not committed yet.
        careful = not allow_dirty and not dry_run and journal.recovered != "completed"
        if careful and (dirty := uncommitted(place)):
            more = f" and {len(dirty) - _SHOWN} more" if len(dirty) > _SHOWN else ""
            raise RefusedError(
                f"{place} has uncommitted changes: {', '.join(dirty[:_SHOWN])}{more}; commit them first, or use "
                "--allow-dirty"
            )
        local, repositories = Directory(place), RememberedRepositories(GitRepositories())
        choices = choices.obeying(local)

        def merged(merger: PackageMerger) -> Update:
            return update(local, repositories, merger, name=str(place), ref=ref or None, strategy=strategy)

        with _busy(f"fetching the upstream of {place}", form):
            outcome = choices.merge(merged, local)
        done = replace(outcome.merged, changes=dict(outcome.changes))
        choices.warn_of_idle_rules(done)
        choices.tell_of_stale_choices(done, done.decided)

        @cache
        def report() -> MergeReport:
            return report_of(
                done,
                done.decided,
                choices,
                local,
                done.changes,
                package=str(place),
                sides=_sides(done, place),
                packages=[_version(updated) for updated in done.packages],
                with_contexts=shows_contexts(reports),
            )

        write_reports(report, reports)
        if with_diff and form == "text":
            show_diff(local, done.changes)
        if done.changes and not dry_run:
            journal.commit(done.changes, local)
    if form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        _show(local, done, quiet=quiet, dry_run=dry_run)
    show_conflicts_left(outcome.marked, outcome.binary)
    if done.results.errors or outcome.are_left:
        sys.exit(1)


def _sides(done: Update, place: Path) -> dict[str, RecordedSide]:
    """The versions of the package itself; none where it was refused before they were known."""
    sides = {"local": RecordedSide(str(place))}
    for updated in done.packages[:1]:
        if updated.before is not None:
            sides["original"] = RecordedSide(updated.before.ref, updated.before.commit)
        sides["upstream"] = RecordedSide(updated.after.ref, updated.after.commit)
    return {name: sides[name] for name in SIDES if name in sides}


def _show(local: Directory, done: Update, *, quiet: bool, dry_run: bool) -> None:
    show_results(done.results, quiet=quiet)
    if done.results.errors:
        say("refused; nothing was changed")
        return
    if quiet:
        return
    for updated in done.packages:
        before, after = updated.before, f"{updated.after.ref} ({updated.after.commit[:7]})"
        came = f"{before.ref} ({before.commit[:7]}) -> " if before else "no upstreamLock -> "
        stays = before is not None and before.commit == updated.after.commit
        say(f"{local.path / updated.folder}: {'is at ' if stays else came}{after}", on_stdout=True)
    said = summary(local, done.changes, done.results)
    say(f"{said}; nothing was changed: --dry-run" if dry_run and done.changes else said, on_stdout=True)


def _version(updated: Updated) -> dict[str, Value]:
    before = updated.before
    return {
        "path": updated.folder or ".",
        "from": None if before is None else {"ref": before.ref, "commit": before.commit},
        "to": {"ref": updated.after.ref, "commit": updated.after.commit},
    }


@contextmanager
def _busy(what: str, form: str) -> Iterator[None]:
    """A sign of life on a terminal."""
    if form == "json" or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
