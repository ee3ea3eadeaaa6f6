"""`krm-merge resolve`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.commands.update import refuse_uncommitted
from krm_merge.cli.options import named_package, refuse_missing
from krm_merge.cli.output import opened_journal, say, show_results, summary
from krm_merge.cli.settling import in_terminal as terminal_option
from krm_merge.cli.settling import no_browser as no_browser_option
from krm_merge.cli.settling import settle
from krm_merge.cli.sides import destination, read_sides, record_upstream
from krm_merge.cli.terminal import StagedRepositories, counted_files, stages
from krm_merge.packages.files.tree import Directory
from krm_merge.packages.git import GitRepositories
from krm_merge.packages.update import RememberedRepositories
from krm_merge.policy import find_policy, memory_path, recall
from krm_merge.resolve.choices import ChoiceJournal, ChoiceStep, PolicySteps, journal_path
from krm_merge.resolve.interface import Saved
from krm_merge.resolve.session import Session, Task
from krm_merge.resolve.web.api import Host
from krm_merge.resolve.words import OF_PACKAGES
from krm_merge.usecases import MergeChoices, PackageUpdate
from krm_merge.vendored.vendorfile import ManifestSource


@click.command("resolve")
@click.argument("places", metavar="PKG[@REF] | [ORIGINAL] UPSTREAM LOCAL", nargs=-1)
@terminal_option
@no_browser_option
@options.rules
@options.function_identity
@options.record
@options.version
@click.option("--allow-dirty", is_flag=True, help="Update a package with changes that are not committed.")
def resolve_command(
    places: tuple[str, ...],
    in_terminal: bool,
    no_browser: bool,
    rules_file: Path | None,
    function_identity: str,
    record: bool,
    version: str,
    allow_dirty: bool,
) -> None:
    """Settle the conflicts of an update of the package PKG to REF, or of a merge of ORIGINAL and UPSTREAM into LOCAL.

    As in `merge`, ORIGINAL is not needed where LOCAL has a Vendorfile.

    A page opens in the browser: every conflict with its three values. Saving writes the merged package as a whole or
    not at all, as `update` does, and the choices into its MergePolicy, so that nobody is asked again. What is chosen is
    kept at once: after an interruption, the same command continues where it was.

    The exit code is 1 where it was closed without saving; then nothing has changed.
    """
    if "-" in (*places, str(rules_file)):
        raise click.UsageError("stdin is for answers here; name files")
    choices = MergeChoices.of(None, function_identity, rules_file)
    if len(places) in (2, 3):
        opened = _merge_of(tuple(map(Path, places)), choices, ManifestSource(version=version), record=record)
    elif len(places) < 2 and (record or version):
        raise click.UsageError("--record and --version are for a merge; a package is updated to PKG@REF")
    elif len(places) < 2:
        opened = _update_of(places[0] if places else ".", choices, allow_dirty)
    else:
        raise click.UsageError("give one package, or three versions: ORIGINAL UPSTREAM LOCAL")
    with opened as host:
        if not settle(host, OF_PACKAGES, in_terminal=in_terminal, no_browser=no_browser):
            sys.exit(1)


@contextmanager
def _update_of(package: str, choices: MergeChoices, allow_dirty: bool) -> Iterator[Host[ChoiceStep]]:
    """The session about an update of a package."""
    place, ref = named_package(package)
    refuse_missing(place)
    with opened_journal(place) as journal:
        if not allow_dirty and journal.recovered != "completed":
            refuse_uncommitted(place)
        local = Directory(place)
        choices = choices.obeying(find_policy(local))
        earlier = recall(memory_path(place))
        choice_journal = ChoiceJournal(journal_path(place), PolicySteps(choices.package.target_file))

        def write(saved: Saved) -> None:
            journal.commit(saved.changes, local)
            _show(task, saved)

        with stages(f"reading {counted_files(len(local))} of {place}") as stage:
            repositories = RememberedRepositories(StagedRepositories(GitRepositories(), stage))
            sides = PackageUpdate(local, repositories, str(place), ref or None)
            task = Task(str(place), sides, choices, earlier)
            host = Host(Session(task, choice_journal.steps), choice_journal, write)
        yield host


@contextmanager
def _merge_of(
    places: tuple[Path, ...], choices: MergeChoices, source: ManifestSource, *, record: bool
) -> Iterator[Host[ChoiceStep]]:
    """The session about versions in directories or files; the result is written to the last one."""
    local = places[-1]
    with destination(local, None, in_place=True) as write_changes:
        sides = read_sides(places)
        kept_record = record_upstream(sides, source, is_requested=record)
        choices = choices.obeying(find_policy(sides.local))

        is_package = local.is_dir()
        earlier = recall(memory_path(local if is_package else local.parent))
        task = Task(str(local), sides, choices, earlier, is_package)
        choice_journal = ChoiceJournal(journal_path(local), PolicySteps(choices.package.target_file))

        def write(saved: Saved) -> None:
            assert write_changes is not None
            write_changes(sides.local, {**saved.changes, **kept_record})
            _show(task, saved)

        yield Host(Session(task, choice_journal.steps), choice_journal, write)


def _show(task: Task, saved: Saved) -> None:
    """Says what was written, on stderr: stdout has the address alone."""
    show_results(saved.results, quiet=True)
    say(f"saved {task.name}: {summary(task.sides.local, saved.changes, saved.results)}{_settlement(saved.choices)}")


def _settlement(choices: Sequence[object]) -> str:
    return f"; {len(choices)} choices are in its MergePolicy" if len(choices) > 1 else ""
