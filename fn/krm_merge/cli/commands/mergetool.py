"""`krm-merge mergetool`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.output import say
from krm_merge.cli.settling import in_terminal as terminal_option
from krm_merge.cli.settling import no_browser as no_browser_option
from krm_merge.cli.settling import settle
from krm_merge.packages.files.disk import write_file
from krm_merge.packages.files.tree import Changed, File, PackageError, Tree, read_file
from krm_merge.packages.merge.side import path_of
from krm_merge.policy import find_policy_around, memory_path, recall, remember
from krm_merge.resolve.choices import ChoiceJournal, PolicySteps
from krm_merge.resolve.interface import Saved
from krm_merge.resolve.session import Session, Task
from krm_merge.resolve.web.api import Host
from krm_merge.resolve.words import OF_GIT
from krm_merge.usecases import MergeChoices, MergeSides

_HELP = """Settle the conflicts of the file MERGED for git: BASE, LOCAL and REMOTE are git's $BASE, $LOCAL and $REMOTE.

\b
Once:             git config mergetool.krm.cmd 'krm-merge mergetool -- "$BASE" "$LOCAL" "$REMOTE" "$MERGED"'
                  git config mergetool.krm.trustExitCode true
At conflicts:     git mergetool --tool krm

The three versions are merged again, so markers in MERGED do not count. What is chosen is remembered in the
repository: the merge driver settles the same conflict by it, in the next commit of a rebase, too. The exit code is 0
where the file is saved without conflicts, else 1; then MERGED is as it was.
"""


@click.command("mergetool", cls=options.NamesLast, help=_HELP)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("local", type=click.Path(path_type=Path))
@click.argument("remote", type=click.Path(path_type=Path))
@click.argument("merged", type=click.Path(path_type=Path))
@terminal_option
@no_browser_option
def mergetool_command(base: Path, local: Path, remote: Path, merged: Path, in_terminal: bool, no_browser: bool) -> None:
    """Runs the command."""
    # git gives no BASE, or an empty one, where both sides added the file.
    files = [read_file(place) if place.exists() else File(b"") for place in (base, local, remote)]
    path = path_of(merged.name, files[1])
    original, ours, theirs = ({path: file} if file.data else {} for file in files)
    choices = MergeChoices.of(None, "smart", None, of_branches=True).obeying(find_policy_around(merged))
    sides = MergeSides(original, theirs, ours, ("base", "theirs", "ours"))
    memory = memory_path(merged.absolute().parent)
    task = Task(str(merged), sides, choices, recall(memory), writes_policy=False)

    def write(saved: Saved) -> None:
        now: Tree = Changed(ours, saved.changes)
        if path not in now:
            raise PackageError(f"{merged}: nothing is left of it; remove it with git rm")
        write_file(merged, now[path])
        if memory is not None:
            remember(memory, saved.choices)

    host = Host(Session(task), ChoiceJournal(None, PolicySteps(choices.package.target_file)), write)
    if not host.session.open:
        host.save()
        say(f"{merged}: settled by what was chosen before")
    elif not settle(host, OF_GIT, in_terminal=in_terminal, no_browser=no_browser):
        sys.exit(1)
