"""`krm-merge fleet conflicts` and `krm-merge fleet resolve`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.commands.fleet.run import DIRECTORY
from krm_merge.cli.reports import write_reports
from krm_merge.cli.settling import in_terminal, no_browser, settle
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.campaign import POLICY_FILE, Campaign
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.conflicts.choices import may_be_rule
from krm_merge.fleet.conflicts.groups import Group, groups_of, report_of, values_of
from krm_merge.fleet.conflicts.session import GroupSession
from krm_merge.fleet.conflicts.steps import GroupStep, GroupSteps
from krm_merge.fleet.conflicts.trial import without_effect
from krm_merge.fleet.ledger import Ledger
from krm_merge.fleet.running.run import settings_of
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.packages.files.directory import UnavailableError
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.report.forms.shown import shortened, yaml_text
from krm_merge.report.words import CHOICES, NATURES
from krm_merge.resolve.interface import Saved
from krm_merge.resolve.kept import Kept, kept_beside
from krm_merge.resolve.web.host import Host
from krm_merge.resolve.words import OF_FLEET

_LONGEST_VALUE = 100
_NAMES = 3
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
    elif any(group.conflict.is_undecided and group.conflict.choices for group in groups):
        say(f"settle them for all packages: krm-merge fleet resolve {directory}", on_stdout=True)


@click.command("resolve")
@DIRECTORY
@in_terminal
@no_browser
def resolve(directory: Path, in_terminal: bool, no_browser: bool) -> None:
    """Settle equal conflicts of the campaign in DIR once for all packages.

    A page opens in the browser, with a card for each group of equal conflicts; some packages of a group can be settled
    apart. Saving writes the choices to policy.yaml in DIR; the next run merges the packages again that have such a
    conflict, and no others. A choice in a package's own MergePolicy comes first. What is chosen is kept at once: after
    an interruption, the same command continues where it was. The exit code is 1 where nothing was saved.
    """
    place = CampaignDirectory(directory)
    campaign, groups = _read(place, with_decided=False)
    groups = [group for group in groups if group.conflict.choices]
    if not groups:
        say("no conflicts", on_stdout=True)
        return
    policy = place.path / POLICY_FILE
    # The terminal asks from the beginning.
    kept = Kept(None if in_terminal else kept_beside(policy), GroupSteps())
    session = GroupSession(campaign, groups, kept.steps)

    def write(saved: Saved) -> None:
        before = File(campaign.policy_text) if campaign.policy_text else None
        write_file(policy, _changed(saved), before)

    host = Host(session, kept, write)
    if in_terminal:
        _ask(host, {group.id: group for group in groups})
        if not host.session.can_save:
            say("nothing was chosen; policy.yaml is as it was", on_stdout=True)
            sys.exit(1)
        host.save()
    elif not settle(host, OF_FLEET, in_terminal=False, no_browser=no_browser):
        sys.exit(1)
    for group, package in _without_effect(place, session):
        say(
            f"{group.place}: still a conflict in {package}: its own MergePolicy, or other resources, decide",
            on_stdout=in_terminal,
        )
    count = len(session.made)
    noun = "1 choice" if count == 1 else f"{count} choices"
    # Of the page, stdout has the address alone.
    say(f"{noun} written to {directory / POLICY_FILE}; then: krm-merge fleet run {directory}", on_stdout=in_terminal)


def _without_effect(place: CampaignDirectory, session: GroupSession) -> list[tuple[Group, str]]:
    """The groups that the choices do not settle, each with a package in which they were tried."""
    try:
        with place.locked():
            return list(without_effect(settings_of(place.read(), place), session.chosen))
    except UnavailableError:
        # A run that goes on meanwhile tries them itself.
        return []


def _changed(saved: Saved) -> File:
    file = saved.changes[POLICY_FILE]
    assert file is not None
    return file


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
    names = sorted({resource.name for resource in group.resources})
    if len(names) > 1:
        more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
        say(f"  {len(names):,} names: {', '.join(names[:_NAMES])}{more}", on_stdout=True)
    say(f"  {group.examples}", on_stdout=True)


def _ask(host: Host[GroupStep], groups: Mapping[str, Group]) -> None:
    """Asks for a choice on one group after the other."""
    for record in host.session.open:
        _show(groups[record.id])
        offered = {key: choice for key, choice in _KEYS.items() if choice in record.choices}
        always = {key.upper(): choice for key, choice in offered.items() if may_be_rule(groups[record.id], choice)}
        said = [f"{key} {CHOICES[choice]}" for key, choice in offered.items()]
        said += [f"{key} always {CHOICES[choice]}" for key, choice in always.items()]
        while True:
            say(f"  {', '.join(said)}, n next, q quit", on_stdout=True)
            answer = sys.stdin.readline().strip()
            if answer in offered or answer in always:
                choice = offered.get(answer) or always[answer]
                host.choose([record.id], choice, always=answer in always)
            elif answer not in ("n", "q", ""):
                say(f"  {answer}: no such answer", on_stdout=True)
                continue
            break
        if answer in ("q", ""):
            break


def _as_value(group: Group) -> dict[str, object]:
    one = group.conflict
    return {
        "fingerprint": one.fingerprint,
        "nature": one.nature,
        "apiGroup": group.api_group,
        "kind": one.kind,
        "names": sorted({resource.name for resource in group.resources}),
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
