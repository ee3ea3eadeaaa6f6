"""`krm-merge schema`: JSON schemas for editors and validators."""

from __future__ import annotations

import json

import click

from krm_merge.cli.schemas.kinds import KINDS, UnknownKindError, kind_named

_HELP = """Print the JSON schema of KIND, or list the kinds that have one.

Save it, and name the file in the first line of your YAML, so that editors complete and check fields:

\b
    krm-merge schema Kptfile > kptfile.json
    # yaml-language-server: $schema=kptfile.json
"""


@click.command("schema", help=_HELP)
@click.argument("kind", metavar="[KIND]", required=False)
def command(kind: str | None) -> None:
    """Runs the command."""
    if kind is None:
        width = max(map(len, KINDS))
        for known in KINDS.values():
            click.echo(f"{known.kind:{width}}  {known.about}")
        return
    try:
        schema = kind_named(kind).schema()
    except UnknownKindError as error:
        raise click.UsageError(str(error)) from None
    click.echo(json.dumps(schema, indent=2, ensure_ascii=False))
