"""`krm-merge help` and `krm-merge completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from krm_merge.cli.help_pages import page_of_rule


@click.command("help")
@click.argument("rule")
def help_command(rule: str) -> None:
    """Print the section about RULE, the number of a rule in a result or report, as Markdown.

    Example:  krm-merge help V4
    """
    click.echo(page_of_rule(rule.upper()), nl=False)


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
