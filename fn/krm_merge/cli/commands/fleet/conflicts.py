"""`krm-merge fleet conflicts` and `krm-merge fleet resolve`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.commands.fleet.run import DIRECTORY
from krm_merge.cli.reports import write_reports
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.campaign import POLICY_FILE, Campaign
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.conflicts.choices import resolution_for, rule_for, with_choices
from krm_merge.fleet.conflicts.groups import Group, groups_of, report_of, values_of
from krm_merge.fleet.ledger import Ledger
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.report.forms.shown import shortened, yaml_text
from krm_merge.report.words import CHOICES, NATURES
from krm_merge.text.reading.values import Value

_LONGEST_VALUE = 100
_KEYS: dict[str, Choice] = {"u": "upstream", "l": "local", "o": "original"}


@click.command("conflicts")
@DIRECTORY
@click.option("--all", "with_decided", is_flag=True, help="Show conflicts that a rule or a choice settled, too.")
@options.form
@options.reports
def conflicts(directory: Path, with_decided: bool, form: str, reports: tuple[Path, ...]) -> None:
    """Show the conflicts of the campaign in DIR, equal ones of all packages as one, the most frequent first."""
    campaign, groups = _read(CampaignDirectory(directory), with_decided=with_decided)
    write_reports(lambda: report_of(campaign.name, groups), reports)
    if form == "json":
        click.echo(json.dumps({"groups": [_as_value(group) for group in groups]}, indent=2))
        return
    for group in groups:
        _show(group)
    if not groups:
        say("no conflicts", on_stdout=True)
    elif any(group.conflict.is_undecided for group in groups):
        say(f"settle them for all packages: krm-merge fleet resolve {directory} --terminal", on_stdout=True)


@click.command("resolve")
@DIRECTORY
@click.option("--terminal", is_flag=True, required=True, help="Ask one group after the other.")
def resolve(directory: Path, terminal: bool) -> None:
    """Settle equal conflicts of the campaign in DIR once for all packages.

    What is chosen is written to policy.yaml in DIR; the next run merges the packages again that have such a conflict,
    and no others. A choice in a package's own MergePolicy comes first. The exit code is 1 where nothing was chosen.
    """
    place = CampaignDirectory(directory)
    campaign, groups = _read(place, with_decided=False)
    if not groups:
        say("no conflicts", on_stdout=True)
        return
    resolutions, rules = _asked(groups)
    if not resolutions and not rules:
        say("nothing was chosen; policy.yaml is as it was", on_stdout=True)
        sys.exit(1)
    text = with_choices(campaign.policy_text, resolutions, rules)
    write_file(place.path / POLICY_FILE, File(text))
    count = len(resolutions) + len(rules)
    noun = "1 choice" if count == 1 else f"{count} choices"
    say(f"{noun} written to {directory / POLICY_FILE}; then: krm-merge fleet run {directory}", on_stdout=True)


def _read(place: CampaignDirectory, *, with_decided: bool) -> tuple[Campaign, list[Group]]:
    campaign = place.read()
    if not place.ledger.is_file():
        return campaign, []
    with Ledger.opened(place.ledger) as ledger:
        found = list(ledger.conflicts())
    return campaign, groups_of(found) + (groups_of(found, decided=True) if with_decided else [])


def _show(group: Group) -> None:
    one = group.conflict
    by = f" [settled by {one.settled_by}]" if not one.is_undecided else ""
    click.echo(click.style(f"{len(group.packages):,} x {group.place}", bold=True) + by)
    say(f"  {NATURES[one.nature]}: {one.message} ({one.rule})", on_stdout=True)
    for side, value in values_of(group):
        text = shortened(" ".join(yaml_text(value).split()), _LONGEST_VALUE)
        say(f"  {side:9} {text}", on_stdout=True)
    say(f"  {group.examples}", on_stdout=True)


def _asked(groups: Iterable[Group]) -> tuple[list[dict[str, Value]], list[dict[str, Value]]]:
    """The user's choices for groups: resolutions of these conflicts, and rules for future ones."""
    resolutions: list[dict[str, Value]] = []
    rules: list[dict[str, Value]] = []
    for group in groups:
        _show(group)
        offered = {key: choice for key, choice in _KEYS.items() if choice in group.conflict.choices}
        always = {
            key.upper(): choice for key, choice in offered.items() if choice != "original" and group.conflict.kind
        }
        said = [f"{key} {CHOICES[choice]}" for key, choice in offered.items()]
        said += [f"{key} always {CHOICES[choice]}" for key, choice in always.items()]
        while True:
            say(f"  {', '.join(said)}, n next, q quit", on_stdout=True)
            answer = sys.stdin.readline().strip()
            if answer in offered:
                resolutions.append(resolution_for(group, offered[answer]))
            elif answer in always:
                rules.append(rule_for(group, always[answer]))
            elif answer not in ("n", "q", ""):
                say(f"  {answer}: no such answer", on_stdout=True)
                continue
            break
        if answer in ("q", ""):
            break
    return resolutions, rules


def _as_value(group: Group) -> dict[str, object]:
    one = group.conflict
    return {
        "fingerprint": one.fingerprint,
        "nature": one.nature,
        "kind": one.kind,
        "path": one.path,
        "rule": one.rule,
        "message": one.message,
        "status": one.status,
        "settledBy": one.settled_by,
        "values": dict(one.values),
        "choices": list(one.choices),
        "count": len(group.packages),
        "packages": list(group.packages),
    }
