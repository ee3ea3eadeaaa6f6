"""`krm-merge completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_KRM_MERGE_COMPLETE"
_HELP = """Print the script that completes commands, options and files in SHELL.

\b
bash:  krm-merge completion bash > ~/.local/share/bash-completion/completions/krm-merge
zsh:   krm-merge completion zsh > "${fpath[1]}/_krm-merge"
fish:  krm-merge completion fish > ~/.config/fish/completions/krm-merge.fish
"""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Runs the command."""
    root = ctx.find_root()
    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(root.command, {}, "krm-merge", _VARIABLE).source(), nl=False)
