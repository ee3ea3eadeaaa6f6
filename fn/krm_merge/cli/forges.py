"""Options of commands that push to repositories and open pull requests, and pull requests beside a repository."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.output import print_json, say
from krm_merge.components.repository import Repository
from krm_merge.forges.choice import Forges, ForgeSettings, is_local
from krm_merge.forges.interface import Forge, ForgePullRequest, Pace, host_of, same_repository
from krm_merge.forges.local import How, LocalForge
from krm_merge.git.program import credentials_for
from krm_merge.git.store import Store
from krm_merge.packages import GitCache

forge_kinds = click.option(
    "--forge",
    "forges",
    multiple=True,
    metavar="HOST=KIND",
    help="What a host runs if its name does not show it: github, gitlab or forgejo (also for Gitea).",
)
forge_apis = click.option(
    "--api",
    "apis",
    multiple=True,
    metavar="HOST=URL",
    help="The API of a host if it is not at the usual address, such as https://HOST/gitlab/api/v4.",
)
pace = click.option(
    "--pace",
    type=click.FloatRange(min=0),
    default=Pace().seconds_between_changes,
    show_default=True,
    metavar="SECONDS",
    help="The minimum time between two changes sent to a host.",
)


@dataclass
class Places:
    """Repositories and their forges, as the options say."""

    forges: tuple[str, ...]
    apis: tuple[str, ...]
    pace: float

    def __post_init__(self) -> None:
        """Reads the options. Raises KrmMergeError."""
        self._settings = ForgeSettings.parse(self.forges, self.apis, Pace(self.pace))
        self._forges = Forges(self._settings)
        self._cache = GitCache()

    def of(self, url: str) -> tuple[Repository, Forge]:
        """A repository with its branches as they are now, and its forge. Raises GitError and ForgeError."""
        forge = self._forges.of(url)
        name = same_repository(str(Path(url).resolve()) if is_relative(url) else url)
        # Readable, and one for each.
        folder = f"{name.rpartition('/')[2]}-{sha256(name.encode()).hexdigest()[:16]}"
        store = Store.open(self._cache.directory_of(folder))
        # Over https alone: others need none, and git's helpers are not asked.
        secret = self._settings.token_of(host_of(url)).secret if url.startswith("https://") else ""
        repository = Repository(url, store, credentials_for(url, secret))
        repository.refresh()
        return repository, forge


with_places = options.combined(
    forge_kinds,
    forge_apis,
    pace,
    options.options_as(Places, "places"),
)


def is_relative(url: str) -> bool:
    """Whether a URL is a path that depends on the working directory."""
    return is_local(url) and not url.startswith(("/", "file://"))


_repository = click.argument("repository", metavar="REPOSITORY")
_number = click.argument("number", metavar="NUMBER", type=click.IntRange(min=1))


@click.group("pull-request", cls=options.Subcommands)
def pull_request_command() -> None:
    """Manage pull requests of bare repositories on this machine, without a forge.

    Example:  krm-merge components pull-request list child.git
    """


@pull_request_command.command("list")
@_repository
@options.form
def list_command(repository: str, form: str) -> None:
    """List the pull requests of REPOSITORY.

    Example:  krm-merge components pull-request list child.git
    """
    pulls = list(LocalForge().pull_requests(repository))
    if form == "json":
        print_json({"pullRequests": [_as_value(pull) for pull in pulls]})
    else:
        for pull in pulls:
            state = f"{pull.state}, draft" if pull.draft else pull.state
            say(f"#{pull.number} {pull.source_branch} -> {pull.target_branch} ({state}): {pull.title}", on_stdout=True)


@pull_request_command.command("open")
@_repository
@click.argument("branch", metavar="BRANCH")
@click.option("--into", default="main", show_default=True, metavar="BRANCH", help="The target branch.")
@click.option("--title", default="", help="Its title, by default the name of the branch.")
@click.option("--body", default="", help="Its description.")
@click.option("--draft", is_flag=True, help="Open it as a draft.")
def open_command(repository: str, branch: str, into: str, title: str, body: str, draft: bool) -> None:
    """Open a pull request from BRANCH, which must be pushed to REPOSITORY.

    Example:  krm-merge components pull-request open child.git fix
    """
    pull = LocalForge().create(repository, branch, into, title or branch, body, draft=draft)
    click.echo(f"#{pull.number}")


@pull_request_command.command("merge")
@_repository
@_number
@options.choice_option(["merge", "squash"], "--how", help="How to merge.")
@click.option("--force", is_flag=True, help="Merge it even if it is a draft.")
def merge_command(repository: str, number: int, how: How, force: bool) -> None:
    """Merge pull request NUMBER of REPOSITORY, and print the commit.

    Example:  krm-merge components pull-request merge child.git 2
    """
    click.echo(LocalForge().merge(repository, number, how=how, force=force))


@pull_request_command.command("close")
@_repository
@_number
def close_command(repository: str, number: int) -> None:
    """Close pull request NUMBER of REPOSITORY without merging it.

    Example:  krm-merge components pull-request close child.git 1
    """
    LocalForge().close(repository, number)


def _as_value(pull: ForgePullRequest) -> dict[str, object]:
    return {
        "number": pull.number,
        "sourceBranch": pull.source_branch,
        "targetBranch": pull.target_branch,
        "state": pull.state,
        "draft": pull.draft,
        "title": pull.title,
    }
