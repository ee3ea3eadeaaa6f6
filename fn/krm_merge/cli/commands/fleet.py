"""`krm-merge fleet`: many packages, one upstream."""

from __future__ import annotations

import click

from krm_merge.cli.commands.fleet_results import conflicts, publish, report, resolve, status
from krm_merge.cli.commands.fleet_runs import init, join, run


@click.group("fleet")
def fleet_command() -> None:
    """Update many packages that follow one upstream: planned, merged on all cores, resumed, published in waves."""


fleet_command.add_command(init)
fleet_command.add_command(run)
fleet_command.add_command(status)
fleet_command.add_command(conflicts)
fleet_command.add_command(resolve)
fleet_command.add_command(publish)
fleet_command.add_command(join)
fleet_command.add_command(report)
