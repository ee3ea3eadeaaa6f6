"""`krm-merge fleet`: many packages, one upstream; here the commands that show, settle and publish."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from krm_merge.cli import forges as forge_options
from krm_merge.cli import options
from krm_merge.cli.commands.fleet_runs import DIRECTORY, ONLY, fleet_command, show_messages
from krm_merge.cli.options import options_as
from krm_merge.cli.output import in_terminal, no_browser, print_json, say, settle, write_reports
from krm_merge.fleet.campaign import POLICY_FILE, Campaign
from krm_merge.fleet.campaign_file import CampaignDirectory
from krm_merge.fleet.conflicts import (
    Group,
    GroupSession,
    GroupStep,
    groups_of,
    values_of,
)
from krm_merge.fleet.job import Settings, is_undecided
from krm_merge.fleet.ledger import Ledger, LedgerUpstream, RequestState
from krm_merge.fleet.overview import Overview, as_markdown
from krm_merge.fleet.publish import Publisher, Withdrawal
from krm_merge.fleet.requests import Published
from krm_merge.fleet.run import current_settings, matches, settings_of
from krm_merge.forges.choice import Forges, ForgeSettings
from krm_merge.forges.interface import Pace
from krm_merge.packages import File, state_file, write_file
from krm_merge.report import NATURES, MergeReport, shorten, yaml_text
from krm_merge.resolve.api import Host
from krm_merge.resolve.choices import ChoiceJournal
from krm_merge.resolve.interface import OF_FLEET, Saved
from krm_merge.safe_text import line, quantity


@fleet_command.command("status")
@DIRECTORY
@click.option(
    "--report",
    "reports",
    type=options.FILE,
    multiple=True,
    help="Also write it to this file, as Markdown. Repeatable.",
)
@options.form
def status(directory: Path, reports: tuple[Path, ...], form: str) -> None:
    """Show the progress of the campaign in DIR: its waves, its targets, and what failed.

    Example:  krm-merge fleet status web-v2 --report status.md
    """
    overview = _read_overview(directory)
    for report in reports:
        write_file(report, File(as_markdown(overview).encode()))
    if form == "json":
        print_json(overview.to_value())
        return
    upstream = overview.campaign.upstream
    head = f"{overview.campaign.name}: {upstream.repository} {upstream.directory} to {upstream.ref}"
    say(head, on_stdout=True)
    for state, count in overview.counts().items():
        say(f"{count:9,}  {state}", on_stdout=True)
    for wave in overview.wave_lines():
        say(f"wave {wave}", on_stdout=True)
    if overview.upstream.problem:
        say(f"upstream: {overview.upstream.problem}", on_stdout=True)
    show_messages(overview.messages)
    for entry in overview.entries.values():
        if entry.request is not None and entry.request.state == "reverting":
            waits = "the next version waits until it is merged or closed"
            say(f"{entry.target}: #{entry.request.reverse} reverts #{entry.request.number}; {waits}", on_stdout=True)
        if entry.problem:
            say(f"{entry.target}: {entry.problem}", on_stdout=True)


def _read_overview(directory: Path) -> Overview:
    place = CampaignDirectory(directory)
    campaign = place.read()
    if not place.ledger.is_file():
        return Overview.of(campaign, {}, (), LedgerUpstream(campaign.upstream.ref))
    with Ledger.open(place.ledger) as ledger:
        upstream = ledger.upstream(campaign.upstream.ref)
        return Overview.of(campaign, ledger.entries(), ledger.conflicts(), upstream)


_LONGEST_VALUE = 100
_NAMES = 3


@fleet_command.command("conflicts")
@DIRECTORY
@click.option("--all", "with_decided", is_flag=True, help="Also show conflicts that a rule or a choice settled.")
@options.form
@options.reports
def conflicts(directory: Path, with_decided: bool, form: str, reports: tuple[Path, ...]) -> None:
    """Show the conflicts of the campaign in DIR: equal conflicts of all packages once, the most frequent first.

    Example:  krm-merge fleet conflicts web-v2
    """
    campaign, groups = _read_groups(CampaignDirectory(directory), with_decided=with_decided)
    write_reports(lambda: MergeReport(campaign.name, records=[group.record() for group in groups]), reports)
    if form == "json":
        print_json({"groups": [_as_value(group) for group in groups]})
        return
    for group in groups:
        _show_group(group)
    if not groups:
        say("no conflicts", on_stdout=True)
    elif any(is_undecided(group.conflict) and group.conflict.choices for group in groups):
        say(f"settle them for all packages: krm-merge fleet resolve {directory}", on_stdout=True)


@fleet_command.command("resolve")
@DIRECTORY
@in_terminal
@no_browser
def resolve(directory: Path, in_terminal: bool, no_browser: bool) -> None:
    """Settle equal conflicts of the campaign in DIR once for all packages.

    A page opens in the browser, with a card for each group of equal conflicts. Saving writes the choices to policy.yaml
    in DIR; the next run merges only the packages with such a conflict again. A choice in a package's own MergePolicy
    takes precedence. Choices are kept as you make them: after an interruption, the same command continues where you
    stopped. The exit code is 1 if nothing was saved.

    Example:  krm-merge fleet resolve web-v2 --terminal
    """
    place = CampaignDirectory(directory)
    campaign, groups = _read_groups(place, with_decided=False)
    groups = [group for group in groups if group.conflict.choices]
    if not groups:
        say("no conflicts", on_stdout=True)
        return
    policy = place.path / POLICY_FILE
    journal = ChoiceJournal(state_file(policy, "choices"), GroupStep.from_value)
    session = GroupSession(campaign, groups, journal.steps)

    def write(saved: Saved) -> None:
        before = File(campaign.policy_text) if campaign.policy_text else None
        file = saved.changes[POLICY_FILE]
        assert file is not None
        write_file(policy, file, before)

    if not settle(Host(session, journal, write), OF_FLEET, in_terminal=in_terminal, no_browser=no_browser):
        sys.exit(1)
    choices = quantity(len(session.new_choices), "choice")
    # On stderr: stdout has the address alone.
    say(f"{choices} written to {directory / POLICY_FILE}; then: krm-merge fleet run {directory}")


def _read_groups(place: CampaignDirectory, *, with_decided: bool) -> tuple[Campaign, list[Group]]:
    campaign = place.read()
    if not place.ledger.is_file():
        return campaign, []
    with Ledger.open(place.ledger) as ledger:
        known_conflicts = list(ledger.conflicts())
    return campaign, groups_of(known_conflicts) + (groups_of(known_conflicts, decided=True) if with_decided else [])


def _show_group(group: Group) -> None:
    conflict = group.conflict
    by = f" [settled by {conflict.settled_by}]" if not is_undecided(conflict) else ""
    click.echo(click.style(line(f"{len(group.packages):,} x {group.place}"), bold=True) + line(by))
    say(f"  {NATURES[conflict.nature]}: {conflict.message} ({conflict.rule})", on_stdout=True)
    for side, value in values_of(group):
        text = shorten(" ".join(yaml_text(value).split()), _LONGEST_VALUE)
        say(f"  {side:9} {text}", on_stdout=True)
    names = sorted({resource.name for resource in group.resources})
    if len(names) > 1:
        more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
        say(f"  {len(names):,} names: {', '.join(names[:_NAMES])}{more}", on_stdout=True)
    say(f"  {group.examples}", on_stdout=True)


def _as_value(group: Group) -> dict[str, object]:
    conflict = group.conflict
    return {
        "fingerprint": conflict.fingerprint,
        "nature": conflict.nature,
        "apiGroup": group.api_group,
        "kind": group.kind,
        "names": sorted({resource.name for resource in group.resources}),
        "path": conflict.path,
        "rule": conflict.rule,
        "message": conflict.message,
        "status": conflict.status,
        "settledBy": conflict.settled_by,
        "values": dict(conflict.values),
        "choices": list(conflict.choices),
        "count": len(group.packages),
        "packages": list(group.packages),
    }


AnyPublisher = TypeVar("AnyPublisher", bound=Publisher)


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Options of commands that change pull requests: the forges, and how fast they are asked."""

    dry_run: bool
    pace: float
    forges: tuple[str, ...]
    apis: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublishOptions(RequestOptions):
    """Options of what is published."""

    push_only: bool
    direct: bool


@fleet_command.command("publish")
@DIRECTORY
@click.option("--wave", metavar="NAME", help="Publish this wave, whatever the state of those before it.")
@click.option("--dry-run", is_flag=True, help="Show what would be published, and change nothing.")
@forge_options.pace
@forge_options.forge_kinds
@forge_options.forge_apis
@click.option("--push-only", is_flag=True, help="Push branches, open no pull requests.")
@click.option("--direct", is_flag=True, help="For a working tree: commit to its current branch, and push it.")
@options_as(PublishOptions)
def publish(directory: Path, wave: str | None, options: PublishOptions) -> None:
    """Publish what the campaign in DIR has merged: push branches and open pull requests, wave by wave.

    A branch with commits of somebody else is not overwritten. The exit code is 1 if something could not be published.

    Example:  krm-merge fleet publish web-v2 --dry-run
    """
    place = CampaignDirectory(directory)
    campaign = place.read()
    publishing = campaign.publishing
    if options.direct and not campaign.working_tree:
        raise click.UsageError("--direct is for packages of a working tree; this campaign is about repositories")
    names = [wave.name for wave in publishing.waves] or ["all"]
    if wave is not None and wave not in names:
        raise click.UsageError(f"there is no wave {wave}; choose from {', '.join(names)}")
    with _publisher(
        Publisher,
        place,
        campaign,
        options,
        partial(current_settings, campaign, place),
        with_requests=not (options.push_only or options.direct),
        wave=wave,
        is_direct=options.direct,
    ) as publisher:
        counts = _show_events(publisher.events())
    is_stuck = publisher.hosts.is_limited and not counts.total()
    summary = ", ".join(f"{count:,} {what}" for what, count in counts.items() if what != "problem")
    nothing = "nothing was published" if is_stuck or counts["problem"] else "nothing to publish"
    say(f"{'dry run: ' if options.dry_run else ''}{summary or nothing}", on_stdout=True)
    if publisher.obstacle:
        say(f"the rest waits: {publisher.obstacle}", on_stdout=True)
    if counts["problem"] or is_stuck:
        sys.exit(1)


@contextmanager
def _publisher(
    kind: type[AnyPublisher],
    place: CampaignDirectory,
    campaign: Campaign,
    options: RequestOptions,
    settings_for: Callable[[Ledger], Settings],
    **more: Any,
) -> Iterator[AnyPublisher]:
    """A publisher of a campaign, with its forges at its pace; git has their tokens, too. `more` are its settings."""
    with place.lock(), Ledger.open(place.ledger, is_dry_run=options.dry_run) as ledger:
        ledger.follow(campaign.targets)
        pace = Pace(options.pace, campaign.publishing.per_hour)
        forges = ForgeSettings.parse(options.forges, options.apis, pace)
        forges.share_tokens()
        settings = settings_for(ledger)
        yield kind(place, campaign, ledger, settings, Forges(forges).of, options.dry_run, **more)


def _show_events(events: Iterable[Published]) -> Counter[str]:
    counts: Counter[str] = Counter()
    problems: dict[str, list[str]] = {}
    for event in events:
        counts[event.what] += 1
        if event.what == "problem":
            problems.setdefault(event.message, []).append(event.target)
        else:
            number = f" #{event.request}" if event.request else ""
            say(f"{event.what:9} {event.target}{number}", on_stdout=True)
    for message, (first, *others) in problems.items():
        say(f"{first}{f' and {len(others):,} more' if others else ''}: {message}")
    return counts


_withdrawal_options = options.combined(
    DIRECTORY,
    ONLY,
    click.option("--comment", default="", metavar="TEXT", help="A comment for the pull requests that says why."),
    click.option("--dry-run", is_flag=True, help="Show what would be closed or reverted, and change nothing."),
    forge_options.pace,
    forge_options.forge_kinds,
    forge_options.forge_apis,
    options_as(RequestOptions),
)


@fleet_command.command("close")
@_withdrawal_options
def close(directory: Path, only: tuple[str, ...], comment: str, options: RequestOptions) -> None:
    """Close the open pull requests of the campaign in DIR, and remove their branches.

    A branch that somebody else has committed to is kept. This version is not proposed again, but the next one is. The
    exit code is 1 if something could not be closed.

    Example:  krm-merge fleet close web-v2 --comment 'we wait for v3' --dry-run
    """
    _withdraw(directory, only, comment, options, ("open",))


@fleet_command.command("rollback")
@_withdrawal_options
def rollback(directory: Path, only: tuple[str, ...], comment: str, options: RequestOptions) -> None:
    """Undo what the campaign in DIR has published: close open pull requests and propose reverts of merged ones.

    Only the last pull request of each target is undone; if its files have changed since, it is only reported. This
    version is not proposed again, but the next one is. The exit code is 1 if something could not be undone.

    Example:  krm-merge fleet rollback web-v2 --only 'teams/a*' --dry-run
    """
    _withdraw(directory, only, comment, options, ("open", "merged"))


def _withdraw(
    directory: Path,
    only: tuple[str, ...],
    comment: str,
    options: RequestOptions,
    states: Sequence[RequestState],
) -> None:
    place = CampaignDirectory(directory)
    campaign = place.read()

    def settings_for(ledger: Ledger) -> Settings:
        # Also where upstream's ref is gone, or names something else now.
        return settings_of(campaign, place, ledger.upstream(campaign.upstream.ref))

    with _publisher(Withdrawal, place, campaign, options, settings_for) as withdrawal:
        names = [name for name in campaign.targets if matches(name, only)]
        # A ledger that was lost or is of last week lacks some.
        problems = _show_events(withdrawal.look(names))["problem"]
        entries = withdrawal.ledger.entries()
        counts = _show_events(withdrawal.end([entries[name] for name in names], comment, states=states))
    summary = ", ".join(f"{count:,} {what}" for what, count in counts.items() if what != "problem")
    say(f"{'dry run: ' if options.dry_run else ''}{summary or 'no pull request to end'}", on_stdout=True)
    if problems or counts["problem"]:
        sys.exit(1)
