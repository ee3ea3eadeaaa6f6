"""The interface of forges that plans of components and fleets need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from krm_merge.errors import KrmMergeError

PullRequestState: TypeAlias = Literal["open", "closed", "merged"]


class ForgeError(KrmMergeError):
    """A forge that refuses or cannot be reached; the message names the remedy."""


class RefusedRequestError(ForgeError):
    """A request that the forge understood and refused: repeating it does not help."""

    def __init__(self, said: str, status: int, remedy: str = "") -> None:
        """Takes the forge's message, the HTTP status, and the remedy, '' if it depends on the request."""
        super().__init__(f"{said}; {remedy or 'correct what it complains about'}")
        self.said = said
        self.status = status
        self.remedy = remedy


class DraftsRefusedError(ForgeError):
    """A repository without drafts, such as a private one on some paid plans."""


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
class Budget:
    """The remaining requests that a forge allows, None if there is no limit or it is unknown.

    `changes` are the changing requests of this hour by our own pace, `requests` what the forge grants until
    `resets_at`, in seconds since 1970.
    """

    changes: int | None = None
    requests: int | None = None
    resets_at: float | None = None


class Forge(Protocol):
    """Pull requests of repositories, which are named by their URLs. Everything raises ForgeError.

    A request whose answer was lost is not carried out twice.
    """

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number; the number of requests grows with the history of the repository."""
        ...

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open pull requests, by number."""
        ...

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The pull requests from one branch of the repository, in any state, by number.

        Forgejo before version 16 has no filter for it: of those that ended, only the last hundred are looked at.
        """
        ...

    def pull_requests_in(
        self, repositories: Sequence[str], branch: str
    ) -> dict[str, list[ForgePullRequest] | ForgeError]:
        """The same of many repositories, in as few requests as the forge allows; an error for each that is not shown.

        Raises ForgeError where the host fails, or does not know the token.
        """
        ...

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        ...

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        ...

    def git_token(self, repository: str) -> str:
        """The token with which git authenticates to the host of a repository, '' for none."""
        ...

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        ...

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged.

        Raises DraftsRefusedError where it cannot be a draft.
        """
        ...

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request; a draft is kept a draft."""
        ...

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks a pull request as a draft or as ready. Raises DraftsRefusedError if the repository has no drafts."""
        ...

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        ...

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        ...

    def budget(self) -> Budget:
        """The remaining requests that the forge allows, by its last answer."""
        ...
