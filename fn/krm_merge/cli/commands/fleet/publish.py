"""`krm-merge fleet publish`."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import click

from krm_merge.cli.commands.fleet.run import DIRECTORY
from krm_merge.cli.forges import options as forge_options
from krm_merge.cli.options import gathered
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.campaign import CampaignTarget
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.ledger import Ledger
from krm_merge.fleet.publishing.looks import Published
from krm_merge.fleet.publishing.publish import Publisher
from krm_merge.fleet.publishing.requests import PullRequests
from krm_merge.fleet.running.run import settings_of
from krm_merge.forges.choice import Forges, ForgeSettings
from krm_merge.forges.hosted.pace import Pace
from krm_merge.git.signing import signing_settings


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """Options of what is published, and how fast."""

    dry_run: bool
    max_open: int | None
    changes_per_hour: int | None
    pace: float
    draft_conflicts: bool
    forges: tuple[str, ...]
    apis: tuple[str, ...]
    push_only: bool
    direct: bool
    sign: bool


@click.command("publish")
@DIRECTORY
@click.option("--wave", metavar="NAME", help="Publish this wave, whatever became of those before it.")
@click.option("--dry-run", is_flag=True, help="Say what would be published, change nothing.")
@click.option("--max-open", type=click.IntRange(min=1), help="How many pull requests are open at most.")
@click.option(
    "--changes-per-hour",
    type=click.IntRange(min=1),
    help="How many changing requests a host gets in an hour; by default the campaign's perHour, or 400.",
)
@forge_options.pace
@click.option("--draft-conflicts", is_flag=True, help="Open drafts for conflicts that are open, with the report.")
@forge_options.forge_kinds
@forge_options.forge_apis
@click.option("--push-only", is_flag=True, help="Push branches, open no pull requests.")
@click.option("--direct", is_flag=True, help="Of a working tree: commit to its current branch, and push that.")
@click.option(
    "--sign",
    is_flag=True,
    help="Sign the commits with user.signingKey of git; without it, where git's commit.gpgSign says so.",
)
@gathered(PublishOptions)
def publish(directory: Path, wave: str | None, options: PublishOptions) -> None:
    """Publish what the campaign in DIR has merged: push branches and open pull requests, wave by wave.

    A branch that somebody else has committed to is not overwritten. The exit code is 1 where something could not be
    published.
    """
    place = CampaignDirectory(directory)
    campaign = place.read()
    publishing = campaign.publishing
    if options.direct and not campaign.working_tree:
        raise click.UsageError("--direct is for packages of a working tree; this campaign is about repositories")
    names = [one.name for one in publishing.waves] or ["all"]
    if wave is not None and wave not in names:
        raise click.UsageError(f"there is no wave {wave}; known are {', '.join(names)}")
    with place.locked(), Ledger.opened(place.ledger, is_dry_run=options.dry_run) as ledger:
        ledger.follow(campaign.targets)
        settings = ForgeSettings.parsed(
            options.forges, options.apis, Pace(options.pace, options.changes_per_hour or publishing.per_hour)
        )
        settings.share_tokens()
        requests = (
            None
            if options.push_only or options.direct
            else PullRequests(campaign, Forges(settings).of, options.dry_run)
        )
        publisher = Publisher(
            place,
            campaign,
            ledger,
            settings_of(campaign, place),
            requests,
            wave,
            is_direct=options.direct,
            draft_conflicts=options.draft_conflicts,
            is_dry_run=options.dry_run,
            max_open=options.max_open or publishing.max_open,
            signing=signing_settings(forced=options.sign),
        )
        counts: Counter[str] = Counter()
        for event in publisher.events():
            counts[event.what] += 1
            _show(event)
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if what != "problem") or "nothing to publish"
    say(f"{'dry run: ' if options.dry_run else ''}{said}", on_stdout=True)
    if requests is not None and counts:
        _show_budgets(requests, [target for target in campaign.targets.values() if target.host])
    if publisher.obstacle:
        say(f"the rest waits: {publisher.obstacle}", on_stdout=True)
    if counts["problem"]:
        sys.exit(1)


def _show_budgets(requests: PullRequests, targets: list[CampaignTarget]) -> None:
    """How many changes each host may still be asked for in this hour."""
    for host, address in {target.host: target.name for target in targets}.items():
        changes = requests.forge_of(address).budget().changes
        if changes is not None:
            say(f"{host}: {changes:,} changes left in this hour", on_stdout=True)


def _show(event: Published) -> None:
    number = f" #{event.request}" if event.request else ""
    said = f"{event.target}: {event.message}" if event.what == "problem" else f"{event.what:7} {event.target}{number}"
    say(said, on_stdout=event.what != "problem")
