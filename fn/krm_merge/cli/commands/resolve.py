"""`krm-merge resolve` and `krm-merge mergetool`: conflicts settled, and what is kept of that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.commands.merge import refuse_uncommitted, report_ignored
from krm_merge.cli.options import named_package
from krm_merge.cli.output import in_terminal as terminal_option
from krm_merge.cli.output import no_browser as no_browser_option
from krm_merge.cli.output import opened_journal, say, settle, show_recalled, show_results, summary
from krm_merge.cli.sides import Writer, destination, read_sides, record_upstream
from krm_merge.cli.terminal import stages
from krm_merge.krm import KPTFILE
from krm_merge.packages import (
    Changed,
    Directory,
    File,
    GitRepositories,
    PackageError,
    Tree,
    path_of,
    read_file,
    state_file,
    write_file,
)
from krm_merge.policy import (
    find_policy,
    find_policy_around,
    memory_path,
    name_in_repository,
    recall,
    recall_around,
    remember,
)
from krm_merge.resolve.api import Host
from krm_merge.resolve.choices import ChoiceJournal, ChoiceStep
from krm_merge.resolve.interface import OF_GIT, OF_PACKAGES, Saved
from krm_merge.resolve.session import Session, Task
from krm_merge.safe_text import quantity
from krm_merge.startup import replace
from krm_merge.usecases import (
    LineHistory,
    Mergeable,
    MergeChoices,
    MergeSides,
    PackageUpdate,
    line_history,
    settled_by,
)
from krm_merge.vendored.vendorfile import ManifestSource


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
        raise click.UsageError("stdin is for answers; give files instead of -")
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


@click.command("mergetool", context_settings=options.NAMES_LAST)
@click.argument("base", type=options.PATH)
@click.argument("local", type=options.PATH)
@click.argument("remote", type=options.PATH)
@click.argument("merged", type=options.PATH)
@terminal_option
@no_browser_option
def mergetool_command(base: Path, local: Path, remote: Path, merged: Path, in_terminal: bool, no_browser: bool) -> None:
    """Settle the conflicts of the file MERGED for git: BASE, LOCAL and REMOTE are git's $BASE, $LOCAL and $REMOTE.

    The three versions are merged again; markers in MERGED are ignored. Choices are remembered in the repository, and
    the merge driver settles the same conflict with them, also in the next commit of a rebase. The exit code is 0 if the
    file was saved without conflicts; otherwise it is 1 and MERGED is unchanged.

    \b
    Once in each clone:
      git config mergetool.krm.cmd \\
        'krm-merge mergetool -- "$BASE" "$LOCAL" "$REMOTE" "$MERGED"'
      git config mergetool.krm.trustExitCode true

    Example:  git mergetool --tool krm
    """
    # git gives no BASE, or an empty one, where both sides added the file.
    files = [read_file(place) if place.exists() else File(b"") for place in (base, local, remote)]
    path = path_of(merged.name, files[1])
    original, ours, theirs = ({path: file} if file.data else {} for file in files)
    memory, name = memory_path(merged.absolute().parent), name_in_repository(merged)
    choices = MergeChoices.of(None, "smart", None, of_branches=True).obeying(find_policy_around(merged))
    sides = MergeSides(original, theirs, ours, ("base", "theirs", "ours"))
    remembered = recall(memory, name)
    task = Task(str(merged), sides, choices.remembering(remembered), writes_policy=False)

    def write(saved: Saved) -> None:
        now: Tree = Changed(ours, saved.changes)
        if path not in now:
            raise PackageError(f"{merged}: the merge leaves nothing of it; remove it with git rm")
        write_file(merged, now[path])
        if memory is not None:
            remember(memory, saved.choices, name)

    host = Host(Session(task), None, write)
    show_recalled(settled_by(remembered, host.session.records), str(merged))
    if not host.session.open:
        host.save()
    elif not settle(host, OF_GIT, in_terminal=in_terminal, no_browser=no_browser):
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
        return line_history(package)
    except PackageError:
        return None
