"""`krm-merge update` and `krm-merge merge`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import click

from krm_merge.cli.options import (
    PATH_OR_STDIN,
    MergeOptions,
    Permissions,
    merge_options,
    named_package,
    options_as,
    output,
    permissions,
    record,
    refuse_missing,
    source,
    version,
)
from krm_merge.cli.output import (
    ALL_IN,
    STDIN,
    STDOUT,
    command_of,
    opened_journal,
    say,
    show_conflicts_left,
    show_diff,
    show_error,
    show_results,
    show_stop,
    shows_contexts,
    summary,
    write_reports,
)
from krm_merge.cli.sides import FollowingPackage, destination, read_sides, record_upstream
from krm_merge.cli.terminal import conflicts_in, stages, what_next, where
from krm_merge.errors import KrmMergeError
from krm_merge.git.program import time_limited
from krm_merge.krm import KPTFILE, Results
from krm_merge.packages import (
    STRATEGIES,
    Changes,
    Directory,
    GitRepositories,
    KptfileText,
    NewAddressError,
    PackageError,
    RefusedError,
    Tree,
    ignored_files,
    is_version,
    packages_below,
    read_file,
    uncommitted_files,
)
from krm_merge.policy import find_policy
from krm_merge.report import as_json
from krm_merge.safe_text import abridge, line, quantity
from krm_merge.startup import frozen, replace
from krm_merge.usecases import MergeChoices, Outcome, PackageUpdate, merge_sides
from krm_merge.vendored.vendorfile import FILE, ManifestSource

_SHOWN = 5


@frozen
class UpdateOptions:
    """Options of `update` alone: to which version, by which strategy, and whether anything changes."""

    latest: bool
    strategy: str | None
    dry_run: bool


@click.command("update")
@click.argument("packages", metavar="[PKG[@REF]...]", nargs=-1)
@click.option(
    "--all", "below", is_flag=True, help="Update all packages in the directories PKG that follow an upstream."
)
@click.option("--latest", is_flag=True, help="Update to the newest version tag of upstream.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How to take changes; by default as in the Kptfile.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@permissions
@merge_options
@options_as(UpdateOptions, "how")
def update_command(
    packages: tuple[str, ...], below: bool, how: UpdateOptions, permissions: Permissions, options: MergeOptions
) -> None:
    """Update the packages in the directories PKG, by default `.`, to the version REF of their upstream.

    REF is a tag, a branch or a commit id; by default it is the ref in the Kptfile. The repository is the one in the
    Kptfile, as with `kpt pkg update`; only the two commits are fetched. Subpackages with an upstream of their own are
    updated too. If upstream adds a subpackage from an address that no Kptfile had, the terminal asks whether to fetch
    from it; without a terminal the update stops.

    A package is updated completely or not at all. A conflict that neither --on-conflict nor the package's MergePolicy
    settles stops its update, and so do conflict markers and broken files in it. The exit code is then 1, as it is if
    conflicts are left between markers; it is 3 if something cannot be read, reached or written.

    Example:  krm-merge update web --latest --dry-run
    """
    targets = [named_package(package) for package in packages or (".",)]
    if len(packages) > 1 and not targets[-1][0].is_dir() and "@" not in packages[-1]:
        hint = f": {packages[0]}@{packages[1]}" if len(packages) == 2 and "@" not in packages[0] else ""
        raise click.UsageError(f"there is no directory {packages[-1]}; a version is given as PKG@REF{hint}")
    if how.latest and any(ref for _, ref in targets):
        raise click.UsageError("give PKG@REF or --latest, not both")
    if (below or len(targets) > 1) and (options.form == "json" or options.reports):
        raise click.UsageError("--format json and --report are for one package")
    if below:
        if any(ref for _, ref in targets):
            raise click.UsageError("--all is for directories without a version")
        targets = [(place, "") for place in _packages_that_follow([place for place, _ in targets])]
    if len(targets) == 1:
        _exit(_update(*targets[0], how, permissions, options))
        return
    codes = {str(place): _update_of_several(place, ref, how, permissions, options) for place, ref in targets}
    if failed := [name for name, code in codes.items() if code]:
        say(f"{len(codes) - len(failed)} of {quantity(len(codes), 'package')} done; failed: {abridge(failed, _SHOWN)}")
    _exit(max(codes.values(), default=0))


def _packages_that_follow(directories: Sequence[Path]) -> list[Path]:
    """The packages in directories that follow an upstream; those inside one of them are updated with it."""
    packages: list[Path] = []
    for place in dict.fromkeys(place for directory in directories for place in packages_below(directory)):
        is_inside = any(folder in packages for folder in place.parents)
        if not is_inside and KptfileText(read_file(place / KPTFILE).data, str(place / KPTFILE)).upstream is not None:
            packages.append(place)
    if not packages:
        raise PackageError(f"{abridge([*map(str, directories)], _SHOWN)}: no package follows an upstream in git")
    return packages


def _update_of_several(
    place: Path, ref: str, how: UpdateOptions, permissions: Permissions, options: MergeOptions
) -> int:
    """Updates one package of several, and returns its exit code: the others are updated whatever becomes of it."""
    if not options.quiet:
        click.echo(click.style(line(str(place)), bold=True), err=True)
    try:
        return _update(place, ref, how, permissions, options)
    except KrmMergeError as error:
        return show_error(error)


@time_limited()
def _update(place: Path, ref: str, how: UpdateOptions, permissions: Permissions, options: MergeOptions) -> int:
    """Updates one package, and returns the exit code. Raises KrmMergeError."""
    refuse_missing(place)
    choices = options.choices()
    with opened_journal(place, only_looks=how.dry_run) as journal:
        # What was just completed is not committed yet.
        if not permissions.allow_dirty and not how.dry_run and journal.recovered != "completed":
            refuse_uncommitted(place)
        local = Directory(place)
        choices = choices.obeying(find_policy(local))
        with stages(f"reading {quantity(len(local), 'file')} of {place}", options.form) as stage:
            repositories = GitRepositories(report=stage)
            if how.latest:
                ref = _newest(place, local, repositories)
        update = PackageUpdate(local, repositories, str(place), ref or None, how.strategy, permissions.allowed)
        outcome = _merge(update, choices, options.form)
        choices.report_unused(outcome)
        report_ignored(place, outcome.local, outcome.changes, outcome.results)

        report = cache(partial(outcome.report, str(place), with_contexts=shows_contexts(options.reports)))
        write_reports(report, options.reports)
        if options.with_diff and options.form == "text":
            show_diff(local, outcome.changes)
        if outcome.changes and not how.dry_run:
            with stages(f"writing {quantity(len(outcome.changes), 'file')} of {place}", options.form):
                journal.commit(outcome.changes, local)
    if options.form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        _show(place, outcome, quiet=options.quiet, dry_run=how.dry_run)
    show_conflicts_left(outcome.marked, outcome.binary)
    if options.form == "text" and not options.quiet:
        is_written = bool(outcome.changes) and not how.dry_run
        if is_written and (following := what_next(place, outcome.tree, outcome.decided)):
            say(following)
        if not (outcome.changes or outcome.is_refused or ref) and (newer := _newer(place, local, repositories)):
            say(f"{newer} is newer; update with: {command_of('update', str(place), '--latest')}")
    resolve = [*options.of_resolve(), *permissions.words(), f"{place}@{ref}" if ref else str(place)]
    # resolve takes the strategy of the Kptfile.
    return _end(outcome, resolve if how.strategy is None else None, options, "nothing was changed")


def _merge(update: PackageUpdate, choices: MergeChoices, form: str) -> Outcome:
    """The outcome of an update. On a terminal somebody decides whether a new address is fetched from (A14)."""
    while True:
        try:
            with stages(f"updating {update.name}", form):
                return merge_sides(update, choices)
        except NewAddressError as error:
            if form != "text" or not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            say(str(error))
            if not click.confirm("Fetch from it?", err=True):
                raise
            update = replace(update, allowed=(*update.allowed, error.address))


def _newest(place: Path, local: Directory, repositories: GitRepositories) -> str:
    """The newest version of the upstream; the package's own if none is newer."""
    upstream = FollowingPackage(local, place).upstream
    if not is_version(upstream.ref):
        what = f"{upstream.ref}, which is not a version such as v1.2.3" if upstream.ref else "a default branch"
        raise PackageError(f"{place} follows {what}; update it without --latest, or to PKG@REF")
    return next(reversed(repositories.newer(upstream)), upstream.ref)


def _newer(place: Path, local: Directory, repositories: GitRepositories) -> str:
    """The newest version after the one that a package follows; '' for none, and where nobody answers."""
    with suppress(PackageError):
        if (upstream := KptfileText(local[KPTFILE].data, str(place / KPTFILE)).upstream) is not None:
            return next(reversed(repositories.newer(upstream)), "")
    return ""


def report_ignored(place: Path, local: Tree, changes: Changes, results: Results) -> None:
    """Warns of new files that git would leave out of a commit."""
    added = [path for path, file in changes.items() if file is not None and path not in local]
    for path in ignored_files(place, added) if added else ():
        message = f"{path}: added, but a .gitignore excludes it; commit it with git add --force"
        results.warning(message, file=path)


def refuse_uncommitted(place: Path) -> None:
    """Raises PackageError where a package has changes that git could not give back."""
    if dirty := uncommitted_files(place):
        names = abridge(dirty, _SHOWN)
        raise RefusedError(f"{place} has uncommitted changes: {names}; commit them first, or use --allow-dirty")


def _show(place: Path, outcome: Outcome, *, quiet: bool, dry_run: bool) -> None:
    show_results(outcome.results, quiet=quiet, all_in=ALL_IN, files=outcome.local)
    if quiet or outcome.is_refused:
        return
    for updated in outcome.updated:
        before, after = updated.before, f"{updated.after.ref} ({updated.after.commit[:7]})"
        version_before = f"{before.ref} ({before.commit[:7]}) -> " if before else "no upstreamLock -> "
        stays = before is not None and before.commit == updated.after.commit
        say(f"{place / updated.folder}: {'is at ' if stays else version_before}{after}", on_stdout=True)
    numbers = summary(outcome.local, outcome.changes, outcome.results)
    say(f"{numbers}; nothing was changed: --dry-run" if dry_run and outcome.changes else numbers, on_stdout=True)


@click.command("merge")
@click.argument("places", metavar="[ORIGINAL] UPSTREAM LOCAL", nargs=-1, type=PATH_OR_STDIN)
@output("Write the result to this new directory or this file.")
@click.option("--in-place", is_flag=True, help="Write the result to LOCAL.")
@click.option("--allow-partial", is_flag=True, help="Merge UPSTREAM from stdin even if it looks cut off.")
@record
@version
@source
@merge_options
def merge_command(
    places: tuple[Path, ...],
    target: Path | None,
    in_place: bool,
    allow_partial: bool,
    record: bool,
    version: str,
    source: str,
    options: MergeOptions,
) -> None:
    """Merge the changes from ORIGINAL to UPSTREAM into LOCAL; each is a directory or a file.

    If UPSTREAM is one file of manifests and LOCAL a directory, each resource stays in the file where LOCAL has it.
    ORIGINAL is not needed if LOCAL has a Vendorfile, which --record writes, or has no resources yet.

    One of the files may be - for stdin, and -o - is stdout. Without -o or --in-place, the difference from LOCAL is
    printed. Decisions are printed on stderr.

    A conflict that neither --on-conflict nor LOCAL's MergePolicy settles stops the merge, and nothing is written. The
    exit code is then 1, as it is if conflicts are left between markers; it is 3 if something cannot be read or written.

    Example:  krm-merge merge v1 v2 web --on-conflict local -o merged
    """
    if len(places) not in (2, 3):
        raise click.UsageError("give ORIGINAL UPSTREAM LOCAL, or UPSTREAM LOCAL where LOCAL has a Vendorfile")
    local = places[-1]
    if target is not None and in_place:
        raise click.UsageError("give -o or --in-place, not both")
    if target == STDOUT and (options.with_diff or options.form == "json" or (local != STDIN and local.is_dir())):
        raise click.UsageError("-o - writes one merged file; nothing else can be written to stdout with it")
    if places.count(STDIN) > 1 or (in_place and local == STDIN):
        raise click.UsageError("only one file can be -, and not the one to be written in place")
    choices = options.choices()
    with destination(local, target, in_place) as write:
        sides = read_sides(places, allow_partial=allow_partial)
        upstream_record = record_upstream(sides, ManifestSource(source, version), is_requested=record)
        choices = choices.obeying(find_policy(sides.local))
        with stages(f"merging {quantity(len(sides.local), 'file')} of {local}", options.form):
            outcome = merge_sides(sides, choices)
        choices.report_unused(outcome)

        report = cache(partial(outcome.report, str(local), with_contexts=shows_contexts(options.reports)))
        write_reports(report, options.reports)
        if (options.with_diff or write is None) and options.form == "text" and not outcome.is_refused:
            show_diff(sides.local, outcome.changes)
        if write is not None and not outcome.is_refused:
            with stages(f"writing {quantity(len(outcome.changes), 'file')}", options.form):
                write(sides.local, {**outcome.changes, **upstream_record})
    if options.form == "json":
        click.echo(as_json(report()), nl=False)
    else:
        show_results(outcome.results, quiet=options.quiet, all_in=ALL_IN, files=outcome.local)
        if not options.quiet and not outcome.is_refused:
            say(summary(sides.local, outcome.changes, outcome.results))
            if sides.vendored is not None and sides.vendored.is_known:
                say(f"nothing new: {local} already has this version of upstream")
            elif upstream_record and write is not None:
                say(f"recorded {version or 'this version'} in {(target or local) / FILE}")
    show_conflicts_left(outcome.marked, outcome.binary)
    recording = [*(["--record"] if record else []), *(["--version", version] if version else [])]
    # resolve reads answers on stdin.
    resolve = None if STDIN in places else [*options.of_resolve(), *recording, *map(str, places)]
    _exit(_end(outcome, resolve, options, "nothing was written"))


def _end(outcome: Outcome, resolve: list[str] | None, options: MergeOptions, nothing: str) -> int:
    """Says how to go on after a refusal, or which conflicts were settled; 1 where work is left to people, else 0."""
    if options.form == "text" and not options.quiet:
        if outcome.is_refused:
            show_stop(outcome, resolve, options.on_conflict, nothing)
        elif not outcome.leaves_conflicts and (conflicts := conflicts_in(outcome.decided, outcome.local)):
            say(where(conflicts))
    return 1 if outcome.is_refused or outcome.leaves_conflicts else 0


def _exit(code: int) -> None:
    if code:
        sys.exit(code)
