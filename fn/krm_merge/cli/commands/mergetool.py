"""`krm-merge mergetool`: settle the conflicts of a file for git."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.output import in_terminal as terminal_option
from krm_merge.cli.output import no_browser as no_browser_option
from krm_merge.cli.output import settle, show_recalled
from krm_merge.packages import Changed, File, PackageError, Tree, path_of, read_file, write_file
from krm_merge.policy import find_policy_around, memory_path, name_in_repository, recall, remember
from krm_merge.resolve.api import Host
from krm_merge.resolve.interface import OF_GIT, Saved
from krm_merge.resolve.session import Session, Task
from krm_merge.usecases import MergeChoices, MergeSides, settled_by


@click.command("mergetool", context_settings=options.NAMES_LAST)
@click.argument("base", type=options.PATH)
@click.argument("local", type=options.PATH)
@click.argument("remote", type=options.PATH)
@click.argument("merged", type=options.PATH)
@terminal_option
@no_browser_option
def mergetool_command(base: Path, local: Path, remote: Path, merged: Path, in_terminal: bool, no_browser: bool) -> None:
    """Settle the conflicts of the file MERGED for git: BASE, LOCAL and REMOTE are git's $BASE, $LOCAL and $REMOTE.

    The three versions are merged again; markers in MERGED are ignored. Choices are remembered in the repository, and
    the merge driver settles the same conflict with them, also in the next commit of a rebase. The exit code is 0 if the
    file was saved without conflicts; otherwise it is 1 and MERGED is unchanged.

    \b
    Once in each clone:
      git config mergetool.krm.cmd \\
        'krm-merge mergetool -- "$BASE" "$LOCAL" "$REMOTE" "$MERGED"'
      git config mergetool.krm.trustExitCode true

    Example:  git mergetool --tool krm
    """
    # git gives no BASE, or an empty one, where both sides added the file.
    files = [read_file(place) if place.exists() else File(b"") for place in (base, local, remote)]
    path = path_of(merged.name, files[1])
    original, ours, theirs = ({path: file} if file.data else {} for file in files)
    memory, name = memory_path(merged.absolute().parent), name_in_repository(merged)
    choices = MergeChoices.of(None, "smart", None, of_branches=True).obeying(find_policy_around(merged))
    sides = MergeSides(original, theirs, ours, ("base", "theirs", "ours"))
    remembered = recall(memory, name)
    task = Task(str(merged), sides, choices.remembering(remembered), writes_policy=False)

    def write(saved: Saved) -> None:
        now: Tree = Changed(ours, saved.changes)
        if path not in now:
            raise PackageError(f"{merged}: the merge leaves nothing of it; remove it with git rm")
        write_file(merged, now[path])
        if memory is not None:
            remember(memory, saved.choices, name)

    host = Host(Session(task), None, write)
    show_recalled(settled_by(remembered, host.session.records), str(merged))
    if not host.session.open:
        host.save()
    elif not settle(host, OF_GIT, in_terminal=in_terminal, no_browser=no_browser):
        sys.exit(1)
