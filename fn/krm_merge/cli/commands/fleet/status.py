"""`krm-merge fleet status` and `krm-merge fleet report`."""

from __future__ import annotations

from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.commands.fleet.run import DIRECTORY, show_messages
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.forms import FORMS, as_json
from krm_merge.fleet.ledger import Ledger
from krm_merge.fleet.overview import Overview
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file


def _checked(context: click.Context, option: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    for file in files:
        if file.suffix not in FORMS:
            raise click.BadParameter(f"{file}: the suffix says the form; known are {', '.join(FORMS)}")
    return files


@click.command("status")
@DIRECTORY
@click.option(
    "--report",
    "reports",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    callback=_checked,
    help=f"Write it to this file, too; its suffix says in which form: {', '.join(FORMS)}. Repeatable.",
)
@options.form
def status(directory: Path, reports: tuple[Path, ...], form: str) -> None:
    """Say how far the campaign in DIR is: waves, what became of its targets, and what failed."""
    overview = _read(directory)
    _write(overview, reports)
    if form == "json":
        click.echo(as_json(overview), nl=False)
        return
    upstream = overview.campaign.upstream
    head = f"{overview.campaign.name}: {upstream.repository} {upstream.directory} to {upstream.ref}"
    say(head, on_stdout=True)
    for state, count in overview.counts().items():
        say(f"{count:9,}  {state}", on_stdout=True)
    for wave in overview.waves:
        of = wave.published + wave.to_publish
        said = f"{wave.published:,} of {of:,} published, {wave.merged:,} merged, {wave.closed:,} closed"
        say(f"wave {wave.name}: {len(wave.targets):,} targets, {said}", on_stdout=True)
    show_messages(overview.messages)
    for entry in overview.entries.values():
        if entry.problem:
            say(f"not published: {entry.target}: {entry.problem}", on_stdout=True)


@click.command("report")
@DIRECTORY
@click.argument(
    "files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path, dir_okay=False), callback=_checked
)
def report(directory: Path, files: tuple[Path, ...]) -> None:
    """Write a report of the campaign in DIR, by default to report.html in it: waves, conflicts, failures, targets."""
    wanted = files or (directory / "report.html",)
    _write(_read(directory), wanted)
    for file in wanted:
        say(f"{file} was written", on_stdout=True)


def _read(directory: Path) -> Overview:
    place = CampaignDirectory(directory)
    campaign = place.read()
    if not place.ledger.is_file():
        return Overview.of(campaign, {}, ())
    with Ledger.opened(place.ledger) as ledger:
        return Overview.of(campaign, ledger.entries(), ledger.conflicts())


def _write(overview: Overview, files: tuple[Path, ...]) -> None:
    for file in files:
        write_file(file, File(FORMS[file.suffix](overview).encode()))
