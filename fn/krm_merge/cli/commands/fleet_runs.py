"""Campaigns: `krm-merge fleet init` and `run`, and how far a run is."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from shlex import quote
from time import monotonic

import click

from krm_merge.cli import forges as forge_options
from krm_merge.cli.options import Subcommands, options_as
from krm_merge.cli.output import command_of, say, show_ways
from krm_merge.cli.terminal import stages
from krm_merge.fleet.campaign import (
    CAMPAIGN_FILE,
    TARGETS_FILE,
    Campaign,
    CampaignTarget,
    CampaignUpstream,
)
from krm_merge.fleet.campaign_file import CampaignDirectory, MergeCampaign
from krm_merge.fleet.conflicts import Group, groups_of
from krm_merge.fleet.discovery import split_upstream, targets_in, working_tree_of
from krm_merge.fleet.job import NEED_ATTENTION, SECONDS_FOR_A_MERGE, STATES, TargetState
from krm_merge.fleet.ledger import Ledger, LedgerEntry
from krm_merge.fleet.overview import Message, messages_of
from krm_merge.fleet.run import Run, RunEvent
from krm_merge.fleet.worker import Engine, Processes
from krm_merge.forges.choice import Forges, ForgeSettings, is_local
from krm_merge.forges.interface import Pace, host_of
from krm_merge.forges.local import LocalForge
from krm_merge.git.program import take_credentials, variable_of
from krm_merge.krm import processors
from krm_merge.merge import OnConflict
from krm_merge.packages import GitRepositories, PackageError, read_file
from krm_merge.safe_text import quantity

_SECONDS_BETWEEN_LINES = 10.0
_STATES_IN_LINES: tuple[TargetState, ...] = ("clean", "conflicts", "failed")


@click.group("fleet", cls=Subcommands)
def fleet_command() -> None:
    """Update many packages that follow one upstream: plan, merge on all cores, resume, publish in waves.

    Example:  krm-merge fleet run web-v2 --dry-run
    """


class Progress:
    """Counts what happens in a run, and shows it: on a terminal at once, elsewhere in a line every ten seconds."""

    def __init__(self, show: Callable[[str], None], seconds: float) -> None:
        """`show` prints a line, at most one in so many `seconds`."""
        self.looked_at = 0
        self.names: list[str] = []
        self.states: Counter[TargetState] = Counter()
        """How many targets ended in which state."""
        self._show, self._pause = show, seconds
        self._started = monotonic()
        self._next = self._started + seconds

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return monotonic() - self._started

    @property
    def needs_attention(self) -> bool:
        """Whether any target does that was merged."""
        return not NEED_ATTENTION.isdisjoint(self.states)

    def counts(self) -> dict[TargetState, int]:
        """How many targets ended in which state, in the order of the states."""
        return {state: self.states[state] for state in STATES if state in self.states}

    def show(self, event: RunEvent, total: int) -> None:
        """Counts an event, and shows it."""
        self.names.append(event.target)
        if event.outcome is None:
            self.looked_at += 1
        else:
            self.states[event.outcome.state] += 1
        if monotonic() >= self._next:
            self._next = monotonic() + self._pause
            self._show(self._line(total))

    def _line(self, total: int) -> str:
        done = len(self.names)
        rate = done / self.seconds if self.seconds else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate else ""
        counts = ", ".join(f"{self.states[state]:,} {state}" for state in _STATES_IN_LINES)
        return f"{done:,} of {total:,}: {counts}; {rate:.0f} a second{left}"


@contextmanager
def _progress() -> Iterator[Progress]:
    with stages("merging") as stage:
        yield Progress(stage, 0.0) if sys.stderr.isatty() else Progress(say, _SECONDS_BETWEEN_LINES)


_MOST_LINES = 20

DIRECTORY = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
ONLY = click.option("--only", metavar="GLOB", multiple=True, help="Only targets whose names match. Repeatable.")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class TargetSource:
    """Where the targets of a campaign are found."""

    packages: tuple[str, ...]
    repositories: str | None
    host: str | None
    owner: str | None
    topic: str
    forges: tuple[str, ...]
    apis: tuple[str, ...]


@fleet_command.command("init")
@DIRECTORY
@click.option("--upstream", metavar="REPO[/DIRECTORY]", required=True, help="The upstream that packages follow.")
@click.option("--to", "ref", metavar="REF", required=True, help="The version to update to: tag, branch or commit.")
@click.option(
    "--packages",
    metavar="GLOB",
    multiple=True,
    help="Directories of a working tree; all packages in them that follow the upstream. Repeatable.",
)
@click.option(
    "--repositories", metavar="FILE|-", help="A file with the address of one repository per line; - is stdin."
)
@click.option("--host", metavar="URL", help="The forge where the repositories of OWNER are the targets.")
@click.option("--owner", metavar="NAME", help="The organisation, group or user; for a local forge, the directory.")
@click.option("--topic", metavar="NAME", default="", help="Only repositories with this topic.")
@click.option(
    "--on-conflict",
    type=click.Choice(["upstream", "local", "fail"]),
    help="Which side wins if both changed a value, for campaign.yaml; by default such a package stays unchanged.",
)
@forge_options.forge_kinds
@forge_options.forge_apis
@options_as(TargetSource)
def init(
    directory: Path,
    upstream: str,
    ref: str,
    on_conflict: OnConflict | None,
    options: TargetSource,
) -> None:
    """Plan a campaign in DIR: find the packages that follow an upstream, to update them to its version REF.

    Writes campaign.yaml, and targets.yaml with the packages: review and edit both.

    \b
    Example:  krm-merge fleet init web-v2 --to v2 --packages 'teams/*' \\
                --upstream https://git.example.com/packages/web
    """
    if [bool(options.packages), options.repositories is not None, options.host is not None].count(True) != 1:
        raise click.UsageError("say where the packages are: with --packages, --repositories or --host")
    if (options.host is None) != (options.owner is None):
        raise click.UsageError("--host URL and --owner NAME come together")
    place = CampaignDirectory(directory)
    source = split_upstream(take_credentials(upstream), ref, GitRepositories())
    selection: dict[str, object] = {}
    if options.repositories is not None:
        targets = _targets_of_file(options.repositories)
    elif options.host is not None and options.owner is not None:
        targets = _targets_of_owner(options.host, options.owner, options.topic, options.forges, options.apis)
    else:
        directories = _matching(options.packages)
        tree = working_tree_of(directories)
        targets, problems = targets_in(tree, directories, source)
        for problem in problems[:_MOST_LINES]:
            say(f"left out: {problem}", on_stdout=False)
        if len(problems) > _MOST_LINES:
            say(f"left out: {len(problems) - _MOST_LINES:,} more that cannot be read", on_stdout=False)
        selection["workingTree"] = os.path.relpath(tree, directory.resolve())
    if not targets:
        raise PackageError(f"no package there follows {source.repository} {source.directory}")
    place.write(_campaign(source, selection, on_conflict), targets)
    _summarise_targets(directory, targets)


def _matching(patterns: Sequence[str]) -> list[Path]:
    directories: list[Path] = []
    for pattern in patterns:
        matches = [Path(name) for name in sorted(glob(pattern, recursive=True)) if os.path.isdir(name)]
        if not matches:
            raise PackageError(f"{pattern}: no directory matches")
        directories += matches
    return directories


def _targets_of_file(source: str) -> list[CampaignTarget]:
    text = sys.stdin.buffer.read() if source == "-" else read_file(Path(source)).data
    lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
    addresses = [line for line in lines if line and not line.startswith("#")]
    names = dict.fromkeys(map(take_credentials, addresses))
    if hosts := sorted({host_of(name) for name in addresses if take_credentials(name) != name}):
        variables = ", ".join(map(variable_of, hosts))
        say(f"the credentials in addresses are not written; give git their token: {variables}", on_stdout=True)
    for name in names:
        if name.startswith("-"):
            raise PackageError(f"{source}: {name} is not the address of a repository")
    return [CampaignTarget(os.path.abspath(name) if os.path.isdir(name) else name, True) for name in names]


def _targets_of_owner(
    host: str, owner: str, topic: str, forges: tuple[str, ...], apis: tuple[str, ...]
) -> list[CampaignTarget]:
    if is_local(host):
        place = os.path.join(host.removeprefix("file://"), owner)
        return [CampaignTarget(address, True) for address in LocalForge().repositories(os.path.abspath(place), topic)]
    settings = ForgeSettings.parse(forges, apis, Pace())
    addresses = Forges(settings).of(host.rstrip("/") + "/-/-").repositories(owner, topic)
    return [CampaignTarget(address, True) for address in addresses]


def _campaign(
    upstream: CampaignUpstream, selection: dict[str, object], on_conflict: OnConflict | None
) -> MergeCampaign:
    package = upstream.directory.strip("/").rpartition("/")[2] or upstream.repository.rstrip("/").rpartition("/")[2]
    name = _NOT_IN_NAMES.sub("-", f"{package.removesuffix('.git')}-{upstream.ref}".lower()).strip("-.")
    return MergeCampaign.model_validate(
        {
            "apiVersion": "fn.kpt.dev/v1alpha1",
            "kind": "MergeCampaign",
            "metadata": {"name": name, "annotations": {"config.kubernetes.io/local-config": "true"}},
            "upstream": {"repo": upstream.repository, "directory": upstream.directory, "ref": upstream.ref},
            "selection": selection,
            "policy": {"onConflict": on_conflict},
            "publish": {"branch": f"krm-merge/{name}"},
        }
    )


def _summarise_targets(directory: Path, targets: list[CampaignTarget]) -> None:
    noun = "repository" if targets[0].is_repository else "package"
    say(quantity(len(targets), noun), on_stdout=True)
    advice = f"review {directory / CAMPAIGN_FILE} and {directory / TARGETS_FILE}, then: krm-merge fleet run {directory}"
    say(advice, on_stdout=True)


@dataclass(frozen=True, slots=True)
class FleetRunOptions:
    """Which targets a run merges, and where."""

    jobs: int | None
    only: tuple[str, ...]
    failed: bool
    scheduler: str | None
    insecure: bool
    timeout: float
    allow_older: bool
    dry_run: bool


@fleet_command.command("run")
@DIRECTORY
@click.option("--jobs", type=click.IntRange(min=1), help="How many merges run at once; by default one per processor.")
@ONLY
@click.option("--failed", is_flag=True, help="Only targets that failed, including those set aside.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Merge on the workers of this dask scheduler, such as tls://scheduler:8786, instead of on this machine.",
)
@click.option("--insecure", is_flag=True, help="Allow a scheduler without TLS on another machine.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=SECONDS_FOR_A_MERGE,
    show_default=True,
    metavar="SECONDS",
    help="Stop a merge that takes longer; the second time, set its target aside. Not for dask.",
)
@click.option("--allow-older", is_flag=True, help="Update even if the version is older than that of the last run.")
@click.option("--dry-run", is_flag=True, help="Show what would happen to each target, and change nothing.")
@options_as(FleetRunOptions)
def run(directory: Path, options: FleetRunOptions) -> None:
    """Run the campaign in DIR: update each target to the new version, as `krm-merge update` does.

    Targets that are done are skipped, so an interrupted run continues. A target with a conflict that neither its
    MergePolicy nor the campaign settles is left as it is. The exit code is 1 if a target has such a conflict, was
    refused, or failed.

    Example:  krm-merge fleet run web-v2 --dry-run
    """
    place = CampaignDirectory(directory)
    campaign = place.read()
    workers = _engine(options.jobs, options.scheduler, is_insecure=options.insecure)
    with place.lock(), Ledger.open(place.ledger) as ledger, workers as chosen:
        this = Run(
            place,
            campaign,
            ledger,
            chosen,
            options.only,
            only_failed=options.failed,
            is_dry_run=options.dry_run,
            seconds=options.timeout,
            allows_older=options.allow_older,
        )
        with _progress() as progress:
            for event in this.events():
                progress.show(event, this.total)
        entries = ledger.entries()
        if not this.total:
            say("no target matches the options" if campaign.targets else "the campaign has no targets", on_stdout=True)
        else:
            _summarise_run(progress, list(entries.values()), directory, dry_run=options.dry_run)
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
    from krm_merge.fleet.worker import dask_engine

    return dask_engine(scheduler, is_insecure=is_insecure)


def _summarise_run(progress: Progress, entries: list[LedgerEntry], directory: Path, *, dry_run: bool) -> None:
    states = progress.counts()
    counts = ", ".join(f"{count:,} {state}" for state, count in states.items())
    count = sum(count for state, count in states.items() if state not in NEED_ATTENTION)
    merged = f"{count:,} merged in {progress.seconds:.1f} s, {progress.looked_at:,} with nothing to do"
    say(f"{'dry run: ' if dry_run else ''}{merged}{f': {counts}' if counts else ''}", on_stdout=True)
    if not dry_run:
        show_messages(messages_of(entries))


def _show_conflicts(groups: Sequence[Group], campaign: Campaign, directory: Path) -> None:
    """Says what keeps targets as they are, and how to go on."""
    stopping = [group for group in groups if group.conflict.status == "open"]
    for group in stopping[:_MOST_LINES]:
        say(f"{len(group.packages):,} x {group.place}: {group.conflict.message}", on_stdout=True)
    if len(stopping) > _MOST_LINES:
        say(f"{len(stopping) - _MOST_LINES:,} more conflicts; `krm-merge fleet conflicts` has them", on_stdout=True)
    if not stopping:
        if groups:
            say(f"see the conflicts: krm-merge fleet conflicts {quote(str(directory))}", on_stdout=True)
        return
    packages = len({package for group in stopping for package in group.packages})
    left = "1 package is" if packages == 1 else f"{packages:,} packages are"
    say(f"{left} unchanged because of these conflicts. Run one of:", on_stdout=True)
    ways = [
        (command_of("fleet", "conflicts", str(directory)), "shows all values"),
        (command_of("fleet", "resolve", str(directory)), "asks, once for all packages"),
        (f"$EDITOR {quote(str(directory / CAMPAIGN_FILE))}", "policy.onConflict: local keeps theirs; or upstream"),
    ]
    show_ways(ways, on_stdout=True)


def show_messages(messages: Sequence[Message]) -> None:
    """Prints the messages about targets that failed or were refused, one line for equal messages."""
    for message in messages[:_MOST_LINES]:
        say(str(message), on_stdout=True)
    if len(messages) > _MOST_LINES:
        say(
            f"{len(messages) - _MOST_LINES:,} more messages; `krm-merge fleet status --report` has them", on_stdout=True
        )
