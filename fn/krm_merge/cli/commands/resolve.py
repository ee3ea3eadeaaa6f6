"""`krm-merge resolve` and `krm-merge policy`: conflicts settled, and what is kept of that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from krm_merge.checks import place_of, policy_problems
from krm_merge.cli import options
from krm_merge.cli.commands.merge import refuse_uncommitted, report_ignored
from krm_merge.cli.options import named_package
from krm_merge.cli.output import (
    errors_as_json,
    opened_journal,
    package_to_look_at,
    print_json,
    say,
    settle,
    show_recalled,
    show_results,
    summary,
)
from krm_merge.cli.output import in_terminal as terminal_option
from krm_merge.cli.output import no_browser as no_browser_option
from krm_merge.cli.sides import Writer, destination, read_sides, record_upstream
from krm_merge.cli.terminal import stages
from krm_merge.krm import KPTFILE, format_path
from krm_merge.merge import Resolution
from krm_merge.packages import Directory, GitRepositories, PackageError, RefusedError, Tree, state_file
from krm_merge.policy import (
    KIND,
    PackagePolicy,
    PolicyError,
    find_policy,
    name_in_repository,
    prune_policy,
    recall_around,
    stale_resolutions,
)
from krm_merge.resolve.api import Host
from krm_merge.resolve.choices import ChoiceJournal, ChoiceStep
from krm_merge.resolve.interface import OF_PACKAGES, Saved
from krm_merge.resolve.session import Session, Task
from krm_merge.safe_text import quantity
from krm_merge.startup import replace
from krm_merge.text import Value, to_value
from krm_merge.usecases import (
    LineHistory,
    Mergeable,
    MergeChoices,
    MergeSides,
    PackageUpdate,
    line_history,
    merge_sides,
    settled_by,
)
from krm_merge.vendored.vendorfile import ManifestSource

_PACKAGE = click.argument("package", metavar="[PKG]", default=".", type=options.PATH)


@click.group("policy", cls=options.Subcommands)
def policy_command() -> None:
    """Show, check and prune the MergePolicy of a package, which says how its conflicts are settled.

    Example:  krm-merge policy check web
    """


@policy_command.command("show")
@_PACKAGE
@options.form
def show(package: Path, form: str) -> None:
    """Print the policy of the package PKG: who wins, the rules, what is hidden, and the choices on conflicts.

    Example:  krm-merge policy show web
    """
    with errors_as_json(form, str(package)):
        policy = _policy(package)[1]
    if form == "json":
        value = to_value(policy.root) if policy.root is not None else {}
        print_json({"file": policy.file, "policy": value})
        return
    if policy.root is None:
        say(
            f"{package} has no {KIND}: conflicts that --on-conflict and --rules leave open stop update and merge",
            on_stdout=True,
        )
        return
    winner = policy.on_conflict
    others = f"are won by {winner}" if winner in ("upstream", "local") else "that nothing here settles stay open"
    say(f"{policy.file}: conflicts {others}", on_stdout=True)
    for rule in policy.rules:
        sides = {"onConflict": rule.on_conflict, "onDelete": rule.on_delete}
        about = [part for part in (rule.kind, rule.namespace, rule.name) if part]
        about += [format_path(rule.path)] if rule.path is not None else []
        wins = ", ".join(f"{name}: {value}" for name, value in sides.items() if value is not None)
        say(f"rule        {' '.join(about) or 'everything'}: {wins}", on_stdout=True)
    for redaction in policy.redactions:
        named = [part for part in (redaction.kind, redaction.namespace, redaction.name) if part]
        named += [format_path(redaction.path)] if redaction.path is not None else []
        say(
            f"redact      {' '.join([*named, *([redaction.field] if redaction.field is not None else [])])}",
            on_stdout=True,
        )
    for resolution in policy.resolutions.all:
        say(f"resolution  {place_of(resolution)}: {resolution.choice}", on_stdout=True)


@policy_command.command("check")
@_PACKAGE
@options.form
def check(package: Path, form: str) -> None:
    """Find mistakes in the policy of PKG: wrong fields, rules that match nothing, choices for missing resources.

    The exit code is 1 where something is found.

    Example:  krm-merge policy check web
    """
    try:
        with errors_as_json(form, str(package)):
            tree, policy = _policy(package)
    except PolicyError as error:
        raise RefusedError(str(error)) from None
    problems = [f"{problem.file}: {problem.message}" for problem in policy_problems(tree, policy)]
    if form == "json":
        print_json({"file": policy.file, "problems": problems})
    else:
        for problem in problems:
            say(problem, on_stdout=True)
        if not problems:
            message = f"{policy.file}: no mistakes found" if policy.root is not None else f"{package} has no {KIND}"
            say(message, on_stdout=True)
    if problems:
        sys.exit(1)


@policy_command.command("prune", cls=options.AtVersion)
@click.argument("package", metavar="[PKG[@REF]]", default=".")
@click.option("--original", type=click.Path(path_type=Path, exists=True), help="A directory; needs --upstream.")
@click.option("--upstream", type=click.Path(path_type=Path, exists=True), help="A directory; needs --original.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@options.allow_address
@options.form
def prune(
    package: str, original: Path | None, upstream: Path | None, dry_run: bool, allowed: tuple[str, ...], form: str
) -> None:
    """Remove the choices of PKG that match no conflict of an update to the version REF.

    REF defaults to the ref in its Kptfile. Instead of versions, --original and --upstream name two directories.

    Example:  krm-merge policy prune web@v2 --dry-run
    """
    if (original is None) != (upstream is None):
        raise click.UsageError("give --original and --upstream, or neither")
    place, ref = named_package(package)
    with errors_as_json(form, str(place)):
        tree, policy = _policy(place)
    with errors_as_json(form, str(place)), opened_journal(place, only_looks=dry_run) as journal:
        choices = MergeChoices.of(None, "smart", None).obeying(policy)
        dropped: list[Resolution] = []
        if policy.resolutions.all:
            sides: Mergeable
            if original is not None and upstream is not None:
                sides = MergeSides(Directory(original), Directory(upstream), tree)
            else:
                sides = PackageUpdate(tree, GitRepositories(), str(place), ref or None, allowed=allowed)
            dropped = stale_resolutions(policy, merge_sides(sides, choices).decided)
        if dropped and not dry_run:
            journal.commit({policy.file: prune_policy(tree, policy, dropped)}, tree)
    if form == "json":
        print_json({"file": policy.file, "dropped": [_as_value(resolution) for resolution in dropped]})
        return
    for resolution in dropped:
        say(f"{'would drop' if dry_run else 'dropped'}  {place_of(resolution)}: {resolution.choice}", on_stdout=True)
    if not dropped:
        say("every choice fits" if policy.resolutions.all else "there are no choices", on_stdout=True)


def _policy(package: Path) -> tuple[Tree, PackagePolicy]:
    tree = package_to_look_at(package)
    return tree, find_policy(tree)


def _as_value(resolution: Resolution) -> Mapping[str, Value]:
    return {
        "place": resolution.place,
        "path": format_path(resolution.path),
        "nature": resolution.nature,
        "fingerprint": resolution.fingerprint,
        "choice": resolution.choice,
    }


@click.command("resolve")
@click.argument("places", metavar="PKG[@REF] | [ORIGINAL] UPSTREAM LOCAL", nargs=-1)
@terminal_option
@no_browser_option
@options.rules
@options.function_identity
@options.record
@options.version
@options.permissions
def resolve_command(
    places: tuple[str, ...],
    in_terminal: bool,
    no_browser: bool,
    rules_file: Path | None,
    function_identity: str,
    record: bool,
    version: str,
    permissions: options.Permissions,
) -> None:
    """Settle the conflicts of updating the package PKG to REF, or of merging UPSTREAM into LOCAL.

    As in `merge`, ORIGINAL is not needed if LOCAL has a Vendorfile.

    A page opens in the browser and shows every conflict with its three values. Saving writes the merged package
    completely or not at all, as `update` does, and records the choices in its MergePolicy, so that nobody is asked
    again. Choices are kept as you make them: after an interruption, the same command continues where you stopped.

    If you quit without saving, nothing changes and the exit code is 1.

    Example:  krm-merge resolve web@v2 --terminal
    """
    if "-" in (*places, str(rules_file)):
        raise click.UsageError("stdin is for answers here; name files")
    if len(places) == 2 and (Path(places[0]) / KPTFILE).is_file() and not Path(places[1]).exists():
        package, ref = places
        raise click.UsageError(f"there is no file or directory {ref}; a version is given as PKG@REF: {package}@{ref}")
    choices = MergeChoices.of(None, function_identity, rules_file)
    if len(places) in (2, 3):
        opened = _merge_of(tuple(map(Path, places)), choices, ManifestSource(version=version), record=record)
    elif len(places) < 2 and (record or version):
        raise click.UsageError("--record and --version are for a merge; a package is updated to PKG@REF")
    elif len(places) < 2:
        opened = _update_of(places[0] if places else ".", choices, permissions)
    else:
        raise click.UsageError("give one package, or three versions: ORIGINAL UPSTREAM LOCAL")
    with opened as host:
        if not settle(host, OF_PACKAGES, in_terminal=in_terminal, no_browser=no_browser):
            sys.exit(1)


@contextmanager
def _update_of(package: str, choices: MergeChoices, permissions: options.Permissions) -> Iterator[Host[ChoiceStep]]:
    """The session about an update of a package."""
    place, ref = named_package(package)
    with opened_journal(place) as journal:
        if not permissions.allow_dirty and journal.recovered != "completed":
            refuse_uncommitted(place)
        with stages(f"reading {quantity(len(Directory(place)), 'file')} of {place}") as stage:
            repositories = GitRepositories(report=stage)
            update = PackageUpdate({}, repositories, str(place), ref or None, allowed=permissions.allowed)
            host = _host(
                place,
                choices,
                lambda: replace(update, local=Directory(place)),
                lambda tree, changes: journal.commit(changes, tree),
            )
        yield host


@contextmanager
def _merge_of(
    places: tuple[Path, ...], choices: MergeChoices, source: ManifestSource, *, record: bool
) -> Iterator[Host[ChoiceStep]]:
    """The session about versions in directories or files; the result is written to the last one."""
    with destination(places[-1], None, in_place=True) as write:
        assert write is not None
        # Once: a change of local does not change which upstream it has.
        upstream_record = record_upstream(read_sides(places), source, is_requested=record)
        yield _host(
            places[-1],
            choices,
            lambda: read_sides(places),
            lambda tree, changes: write(tree, {**changes, **upstream_record}),
        )


def _host(place: Path, choices: MergeChoices, read: Callable[[], Mergeable], write: Writer) -> Host[ChoiceStep]:
    """The session about a package or file, on what is read: again, when files change meanwhile."""
    is_package, first = place.is_dir(), read()
    parse = partial(ChoiceStep.from_value, find_policy(first.local).target_file)
    journal = ChoiceJournal(state_file(place, "choices"), parse)

    def begin(sides: Mergeable, steps: Sequence[ChoiceStep]) -> Session:
        obeying = choices.obeying(find_policy(sides.local))
        name = "" if is_package else name_in_repository(place)
        remembered = recall_around(place if is_package else place.parent, name)
        history = _history_of(place) if is_package else None
        session = Session(Task(str(place), sides, obeying.remembering(remembered), is_package, history), steps)
        show_recalled(settled_by(remembered, session.records))
        return session

    def save(saved: Saved) -> None:
        assert isinstance(host.session, Session)
        task = host.session.task
        write(task.sides.local, saved.changes)
        if is_package:
            report_ignored(place, task.sides.local, saved.changes, saved.results)
        show_results(saved.results, quiet=True)
        name = f"saved {task.name}" if saved.changes else task.name
        recorded = f"; {len(saved.choices)} choices are in its MergePolicy" if len(saved.choices) > 1 else ""
        # On stderr: stdout has the address alone.
        say(f"{name}: {summary(task.sides.local, saved.changes, saved.results)}{recorded}")

    host = Host(begin(first, journal.steps), journal, save, lambda steps: begin(read(), steps))
    return host


def _history_of(package: Path) -> LineHistory | None:
    """The commits of a package's lines, None where git refuses to say."""
    try:
        return line_history(package, versions=False)
    except PackageError:
        return None
