"""What carrying out a plan needs of a forge, GitHub for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

State: TypeAlias = Literal["open", "closed", "merged"]


class ForgeError(Exception):
    """A forge that refuses or cannot be reached; says what to do about it."""


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
        """All pull requests, by number."""
        ...

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        ...

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request."""
        ...

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Gives a pull request another title and body."""
        ...

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Makes a pull request a draft, or takes it out of draft."""
        ...

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        ...

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        ...
