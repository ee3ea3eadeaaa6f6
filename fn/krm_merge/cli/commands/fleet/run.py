"""`krm-merge fleet run`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import click

from krm_merge.cli.commands.fleet.progress import Progress, progress_on
from krm_merge.cli.options import gathered
from krm_merge.cli.show import command_of, say, show_ways
from krm_merge.fleet.campaign.campaign import CAMPAIGN_FILE, Campaign
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.conflicts.groups import Group, groups_of
from krm_merge.fleet.entry import LedgerEntry
from krm_merge.fleet.ledger import Ledger
from krm_merge.fleet.merging.job import NEED_ATTENTION
from krm_merge.fleet.overview import Message, messages_of
from krm_merge.fleet.running.engines import Engine, Processes, processors
from krm_merge.fleet.running.looks import Scope
from krm_merge.fleet.running.run import Run

_SHARD = re.compile(r"(\d+)/(\d+)")
_SHOWN = 20

DIRECTORY = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))


def checked_shard(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """`I/N` as two numbers."""
    if text is None:
        return None
    found = _SHARD.fullmatch(text)
    if found is None or int(found[2]) < 1 or int(found[1]) > int(found[2]):
        raise click.BadParameter(f"{text}: I/N is expected, with I from 1 to N, or from 0 to N-1")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, slots=True)
class FleetRunOptions:
    """Which targets a run merges, and where."""

    jobs: int | None
    limit: int | None
    only: tuple[str, ...]
    failed: bool
    shard: tuple[int, int] | None
    engine: str
    scheduler: str | None
    insecure: bool
    dry_run: bool
    form: str


@click.command("run")
@DIRECTORY
@click.option("--jobs", type=click.IntRange(min=1), help="How many merges run at once; by default one a processor.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many of the targets that are pending or failed.")
@click.option("--only", metavar="GLOB", multiple=True, help="Only targets whose names match. Repeatable.")
@click.option("--failed", is_flag=True, help="Only targets that failed, those set aside too.")
@click.option("--shard", metavar="I/N", callback=checked_shard, help="Only the part I of N, by a hash of the name.")
@click.option(
    "--engine",
    type=click.Choice(["processes", "dask"]),
    default="processes",
    show_default=True,
    help="Where merges run: processes of this machine, or the workers of a dask scheduler.",
)
@click.option("--scheduler", metavar="ADDRESS", help="The scheduler of dask, like tls://scheduler:8786.")
@click.option("--insecure", is_flag=True, help="Allow a scheduler without TLS elsewhere than on this machine.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each target, change nothing.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="With jsonl, stdout has an event a line for programs, errors too.",
)
@gathered(FleetRunOptions)
def run(directory: Path, options: FleetRunOptions) -> None:
    """Merge the campaign in DIR: each target takes the new version, as with `krm-merge update`.

    Targets that are done are skipped, so an interrupted run continues. A target with a conflict that neither its
    MergePolicy nor the campaign settles is left as it is. The exit code is 0 where all is done, 1 where a target has
    such a conflict, was refused, or failed.
    """
    if options.limit is not None and options.only:
        raise click.UsageError("give --limit or --only, not both")
    if (options.engine == "dask") != (options.scheduler is not None):
        raise click.UsageError("--engine dask and --scheduler ADDRESS come together")
    place = CampaignDirectory(directory)
    campaign = place.read()
    scope = Scope(options.only, options.failed, options.limit, options.shard)
    workers = _engine(options.jobs, options.scheduler, is_insecure=options.insecure)
    with place.locked(), Ledger.opened(place.ledger) as ledger, workers as chosen:
        this = Run(place, campaign, ledger, chosen, scope, options.dry_run)
        with progress_on(options.form) as progress:
            for event in this.events():
                progress.show(event, this.total)
        entries = ledger.entries()
        if not this.total:
            say("no target is left for that" if campaign.targets else "the campaign has no targets", on_stdout=True)
        elif options.form == "text":
            _summarise(progress, list(entries.values()), directory, dry_run=options.dry_run)
            if not options.dry_run:
                _show_conflicts(groups_of(ledger.conflicts()), campaign, directory)
    if options.dry_run:
        attention = progress.needs_attention
    else:
        attention = any(entries[name].state in NEED_ATTENTION for name in progress.names)
    if attention:
        sys.exit(1)


def _engine(jobs: int | None, scheduler: str | None, *, is_insecure: bool) -> AbstractContextManager[Engine]:
    if scheduler is None:
        return nullcontext(Processes(jobs or processors()))
    # dask is an extra of its own.
    from krm_merge.fleet.running.dask import dask_engine

    return dask_engine(scheduler, is_insecure=is_insecure)


def _summarise(progress: Progress, entries: list[LedgerEntry], directory: Path, *, dry_run: bool) -> None:
    counts = ", ".join(f"{count:,} {state}" for state, count in progress.counts())
    merged = f"{progress.merged:,} merged in {progress.seconds:.1f} s, {progress.looked_at:,} with nothing to do"
    say(f"{'dry run: ' if dry_run else ''}{merged}{f': {counts}' if counts else ''}", on_stdout=True)
    if not dry_run:
        show_messages(messages_of(entries))


def _show_conflicts(groups: Sequence[Group], campaign: Campaign, directory: Path) -> None:
    """Says what keeps targets as they are, and how to go on."""
    stopping = [group for group in groups if group.conflict.status == "open"]
    for group in stopping[:_SHOWN]:
        say(f"{len(group.packages):,} x {group.place}: {group.conflict.message}", on_stdout=True)
    if len(stopping) > _SHOWN:
        say(f"{len(stopping) - _SHOWN:,} more conflicts; `krm-merge fleet conflicts` has them", on_stdout=True)
    if not stopping:
        if groups:
            say(f"look at the conflicts: krm-merge fleet conflicts {quote(str(directory))}", on_stdout=True)
        return
    packages = len({package for group in stopping for package in group.packages})
    left = "1 package is" if packages == 1 else f"{packages:,} packages are"
    say(f"{left} as before, because of these conflicts. Ways on:", on_stdout=True)
    ways = [
        (command_of("fleet", "conflicts", str(directory)), "shows all values"),
        (command_of("fleet", "resolve", str(directory)), "asks, once for all packages"),
        (f"$EDITOR {quote(str(directory / CAMPAIGN_FILE))}", "policy.onConflict: local keeps theirs; or upstream"),
    ]
    if not campaign.working_tree:
        draft = command_of("fleet", "publish", str(directory), "--draft-conflicts")
        ways.append((draft, "opens drafts that show them"))
    show_ways(ways, on_stdout=True)


def show_messages(messages: Sequence[Message]) -> None:
    """Prints the messages about targets that failed or were refused, one line for equal messages."""
    for message in messages[:_SHOWN]:
        say(str(message), on_stdout=True)
    if len(messages) > _SHOWN:
        say(f"{len(messages) - _SHOWN:,} more messages; `krm-merge fleet report` has them", on_stdout=True)
