"""`krm-merge fleet`: many packages, one upstream."""

from __future__ import annotations

import click

from krm_merge.cli.commands.fleet.conflicts import conflicts, resolve
from krm_merge.cli.commands.fleet.init import init
from krm_merge.cli.commands.fleet.join import join
from krm_merge.cli.commands.fleet.publish import publish
from krm_merge.cli.commands.fleet.run import run
from krm_merge.cli.commands.fleet.status import report, status


@click.group("fleet")
def command() -> None:
    """Update many packages that follow one upstream: planned, merged on all cores, resumed, published in waves."""


command.add_command(init)
command.add_command(run)
command.add_command(status)
command.add_command(conflicts)
command.add_command(resolve)
command.add_command(publish)
command.add_command(join)
command.add_command(report)
