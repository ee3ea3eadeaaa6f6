"""Options that several commands have."""

from __future__ import annotations

import click

from krm_merge.merge.package import PackageMerge
from krm_merge.merge.policy import OnConflict, Policy

on_conflict = click.option(
    "--on-conflict",
    type=click.Choice(["upstream", "local", "fail"]),
    default="upstream",
    show_default=True,
    help="Who wins where both sides changed a value; with fail every conflict is an error and no file changes.",
)
function_identity = click.option(
    "--function-identity",
    type=click.Choice(["document", "smart"]),
    default="document",
    show_default=True,
    help="How functions of a pipeline without names are recognised.",
)
show_diff = click.option("--diff", "with_diff", is_flag=True, help="Print the difference to local.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
output = click.option(
    "--output",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json prints what was decided as one object on stdout.",
)


def package_merge(conflict: OnConflict, identity: str) -> PackageMerge:
    """The merge that the options ask for."""
    return PackageMerge(Policy(conflict), smart=identity == "smart")
