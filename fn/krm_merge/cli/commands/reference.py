"""`krm-merge help` and `krm-merge completion`."""

from __future__ import annotations

import sys
from difflib import get_close_matches

import click
from click.shell_completion import CompletionItem, get_completion_class
from rich.console import Console
from rich.markdown import Markdown
from rich.theme import Theme

from krm_merge.cli.help_pages import COMMANDS, TOPICS, is_rule, page_of, page_of_rule

_WIDEST = 100


def _completions(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in (*TOPICS, *COMMANDS) if name.startswith(incomplete)]


@click.command("help")
@click.argument("topic", shell_complete=_completions)
@click.pass_context
def help_command(ctx: click.Context, topic: str) -> None:
    """Show the page of TOPIC: a topic, the number of a rule, or a command.

    On a terminal the page is formatted, and a long page opens in the pager; elsewhere it is Markdown.

    Example:  krm-merge help V4
    """
    root = ctx.find_root()
    if topic in TOPICS:
        _show(page_of(TOPICS[topic]))
    elif is_rule(topic.upper()):
        _show(page_of_rule(topic.upper()))
    elif topic in COMMANDS:
        assert isinstance(root.command, click.Group)
        subcommand = root.command.get_command(root, topic)
        assert subcommand is not None
        with click.Context(subcommand, info_name=topic, parent=root) as about:
            click.echo(subcommand.get_help(about))
    else:
        names = (*TOPICS, *COMMANDS)
        remedy = "." if get_close_matches(topic, names) else "; `krm-merge help` lists all."
        raise click.exceptions.NoSuchCommand(topic, f"No topic {topic!r}{remedy}", names, ctx)


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


_VARIABLE = "_KRM_MERGE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and files in SHELL.

    \b
    Where the shells look for it:
      bash  ~/.local/share/bash-completion/completions/krm-merge
      zsh   "${fpath[1]}/_krm-merge"
      fish  ~/.config/fish/completions/krm-merge.fish

    \b
    Example:  krm-merge completion bash \\
                > ~/.local/share/bash-completion/completions/krm-merge
    """
    root = ctx.find_root()
    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(root.command, {}, "krm-merge", _VARIABLE).source(), nl=False)
