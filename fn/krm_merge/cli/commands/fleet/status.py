"""`krm-merge fleet status`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.commands.fleet.run import DIRECTORY, show_groups
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.campaign import Campaign
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.ledger import Entry, Ledger
from krm_merge.fleet.merging.job import STATES


@click.command("status")
@DIRECTORY
@options.form
def status(directory: Path, form: str) -> None:
    """Say how far the campaign in DIR is: what became of its targets, and what failed."""
    place = CampaignDirectory(directory)
    campaign = place.read()
    entries: list[Entry] = []
    if place.ledger.is_file():
        with Ledger.opened(place.ledger) as ledger:
            entries = [entry for name, entry in ledger.entries().items() if name in campaign.targets]
    if form == "json":
        click.echo(json.dumps(_as_value(campaign, entries), indent=2))
        return
    upstream = campaign.upstream
    say(f"{campaign.name}: {upstream.repository} {upstream.directory} to {upstream.ref}", on_stdout=True)
    for state, count in _counts(campaign, entries).items():
        say(f"{count:9,}  {state}", on_stdout=True)
    for heading in ("failed", "refused"):
        show_groups(heading, [entry for entry in entries if entry.state == heading])


def _counts(campaign: Campaign, entries: list[Entry]) -> dict[str, int]:
    """How many targets are in which state."""
    found = Counter(entry.published or entry.state for entry in entries)
    found["pending"] += len(campaign.targets) - len(entries)
    states = (*STATES, "pushed", "open", "merged", "closed")
    return {state: found[state] for state in states if found[state]}


def _as_value(campaign: Campaign, entries: list[Entry]) -> dict[str, object]:
    upstream = campaign.upstream
    known = {entry.target: entry for entry in entries}
    return {
        "campaign": campaign.name,
        "upstream": {"repo": upstream.repository, "directory": upstream.directory, "ref": upstream.ref},
        "counts": _counts(campaign, entries),
        "targets": [
            _target(known[name]) if name in known else {"target": name, "state": "pending"} for name in campaign.targets
        ],
    }


def _target(entry: Entry) -> dict[str, object]:
    value: dict[str, object] = {"target": entry.target, "state": entry.published or entry.state}
    value |= {"outcome": entry.state, "files": entry.files}
    named = {"message": entry.message, "class": entry.failure, "commit": entry.pushed or entry.made}
    named |= {"mergedAt": entry.merged_at, "lookedAt": entry.looked_at, "problem": entry.problem}
    value |= {name: text for name, text in named.items() if text}
    return value | ({"pullRequest": entry.request} if entry.request else {})
