"""The interface of forges that plans of components and fleets need: addresses, requests, their pace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias

from krm_merge.errors import KrmMergeError

_SCHEME = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]+@)?", re.IGNORECASE)
_SCP = re.compile(r"^[^/@:]+@([^/:]+):(?!\d+/)")
_NAME = re.compile(r"[\w.-]+", re.ASCII)
_ALIASES = ("ssh.", "altssh.", "www.")
"""Prefixes of the hosts on which GitHub and GitLab offer ssh on the port of https."""


@lru_cache(maxsize=4096)
def same_repository(url: str) -> str:
    """A form of a git URL that is equal for all spellings of a repository: https, ssh, file, with and without .git."""
    text = _SCP.sub(r"\1/", url.strip())
    text = text.removeprefix("file://")
    text = text if text.startswith("/") else _SCHEME.sub("", text)
    text = text.rstrip("/").removesuffix(".git").rstrip("/")
    host, slash, path = text.partition("/")
    return f"{host.lower()}{slash}{path}" if host else text


def host_of(url: str) -> str:
    """The host in the address of a repository, without port and without what is only for ssh; '' for a path."""
    place = same_repository(url).rpartition("@")[2].partition("/")[0].partition(":")[0]
    return next((place.removeprefix(alias) for alias in _ALIASES if place.startswith(alias)), place)


def path_on(host: str, url: str, *, nested: bool = False) -> str:
    """The path of a repository of this host: `owner/name`, where groups are `nested` of any depth.

    Raises ForgeError for another one's: we would write to a stranger's, who would learn the token.
    """
    address = same_repository(url).rpartition("@")[2]
    path = address.partition("/")[2]
    parts = path.split("/")
    is_path = len(parts) >= 2 if nested else len(parts) == 2
    if host_of(url) != host or not is_path or not all(_NAME.fullmatch(part) and part.strip(".") for part in parts):
        raise ForgeError(f"{address} is not a repository of {host}; use an address like https://{host}/OWNER/NAME")
    return path


PullRequestState: TypeAlias = Literal["open", "closed", "merged"]
CheckState: TypeAlias = Literal["passed", "failed", "pending", ""]
"""The state of the checks of a commit, '' for one without checks."""


class ForgeError(KrmMergeError):
    """A forge that refuses or cannot be reached; the message names the remedy."""


class RefusedRequestError(ForgeError):
    """A request that the forge understood and refused: repeating it does not help."""

    def __init__(self, message: str, status: int, remedy: str = "") -> None:
        """Takes the forge's message, the HTTP status, and the remedy, '' if it depends on the request."""
        super().__init__(f"{message}; {remedy or 'correct what it complains about'}")
        self.message = message
        self.status = status
        self.remedy = remedy


class UnavailableForgeError(ForgeError):
    """A forge that fails, cannot be reached, or whose limit is reached: the request may succeed later."""

    def __init__(self, message: str, until: float | None = None) -> None:
        """Takes when it may work again, in seconds since 1970, None if unknown."""
        super().__init__(message)
        self.until = until


@dataclass(frozen=True, slots=True)
class ForgePullRequest:
    """A pull request as the forge has it; `merged_at` is a time in UTC (RFC 3339).

    The source branch of one from a fork is `owner:branch`: no branch has a colon in its name.
    """

    number: int
    source_branch: str
    target_branch: str
    title: str
    body: str
    draft: bool
    state: PullRequestState
    head: str = ""
    merge_commit: str = ""
    author: str = ""
    merged_at: str = ""


@dataclass(frozen=True, slots=True)
class Attention:
    """Who and what a pull request is for: labels, and names of users; a reviewer `org/team` is a team."""

    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to set."""
        return bool(self.labels or self.reviewers or self.assignees)

    @property
    def users(self) -> list[str]:
        """The reviewers that are users."""
        return [name for name in self.reviewers if "/" not in name]

    @property
    def teams(self) -> list[str]:
        """The reviewers that are teams, without their organisation."""
        return [name.partition("/")[2] for name in self.reviewers if "/" in name]


class Forge(Protocol):
    """Pull requests of repositories, which are named by their URLs. Everything raises ForgeError.

    A request whose answer was lost is not carried out twice. By default a forge has no limits or checks, and
    nobody whose attention could be asked for.
    """

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number; the number of requests grows with the history of the repository."""
        ...

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open pull requests, by number."""
        return [pull for pull in self.pull_requests(repository) if pull.state == "open"]

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The pull requests from one branch of the repository, in any state, by number.

        Forgejo before version 16 has no filter for it: of those that ended, only the last hundred are looked at.
        """
        return [pull for pull in self.pull_requests(repository) if pull.source_branch == branch]

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        return next((pull for pull in self.pull_requests(repository) if pull.number == number), None)

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        ...

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that an open pull request changes; of a renamed file both."""
        ...

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged.

        Where a repository has no drafts, its title marks it as one; answers are without the mark (C13).
        """
        ...

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request; a draft is kept a draft."""
        ...

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks a pull request as a draft or as ready."""
        ...

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        ...

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        ...

    def request_attention(self, repository: str, number: int, attention: Attention) -> None:
        """Adds labels to a pull request, asks for reviews and assigns it; what it has already stays."""
        return

    def checks(self, repository: str, number: int) -> CheckState:
        """The state of the checks of a pull request's newest commit."""
        return ""

    def requests_left(self) -> int | None:
        """How many requests the forge grants until its limit is reset, by its last answer; None if that is unknown."""
        return None


@dataclass(frozen=True, slots=True)
class Pace:
    """The least time between two changing requests to one host, in seconds, and their maximum in an hour."""

    seconds_between_changes: float = 1.0
    changes_an_hour: int = 400


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits for retries. `timeout` is for one answer, `limit` for all attempts, both in seconds."""

    attempts: int = 5
    limit: float = 300.0
    timeout: float = 30.0
