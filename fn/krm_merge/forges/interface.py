"""What carrying out a plan needs of a forge, GitHub for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

State: TypeAlias = Literal["open", "closed", "merged"]


class ForgeError(Exception):
    """A forge that refuses or cannot be reached; says what to do about it."""


class DraftsRefusedError(ForgeError):
    """A repository that has no drafts, as private ones of some plans have none."""


@dataclass(frozen=True, slots=True)
class ForgePullRequest:
    """A pull request as the forge has it; `merged_at` is a time in UTC (RFC 3339)."""

    number: int
    source_branch: str
    target_branch: str
    title: str
    body: str
    draft: bool
    state: State
    head: str = ""
    merge_commit: str = ""
    author: str = ""
    merged_at: str = ""


class Forge(Protocol):
    """Pull requests of repositories, which are named by their URLs. Everything raises ForgeError."""

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number: requests grow with the history of the repository."""
        ...

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """Those that are open, by number."""
        ...

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """Those from one branch of the repository, in whatever state, by number."""
        ...

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The one of a number, None where there is none."""
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
        """Opens a pull request. Raises DraftsRefusedError where it cannot be a draft."""
        ...

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Gives a pull request another title and body."""
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
