"""`krm-merge help`."""

from __future__ import annotations

import sys

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.markdown import Markdown
from rich.theme import Theme

from krm_merge.cli.help.overview import COMMANDS
from krm_merge.cli.help.topics import TOPICS, is_rule, page_of, page_of_rule

_WIDEST = 100


def _completions(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in (*TOPICS, *COMMANDS) if name.startswith(incomplete)]


@click.command("help")
@click.argument("topic", shell_complete=_completions)
@click.pass_context
def command(ctx: click.Context, topic: str) -> None:
    """Show the page of TOPIC: a topic, the number of a rule, or a command.

    On a terminal the page is formatted, and opens in the pager where it is long; elsewhere it is Markdown.
    """
    root = ctx.find_root()
    if topic in TOPICS:
        _show(page_of(TOPICS[topic]))
    elif is_rule(topic):
        _show(page_of_rule(topic))
    elif topic in COMMANDS:
        assert isinstance(root.command, click.Group)
        found = root.command.get_command(root, topic)
        assert found is not None
        with click.Context(found, info_name=topic, parent=root) as about:
            click.echo(found.get_help(about))
    else:
        raise click.exceptions.NoSuchCommand(topic, f"No topic {topic!r}.", (*TOPICS, *COMMANDS), ctx)


def _show(page: str) -> None:
    if not sys.stdout.isatty():
        click.echo(page, nl=False)
        return
    # The default has a background of its own: a black bar on a light terminal.
    console = Console(theme=Theme({"markdown.code": "bold"}))
    console.width = min(console.width, _WIDEST)
    with console.capture() as formatted:
        console.print(Markdown(page, hyperlinks=False))
    text = formatted.get()
    if text.count("\n") < console.height:
        click.echo(text, nl=False)
    else:
        click.echo_via_pager(text, color=True)
