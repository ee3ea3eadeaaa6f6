"""`krm-merge components pull-request list | open | merge | close`: the forge of repositories on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import click

from krm_merge.cli import options
from krm_merge.cli.show import say
from krm_merge.forges.interface import ForgeError, ForgePullRequest
from krm_merge.forges.local_forge import LocalForge
from krm_merge.forges.local_merge import How
from krm_merge.packages.files.directory import PackageError

_repository = click.argument("repository", metavar="REPOSITORY")
_number = click.argument("number", metavar="NUMBER", type=click.IntRange(min=1))


@click.group("pull-request")
def command() -> None:
    """Pull requests of bare repositories on this machine, in place of a forge."""


@command.command("list")
@_repository
@options.form
def list_command(repository: str, form: str) -> None:
    """List the pull requests of REPOSITORY."""
    with _refusals():
        found = list(LocalForge().pull_requests(repository))
    if form == "json":
        click.echo(json.dumps({"pullRequests": [_as_value(one) for one in found]}, indent=2))
    else:
        for one in found:
            state = f"{one.state}, draft" if one.draft else one.state
            say(f"#{one.number} {one.source_branch} -> {one.target_branch} ({state}): {one.title}", on_stdout=True)


@command.command("open")
@_repository
@click.argument("branch", metavar="BRANCH")
@click.option("--into", default="main", show_default=True, metavar="BRANCH", help="The branch that it is for.")
@click.option("--title", default="", help="Its title, by default the name of the branch.")
@click.option("--body", default="", help="Its description.")
@click.option("--draft", is_flag=True, help="As a draft.")
def open_command(repository: str, branch: str, into: str, title: str, body: str, draft: bool) -> None:
    """Open a pull request of BRANCH, which is pushed to REPOSITORY."""
    with _refusals():
        made = LocalForge().create(repository, branch, into, title or branch, body, draft=draft)
    click.echo(f"#{made.number}")


@command.command("merge")
@_repository
@_number
@click.option(
    "--how", type=click.Choice(["merge", "squash", "rebase"]), default="merge", show_default=True, help="How to merge."
)
@click.option("--force", is_flag=True, help="Also a draft.")
def merge_command(repository: str, number: int, how: How, force: bool) -> None:
    """Merge pull request NUMBER of REPOSITORY, and print the commit."""
    with _refusals():
        click.echo(LocalForge().merge(repository, number, how=how, force=force))


@command.command("close")
@_repository
@_number
def close_command(repository: str, number: int) -> None:
    """Close pull request NUMBER of REPOSITORY without merging it."""
    with _refusals():
        LocalForge().close(repository, number)


def _as_value(one: ForgePullRequest) -> dict[str, object]:
    return {
        "number": one.number,
        "sourceBranch": one.source_branch,
        "targetBranch": one.target_branch,
        "state": one.state,
        "draft": one.draft,
        "title": one.title,
    }


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except ForgeError as error:
        raise PackageError(str(error)) from None
