"""`krm-merge fleet join`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from krm_merge.cli.commands.fleet.run import DIRECTORY
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.ledger import Ledger
from krm_merge.packages.files.directory import PackageError


@click.command("join")
@DIRECTORY
@click.argument("others", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False))
def join(directory: Path, others: tuple[Path, ...]) -> None:
    """Take what copies of the campaign in the first DIR have done, each its own shard, over into it."""
    place = CampaignDirectory(directory)
    campaign = place.read()
    with place.locked(), Ledger.opened(place.ledger) as ledger:
        ledger.follow(campaign.targets)
        for other in map(CampaignDirectory, others):
            if other.ledger == place.ledger:
                raise PackageError(f"{other.path}: is the directory that others are joined to; name their directories")
            if not other.ledger.is_file():
                raise PackageError(f"{other.ledger}: there is no ledger; run its shard first")
            if (name := other.read().name) != campaign.name:
                raise PackageError(f"{other.path}: is of the campaign {name}, not of {campaign.name}")
            with Ledger.opened(other.ledger) as theirs:
                taken = ledger.take_over(theirs)
            for folder in ("reports", "cache/repositories"):
                if (other.ledger.parent / folder).is_dir():
                    shutil.copytree(other.ledger.parent / folder, place.ledger.parent / folder, dirs_exist_ok=True)
            say(f"{other.path}: {taken:,} targets", on_stdout=True)
