"""Options of commands that push to repositories and open pull requests, and the objects made from them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from krm_merge.components.apply.repository import KRM_MERGE, Repository
from krm_merge.forges.addresses import same_repository
from krm_merge.forges.choice import Forges, ForgeSettings, is_local
from krm_merge.forges.hosted.pace import Pace
from krm_merge.forges.interface import Forge
from krm_merge.git.credentials import credentials_for
from krm_merge.git.signing import signing_settings
from krm_merge.git.store import Person
from krm_merge.packages.git_cache import GitCache

forge_kinds = click.option(
    "--forge",
    "forges",
    multiple=True,
    metavar="[HOST=]KIND",
    help="What a host runs: github, gitlab or forgejo (Gitea, too); without HOST, all that are not known by their "
    "names. `local` records pull requests beside bare repositories on this machine, as it is for paths.",
)
forge_apis = click.option(
    "--api",
    "apis",
    multiple=True,
    metavar="HOST=URL",
    help="The API of a host, where it is not at the usual place, as https://HOST/gitlab/api/v4.",
)
pace = click.option(
    "--pace",
    type=click.FloatRange(min=0),
    default=Pace().seconds_between_changes,
    show_default=True,
    metavar="SECONDS",
    help="The least time between two changing requests to a host.",
)
_OPTIONS = (
    forge_kinds,
    forge_apis,
    pace,
    click.option(
        "--changes-per-hour",
        type=click.IntRange(min=1),
        default=Pace().changes_an_hour,
        show_default=True,
        help="How many changing requests a host gets in an hour.",
    ),
    click.option(
        "--author",
        envvar="KRM_MERGE_AUTHOR",
        default="",
        metavar="'NAME <MAIL>'",
        help="Who makes our commits; by default krm-merge. The same for observe and apply.",
    ),
    click.option(
        "--sign",
        is_flag=True,
        help="Sign our commits with user.signingKey of git; without it, where git's commit.gpgSign says so.",
    ),
)


@dataclass(frozen=True, slots=True)
class Places:
    """Repositories and their forges, as the options say."""

    forges: Forges
    author: Person
    signing: tuple[str, ...]
    cache: GitCache = field(default_factory=GitCache)

    def of(self, url: str) -> tuple[Repository, Forge]:
        """A repository with its branches as they are now, and its forge. Raises GitError and ForgeError."""
        forge = self.forges.of(url)
        name = same_repository(str(Path(url).resolve()) if is_relative(url) else url)
        # Readable, and one for each.
        folder = f"{name.rpartition('/')[2]}-{sha256(name.encode()).hexdigest()[:16]}"
        credentials = credentials_for(url, forge.git_token(url))
        return Repository.opened(url, self.cache.held(folder), credentials, self.author, self.signing), forge


def with_places(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options about forges; it takes them as `places`."""

    @functools.wraps(command)
    def wrapped(
        *, forges: tuple[str, ...], apis: tuple[str, ...], pace: float, changes_per_hour: int, **more: Any
    ) -> None:
        settings = ForgeSettings.parsed(forges, apis, Pace(pace, changes_per_hour))
        author, sign = more.pop("author"), more.pop("sign")
        person = Person.parsed(author) if author else KRM_MERGE
        command(places=Places(Forges(settings), person, signing_settings(forced=sign)), **more)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def is_relative(url: str) -> bool:
    """Whether a URL is a path that depends on the working directory."""
    return is_local(url) and not url.startswith(("/", "file://"))
