"""The commands, each in its own module, imported when it is called."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from krm_merge import interrupts, standard_output
from krm_merge.cli.help_pages import COMMANDS
from krm_merge.cli.output import FAILED, JSON_ERRORS, TYPED, errors_printed, is_json_wanted, say, show_error
from krm_merge.errors import KrmMergeError
from krm_merge.packages import collect_notes
from krm_merge.safe_text import internal_error, let_go, lines

if TYPE_CHECKING:
    from krm_merge.usecases import GitMerge

_SHARED_MODULES = {
    "completion": "reference",
    "config": "settings",
    "diff": "compare",
    "help": "reference",
    "mergetool": "resolve",
    "names": "check",
    "status": "check",
    "update": "merge",
    "why": "declare",
}
"""The modules of commands that share one; each other command has a module of its name."""


class _BrokenPipeSeenError(Exception):
    """Raised when nobody reads stdout any more; click itself would end silently."""


@contextmanager
def _broken_pipes_reported() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _BrokenPipeSeenError from error


class _Commands(click.Group):
    """Knows the commands by name and loads one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"krm_merge.cli.commands.{_SHARED_MODULES.get(name, name)}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            # As with kpt, kubectl and git.
            hint = " krm-merge --version prints the version." if args[0] == "version" else ""
            raise click.exceptions.NoSuchCommand(args[0], f"No such command {args[0]!r}.{hint}", COMMANDS, ctx)
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        arguments = list(args)
        with _broken_pipes_reported():
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[TYPED] = arguments
        context.meta[JSON_ERRORS] = is_json_wanted(arguments)
        return context

    def invoke(self, ctx: click.Context) -> Any:
        with _broken_pipes_reported(), errors_printed(ctx):
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Imports no command: a shell waits for the answer at every press of the key.
        return [CompletionItem(name, help=COMMANDS[name]) for name in COMMANDS if name.startswith(incomplete)]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def app() -> None:
    """Merge Kubernetes configuration: what several people and programs changed, and what was decided."""


def main(arguments: list[str], done: GitMerge | None = None) -> int:
    """Runs a command and returns its exit code; `done` is the merge that `merge-driver` reports.

    0 done, 1 conflicts that are left or refused, 2 wrong usage, 3 something cannot be read, reached or written, 130
    interrupted.
    """
    color = False if os.environ.get("NO_COLOR") else None
    with collect_notes() as notes, interrupts.as_exceptions():
        try:
            app.main(arguments, prog_name="krm-merge", standalone_mode=False, color=color, obj=done)
            interrupts.ignore_further()
        except click.ClickException as error:
            text = io.StringIO()
            error.show(text)
            click.echo(lines(text.getvalue()), nl=False, err=True)
            return error.exit_code
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except (interrupts.Interrupted, click.Abort):
            say(f"interrupted; {_so_far(notes)}")
            return interrupts.EXIT_CODE
        except KrmMergeError as error:
            return show_error(error)
        except (OSError, _BrokenPipeSeenError) as error:
            # What is read and written by name is caught where that is done.
            standard_output.give_up()
            cause = error.__cause__ if isinstance(error, _BrokenPipeSeenError) else error
            assert isinstance(cause, OSError)
            say(f"{standard_output.problem(cause)}; {_so_far(notes)}")
            return FAILED
        except Exception as error:
            if isinstance(error, MemoryError):
                let_go(error)
            click.echo(internal_error(error, _so_far(notes)), err=True)
            return FAILED
        finally:
            interrupts.ignore_further()
    return 0


def _so_far(notes: list[str]) -> str:
    """The report of what was written before the interruption."""
    return ", ".join(notes) or "nothing was changed"
