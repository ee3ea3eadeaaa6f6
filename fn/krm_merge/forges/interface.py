"""Pull requests of repositories, wherever they are: what plans of components and fleets need of a forge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from krm_merge.errors import KrmMergeError

PullRequestState: TypeAlias = Literal["open", "closed", "merged"]


class ForgeError(KrmMergeError):
    """A forge that refuses or cannot be reached; says what to do about it."""


class RefusedRequestError(ForgeError):
    """A request that the forge understood and did not carry out: asking again does not help."""

    def __init__(self, said: str, status: int, remedy: str = "") -> None:
        """Takes what the forge says, the status of HTTP, and the remedy, '' where that depends on what was asked."""
        super().__init__(f"{said}; {remedy or 'correct what it complains about'}")
        self.said = said
        self.status = status
        self.remedy = remedy


class DraftsRefusedError(ForgeError):
    """A repository that has no drafts, as private ones of some plans have none."""


class UnavailableForgeError(ForgeError):
    """A forge that fails, cannot be reached, or has a limit that is reached: the same may work later."""

    def __init__(self, message: str, until: float | None = None) -> None:
        """Takes when it may work again, in seconds since 1970, None where nobody knows."""
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
    """What may still be asked of a forge, None where there is no limit or nothing is known of it.

    `changes` are the changing requests of this hour by our own pace, `requests` what the forge grants until
    `resets_at`, in seconds since 1970.
    """

    changes: int | None = None
    requests: int | None = None
    resets_at: float | None = None


class Forge(Protocol):
    """Pull requests of repositories, which are named by their URLs. Everything raises ForgeError.

    What was lost on the way back is not done a second time.
    """

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number: requests grow with the history of the repository."""
        ...

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """Those that are open, by number."""
        ...

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """Those from one branch of the repository, in whatever state, by number.

        Forgejo before version 16 has no filter for it: of those that ended, only the last hundred are looked at.
        """
        ...

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The one of a number, None where there is none."""
        ...

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        ...

    def git_token(self, repository: str) -> str:
        """What git may identify itself with to the host of a repository, '' for nothing."""
        ...

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        ...

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request; gives the open one that there is for the two branches as it is.

        Raises DraftsRefusedError where it cannot be a draft.
        """
        ...

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Gives a pull request another title and body; a draft stays one."""
        ...

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Makes a pull request a draft, or takes it out of draft. Raises DraftsRefusedError where there are none."""
        ...

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        ...

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        ...

    def budget(self) -> Budget:
        """What may still be asked of the forge, as far as its last answer says."""
        ...
