"""The commands, each in its own module, imported when it is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from krm_merge.packages.directory import PackageError

COMMANDS = {
    "merge": "Merge three versions of a package or of a file.",
    "update": "Update a package from the git repository that its Kptfile names.",
    "config": "Write the functionConfig that updates a package with kpt fn eval.",
    "patch": "Apply and make patches: strategic merge, JSON merge, JSON.",
    "transform": "Run plugins over resources and settle their conflicts by priorities.",
    "components": "Plan the updates of components that depend on each other, and carry plans out.",
    "merge-driver": "Merge as git asks for it: a merge driver for KRM files.",
}


class _Commands(click.Group):
    """Knows the commands by name and loads one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"krm_merge.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            raise click.UsageError(f"there is no command {args[0]}; known are {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # None of them is imported for that.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def app() -> None:
    """Merge Kubernetes configuration: what several people and programs changed, and what was decided."""


def main(arguments: list[str]) -> int:
    """Runs a command and returns its exit code: 0 done, 1 conflicts or refused input, 2 wrong usage."""
    color = False if os.environ.get("NO_COLOR") else None
    try:
        app.main(arguments, prog_name="krm-merge", standalone_mode=False, color=color)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        print("stopped; nothing was changed", file=sys.stderr)
        return 1
    except PackageError as error:
        click.echo(f"{click.style('error', fg='red', bold=True)} {error}", err=True, color=color)
        return 1
    return 0
